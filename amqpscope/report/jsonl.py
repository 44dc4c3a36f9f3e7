"""One JSON object per AMQP unit (`read --format jsonl`).

The text is put together by hand: a dict per frame and a pass of `json.dumps` over it would cost
more than all the decoding. AMQP values are plain JSON where JSON has such a type; all others get
an object with the type as its key, so that no type is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Step
from amqpscope.report.secrets import secret_field, secret_message, secret_unit
from amqpscope.stream import PEERS
from dissectors.errors import Malformed
from dissectors.rows import Composite
from dissectors.v1_0.bodies import BODIES, Body
from dissectors.v1_0.framing import SASL_FRAME, Unit
from dissectors.v1_0.message import AMQP_VALUE, Section, read_section, walk
from dissectors.v1_0.types import COMPOSITE, COMPOSITES
from dissectors.v1_0.values import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Uuid,
    Value,
)

if TYPE_CHECKING:
    from mypy_extensions import i64

text: Final[Callable[[str], str]] = encode_basestring_ascii


class Plan:
    """How the fields of one composite type are written, worked out once from its row."""

    def __init__(self, row: Composite) -> None:
        self.quoted = text(row.name)
        self.keys = [f", {text(field.name)}: " for field in row.fields]
        """Each field's name as the start of a member that is not the first."""
        self.multiple = [field.multiple for field in row.fields]
        self.typed = [field.type in COMPOSITE for field in row.fields]
        """Fields whose row names a composite: the value needs no tag."""
        self.secrets = [secret_field(row.name, field.name) for field in row.fields]
        self.has_secrets = any(self.secrets)


PLANS: Final[dict[type, Plan]] = {BODIES[row.name]: Plan(row) for row in COMPOSITES}

TAGS: Final = frozenset((
    "array", "binary", "char", "decimal128", "decimal32", "decimal64", "described", "double",
    "float", "map", "masked", "symbol", "timestamp", "uuid",
))  # fmt: skip
"""What an object with a type as its key begins with; a map with such a key is given as pairs."""
BODY_SECTIONS: Final = frozenset(("data", "amqp-sequence", "amqp-value"))


