"""Performatives as programs print them: a name, then fields by name in brackets, without quotes.

    Open{ContainerID : c, Hostname: h}
    open(container-id:c,host-name:h)
    Open{ containerId='c', hostname='h'}

Where a value ends is known by the name of the next field. What such a text does not say, as the
types within a map or a filter, is left out; so is what stands for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from dissectors.v1_0.bodies import BODIES
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.encodings import ENCODINGS
from dissectors.v1_0.rows import Field
from dissectors.v1_0.tables import RESTRICTED_TYPE, primitive
from dissectors.v1_0.values import Array, Map, Symbol, Value

SYMBOLS: Final = max(row.code for row in ENCODINGS if row.type == "symbol")
COMPOSITES: Final = frozenset(("source", "target", "delivery-state", "outcome"))
"""What fields of any type must provide that are printed as composites."""
GUESSES: Final = frozenset(("filter-set", "node-properties", "map"))
"""Types of maps whose values are not printed in a way that shows what they are."""
DESCRIBED: Final = b"\0"
OPENING, CLOSING = "{[(", "}])"
BRACKETS: Final = tuple(zip(OPENING, CLOSING, strict=True))
_COMPOSITE: Final = re.compile(r"[&*]?(?P<name>[A-Za-z][\w-]*)(?:[{(](?P<inside>.*)[})])?$", re.S)
_ESCAPE: Final = re.compile(r"\\x([0-9a-fA-F]{2})")
_KEY: Final = r"(?:^|{})([\w.:/-]+?){}"


@dataclass(frozen=True)
class Style:
    """How one library prints."""

    equals: str
    """What is between a name and its value."""
    names: dict[str, str] = field(default_factory=dict)
    """What it calls fields, where that does not follow from the specification's names."""
    camel: bool = False
    """Names of fields and types are in one word, with capitals."""
    nothing: frozenset[str] = frozenset()
    """What it prints for no value."""
    separator: str = ","
    """What is between the entries of a list or map."""
    hexadecimal: bool = True
    """How octets are printed; else those that cannot be printed are as \\xNN."""
    zeros: bool = False
    """Fields that are left out are printed as if they were zero or false."""

    def own_name(self, name: str) -> str:
        """What the library calls a field."""
        if name in self.names:
            return self.names[name]
        return camel(name) if self.camel else name


def camel(name: str) -> str:
    """A name in one word."""
    first, *rest = name.split("-")
    return first + "".join(map(str.capitalize, rest))


def body_of(name: str, text: str, style: Style, zeros: Iterable[str] = ()) -> Body:
    """A composite from what is printed between its brackets; `zeros` are 0 where that has none."""
    kind = BODIES.get(name)
    if kind is None:
        raise ValueError(f"{name} is not a type of AMQP")
    rows = kind.row.fields
    found = split(text, [style.own_name(row.name) for row in rows], style.equals)
    values: list[Value] = []
    for row in rows:
        value = value_of(row, found.get(style.own_name(row.name)), style)
        if value is not None and value == row.default:
            value = None  # printed whether or not it was sent, and without it no frame is too large
        values.append(0 if value is None and row.name in zeros else value)
    return kind(*values)


def split(text: str, names: Iterable[str], equals: str) -> dict[str, str]:
    """The values of fields, each up to the name of the next one at the same depth."""
    listed = list(names)
    known = "|".join(sorted(map(re.escape, listed), key=len, reverse=True))
    depths = depths_of(text)
    found = list(re.finditer(rf"(?:^|(?<=[\s,]))_?({known})\s?{equals}\s?", text))
    marks = [mark for mark in found if depths[mark.start()] == 0]
    if any(text.count(one) != text.count(other) for one, other in BRACKETS):
        marks = in_order(found, listed)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {
        mark[1]: text[mark.end() : end].strip().rstrip(",")
        for mark, end in zip(marks, ends, strict=False)
    }


