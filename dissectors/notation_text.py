"""AMQP values as people write and read them: the words of the notation (see `notation`).

`text_value` writes a Python value. What it writes in full, the notation reads back as the same
value in its canonical encoding.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from dissectors.v1_0.bodies import Body
from dissectors.v1_0.encodings import BY_CODE
from dissectors.v1_0.types import RESTRICTED_TYPE, SECTIONS, choice, primitive
from dissectors.v1_0.values import Array, Described, Map, Ulong, Value, type_of

INTEGERS = frozenset(
    ("ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long", "timestamp")
)
PLAIN_SYMBOL = re.compile(r"[A-Za-z0-9_.:/+*$-]+")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_HIDDEN = re.compile(r"[\"\\\x00-\x1f\x7f-\xa0\xad\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
_HIDDEN_OCTET = re.compile(rb"[^\x20-\x7e]|[\"\\]")
_FEW_ESCAPES = 0.25
"""Binary with more unprintable octets than this part is written in hex."""


def text_value(value: Value, declared: str = "*", limit: int = 0) -> str:
    """One value in notation; with a `limit`, long strings and binaries are cut to it."""
    if isinstance(value, Body):
        return composite(value.row.name, field_texts(value, limit))
    if isinstance(value, Described):
        return _described(value, limit)
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
        return _float(value)
    if kind == "double":
        return repr(float(value))
    return str(int(value)) if kind in INTEGERS else str(value)


def quoted(text: str, limit: int = 0) -> str:
    """A string in double quotes, one line, nothing invisible."""
    cut = limit and len(text) > limit
    inner = _HIDDEN.sub(_escape, text[:limit] if cut else text)
    return f'"{inner}"…({len(text)} characters)' if cut else f'"{inner}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    point = ord(character)
    escape = f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"
    return _ESCAPES.get(character, escape)


def binary(octets: bytes, limit: int = 0) -> str:
    """Binary as text where it mostly is text, else in hex."""
    cut = limit and len(octets) > limit
    shown = bytes(octets[:limit] if cut else octets)
    hidden = len(_HIDDEN_OCTET.findall(shown))
    if hidden <= 1 or hidden < len(shown) * _FEW_ESCAPES:
        text = f'b"{_HIDDEN.sub(_escape, shown.decode("latin-1"))}"'
        if any(octet > 0x7E for octet in shown):
            text = re.sub(r"[\x7f-\xff]", lambda found: f"\\x{ord(found[0]):02x}", text)
        return f"{text}…({len(octets)} octets)" if cut else text
    return hex_text(octets, limit)


def hex_text(octets: bytes, limit: int = 0) -> str:
    """Octets in hex."""
    if limit and len(octets) > limit:
        return f"0x{octets[:limit].hex()}…({len(octets)} octets)"
    return f"0x{octets.hex()}"


def _time(milliseconds: int) -> str:
    """ISO 8601 where the calendar reaches, else the bare number."""
    try:
        moment = EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(int(milliseconds))
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _float(value: float) -> str:
    """The shortest decimal that gives the same binary32."""
    octets = struct.pack(">f", value)
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack(">f", float(text)) == octets:
                return text
        except OverflowError:
            continue  # rounded up past the largest
    return f"{value:.9g}"


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


def list_text(items: Iterable[str]) -> str:
    """A list from its items' texts."""
    return f"[{' '.join(items)}]"


def map_text(pairs: Iterable[tuple[str, str]]) -> str:
    """A map from its pairs' texts."""
    return f"{{{' '.join(f'{key}={value}' for key, value in pairs)}}}"


def descriptor_text(descriptor: Value, limit: int = 0) -> str:
    """A descriptor: numbers in hex, as registries list them."""
    if isinstance(descriptor, Ulong):
        return f"@ulong 0x{descriptor:x}"
    return "@" + text_value(descriptor, limit=limit)


def _described(value: Described, limit: int) -> str:
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
