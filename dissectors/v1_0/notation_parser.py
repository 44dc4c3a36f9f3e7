"""Text straight to octets of AMQP 1.0 (see `notation`).

Each method takes what it reads off the text and returns its octets, so that every encoding the
text can name, right or wrong, reaches the wire just as it is written.
"""

from __future__ import annotations

import re
from typing import Final

from dissectors.notation_scanner import HEX, INTEGER, NAME, WORD
from dissectors.v1_0.decimals import FORMATS
from dissectors.v1_0.encode import As, encode
from dissectors.v1_0.encodings import BY_CODE, CODES, DESCRIBED, TYPES
from dissectors.v1_0.notation_literals import Literals
from dissectors.v1_0.notation_text import INTEGERS
from dissectors.v1_0.rows import Composite, Restricted
from dissectors.v1_0.tables import COMPOSITE, RESTRICTED, RESTRICTED_TYPE, primitive
from dissectors.v1_0.values import Symbol, Ulong, Value

MAX_DEPTH: Final = 150
"""Values within values; the codec gives up earlier."""

SIZED: Final = {
    "binary": (0xA0, 0xB0), "string": (0xA1, 0xB1), "symbol": (0xA3, 0xB3),
    "list": (0xC0, 0xD0), "map": (0xC1, 0xD1), "array": (0xE0, 0xF0),
}  # fmt: skip
"""The short and the wide encoding of each type that has a size."""

SPELLED: Final = frozenset((0x53, 0x80, 0xA3, 0xB3))
"""The encodings of a descriptor that names a known type."""
_BARE = INTEGERS | {"float", "double", "uuid", *FORMATS}
"""Types whose literal is a bare word."""
_CHOICES = frozenset(name for row in RESTRICTED for name, _ in row.choices)
_SAYING = frozenset((*TYPES, *COMPOSITE, *RESTRICTED_TYPE, *_CHOICES, "raw"))
"""Words that are something else than such a literal."""


def compound(code: int, count: int, inside: bytes) -> bytes:
    """A list, map or array with its constructor, size and count."""
    if code == 0x45:
        if count:
            raise ValueError("list0 holds nothing")
        return b"\x45"
    width = BY_CODE[code].width
    size = (len(inside) + width).to_bytes(width, "big")
    return bytes((code,)) + size + count.to_bytes(width, "big") + inside


def fits_short(count: int, size: int) -> bool:
    """Whether so many items of so many octets fit the short form of a list, map or array."""
    return count < 256 and size < 255


