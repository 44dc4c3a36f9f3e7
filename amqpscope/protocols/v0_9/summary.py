"""What a frame of 0-9 says, in a few words: the last column of the frame list.

The most important comes first, because a narrow terminal cuts the end off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.protocols.words import LOOKED_AT, PREVIEW, escaped, shortened, size, text_of
from dissectors.masking import masked, masked_octets
from dissectors.secrets import secret_field, secret_method
from dissectors.v0_9.codec import Method
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.message import ContentHeader
from dissectors.v0_9.rows import BIT
from dissectors.v0_9.values import FieldArray, Table, Value
from dissectors.versions import VERSION_OF
from dissectors.wire import Header

LONGEST: Final = 200
"""Characters of one field; -V and JSON have the whole."""
RESERVED: Final = ("reserved-", "ticket")
"""Starts of the names of fields that say nothing."""


def summary(event: Event, *, show_secrets: bool = False) -> str:
    """One line, without line breaks and control characters."""
    frame, unit = event.frame, event.unit
    words: list[str] = []
    if unit.faults:
        words.append(f"malformed: {unit.faults[0]}")
    if frame.missing:
        words.append(f"{size(frame.missing)} {frame.absence}")
    if unit.header is not None:
        words.append(version(unit.header))
    elif unit.method is not None:
        words.append(method_summary(event, unit, unit.method, show_secrets))
    elif unit.content is not None:
        words.append(_header(unit.content, show_secrets))
    elif unit.label == "content-body":
        words.append(_body(event, unit, show_secrets))
    elif unit.kind == "unknown":
        words.append(f"frame type {unit.type}")
    return escaped(" ".join(filter(None, words)))


def version(header: Header) -> str:
    """A protocol header by the name of its version."""
    known = VERSION_OF.get(bytes(header))
    return str(header) if known is None else known.title


def method_summary(event: Event, unit: Unit, method: Method, show_secrets: bool) -> str:
    """A method by what matters most of it."""
    name = method.plan.name
    if not show_secrets and secret_method(name) and (unit.faults or unit.cut):
        return "(hidden)"
    if not show_secrets:
        method = Method(method.plan, list(map(masked, method.values)), method.spare, method.raw)
    teller = TELLERS.get(name)
    if teller is not None:
        return teller(event, method)
    return named_arguments(method, method.plan.names, show_secrets)


def named_arguments(method: Method, names: list[str], show_secrets: bool = False) -> str:
    """Arguments as `name=value`, bits by their names alone, what is empty left out."""
    words: list[str] = []
    for name in names:
        place = method.plan.place.get(name, -1)
        value = None if place < 0 else method.values[place]
        if value is None or value is False or name.startswith(RESERVED):
            continue
        if method.plan.types[place] == BIT:
            words.append(name)
        elif not show_secrets and secret_field(method.plan.name, name):
            words.append(f"{name}=(hidden)")
        elif value not in ("", b"") and not (isinstance(value, Table) and not value):
            words.append(f"{name}={shortened(short(value), LONGEST)}")
    return " ".join(words)


def short(value: Value) -> str:
    """One value in as few characters as make sense."""
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Table):
        return "{" + " ".join(f"{name}={short(item)}" for name, item in value) + "}"
    if isinstance(value, FieldArray):
        return "[" + " ".join(map(short, value)) + "]"
    return "null" if value is None else str(value)


def place(name: Value) -> str:
    """An exchange or queue by its name; the default exchange has none."""
    return str(name) if name else '""'


def arguments(method: Method) -> str:
    """The arguments table, where it holds something."""
    for name in ("arguments", "filter"):
        value = method.get(name)
        if isinstance(value, Table) and value:
            return shortened(short(value), LONGEST)
    return ""


def flags(method: Method, *names: str) -> list[str]:
    """The bits that are set, by their names."""
    return [name for name in names if method.get(name)]


def content_size(event: Event) -> str:
    """How large a content is, once its header was seen."""
    content = event.content
    return "" if content is None or content.header is None else size(content.size)


def _start(event: Event, method: Method) -> str:
    properties = method.get("server-properties")
    return f"{product(properties)} mechanisms={short(method.get('mechanisms'))}".strip()


def _start_ok(event: Event, method: Method) -> str:
    properties = method.get("client-properties")
    return f"{method.get('mechanism')} {product(properties)}".strip()


def product(properties: Value) -> str:
    """Who a peer says it is."""
    if not isinstance(properties, Table):
        return ""
    words = [properties.get("product"), properties.get("version")]
    return " ".join(str(word) for word in words if word)


def _tune(event: Event, method: Method) -> str:
    names = ("channel-max", "frame-max", "heartbeat")
    return " ".join(f"{name}={method.get(name)}" for name in names)


def _open(event: Event, method: Method) -> str:
    return f"vhost={short(method.get('virtual-host'))}"


def _close(event: Event, method: Method) -> str:
    code = method.get("reply-code")
    known = event.connection.dialect.constant(code) if isinstance(code, int) else None
    words = [str(code), "" if known is None else known.name, short(method.get("reply-text"))]
    class_id, method_id = method.get("class-id"), method.get("method-id")
    if class_id and isinstance(class_id, int) and isinstance(method_id, int):
        plan = event.connection.dialect.methods.get(class_id << 16 | method_id)
        words.append(f"on {f'{class_id}.{method_id}' if plan is None else plan.name}")
    return " ".join(filter(None, words))


def _flow(event: Event, method: Method) -> str:
    return "active" if method.get("active") else "stop"


def _declare_exchange(event: Event, method: Method) -> str:
    bits = flags(method, "passive", "durable", "auto-delete", "internal", "no-wait", "nowait")
    words = [place(method.get("exchange")), short_type(method), *bits, arguments(method)]
    return " ".join(filter(None, words))


def short_type(method: Method) -> str:
    """An exchange's type."""
    return str(method.get("type") or "")


