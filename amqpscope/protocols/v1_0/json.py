"""What a unit of 1.0 says, as JSON.

AMQP values are plain JSON where JSON has such a type; all others get an object with the type as
its key, so that no type is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.json import fault_json, finite, header_text, put_damage, put_number, text
from amqpscope.protocols.v1_0.secrets import secret_message, secret_unit
from dissectors.masking import CLAIMS, masked_octets
from dissectors.secret_signs import suspicious_octets
from dissectors.secrets import clean_name, cleaned, harmless, open_claim, secret_field, secret_key
from dissectors.v1_0.bodies import BODIES, Body
from dissectors.v1_0.framing import SASL_FRAME, Unit
from dissectors.v1_0.message import AMQP_VALUE, Section, read_section, walk
from dissectors.v1_0.plans import PLANS as CODEC_PLANS
from dissectors.v1_0.primitives import MAX_KEPT_SYMBOL
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITE, COMPOSITES, SECTIONS
from dissectors.v1_0.values import (
    Array,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Map,
    Symbol,
    Timestamp,
    Uuid,
    Value,
)

if TYPE_CHECKING:
    from mypy_extensions import i64

TRANSFER: Final = 0x14
"""The performative's descriptor."""

MAX_KEYS: Final = 4096
"""Keys of maps kept with their quotes on. They come from a small vocabulary."""
_keys: Final[dict[str, str]] = {}
_names: Final[dict[str, str]] = {}
"""Names of links as JSON."""
_clean_names: Final[dict[str, str]] = {}
"""Names of links as JSON, without their secrets, by the names as they are."""

# What is kept back. A frame without a sign of a secret in a text needs no look at its texts.
SHOW: Final = 0
KEYED: Final = 1
"""Fields and keys of credentials."""
TEXTS: Final = 2
"""Fields and keys of credentials, and parts of texts."""


class Plan:
    """How the fields of one composite type are written, worked out once from its row."""

    def __init__(self, row: Composite) -> None:
        self.quoted = text(row.name)
        self.first = [f"{{{text(field.name)}: " for field in row.fields]
        """Each field's name as the start of an object."""
        self.later = [f", {text(field.name)}: " for field in row.fields]
        """Each field's name as the start of a member that is not the first."""
        self.multiple = [field.multiple for field in row.fields]
        self.typed = [field.type in COMPOSITE for field in row.fields]
        """Fields whose row names a composite: the value needs no tag."""
        self.secrets = [secret_field(row.name, field.name) for field in row.fields]
        self.has_secrets = any(self.secrets)
        self.empty: Value = CODEC_PLANS[row.code].empty
        """The body of which nothing is said, which most outcomes are."""
        self.tag = f'{{"described": {self.quoted}, "value": '
        self.bare = f"{self.tag}{{}}}}"


PLANS: Final[dict[type, Plan]] = {BODIES[row.name]: Plan(row) for row in COMPOSITES}

TAGS: Final = frozenset((
    "array", "binary", "char", "decimal128", "decimal32", "decimal64", "described", "double",
    "float", "map", "masked", "symbol", "timestamp", "uuid",
))  # fmt: skip
"""What an object with a type as its key begins with; a map with such a key is given as pairs."""
BODY_SECTIONS: Final = frozenset(("data", "amqp-sequence", "amqp-value"))


def put_content(out: list[str], event: Event, show_secrets: bool) -> None:
    """The members of a unit's object from its fields to the link and delivery it belongs to."""
    frame = event.frame
    unit = event.unit
    cover = SHOW if show_secrets else TEXTS if suspicious_octets(frame.raw) else KEYED
    put_fields(out, unit, cover)
    if unit.type == 0 and unit.payload and unit.kind != "empty":
        payload = len(frame.raw) + frame.missing - unit.payload
        transfer = unit.code == TRANSFER and unit.body is not None
        if transfer or (payload and not frame.missing):
            out.append(', "payload": ')
            put_number(out, payload)
    put_damage(out, frame)
    if event.message is not None:
        put_sections(out, event, event.message, cover)
    link = event.link
    if link is not None:
        out.append(', "link": ')
        known = _names if show_secrets else _clean_names
        name = link.name
        out.append((known.get(name) or name_text(name, show_secrets)) if name else "null")
    delivery = event.delivery
    if delivery is not None and delivery.delivery_id is not None:
        out.append(', "delivery": ')
        put_number(out, delivery.delivery_id)


def name_text(name: str, show_secrets: bool) -> str:
    """A link's name, kept for the next frame on it."""
    made = text(name if show_secrets else clean_name(name))
    known = _names if show_secrets else _clean_names
    if len(known) < MAX_KEYS:
        known[name] = made
    return made