class Parser(Literals):
    """A walk over the text of values."""

    depth = 0

    def value(self, declared: str = "*", multiple: bool = False, code: int | None = None) -> bytes:
        """A value with its constructor; `code` is an array element's."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"values are nested more than {MAX_DEPTH} deep")
        octets = self.any_value(declared, multiple, code)
        self.depth -= 1
        return octets

    def any_value(self, declared: str, multiple: bool, code: int | None) -> bytes:
        """What `value` reads, told apart by its first characters."""
        kind = primitive(declared)
        first = self.peek()
        start = self.at
        if first == '"':
            quoted = "char" if kind == "char" else "string"
            return self.leaf(self.literal(quoted), quoted, code, start)
        if first == ":":
            return self.leaf(self.symbol(), "symbol", code, start)
        if first == "[":
            return self.array_of(declared, []) if multiple else self.read_list(code)
        if first == "{":
            return self.read_map(code)
        if first == "@" and code is None:
            self.at += 1
            return bytes((DESCRIBED,)) + self.value() + self.value()
        if self.text.startswith('b"', start) or (first == "0" and kind == "binary"):
            return self.leaf(self.binary(), "binary", code, start)
        found = NAME.match(self.text, start)
        if found is not None and (kind not in _BARE or found[0] in _SAYING):
            return self.word_value(found, declared, code)
        if kind in _BARE:
            return self.leaf(self.literal(kind), kind, code, start)
        return self.number(code, start)

    def number(self, code: int | None, start: int) -> bytes:
        """A number or hex whose type nothing declares: long, double or binary."""
        if HEX.match(self.text, start):
            return self.leaf(self.binary(), "binary", code, start)
        word = WORD.match(self.text, start)
        if word is None or not re.match(r"[+-]?\d", word[0]):
            self.fail("expected a value")
        kind = "long" if INTEGER.fullmatch(word[0]) else "double"
        return self.leaf(self.literal(kind), kind, code, start)

    def leaf(self, value: Value, kind: str, code: int | None, start: int) -> bytes:
        """A value that contains no others, in its canonical or the marked encoding."""
        if code is not None and BY_CODE[code].type != kind:
            self.fail(f"expected a {BY_CODE[code].type}, this is a {kind}", start)
        code = self.mark() if code is None else code
        if code is None:
            return self.make_octets(lambda: encode(value, kind), start)
        chosen = code
        if BY_CODE[chosen].type != kind:
            self.fail(
                f"0x{chosen:02x} is the code of a {BY_CODE[chosen].type}, not a {kind}", start
            )
        return self.make_octets(lambda: encode(As(chosen, value), kind), start)

    def word_value(self, found: re.Match[str], declared: str, code: int | None) -> bytes:
        """A value that begins with a word."""
        name, start = found[0], found.start()
        self.at = found.end()
        if name in {"true", "false", "null"}:
            value = None if name == "null" else name == "true"
            return self.leaf(value, "null" if name == "null" else "boolean", code, start)
        if name == "raw" and code is None:
            self.peek()
            return self.binary()
        if name == "list" and self.peek() == "[":
            return self.read_list(code)
        if name == "map" and self.peek() == "{":
            return self.read_map(code)
        if name == "array":
            return self.array(code)
        if name in TYPES:
            self.peek()
            return self.leaf(self.literal(name), name, code, start)
        row = COMPOSITE.get(name) or RESTRICTED_TYPE.get(name)
        if (
            row is not None
            and row.code is not None
            and self.text[self.at : self.at + 1] in {"(", "'"}
        ):
            return self.composite(row) if isinstance(row, Composite) else self.section(row)
        return self.choice(name, declared, code, start)

    def choice(self, name: str, declared: str, code: int | None, start: int) -> bytes:
        """A restricted type's value by the spec's name."""
        row = RESTRICTED_TYPE.get(declared)
        choices = dict(row.choices) if row is not None else {}
        if name not in choices:
            known = f", such as {', '.join(choices)}" if choices else ""
            self.fail(f"expected a value{known}", start)
        kind = primitive(declared)
        value = choices[name]
        return self.leaf(Symbol(value) if kind == "symbol" else value, kind, code, start)

    # values that contain others

    def sequence(self, opening: str, closing: str, declared: str, code: int | None) -> list[bytes]:
        """Values in brackets."""
        self.expect(opening)
        items = []
        while self.peek() != closing:
            if not self.peek():
                self.fail(f"expected {closing}")
            items.append(self.value(declared, code=code))
        self.at += 1
        return items

    def compound(self, kind: str, items: list[bytes], code: int | None, start: int) -> bytes:
        """A list or map of items, in the shortest or the marked encoding."""
        inside = b"".join(items)
        if code is None:
            code = self.mark()
        if code is None:
            short, wide = SIZED[kind]
            code = short if fits_short(len(items), len(inside)) else wide
            code = 0x45 if kind == "list" and not items else code
        chosen = code
        if BY_CODE[chosen].type != kind:
            self.fail(f"0x{chosen:02x} is not the code of a {kind}", start)
        return self.make_octets(lambda: compound(chosen, len(items), inside), start)

    def read_list(self, code: int | None) -> bytes:
        """`[...]`."""
        start = self.at
        return self.compound("list", self.sequence("[", "]", "*", None), code, start)

    def read_map(self, code: int | None) -> bytes:
        """`{key=value ...}`."""
        start = self.at
        self.expect("{")
        items = []
        while self.peek() != "}":
            if not self.peek():
                self.fail("expected }")
            items.append(self.value())
            self.expect("=")
            items.append(self.value())
        self.at += 1
        return self.compound("map", items, code, start)

    def array(self, code: int | None) -> bytes:
        """`array uint[1 2 3]`, perhaps with descriptors: `array @:a uint[1]`."""
        descriptors = []
        while self.peek() == "@":
            self.at += 1
            descriptors.append(self.value())
        self.peek()
        start = self.at
        kind = self.take(NAME, "the type of the elements")[0]
        if kind not in TYPES:
            self.fail("expected the type of the elements", start)
        return self.array_of(kind, descriptors, self.mark(), code)

    def array_of(
        self,
        declared: str,
        descriptors: list[bytes],
        element: int | None = None,
        code: int | None = None,
    ) -> bytes:
        """Elements in brackets, all with the same constructor."""
        kind = primitive(declared)
        start = self.at
        wide = SIZED[kind][1] if kind in SIZED else CODES[kind][0].code
        if element is not None and BY_CODE[element].type != kind:
            self.fail(f"0x{element:02x} is not the code of a {kind}")
        contents = [e[1:] for e in self.sequence("[", "]", declared, element or wide)]
        if element is None:
            element, contents = shorten(kind, wide, contents)
        constructor = b"".join(bytes((DESCRIBED,)) + d for d in descriptors) + bytes((element,))
        inside = constructor + b"".join(contents)
        code = self.mark() if code is None else code
        if code is None:
            code = 0xE0 if fits_short(len(contents), len(inside)) else 0xF0
        chosen = code
        if BY_CODE[chosen].type != "array":
            self.fail(f"0x{chosen:02x} is not the code of an array", start)
        return self.make_octets(lambda: compound(chosen, len(contents), inside), start)

    def composite(self, row: Composite) -> bytes:
        """`name(field=value ...)`; the name is taken already."""
        spelled, code = self.spelling()
        self.expect("(")
        octets = self.body(row, spelled, code)
        self.expect(")")
        return octets

    def spelling(self) -> tuple[int, int | None]:
        """The marks after a composite's name: its descriptor's encoding and its list's."""
        spelled, code = 0x53, None
        while self.text.startswith("'", self.at):
            start = self.at
            mark = self.mark()
            if mark in SPELLED:
                spelled = mark
            elif mark is not None and BY_CODE[mark].type == "list":
                code = mark
            else:
                self.fail("expected the code of a descriptor (53, 80, a3, b3) or a list", start)
        return spelled, code

    def body(self, row: Composite, spelled: int, code: int | None) -> bytes:
        """The described list of a composite, up to what ends its fields."""
        start = self.at
        items = self.fields(row)
        inside = b"".join(items)
        if code is None:
            code = 0xC0 if fits_short(len(items), len(inside)) else 0xD0
            code = code if items else 0x45
        chosen = code
        octets = self.make_octets(lambda: compound(chosen, len(items), inside), start)
        return descriptor(row, spelled) + octets

    def fields(self, row: Composite) -> list[bytes]:
        """`field=value` in any order, then perhaps `+[...]`: all positions up to the last named."""
        places = {field.name: place for place, field in enumerate(row.fields)}
        given: dict[int, bytes] = {}
        while self.peek() not in {"", ")", "|"}:
            if self.eat("+"):
                surplus = self.sequence("[", "]", "*", None)
                return [given.get(i, b"\x40") for i in range(len(row.fields))] + surplus
            start = self.at
            found = NAME.match(self.text, start)
            if found is None or found[0] not in places:
                self.fail(f"expected a field of {row.name}: {', '.join(places) or 'it has none'}")
            place = places[found[0]]
            self.at = found.end()
            if place in given:
                self.fail(f"{found[0]} is given twice", start)
            self.expect("=")
            given[place] = self.value(row.fields[place].type, row.fields[place].multiple)
        return [given.get(i, b"\x40") for i in range(max(given, default=-1) + 1)]

    def section(self, row: Restricted) -> bytes:
        """`data(b"...")`: a section that is no composite; the name is taken already."""
        spelled, code = self.spelling()
        if code is not None:
            self.fail(f"{row.name} is no list by itself")
        self.expect("(")
        octets = descriptor(row, spelled) + self.value(row.source)
        self.expect(")")
        return octets


def descriptor(row: Composite | Restricted, spelled: int) -> bytes:
    """The descriptor of a known type in one of its encodings."""
    name: Value = Symbol(row.symbol) if spelled in {0xA3, 0xB3} else Ulong(row.code or 0)
    return bytes((DESCRIBED,)) + encode(As(spelled, name))


def shorten(kind: str, wide: int, contents: list[bytes]) -> tuple[int, list[bytes]]:
    """Elements in their type's short encoding, if all fit it."""
    if kind not in SIZED:
        return wide, contents
    if kind in {"binary", "string", "symbol"}:
        if any(len(c) - 4 > 255 for c in contents):
            return wide, contents
        return SIZED[kind][0], [c[3:] for c in contents]
    if not all(fits_short(int.from_bytes(c[4:8], "big"), len(c) - 8) for c in contents):
        return wide, contents
    return SIZED[kind][0], [bytes((c[3] - 3, c[7])) + c[8:] for c in contents]
