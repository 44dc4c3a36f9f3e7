"""What a frame says, in a few words: the last column of the frame list.

The most important comes first, because a narrow terminal cuts the end off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.v1_0.secrets import may_hide, secret_message
from amqpscope.protocols.words import (
    LOOKED_AT,
    PREVIEW,
    escaped,
    shortened,
    size,
    text_of,
)
from dissectors.masking import masked, masked_octets
from dissectors.secrets import clean_name, secret_method
from dissectors.v1_0.bodies import (
    Accepted,
    Attach,
    Begin,
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Open,
    Properties,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.message import DATA, Section, read_section, walk
from dissectors.v1_0.notation_text import text_value
from dissectors.v1_0.tables import choice
from dissectors.v1_0.values import Array, Described, Map, Value

LONGEST: Final = 200
"""Characters of one field; -V and JSON have the whole."""


def summary(event: Event, *, show_secrets: bool = False) -> str:
    """One line, without line breaks and control characters."""
    unit = event.unit
    words: list[str] = []
    if unit.faults:
        words.append(f"malformed: {unit.faults[0]}")
    if event.frame.missing:
        words.append(f"{size(event.frame.missing)} {event.frame.absence}")
    body = unit.body
    if unit.header is not None:
        words.append(str(unit.header))
    elif isinstance(body, Transfer):
        words.append(transfer(event, body, show_secrets))
    elif body is not None:
        if not show_secrets and (secret_method(body.row.name) or may_hide(event.frame.raw)):
            body = masked(body)
        teller = TELLERS.get(body.row.name)
        names = [field.name for field in body.row.fields]
        words.append(named_fields(body, names) if teller is None else teller(body))
    elif isinstance(unit.other, Described):
        descriptor = str(unit.other.descriptor)
        words.append(f"descriptor {descriptor if show_secrets else clean_name(descriptor)}")
    elif unit.kind == "unknown":
        words.append(f"frame type {unit.type}")
    return escaped(" ".join(filter(None, words)))


def named_fields(body: Body, names: list[str]) -> str:
    """Fields as `name=value`, those that are there."""
    words = []
    places = {field.name: place for place, field in enumerate(body.row.fields)}
    for name in names:
        value = body.wire(places[name])
        if value is not None:
            said = short(value, body.row.fields[places[name]].type)
            words.append(f"{name}={shortened(said, LONGEST)}")
    return " ".join(words)


def short(value: Value, declared: str = "") -> str:
    """One value in as few characters as make sense."""
    label = choice(declared, value) if declared else ""
    if label:
        return label
    if value is True or value is False:
        return str(value).lower()
    if type(value) is str:
        return f'"{value}"'
    if type(value) is bytes:
        return tag(value)
    if isinstance(value, Array):
        return ",".join(map(short, value)) or "[]"
    if isinstance(value, Body):
        return state(value)
    if isinstance(value, Map | list | Described):
        return text_value(value)
    return "null" if value is None else str(value)


def tag(octets: bytes) -> str:
    """A delivery tag: as text when it is text."""
    if octets and octets.isascii() and octets.decode().isprintable():
        return octets.decode()
    return octets.hex() or "empty"


def _open(body: Body) -> str:
    assert isinstance(body, Open)
    names = ["hostname", "max-frame-size", "channel-max", "idle-time-out", "offered-capabilities"]
    return f"{short(body.container_id)} {named_fields(body, names)}"


def _begin(body: Body) -> str:
    assert isinstance(body, Begin)
    names = ["incoming-window", "outgoing-window", "next-outgoing-id", "handle-max"]
    answer = "" if body.remote_channel is None else f"to channel {body.remote_channel} "
    return answer + named_fields(body, names)


def _attach(body: Body) -> str:
    assert isinstance(body, Attach)
    source, target = address(body.source), address(body.target)
    words = ["receiver" if body.role else "sender", f"{source} -> {target}"]
    modes = named_fields(body, ["snd-settle-mode", "rcv-settle-mode", "initial-delivery-count"])
    return " ".join(filter(None, [*words, modes, named_fields(body, ["max-message-size"])]))


def address(terminus: Value) -> str:
    """A source or target as its address."""
    if terminus is None:
        return "null"
    if not isinstance(terminus, Body):
        return "described"
    found = getattr(terminus, "address", None)
    if found is None:
        dynamic = getattr(terminus, "dynamic", None)
        return "dynamic" if dynamic else terminus.row.name if not len(terminus) > 2 else "anonymous"
    return short(found)


def _flow(body: Body) -> str:
    assert isinstance(body, Flow)
    words = []
    if body.link_credit is not None:
        words.append(f"credit={body.link_credit}")
    if body.delivery_count is not None:
        words.append(f"delivery-count={body.delivery_count}")
    words += [name for name in ("drain", "echo") if getattr(body, name)]
    names = ["available", "incoming-window", "next-incoming-id", "outgoing-window"]
    return " ".join(filter(None, [*words, named_fields(body, [*names, "next-outgoing-id"])]))


def _disposition(body: Body) -> str:
    assert isinstance(body, Disposition)
    last = "" if body.last is None or body.last == body.first else f"-{body.last}"
    words = [f"#{body.first}{last}", state(body.state), "settled" if body.settled else "unsettled"]
    words.append("by receiver" if body.role else "by sender")
    return " ".join(filter(None, words))


def state(value: Value) -> str:
    """A delivery state with what it says beside its name."""
    if value is None:
        return ""
    if not isinstance(value, Body):
        return short(value) if not isinstance(value, Described) else f"state {value.descriptor}"
    if isinstance(value, Accepted):
        return "accepted"
    if isinstance(value, Error):
        return error_text(value)
    if isinstance(value, TransactionalState):
        return f"transactional {short(value.txn_id)} {state(value.outcome)}".strip()
    inner = [error_text(item) if isinstance(item, Error) else None for item in value]
    said = next(filter(None, inner), "") or named_fields(value, [f.name for f in value.row.fields])
    return f"{value.row.name} {said}".strip()


def error_text(error: Value) -> str:
    """An error as its condition and description."""
    if not isinstance(error, Error):
        return ""
    description = "" if error.description is None else f' "{error.description}"'
    return f"{error.condition}{description}"


def _detach(body: Body) -> str:
    assert isinstance(body, Detach)
    return " ".join(filter(None, ["closed" if body.closed else "", error_text(body.error)]))


def _close(body: Body) -> str:
    assert isinstance(body, Close | End)
    return error_text(body.error)


def _mechanisms(body: Body) -> str:
    assert isinstance(body, SaslMechanisms)
    return short(body.sasl_server_mechanisms)


def _init(body: Body) -> str:
    assert isinstance(body, SaslInit)
    return f"{body.mechanism} {named_fields(body, ['hostname'])}".strip()


def _outcome(body: Body) -> str:
    assert isinstance(body, SaslOutcome)
    return short(body.code, "sasl-code")


TELLERS: Final[dict[str, Callable[[Body], str]]] = {
    "open": _open,
    "begin": _begin,
    "attach": _attach,
    "flow": _flow,
    "disposition": _disposition,
    "detach": _detach,
    "end": _close,
    "close": _close,
    "sasl-mechanisms": _mechanisms,
    "sasl-init": _init,
    "sasl-outcome": _outcome,
    "sasl-challenge": lambda body: "",
    "sasl-response": lambda body: "",
}


def transfer(event: Event, body: Transfer, show_secrets: bool) -> str:
    """A transfer: which delivery, how large, settled or not, and what it carries."""
    delivery = event.delivery
    words = []
    if not show_secrets and may_hide(event.frame.raw[: event.unit.payload]):
        body = masked(body)
    if delivery is not None and delivery.delivery_id is not None:
        words.append(f"#{delivery.delivery_id}")
    payload = len(event.frame.raw) - event.unit.payload + event.frame.missing
    if event.transfers > 1:
        so_far = "so far" if body.more else "in all"
        words.append(f"{size(payload)}, part {event.transfers}, {size(event.octets)} {so_far}")
    else:
        words.append(size(payload))
    words.append("settled" if body.settled else "unsettled")
    words += [word for word in ("more", "resume", "aborted") if getattr(body, word)]
    words.append(state(body.state))
    if event.message:
        words.append(content(event, event.message, show_secrets))
    return " ".join(filter(None, words))


def content(event: Event, message: bytes, show_secrets: bool) -> str:
    """The beginning of a message's body, and the subject if it has one."""
    delivery = event.delivery
    if delivery is not None and (delivery.message_format or 0) >> 8:
        return f"format 0x{delivery.message_format:08x}"
    sections, fault = walk(message)
    if fault is not None:
        return f"malformed message: {fault}"
    if not show_secrets and secret_message(event):
        return "(hidden)"
    words = []
    show_secrets = show_secrets or not may_hide(message)
    for section in sections:
        if section.name == "properties":
            value, _ = read_section(message, section)
            if isinstance(value, Properties):
                words.append(
                    named_fields(value if show_secrets else masked(value), ["subject", "to"])
                )
    bodies = [section for section in sections if section.name in BODY_SECTIONS]
    if bodies:
        words.append(preview(message, bodies[0], len(bodies), show_secrets))
    return " ".join(filter(None, words))


BODY_SECTIONS: Final = {"data", "amqp-sequence", "amqp-value"}


def preview(message: bytes, section: Section, count: int, show_secrets: bool) -> str:
    """The start of a body section."""
    octets = message[section.content : section.stop]
    if section.code != DATA and len(octets) < LOOKED_AT:
        value, _ = read_section(message, section)
        if not show_secrets:
            value = masked(value)
        said = state(value) if isinstance(value, Body) else short(value)
    elif octets[:1] in {b"\xa0", b"\xa1"}:
        said = start_of(octets[2 : 2 + LOOKED_AT], show_secrets)
    elif octets[:1] in {b"\xb0", b"\xb1"}:
        said = start_of(octets[5 : 5 + LOOKED_AT], show_secrets)
    else:
        said = section.name
    more = f" +{count - 1}" if count > 1 else ""
    return shortened(said, PREVIEW) + more


def start_of(octets: bytes, show_secrets: bool) -> str:
    """The start of a binary or a string."""
    return text_of(octets if show_secrets else masked_octets(octets))