def _declare_queue(event: Event, method: Method) -> str:
    bits = flags(method, "passive", "durable", "exclusive", "auto-delete", "no-wait", "nowait")
    return " ".join(filter(None, [place(method.get("queue")), *bits, arguments(method)]))


def _declared(event: Event, method: Method) -> str:
    counts = f"messages={method.get('message-count')} consumers={method.get('consumer-count')}"
    return f"{place(method.get('queue'))} {counts}"


def _bind(event: Event, method: Method) -> str:
    source = method.get("exchange") if method.get("source") is None else method.get("source")
    target = method.get("queue") if method.get("destination") is None else method.get("destination")
    words = [f"{place(source)} -> {place(target)}", key(method), arguments(method)]
    return " ".join(filter(None, words))


def key(method: Method) -> str:
    """The routing key."""
    value = method.get("routing-key")
    return f"rk={value}" if value else ""


def _qos(event: Event, method: Method) -> str:
    words = [f"prefetch-count={method.get('prefetch-count')}", *flags(method, "global")]
    if method.get("prefetch-size"):
        words.append(f"prefetch-size={method.get('prefetch-size')}")
    return " ".join(words)


def _consume(event: Event, method: Method) -> str:
    bits = flags(method, "no-local", "no-ack", "exclusive", "no-wait", "nowait")
    tag = method.get("consumer-tag")
    words = [place(method.get("queue")), f"tag={tag}" if tag else "", *bits, arguments(method)]
    return " ".join(filter(None, words))


def _publish(event: Event, method: Method) -> str:
    publish = event.publish
    number = f"#{publish.number}" if publish is not None and publish.number else ""
    bits = flags(method, "mandatory", "immediate")
    words = [number, place(method.get("exchange")), key(method), content_size(event), *bits]
    return " ".join(filter(None, words))


def _return(event: Event, method: Method) -> str:
    code = f"{method.get('reply-code')} {short(method.get('reply-text'))}"
    return " ".join(filter(None, [code, place(method.get("exchange")), key(method)]))


def _deliver(event: Event, method: Method) -> str:
    tag = method.get("consumer-tag")
    words = [
        f"#{method.get('delivery-tag')}",
        place(method.get("exchange")),
        key(method),
        content_size(event),
        *flags(method, "redelivered"),
        f"to {tag}" if tag else "",
    ]
    return " ".join(filter(None, words))


def _settle(event: Event, method: Method) -> str:
    tag = method.get("delivery-tag")
    count = len(event.covered) or len(event.confirmed)
    words = [f"#{tag}" if tag else "all", *flags(method, "multiple", "requeue")]
    if method.get("multiple") and count > 1:
        words.append(f"({count} messages)")
    return " ".join(words)


TELLERS: Final[dict[str, Callable[[Event, Method], str]]] = {
    "connection.start": _start,
    "connection.start-ok": _start_ok,
    "connection.tune": _tune,
    "connection.tune-ok": _tune,
    "connection.open": _open,
    "connection.close": _close,
    "channel.close": _close,
    "channel.flow": _flow,
    "channel.flow-ok": _flow,
    "exchange.declare": _declare_exchange,
    "exchange.bind": _bind,
    "exchange.unbind": _bind,
    "queue.declare": _declare_queue,
    "queue.declare-ok": _declared,
    "queue.bind": _bind,
    "queue.unbind": _bind,
    "basic.qos": _qos,
    "basic.consume": _consume,
    "basic.publish": _publish,
    "basic.return": _return,
    "basic.deliver": _deliver,
    "basic.get-ok": _deliver,
    "basic.ack": _settle,
    "basic.nack": _settle,
    "basic.reject": _settle,
}


def _header(header: ContentHeader, show_secrets: bool) -> str:
    words = [header.class_name, size(header.body_size)]
    plan = header.plan
    if plan is not None:
        for name, value in zip(plan.names, header.values, strict=False):
            if value is not None:
                said = short(value if show_secrets else masked(value))
                words.append(f"{name}={shortened(said, LONGEST)}")
    return " ".join(words)


def _body(event: Event, unit: Unit, show_secrets: bool) -> str:
    content = event.content
    words = [size(unit.size)]
    if content is not None and content.header is not None and content.size != unit.size:
        words[0] += f" of {size(content.size)}"
    if event.message:
        start = event.message[:LOOKED_AT]
        said = text_of(start if show_secrets else masked_octets(start))
        words.append(shortened(said, PREVIEW))
    return " ".join(words)


def colour(event: Event) -> str:
    """What a line of the frame list is coloured as: the name of a 1.0 frame with such a part."""
    class_name, _, method = event.name.partition(".")
    if event.name in MOVES or event.name in ("content-header", "content-body"):
        return "transfer"
    if method in ("ack", "nack", "reject", "recover", "recover-async"):
        return "disposition"
    if event.name in ("channel.flow", "channel.flow-ok", "basic.qos", "basic.qos-ok"):
        return "flow"
    if event.name in ("connection.blocked", "connection.unblocked"):
        return "flow"
    if method.startswith("close"):
        return "close"
    if event.name in ("heartbeat", "header"):
        return "empty"
    if class_name in ("tx", "dtx", "confirm"):
        return "disposition"
    return "open" if method else "malformed"


MOVES: Final = frozenset(
    f"{name}.{method}"
    for name in ("basic", "file", "stream")
    for method in ("publish", "deliver", "get", "get-ok", "get-empty", "return", "stage")
)