class JsonLines:
    """Writes Steps as JSON lines."""

    def __init__(self, *, show_secrets: bool = False) -> None:
        self.show_secrets = show_secrets
        self.second = -1
        self.whole = ""
        """The second of the frame before, as text: most frames share it with the next."""

    def line(self, step: Step) -> str:
        """One unit, without the line's end."""
        frame = step.frame
        unit = frame.unit
        kind = unit.kind
        body = unit.body
        conversation = step.conversation
        label = conversation.labels[frame.sender]
        if not label:
            label = conversation.labels[frame.sender] = (
                f'"connection": {conversation.number}, "from": "{PEERS[frame.sender]}", '
                f'"protocol": "{conversation.protocol}", "kind": "'
            )
        channel = "null" if kind == "header" else str(unit.channel)
        name = PLANS[type(body)].quoted if body is not None else text(name_of(unit))
        size = len(frame.raw) + frame.missing
        rest = ""
        if unit.type == 0 and unit.payload and kind != "empty":
            payload = size - unit.payload
            if name == '"transfer"' or (payload and not frame.missing):
                rest = f', "payload": {payload}'
        if frame.missing:
            rest += f', "missing": {frame.missing}'
        if unit.faults:
            rest += f', "malformed": [{", ".join(map(malformed, unit.faults))}]'
        if step.message is not None:
            rest += self.sections(step, step.message)
        link = step.link
        if link is not None:
            rest += f', "link": {text(link.name)}' if link.name else ', "link": null'
        delivery = step.delivery
        if delivery is not None and delivery.delivery_id is not None:
            rest += f', "delivery": {delivery.delivery_id}'
        findings = ""
        if step.findings:
            findings = ", ".join([text(found.rule) for found in step.findings])
        return (
            f'{{"frame": {frame.number}, "packet": {frame.packet}, '
            f'"time": {self.seconds(frame.time)}, {label}{kind}", "channel": {channel}, '
            f'"name": {name}, "size": {size}, "fields": {self.fields(unit)}{rest}, '
            f'"findings": [{findings}]}}'
        )

    def seconds(self, nanoseconds: int) -> str:
        """What the function of this name gives, faster for times that are near each other."""
        time: i64 = nanoseconds
        second = time // 1_000_000_000
        if second != self.second:
            self.second = second
            self.whole = f"{second}."
        part = time - second * 1_000_000_000
        if part % 1000 != 0:
            return self.whole + str(1_000_000_000 + part)[1:]
        return self.whole + str(1_000_000 + part // 1000)[1:]

    def fields(self, unit: Unit) -> str:
        """The performative's fields, or what stands in their place."""
        if unit.type == SASL_FRAME and not self.show_secrets and secret_unit(unit):
            return '{"masked": true}'
        if unit.body is not None:
            return json_body(unit.body, self.show_secrets)
        header = unit.header
        if header is not None:
            return (
                f'{{"protocol-id": {header.id}, "major": {header.major}, '
                f'"minor": {header.minor}, "revision": {header.revision}}}'
            )
        if unit.kind == "unknown":
            return f'{{"type": {unit.type}, "doff": {unit.doff}}}'
        if isinstance(unit.other, Described):
            return (
                f'{{"descriptor": {json_value(unit.other.descriptor)}, '
                f'"value": {json_value(unit.other.value)}}}'
            )
        return "{}"

    def sections(self, step: Step, message: bytes) -> str:
        """The sections of the message that this transfer completes."""
        delivery = step.delivery
        if delivery is not None and (delivery.message_format or 0) >> 8:
            return ""
        if not message:
            return ', "sections": []'
        hidden = not self.show_secrets and secret_message(step)
        parts = step.parts
        if parts is not None:
            found, fault = parts.sections, parts.fault
        else:
            found, fault = walk(message)
        items = [json_section(message, section, hidden) for section in found]
        if fault is not None:
            items.append(f'{{"malformed": {malformed(fault)}}}')
        return f', "sections": [{", ".join(items)}]'


def name_of(unit: Unit) -> str:
    """The spec's name of a unit; of one that we do not know, its descriptor."""
    if unit.body is None and isinstance(unit.other, Described):
        return str(unit.other.descriptor)
    return unit.name


def seconds(nanoseconds: int) -> str:
    """A time in seconds, to the microsecond, or to the nanosecond where the capture has that."""
    return JsonLines().seconds(nanoseconds)


def malformed(fault: Malformed) -> str:
    """One fault."""
    return (
        f'{{"offset": {fault.offset}, "path": {text(fault.path)}, "reason": {text(fault.reason)}}}'
    )


def json_section(message: bytes, section: Section, hidden: bool) -> str:
    """One section with its value."""
    name = section.name
    if hidden and name in BODY_SECTIONS:
        return f'{{"name": "{name}", "value": {{"masked": {section.stop - section.start}}}}}'
    value, faults = read_section(message, section)
    if section.code != AMQP_VALUE and isinstance(value, Body):
        made = json_body(value, True)
    else:
        made = json_value(value)
    if faults:
        rest = ", ".join(map(malformed, faults))
        return f'{{"name": "{name}", "value": {made}, "malformed": [{rest}]}}'
    return f'{{"name": "{name}", "value": {made}}}'


def json_body(body: Body, show_secrets: bool) -> str:
    """A composite's fields; those that are absent are left out."""
    plan = PLANS[type(body)]
    keys = plan.keys
    covered = plan.has_secrets and not show_secrets
    wrong = body.wrong
    spoiled = len(wrong) > 0
    values: tuple[Value, ...] = body
    made = ""
    place: i64 = -1
    for key in keys:
        place += 1
        value: Value = values[place]
        if spoiled and place in wrong:
            value = wrong[place]
        if value is None:
            continue
        if covered and plan.secrets[place]:
            made = f"{made}{key}{_masked(value)}"
        elif type(value) is int:
            made = f"{made}{key}{value}"
        elif value is True:
            made = f"{made}{key}true"
        elif value is False:
            made = f"{made}{key}false"
        elif type(value) is bytes:
            made = f'{made}{key}{{"binary": "{value.hex()}"}}'
        elif plan.typed[place] and isinstance(value, Body):
            made = f"{made}{key}{json_body(value, show_secrets)}"
        elif plan.multiple[place] and isinstance(value, Array):
            made = f"{made}{key}[{', '.join(map(json_value, value))}]"
        else:
            made = f"{made}{key}{json_value(value)}"
    if len(values) > len(keys):
        surplus = ", ".join(map(json_value, values[len(keys) :]))
        made += f', "+": [{surplus}]'
    return "{" + made[2:] + "}"


def json_value(value: Value) -> str:
    """Any AMQP value."""
    if value is None:
        return "null"
    write = WRITERS.get(type(value))
    if write is not None:
        return write(value)
    return _composite(value) if isinstance(value, Body) else text(str(value))


def _masked(value: Value) -> str:
    return f'{{"masked": {len(value) if isinstance(value, bytes) else 0}}}'


def _bool(value: Value) -> str:
    return "true" if value else "false"


def _int(value: Value) -> str:
    return int.__repr__(value)


def _timestamp(value: Value) -> str:
    return f'{{"timestamp": {int.__repr__(value)}}}'


def _binary(value: bytes) -> str:
    return f'{{"binary": "{value.hex()}"}}'


def _uuid(value: Value) -> str:
    return f'{{"uuid": "{value}"}}'


def _decimal(value: Value) -> str:
    return f'{{"{type(value).__name__.lower()}": "{value}"}}'


def _symbol(value: str) -> str:
    return f'{{"symbol": {text(value)}}}'


def _char(value: str) -> str:
    return f'{{"char": {text(value)}}}'


def _float(value: Value) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return f'{{"{"double" if type(value) is float else "float"}": "{float(value)!r}"}}'


def _list(value: list[Value]) -> str:
    return f"[{', '.join(map(json_value, value))}]"


def _array(value: Value) -> str:
    items = ", ".join(map(json_value, value))
    if value.descriptors:
        described = ", ".join(map(json_value, value.descriptors))
        return f'{{"array": [{items}], "described": [{described}]}}'
    return f'{{"array": [{items}]}}'


def _described(value: Value) -> str:
    return f'{{"described": {json_value(value.descriptor)}, "value": {json_value(value.value)}}}'


def _composite(value: Body) -> str:
    return f'{{"described": "{value.row.name}", "value": {json_body(value, True)}}}'


def _map(value: Value) -> str:
    """An object where all keys are texts, differ and are no tags; else the pairs as they are."""
    made = ""
    seen: set[str] = set()
    for key, item in value:
        kind = type(key)
        if (kind is not str and kind is not Symbol) or key in TAGS or key in seen:
            return _pairs(value)
        seen.add(key)
        member = f"{text(key)}: {json_value(item)}"
        made = f"{made}, {member}" if made else member
    return "{" + made + "}"


def _pairs(value: Value) -> str:
    pairs = ", ".join([f"[{json_value(key)}, {json_value(item)}]" for key, item in value])
    return f'{{"map": [{pairs}]}}'


WRITERS: Final[dict[type, Callable[[Value], str]]] = {
    str: text,
    bool: _bool,
    **dict.fromkeys((int, Ubyte, Ushort, Uint, Ulong, Byte, Short, Int, Long), _int),
    Timestamp: _timestamp,
    Symbol: _symbol,
    Char: _char,
    bytes: _binary,
    Uuid: _uuid,
    float: _float,
    Float: _float,
    **dict.fromkeys((Decimal32, Decimal64, Decimal128), _decimal),
    list: _list,
    Map: _map,
    Array: _array,
    Described: _described,
}
