"""The nodes of a span tree to text (see `notation`).

Each value is written plainly where its canonical encoding is what was on the wire, with a mark
where another one does, and as `raw 0x...` where no encoding of the value gives those octets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dissectors.notation_text import binary, hex_text, list_text, map_text
from dissectors.tree import Node
from dissectors.v1_0.encode import As, encode
from dissectors.v1_0.encodings import BY_CODE, CODES
from dissectors.v1_0.message import section_code
from dissectors.v1_0.notation_parser import SIZED, SPELLED, fits_short
from dissectors.v1_0.notation_text import composite, leaf
from dissectors.v1_0.rows import Composite, Field
from dissectors.v1_0.tables import COMPOSITE, RESTRICTED_TYPE, SECTIONS, primitive

_ANY = Field("", "*")


class Inexact(Exception):
    """These octets are not what their value says; only hex is exact."""


class Writer:
    """Texts of the nodes of one tree."""

    def __init__(self, raw: bytes, limit: int = 0) -> None:
        self.raw = raw
        self.limit = limit

    def value(self, node: Node, field: Field = _ANY) -> str:
        """A value with its constructor, whatever it is."""
        try:
            return self.exact(node, field, node.start + 1)
        except Inexact:
            return self.raw_text(node)

    def raw_text(self, node: Node) -> str:
        """The octets of a node and nothing else, in hex, for the constructor is no text."""
        return f"raw {hex_text(self.raw[node.start : node.end], self.limit)}"

    def octets(self, node: Node) -> str:
        """Octets that are no value, perhaps text."""
        return f"raw {binary(self.raw[node.start : node.end], self.limit)}"

    def exact(self, node: Node, field: Field, at: int) -> str:
        """A value by its type; `at` is behind the constructor, if it has one (elements do not)."""
        kind = node.type
        if kind == "list":
            return self.list_text(node, field.multiple, at)
        if kind == "map":
            return self.map_text(node, at)
        if kind == "array":
            return self.array(node, field, at)
        if kind in COMPOSITE:
            marks, texts = self.composite(node)
            return composite(kind, texts, marks)
        if kind == "described":
            return self.described_text(node)
        if kind == "unknown":
            raise Inexact
        return self.leaf(node, field.type, at)

    def leaf(self, node: Node, declared: str, at: int) -> str:
        """A value that contains no others."""
        if node.value is None and node.type != "null":
            raise Inexact  # it could not be read
        octets = bytes((node.code,)) + self.raw[at : node.end]
        try:
            plain = at > node.start and encode(node.value, node.type) == octets
            if not plain and encode(As(node.code, node.value), node.type) != octets:
                raise Inexact
        except (ValueError, OverflowError, TypeError, KeyError):
            raise Inexact from None
        text = leaf(node.value, node.type, declared, self.limit)
        return text if plain or at == node.start else f"{text}'{node.code:02x}"

    def prove_count(self, node: Node, items: Sequence[Node], at: int, first: int) -> None:
        """Prove that size and count say what the items are; `first` is where they begin."""
        width = BY_CODE[node.code].width
        size = int.from_bytes(self.raw[at : at + width], "big")
        count = int.from_bytes(self.raw[at + width : at + 2 * width], "big")
        if at + width + size != node.end or count != len(items):
            raise Inexact
        for item in items:
            if item.start != first:
                raise Inexact
            first = item.end
        if first != node.end:
            raise Inexact

    def mark(self, node: Node, count: int, at: int) -> str:
        """The mark of a list, map or array whose code is not the shortest that fits."""
        if at == node.start:
            return ""
        width = BY_CODE[node.code].width
        short, wide = SIZED[BY_CODE[node.code].type]
        best = short if fits_short(count, node.end - at - 2 * width) else wide
        if BY_CODE[node.code].type == "list" and not count:
            best = 0x45
        return "" if best == node.code else f"'{node.code:02x}"

    def list_text(self, node: Node, multiple: bool, at: int) -> str:
        """A list; a field of multiple values takes bare brackets for an array."""
        word = "list" if multiple else ""
        if node.code == 0x45:
            return f"{word}[]"
        self.prove_count(node, node.children, at, at + 2 * BY_CODE[node.code].width)
        texts = list_text(map(self.value, node.children))
        return f"{word}{texts}{self.mark(node, len(node.children), at)}"

    def map_text(self, node: Node, at: int) -> str:
        """A map."""
        items = node.children
        self.prove_count(node, items, at, at + 2 * BY_CODE[node.code].width)
        if len(items) % 2:
            raise Inexact
        texts = [self.value(item) for item in items]
        text = map_text(zip(texts[::2], texts[1::2], strict=True))
        return text + self.mark(node, len(items), at)

    def array(self, node: Node, field: Field, at: int) -> str:
        """An array: its type and elements, or only these where the field declares the type."""
        place = at + 2 * BY_CODE[node.code].width
        described = 0
        while place < node.end and self.raw[place] == 0 and described < len(node.children):
            place = node.children[described].end
            described += 1
        if place >= node.end or self.raw[place] not in BY_CODE:
            raise Inexact
        element = BY_CODE[self.raw[place]]
        descriptors, items = node.children[:described], node.children[described:]
        self.prove_count(node, items, at, place + 1)
        texts = list_text(self.exact(n, Field("", element.type), n.start) for n in items)
        mark = self.mark(node, len(items), at)
        own = self.element_mark(element.code, items)
        if field.multiple and not own and not described and element.type == primitive(field.type):
            texts = list_text(self.exact(n, field._replace(multiple=False), n.start) for n in items)
            return f"{texts}{mark}"
        words = "".join(f"{self.descriptor(d)} " for d in descriptors)
        return f"array {words}{element.type}{own}{texts}{mark}"

    def element_mark(self, code: int, items: Sequence[Node]) -> str:
        """The mark of elements whose code is not the one they have by default."""
        kind = BY_CODE[code].type
        if kind not in SIZED:
            return "" if code == CODES[kind][0].code else f"'{code:02x}"
        short, wide = SIZED[kind]
        if code == wide:
            if kind in {"binary", "string", "symbol"}:
                fit = all(n.end - n.start - 4 < 256 for n in items)
            else:
                fit = all(fits_short(self.count(n), n.end - n.start - 8) for n in items)
            return f"'{code:02x}" if fit else ""
        return "" if code == short else f"'{code:02x}"

    def count(self, node: Node) -> int:
        """How many items an array's element in wide encoding says it has."""
        return int.from_bytes(self.raw[node.start + 4 : node.start + 8], "big")

    def composite(self, node: Node) -> tuple[str, list[str]]:
        """The marks and the fields of a described list."""
        row = COMPOSITE[node.type]
        descriptor, items = node.children[0], node.children[1:]
        at = descriptor.end + 1
        if node.code == 0x45:
            marks = ""
        else:
            self.prove_count(node, items, at, at + 2 * BY_CODE[node.code].width)
            marks = self.mark(node._replace(start=descriptor.end), len(items), at)
        return self.spelling(descriptor) + marks, self.fields(row, items)

    def fields(self, row: Composite, items: Sequence[Node]) -> list[str]:
        """The fields that are there; a null only where it is the last item."""
        texts = []
        for place, (field, item) in enumerate(zip(row.fields, items, strict=False), 1):
            if item.code != 0x40 or place == len(items):
                texts.append(f"{field.name}={self.value(item, field)}")
        if len(items) > len(row.fields):
            texts.append("+" + list_text(map(self.value, items[len(row.fields) :])))
        return texts

    def spelling(self, descriptor: Node) -> str:
        """The mark of a known type's descriptor."""
        if descriptor.code not in SPELLED:
            raise Inexact
        return "" if descriptor.code == 0x53 else f"'{descriptor.code:02x}"

    def descriptor(self, node: Node) -> str:
        """A descriptor that names nothing we know; numbers in hex, as registries list them."""
        text = self.value(node)
        found = re.fullmatch(r"ulong (\d+)('..)?", text)
        return f"@{text}" if found is None else f"@ulong 0x{int(found[1]):x}{found[2] or ''}"

    def described_text(self, node: Node) -> str:
        """A described value: by name if it is a section's, else with its descriptor."""
        if len(node.children) != 2:
            raise Inexact
        descriptor, inner = node.children
        name = SECTIONS.get(section_code(descriptor.value), "")
        if name in RESTRICTED_TYPE and descriptor.code in SPELLED:
            field = Field("", RESTRICTED_TYPE[name].source)
            return f"{name}{self.spelling(descriptor)}({self.value(inner, field)})"
        return f"{self.descriptor(descriptor)} {self.value(inner)}"
