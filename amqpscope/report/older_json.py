"""One JSON object per unit of the older protocols (`read --format jsonl`).

The same members as for 1.0. Values are plain JSON where JSON has such a type; all others get an
object with the type as its key, so that no type is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from typing import Final

from amqpscope.analysis import Step
from amqpscope.model.older.event import OlderEvent
from amqpscope.stream import PEERS
from dissectors.errors import Malformed
from dissectors.masking import masked_octets
from dissectors.secrets import (
    clean_name,
    cleaned,
    harmless,
    secret_field,
    secret_key,
    secret_method,
)
from dissectors.v0_9.framing import OlderUnit
from dissectors.v0_9.values import Content, FieldArray, PosixTime, ScaledDecimal, Table, Unreadable
from dissectors.v1_0.values import Char, Value

text: Final[Callable[[str], str]] = encode_basestring_ascii
TAGS: Final = frozenset((
    "binary", "char", "decimal", "double", "float", "inline", "masked", "reference", "table",
    "timestamp",
))  # fmt: skip
"""What an object with a type as its key begins with; a table with such a name is given as pairs."""


def older_line(step: Step, event: OlderEvent, time: str, show_secrets: bool) -> str:
    """One unit, without the line's end; `time` is its time as text."""
    frame, unit = event.frame, event.unit
    conversation = step.conversation
    channel = "null" if unit.header is not None else str(unit.channel)
    size = len(frame.raw) + frame.missing
    findings = ", ".join([text(found.rule) for found in step.findings])
    return (
        f'{{"frame": {frame.number}, "packet": {frame.packet}, "time": {time}, '
        f'"connection": {conversation.number}, "from": "{PEERS[frame.sender]}", '
        f'"protocol": "{conversation.protocol}", "kind": "{unit.kind}", "channel": {channel}, '
        f'"name": {text(unit.name)}, "size": {size}, "fields": {fields(unit, show_secrets)}'
        f'{rest(step, event, show_secrets)}, "findings": [{findings}]}}'
    )


def fields(unit: OlderUnit, show_secrets: bool) -> str:
    """Arguments or properties by the spec's names; those that are absent are left out."""
    header = unit.header
    if header is not None:
        return (
            f'{{"protocol-id": {header.id}, "major": {header.major}, '
            f'"minor": {header.minor}, "revision": {header.revision}}}'
        )
    name = unit.name
    secret = not show_secrets and secret_method(name)
    if secret and (unit.faults or unit.cut or unit.method is None):
        return '{"masked": true}'
    envelope = unit.envelope
    made = "" if envelope is None else enveloped(unit, envelope.id, envelope.mark, envelope.batch)
    for field, value in unit.fields():
        if value is None:
            continue
        hidden = secret and secret_field(name, field)
        written = masked(value) if hidden else older_value(value, not show_secrets)
        made = f"{made}, {text(field)}: {written}"
    if unit.kind == "unknown":
        made = f', "type": {unit.type}'
    return "{" + made[2:] + "}"


def enveloped(unit: OlderUnit, id: int, mark: int, batch: int) -> str:
    """The ids of a request or response frame."""
    if unit.type == 9:
        return f', "request-id": {id}, "response-mark": {mark}'
    return f', "response-id": {id}, "request-id": {mark}, "batch-offset": {batch}'


def rest(step: Step, event: OlderEvent, show_secrets: bool) -> str:
    """What is not said by the fields: where it belongs, and what is wrong with the octets."""
    frame, unit = event.frame, event.unit
    made = ""
    if unit.label == "content-body":
        made = f', "payload": {unit.size}'
    if frame.missing:
        made += f', "missing": {frame.missing}'
    if unit.faults:
        made += f', "malformed": [{", ".join(map(malformed, unit.faults))}]'
    request, delivery, publish = event.request, event.delivery, event.publish
    if request is not None and request.mark.frame:
        made += f', "answers": {request.mark.frame}'
    content = event.content
    if content is not None and content.mark.frame not in (0, frame.number):
        made += f', "content-of": {content.mark.frame}'
    if delivery is not None:
        made += f', "delivery": {delivery.tag}'
        if delivery.queue:
            queue = delivery.queue if show_secrets else clean_name(delivery.queue)
            made += f', "queue": {text(queue)}'
    if publish is not None and publish.number:
        made += f', "publish": {publish.number}'
    if event.message is not None:
        body = event.message if show_secrets else masked_octets(event.message)
        made += f', "body": {octets(body)}'
    return made


def malformed(fault: Malformed) -> str:
    """One fault."""
    return (
        f'{{"offset": {fault.offset}, "path": {text(fault.path)}, "reason": {text(fault.reason)}}}'
    )


def masked(value: Value) -> str:
    """A secret, of which only the size is told."""
    if isinstance(value, str):
        return f'{{"masked": {len(value.encode("utf-8", "replace"))}}}'
    return f'{{"masked": {len(value) if isinstance(value, bytes) else "true"}}}'


def octets(value: bytes) -> str:
    """Octets: text where they are UTF-8."""
    try:
        return text(value.decode("utf-8"))
    except UnicodeDecodeError:
        return f'{{"binary": "{value.hex()}"}}'


def older_value(value: Value, cover: bool) -> str:
    """Any value; where secrets are to be covered, without them."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    kind = type(value)
    if kind is str:
        return text(cleaned(value) if cover else value)
    if kind is bytes:
        return f'{{"binary": "{(masked_octets(value) if cover else value).hex()}"}}'
    if kind is PosixTime:
        return f'{{"timestamp": {int(value)}}}'
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return number(value, "double" if kind is float else "float")
    if isinstance(value, Table):
        return table(value, cover)
    if isinstance(value, FieldArray):
        return f"[{', '.join([older_value(item, cover) for item in value])}]"
    if isinstance(value, ScaledDecimal):
        return f'{{"decimal": "{value}"}}'
    if isinstance(value, Unreadable):
        raw = masked_octets(value.octets) if cover else value.octets
        return f'{{"binary": "{raw.hex()}"}}'
    if isinstance(value, Char):
        return f'{{"char": {text(value)}}}'
    if isinstance(value, Content):
        made = older_value(value.value, cover)
        return f'{{"{"reference" if value.reference else "inline"}": {made}}}'
    return text(str(value))


def number(value: float, kind: str) -> str:
    """A float, where JSON knows it."""
    if math.isfinite(value):
        return repr(float(value))
    return f'{{"{kind}": "{float(value)!r}"}}'


def table(value: Table, cover: bool) -> str:
    """An object where all names differ and are no tags; else the pairs as they are."""
    names = [name for name, _ in value]
    found = [(key(name, cover), under(name, item, cover)) for name, item in value]
    if len(set(names)) != len(names) or not TAGS.isdisjoint(names):
        return f'{{"table": [{", ".join([f"[{name}, {item}]" for name, item in found])}]}}'
    return "{" + ", ".join([f"{name}: {item}" for name, item in found]) + "}"


def key(name: str, cover: bool) -> str:
    """The name of a field."""
    return text(clean_name(name) if cover else name)


def under(name: str, value: Value, cover: bool) -> str:
    """The value of a field, judged by its name too."""
    if cover and secret_key(name) and not harmless(value):
        return masked(value)
    return older_value(value, cover)
