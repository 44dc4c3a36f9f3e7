"""Values of AMQP 1.0 as people write and read them (see `notation`).

`text_value` writes a Python value. What it writes in full, the notation reads back as the same
value in its canonical encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from dissectors.notation_text import (
    binary,
    double_text,
    float_text,
    list_text,
    map_text,
    quoted,
    time_text,
)
from dissectors.v1_0.bodies import Body
from dissectors.v1_0.encodings import BY_CODE
from dissectors.v1_0.tables import RESTRICTED_TYPE, SECTIONS, choice, primitive
from dissectors.v1_0.values import Array, Described, Map, Ulong, Value, type_of

INTEGERS = frozenset(
    ("ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long", "timestamp")
)
PLAIN_SYMBOL = re.compile(r"[A-Za-z0-9_.:/+*$-]+")


def text_value(value: Value, declared: str = "*", limit: int = 0) -> str:
    """One value in notation; with a `limit`, long strings and binaries are cut to it."""
    if isinstance(value, Body):
        return composite(value.row.name, field_texts(value, limit))
    if isinstance(value, Described):
        return _described_text(value, limit)
    if isinstance(value, Map):
        pairs = ((text_value(k, limit=limit), text_value(v, limit=limit)) for k, v in value)
        return map_text(pairs)
    if isinstance(value, Array):
        return _array(value, limit)
    if isinstance(value, list):
        return list_text(text_value(item, limit=limit) for item in value)
    kind = type_of(value)
    if type(value) is int:
        kind = primitive(declared) if primitive(declared) in INTEGERS else "long"
    return leaf(value, kind, declared, limit)


def leaf(value: Value, kind: str, declared: str = "*", limit: int = 0) -> str:
    """A value that contains no others; its type goes unsaid where it is the declared one."""
    if value is None:
        return "null"
    if primitive(declared) == kind:
        named = choice(declared, value)
        if named and kind != "symbol":
            return named
    if kind in _SELF_EVIDENT:
        return _literal(value, kind, limit)
    text = _literal(value, kind, limit)
    return text if primitive(declared) == kind else f"{kind} {text}"


_SELF_EVIDENT = frozenset(("boolean", "string", "symbol", "binary"))


def _literal(value: Value, kind: str, limit: int) -> str:
    if kind == "boolean":
        return "true" if value else "false"
    if kind in {"string", "char"}:
        return quoted(value, limit)
    if kind == "symbol":
        plain = PLAIN_SYMBOL.fullmatch(value) and not (limit and len(value) > limit)
        return f":{value}" if plain else f":{quoted(value, limit)}"
    if kind == "binary":
        return binary(value, limit)
    if kind == "timestamp":
        return _time(value)
    if kind == "float":
        return float_text(value)
    if kind == "double":
        return double_text(value)
    return str(int(value)) if kind in INTEGERS else str(value)


def _time(milliseconds: int) -> str:
    """ISO 8601 where the calendar reaches, else the bare number."""
    try:
        return time_text(timedelta(milliseconds=milliseconds), "milliseconds")
    except OverflowError:
        return str(int(milliseconds))


def composite(name: str, fields: Iterable[str], marks: str = "") -> str:
    """A composite value from its fields' texts."""
    return f"{name}{marks}({' '.join(fields)})"


def field_texts(body: Body, limit: int = 0) -> Iterable[str]:
    """The fields of a body that are there, each as `name=value`."""
    for place, field in enumerate(body.row.fields):
        value = body.wire(place)
        if value is not None:
            yield f"{field.name}={_field(value, field.type, field.multiple, limit)}"
    if len(body) > len(body.row.fields):
        surplus = (text_value(item, limit=limit) for item in body[len(body.row.fields) :])
        yield f"+{list_text(surplus)}"


def _field(value: Value, declared: str, multiple: bool, limit: int) -> str:
    if multiple and isinstance(value, Array) and plain_elements(value, declared):
        return list_text(text_value(item, declared, limit) for item in value)
    if multiple and isinstance(value, list):
        return "list" + text_value(value, limit=limit)
    return text_value(value, declared, limit)


def plain_elements(value: Array, declared: str) -> bool:
    """Whether an array is what a field of multiple values holds, so that its type goes unsaid."""
    row = BY_CODE.get(value.code)
    return row is not None and row.type == primitive(declared) and not value.descriptors


def descriptor_text(descriptor: Value, limit: int = 0) -> str:
    """A descriptor: numbers in hex, as registries list them."""
    if isinstance(descriptor, Ulong):
        return f"@ulong 0x{descriptor:x}"
    return "@" + text_value(descriptor, limit=limit)


def _described_text(value: Described, limit: int) -> str:
    inner = text_value(value.value, limit=limit)
    if isinstance(value.descriptor, Ulong) and section_row(value.descriptor):
        return f"{SECTIONS[value.descriptor]}({inner})"
    return f"{descriptor_text(value.descriptor, limit)} {inner}"


def section_row(code: int) -> bool:
    """Whether a descriptor names a section that is no composite: `data`, `amqp-value`, ..."""
    return SECTIONS.get(code, "") in RESTRICTED_TYPE


def _array(value: Array, limit: int) -> str:
    kind = BY_CODE[value.code].type if value.code in BY_CODE else "null"
    descriptors = "".join(descriptor_text(d, limit) + " " for d in value.descriptors)
    items = list_text(text_value(item, kind, limit) for item in value)
    return f"array {descriptors}{kind}{items}"