def full_name(unit: Unit) -> str:
    """The spec's name of a unit; of one that we do not know, its descriptor."""
    if unit.body is None and isinstance(unit.other, Described):
        return clean_name(str(unit.other.descriptor))
    return unit.name


def put_fields(out: list[str], unit: Unit, cover: int) -> None:
    """The performative's fields, or what is in their place."""
    header = unit.header
    if unit.type == SASL_FRAME and cover != SHOW and secret_unit(unit):
        out.append('{"masked": true}')
    elif unit.body is not None:
        put_body(out, unit.body, cover)
    elif header is not None:
        out.append(header_text(header))
    elif unit.kind == "unknown":
        out.append(f'{{"type": {unit.type}, "doff": {unit.doff}}}')
    elif isinstance(unit.other, Described):
        out.append('{"descriptor": ')
        put_value(out, unit.other.descriptor, cover)
        out.append(', "value": ')
        put_value(out, unit.other.value, cover)
        out.append("}")
    else:
        out.append("{}")


def put_sections(out: list[str], event: Event, message: bytes, cover: int) -> None:
    """The sections of the message that this transfer completes."""
    delivery = event.delivery
    if delivery is not None and (delivery.message_format or 0) >> 8:
        return
    parts = event.parts
    if parts is not None:
        found, fault = parts.sections, parts.fault
    else:
        found, fault = walk(message)
    hidden = cover != SHOW and secret_message(event)
    if cover == KEYED and event.transfers > 1 and suspicious_octets(message):
        cover = TEXTS
    before = ', "sections": ['
    for section in found:
        out.append(before)
        put_section(out, message, section, cover, hidden)
        before = ", "
    if fault is not None:
        out.append(f'{before}{{"malformed": {fault_json(fault)}}}]')
    elif found:
        out.append("]")
    else:
        out.append(', "sections": []')


def put_section(out: list[str], message: bytes, section: Section, cover: int, hidden: bool) -> None:
    """One section with its value; of one with a token, what may be shown."""
    out.append(SECTION_STARTS.get(section.code, UNKNOWN_SECTION))
    if hidden and section.name in BODY_SECTIONS:
        out.append(f'{{"masked": {section.stop - section.start}}}}}')
        return
    value, faults = read_section(message, section)
    if hidden and section.name == CLAIMS:
        put_value(out, open_claims(value), TEXTS)
    elif section.code != AMQP_VALUE and isinstance(value, Body):
        put_body(out, value, cover)
    else:
        put_value(out, value, cover)
    if faults:
        out.append(f', "malformed": [{", ".join(map(fault_json, faults))}]')
    out.append("}")


def open_claims(value: Value) -> Value:
    """The application properties of a token's message, of which most are hidden."""
    if not isinstance(value, Map):
        return Hidden(value)
    return Map([(key, item if open_claim(key, item) else Hidden(item)) for key, item in value])


SECTION_STARTS: Final = {code: f'{{"name": "{name}", "value": ' for code, name in SECTIONS.items()}
UNKNOWN_SECTION: Final = '{"name": "unknown", "value": '


class Hidden:
    """Stands for a secret among values."""

    def __init__(self, value: Value) -> None:
        self.size = masked_size(value)


def masked_size(value: Value) -> str:
    """What is shown of a secret: how long it is, where it is a string or octets."""
    if isinstance(value, bytes):
        return str(len(value))
    return str(len(value.encode("utf-8", "replace"))) if isinstance(value, str) else "true"


def put_body(out: list[str], body: Body, cover: int) -> None:
    """A composite's fields; those that are absent are left out."""
    plan = PLANS[type(body)]
    if body is plan.empty:
        out.append("{}")
        return
    names = plan.first
    covered = plan.has_secrets and cover != SHOW
    wrong = body.wrong
    spoiled = len(wrong) > 0
    values = body.values
    place: i64 = 0
    size: i64 = len(names)
    while place < size:
        value: Value = values[place]
        if spoiled and place in wrong:
            value = wrong[place]
        if value is not None:
            out.append(names[place])
            names = plan.later
            if covered and plan.secrets[place]:
                out.append(f'{{"masked": {masked_size(value)}}}')
            elif plan.typed[place] and isinstance(value, Body):
                put_body(out, value, cover)
            elif plan.multiple[place] and isinstance(value, Array):
                put_items(out, value, "[", cover)
            else:
                put_value(out, value, cover)
        place += 1
    if len(values) > size:
        put_items(out, values[size:], '{"+": [' if names is plan.first else ', "+": [', cover)
        names = plan.later
    out.append("{}" if names is plan.first else "}")


