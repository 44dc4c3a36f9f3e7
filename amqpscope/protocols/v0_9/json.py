"""What a unit of 0-9 says, as JSON.

Values are plain JSON where JSON has such a type; all others get an
object with the type as its key, so that no type is lost.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.protocols.json import finite, header_text, put_damage, text
from dissectors.masking import masked_octets
from dissectors.secrets import (
    clean_name,
    cleaned,
    harmless,
    secret_field,
    secret_key,
    secret_method,
)
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.values import (
    Char,
    Content,
    FieldArray,
    PosixTime,
    ScaledDecimal,
    Table,
    Unreadable,
    Value,
)

TAGS: Final = frozenset((
    "binary", "char", "decimal", "double", "float", "inline", "masked", "reference", "table",
    "timestamp",
))  # fmt: skip
"""What an object with a type as its key begins with; a table with such a name is given as pairs."""


def put_content(out: list[str], event: Event, show_secrets: bool) -> None:
    """The members of a unit's object from its fields to the message it belongs to."""
    unit = event.unit
    out.append(fields(unit, show_secrets))
    if unit.label == "content-body":
        out.append(f', "payload": {unit.size}')
    put_damage(out, event.frame)
    out.append(rest(event, show_secrets))


def fields(unit: Unit, show_secrets: bool) -> str:
    """Arguments or properties by the spec's names; those that are absent are left out."""
    header = unit.header
    if header is not None:
        return header_text(header)
    name = unit.name
    secret = not show_secrets and secret_method(name)
    if secret and (unit.faults or unit.cut or unit.method is None):
        return '{"masked": true}'
    envelope = unit.envelope
    made = "" if envelope is None else request_ids(unit, envelope.id, envelope.mark, envelope.batch)
    for field, value in unit.fields():
        if value is None:
            continue
        hidden = secret and secret_field(name, field)
        written = masked(value) if hidden else json_value(value, not show_secrets)
        made = f"{made}, {text(field)}: {written}"
    if unit.kind == "unknown":
        made = f', "type": {unit.type}'
    return "{" + made[2:] + "}"


def request_ids(unit: Unit, id: int, mark: int, batch: int) -> str:
    """The ids of a request or response frame."""
    if unit.type == 9:
        return f', "request-id": {id}, "response-mark": {mark}'
    return f', "response-id": {id}, "request-id": {mark}, "batch-offset": {batch}'


def rest(event: Event, show_secrets: bool) -> str:
    """What is not said by the fields: what it answers, and the message it belongs to."""
    frame, made = event.frame, ""
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


def masked(value: Value) -> str:
    """A secret, of which only the size is shown."""
    if isinstance(value, str):
        return f'{{"masked": {len(value.encode("utf-8", "replace"))}}}'
    return f'{{"masked": {len(value) if isinstance(value, bytes) else "true"}}}'


def octets(value: bytes) -> str:
    """Octets: text where they are UTF-8."""
    try:
        return text(value.decode("utf-8"))
    except UnicodeDecodeError:
        return f'{{"binary": "{value.hex()}"}}'


def json_value(value: Value, cover: bool) -> str:
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
        return finite(value, "double" if kind is float else "float")
    if isinstance(value, Table):
        return table(value, cover)
    if isinstance(value, FieldArray):
        return f"[{', '.join([json_value(item, cover) for item in value])}]"
    if isinstance(value, ScaledDecimal):
        return f'{{"decimal": "{value}"}}'
    if isinstance(value, Unreadable):
        raw = masked_octets(value.octets) if cover else value.octets
        return f'{{"binary": "{raw.hex()}"}}'
    if isinstance(value, Char):
        return f'{{"char": {text(value)}}}'
    if isinstance(value, Content):
        made = json_value(value.value, cover)
        return f'{{"{"reference" if value.reference else "inline"}": {made}}}'
    return text(str(value))


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
    return json_value(value, cover)
