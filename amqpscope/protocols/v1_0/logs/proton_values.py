r"""Values as qpid-proton prints them: `@source(40) [address="q", filter={:f=@:"d" "x"}]`.

The types of numbers are not printed, so fields get those that they declare, and others the usual
ones: an unsigned number is a ulong, another a long or a double.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from dissectors.v1_0.bodies import BODIES, Body
from dissectors.v1_0.encodings import ENCODINGS
from dissectors.v1_0.tables import primitive
from dissectors.v1_0.values import Array, Described, Map, Symbol, Ulong, Uuid, Value

_SPACE: Final = re.compile(r"\s*")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SYMBOL: Final = re.compile(r"[^\s,=\[\]{}\"]+")
_NUMBER: Final = re.compile(r"-?(0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)", re.IGNORECASE)
_WORD: Final = re.compile(r"(null|true|false)\b")
_UUID: Final = re.compile(r"UUID\(([0-9a-fA-F-]{36})\)")
_DECIMAL: Final = re.compile(r"D(32|64|128)\([0-9a-fA-F]*\)")
_TYPE: Final = re.compile(r"@([a-z-]+)\((\d+)\)")
_ARRAY: Final = re.compile(r"@<([a-z0-9]*)>")
_NAME: Final = re.compile(r"([a-z][a-z-]*)=")
_ESCAPE: Final = re.compile(r"\\x([0-9a-fA-F]{2})")
_ELEMENTS: Final = {row.type: row.code for row in sorted(ENCODINGS, key=lambda row: row.width)}
"""The format code that takes every value of a type."""
_WORDS: Final[dict[str, Value]] = {"null": None, "true": True, "false": False}


class ProtonText:
    """Reads one performative."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    @property
    def rest(self) -> str:
        """What was not read."""
        return self.text[self.at :]

    def read(self) -> Body:
        """The performative with its fields."""
        found = self.value("*")
        if not isinstance(found, Body):
            self.fail("a performative")
        return found

    def value(self, declared: str) -> Value:
        """Any value; a number gets the type that its place declares."""
        self.match(_SPACE)
        if self.text.startswith("@", self.at):
            return self.described_value()
        if (found := self.match(_WORD)) is not None:
            return _WORDS[found[1]]
        if self.eat(":"):
            return Symbol(self.symbol())
        if self.eat("b") and self.text.startswith('"', self.at):
            return self.octets()
        if self.text.startswith('"', self.at):
            return self.octets().decode("utf-8", "surrogateescape")
        if self.eat("["):
            return self.items("]", declared)
        if self.eat("{"):
            return self.pairs()
        return self.scalar(declared)

    def scalar(self, declared: str) -> Value:
        """A number, a UUID, or one of the few that proton prints as nothing or in halves."""
        if (found := self.match(_UUID)) is not None:
            return Uuid(bytes.fromhex(found[1].replace("-", "")))
        if self.match(_DECIMAL) is not None or self.text[self.at : self.at + 1] in (",", "}", "]"):
            return None  # a decimal, or a char
        found = self.match(_NUMBER)
        if found is None:
            self.fail("a value")
        if "0x" in found[0]:
            number = int(found[0], 16)
            return number if declared != "*" else Ulong(number)
        return float(found[0]) if not found[0].lstrip("-").isdigit() else int(found[0])

    def described_value(self) -> Value:
        """`@name(code) [fields]`, `@<type>[items]` or `@descriptor value`."""
        if (found := self.match(_TYPE)) is not None and found[1] in BODIES:
            return self.body(found[1])
        if (found := self.match(_ARRAY)) is not None:
            self.expect("[")
            kind = found[1] or "null"
            if kind not in _ELEMENTS:
                self.fail("an array of a known type")
            return Array(_ELEMENTS[kind], self.items("]", kind))
        self.expect("@")
        descriptor = self.value("ulong")
        if type(descriptor) is int:
            descriptor = Ulong(descriptor)
        self.expect(" ")
        return Described(descriptor, self.value("*"))

    def body(self, name: str) -> Body:
        """The fields of a composite type."""
        kind = BODIES[name]
        places = {field.name: place for place, field in enumerate(kind.row.fields)}
        values: list[Value] = [None] * len(places)
        self.match(_SPACE)
        self.expect("[")
        while not self.eat("]"):
            self.match(_SPACE)
            found = self.match(_NAME)
            if found is None:
                # What is behind the last item, and should not be there, has no name.
                self.value("*")
            elif found[1] in places:
                place = places[found[1]]
                values[place] = self.value(primitive(kind.row.fields[place].type))
            else:
                self.fail(f"a field of {name}")
            self.eat(",")
        return kind(*values)

    def items(self, closing: str, declared: str) -> list[Value]:
        """The items of a list or array."""
        found: list[Value] = []
        while not self.eat(closing):
            found.append(self.value(declared))
            self.eat(",")
            self.match(_SPACE)
        return found

    def pairs(self) -> Map:
        """The entries of a map."""
        found: list[tuple[Value, Value]] = []
        while not self.eat("}"):
            key = self.value("*")
            self.expect("=")
            found.append((key, self.value("*")))
            self.eat(",")
            self.match(_SPACE)
        return Map(found)

    def symbol(self) -> str:
        """A symbol, quoted where it has odd characters."""
        if self.text.startswith('"', self.at):
            return self.octets().decode("ascii", "surrogateescape")
        found = self.match(_SYMBOL)
        return "" if found is None else found[0]

    def octets(self) -> bytes:
        """What is between quotes."""
        found = self.match(_STRING)
        if found is None:
            self.fail("the end of a string")
        return _ESCAPE.sub(lambda one: chr(int(one[1], 16)), found[1]).encode("latin-1")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What is here, if it is of a kind; it is read then."""
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def eat(self, character: str) -> bool:
        """Whether a character is here; it is read then."""
        if not self.text.startswith(character, self.at):
            return False
        self.at += 1
        return True

    def expect(self, character: str) -> None:
        """Read a character that must be here."""
        if not self.eat(character):
            self.fail(repr(character))

    def fail(self, expected: str) -> NoReturn:
        """Something else is here."""
        raise ValueError(f"expected {expected} at {self.text[self.at : self.at + 20]!r}")