def json_value(value: Value) -> str:
    """Any AMQP value by itself, with its secrets."""
    out: list[str] = []
    put_value(out, value, SHOW)
    return "".join(out)


def put_value(out: list[str], value: Value, cover: int) -> None:
    """Any AMQP value; the types that come most, first."""
    kind = type(value)
    if kind is int:
        put_number(out, value)
    elif kind is str:
        out.append(text(cleaned(value) if cover == TEXTS else value))
    elif value is True:
        out.append("true")
    elif value is False:
        out.append("false")
    elif value is None:
        out.append("null")
    elif kind is bytes:
        octets: bytes = value
        out.append('{"binary": "')
        out.append((masked_octets(octets) if cover == TEXTS else octets).hex())
        out.append('"}')
    elif kind is Map:
        put_map(out, value, cover)
    elif kind is Timestamp:
        out.append(f'{{"timestamp": {int.__repr__(value)}}}')
    elif isinstance(value, int):
        put_number(out, value)
    elif isinstance(value, Body):
        plan = PLANS[kind]
        if value is plan.empty:
            out.append(plan.bare)
        else:
            out.append(plan.tag)
            put_body(out, value, cover)
            out.append("}")
    else:
        put_rare(out, value, cover)


def put_rare(out: list[str], value: Value, cover: int) -> None:
    """The types that come less often."""
    kind = type(value)
    if kind is Symbol:
        out.append(f'{{"symbol": {text(cleaned(value) if cover == TEXTS else value)}}}')
    elif kind is list:
        put_items(out, value, "[", cover)
    elif kind is Array:
        put_array(out, value, cover)
    elif kind is Described:
        out.append('{"described": ')
        put_value(out, value.descriptor, cover)
        out.append(', "value": ')
        put_value(out, value.value, cover)
        out.append("}")
    elif kind is float or kind is Float:
        out.append(finite(value, "double" if kind is float else "float"))
    elif kind is Uuid:
        out.append(f'{{"uuid": "{value}"}}')
    elif kind is Char:
        out.append(f'{{"char": {text(value)}}}')
    elif kind is Decimal32 or kind is Decimal64 or kind is Decimal128:
        out.append(f'{{"{kind.__name__.lower()}": "{value}"}}')
    elif kind is Hidden:
        out.append(f'{{"masked": {value.size}}}')
    else:
        out.append(text(str(value)))


def put_items(out: list[str], values: Iterable[Value], before: str, cover: int) -> None:
    """Values in brackets, the first of which `before` ends with."""
    out.append(before)
    first = True
    for value in values:
        if not first:
            out.append(", ")
        first = False
        put_value(out, value, cover)
    out.append("]")


def put_array(out: list[str], value: Array, cover: int) -> None:
    """An array, and how its elements are described if they are."""
    put_items(out, value, '{"array": [', cover)
    if value.descriptors:
        put_items(out, value.descriptors, ', "described": [', cover)
    out.append("}")


def put_map(out: list[str], value: Map, cover: int) -> None:
    """An object where all keys are texts, differ and are no tags; else the pairs as they are."""
    if not simple(value):
        before = '{"map": ['
        for key, item in value:
            out.append(before)
            put_items(out, (key, under(key, item, cover)), "[", cover)
            before = ", "
        out.append("]}")
        return
    before = "{"
    for key, item in value:
        out.append(before)
        known = _keys.get(key)
        if known is not None:
            out.append(known)
            put_value(out, item, cover)
        else:
            out.append(json_key(key if cover == SHOW else clean_name(key)))
            put_value(out, under(key, item, cover), cover)
        before = ", "
    out.append("}" if value else "{}")


def under(key: Value, item: Value, cover: int) -> Value:
    """A value of a map, or what stands for it where its key is one of a credential."""
    if cover != SHOW and secret_key(key) and not harmless(item):
        return Hidden(item)
    return item


def simple(value: Map) -> bool:
    """Whether a map can be an object without loss."""
    seen: list[str] = []
    for key, _ in value:
        kind = type(key)
        if (kind is not str and kind is not Symbol) or key in TAGS:
            return False
        seen.append(key)
    if len(seen) < 2:
        return True
    return seen[0] != seen[1] if len(seen) == 2 else len(set(seen)) == len(seen)


def json_key(key: str) -> str:
    """A key as the start of a member."""
    made = f"{text(key)}: "
    # One that is not kept is looked at each time, as those of credentials must be.
    plain = not secret_key(key) and clean_name(key) == key
    if plain and len(_keys) < MAX_KEYS and len(key) <= MAX_KEPT_SYMBOL:
        _keys[str(key)] = made
    return made