def in_order(found: list[re.Match[str]], names: list[str]) -> list[re.Match[str]]:
    """Names of fields in their order, where brackets within values hide how deep they are."""
    marks: list[re.Match[str]] = []
    for mark in found:
        if not marks or names.index(mark[1]) > names.index(marks[-1][1]):
            marks.append(mark)
    return marks


def frame_without_payload(body: Body, channel: int, size: int) -> tuple[bytes, int]:
    """A frame of whose payload the size is known, and how many octets are missing of it."""
    # A message begins with a descriptor: one octet shows that the performative is whole.
    known = DESCRIBED if size else b""
    lost = max(0, size - len(known))
    octets = encode_frame(body, channel, known + bytes(lost))
    return octets[: len(octets) - lost], lost


def depths_of(text: str) -> list[int]:
    """How many brackets are open at each character."""
    depth, found = 0, []
    for each in text:
        depth -= each in CLOSING and depth > 0
        found.append(depth)
        depth += each in OPENING
    return found


def value_of(row: Field, text: str | None, style: Style) -> Value:
    """A field from what is printed of it."""
    text = None if text is None else unquoted(text)
    declared = "binary" if row.requires == "txn-id" else primitive(row.type)
    empty = text == "" and declared == "binary" and not style.hexadecimal
    if text is None or (text in style.nothing and not empty):
        return None
    if row.requires in COMPOSITES or row.type == "error":
        return composite(row, text, style)
    if declared == "map":
        return map_of(text, style) if row.type not in GUESSES else None
    if row.multiple:
        return Array(SYMBOLS, [Symbol(each) for each in entries(text, style)]) or None
    if declared in ("string", "*"):
        return text
    if declared == "binary":
        return bytes.fromhex(text) if style.hexadecimal else unquote(text)
    return word(row, declared, text, style)


def unquoted(text: str) -> str:
    """A text without the quotes around it."""
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def word(row: Field, declared: str, text: str, style: Style) -> Value:
    """A number, flag or symbol, which may be printed as the name of a choice."""
    choices = RESTRICTED_TYPE[row.type].choices if row.type in RESTRICTED_TYPE else ()
    named = dict(choices).get(text.lower().replace("_", "-"), text)
    if declared == "symbol":
        return Symbol(str(named))
    if named in ("true", "True", "false", "False"):
        named = named in ("true", "True")
    value = named if isinstance(named, bool) else int(named)
    # Zero or false of a field that may be left out says nothing of whether it was.
    return None if style.zeros and not value and not row.mandatory else value


def composite(row: Field, text: str, style: Style) -> Body | None:
    """A described value; None where it is not printed in a way that says what it is."""
    found = _COMPOSITE.match(text)
    if found is None:
        return None
    name = re.sub("(?<=[a-z])(?=[A-Z])", "-", found["name"]).lower()
    if row.name in ("source", "target") and name in ("source", "target"):
        name = row.name  # some print both of them by one name
    return body_of(name, found["inside"] or "", style) if name in BODIES else None


def entries(text: str, style: Style) -> list[str]:
    """The entries of a list in brackets."""
    inside = text[1:-1] if text[:1] in OPENING and text[-1:] in CLOSING else text
    return [each.strip() for each in inside.split(style.separator) if each.strip()]


def map_of(text: str, style: Style) -> Map | None:
    """A map of texts by symbols, in brackets."""
    inside = re.sub(r"^\w*[{\[(]|[}\])]$", "", text)
    marks = list(re.finditer(_KEY.format(rf"{style.separator}\s*", style.equals), inside))
    ends = [*(mark.start() for mark in marks[1:]), len(inside)]
    pairs = [
        (Symbol(mark[1]), inside[mark.end() : end].strip())
        for mark, end in zip(marks, ends, strict=False)
    ]
    return Map(pairs) if pairs else None


def unquote(text: str) -> bytes:
    """Octets as they are quoted: what is not printable as \\xNN."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text).encode("latin-1")
