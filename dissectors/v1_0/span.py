"""Which octets say what: the tree of everything in a unit or a message, with byte spans.

There is no second decoder here. The codec notes where each constructor is (its trace), in the order
of reading; format codes and rows say the rest: how far a value reaches, which trace entries lie
inside it and what they are called. A node covers its own constructor, size and count, and its
children; so each octet has exactly one deepest node. Of damaged octets there is as much tree as
the codec could read, and what it could not belongs to the node that contains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from dissectors.errors import Malformed
from dissectors.tree import Node, header_tree, number_nodes, octets_node, plain_node
from dissectors.v1_0.bodies import Body
from dissectors.v1_0.codec import Reader
from dissectors.v1_0.compounds import MAX_EMPTY_ELEMENTS
from dissectors.v1_0.encodings import BY_CODE, DESCRIBED
from dissectors.v1_0.encodings import label as encoding_label
from dissectors.v1_0.framing import Unit, decode_unit
from dissectors.v1_0.message import Section, reader_of, walk
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.plans import Plan, field_name, plan_of
from dissectors.v1_0.tables import COMPOSITE, choice
from dissectors.v1_0.values import Array, Described, Map, Value
from dissectors.wire import HEADER_SIZE

_WIDTHS = (0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 1, 4, 1, 4, 1, 4)
"""Octets after a constructor by its high half; from 0xA on, octets of the size."""
_LISTS = frozenset((0x45, 0xC0, 0xD0))


def unit_tree(raw: bytes, missing: int = 0) -> Node:
    """The tree of a frame or protocol header; arguments as of `decode_unit`."""
    trace: list[int] = []
    unit = decode_unit(raw, trace, missing)
    if unit.kind == "header":
        return header_tree(raw, unit.header)
    children = _frame_header(raw, unit)
    at = children[-1].end if children else 0
    if trace:
        body = unit.other if unit.body is None else unit.body
        node = _Builder(raw, trace).value("body", len(raw), body)
        children.append(node._replace(label=unit.name if unit.body is not None else "body"))
        at = node.end
    if at < len(raw):
        payload = unit.payload == at and unit.kind != "malformed"
        children.append(octets_node("payload" if payload or trace else "octets", raw, at, len(raw)))
    return plain_node("frame", 0, len(raw), None, children)


def section_tree(data: bytes) -> Node:
    """The tree of a message: its sections, and what is left where they cannot be told apart."""
    sections, _ = walk(data)
    children = [_section(data, section) for section in sections]
    at = children[-1].end if children else 0
    if at < len(data):
        children.append(octets_node("octets", data, at, len(data)))
    return plain_node("message", 0, len(data), None, children)


def value_tree(data: bytes, at: int = 0, end: int | None = None, name: str = "value") -> Node:
    """The tree of the one value that begins at an offset."""
    stop = len(data) if end is None else end
    return _traced(Reader(data, at, []), stop, name)


def _traced(reader: Reader, stop: int, name: str) -> Node:
    start, trace = reader.at, reader.trace
    value: Value = None
    with suppress(Malformed):  # what was traced before it is the tree
        value = reader.value(stop)
    if not trace:
        return octets_node(name, reader.data, start, stop)
    return _Builder(reader.data, trace).value(name, stop, value)


def _section(data: bytes, section: Section) -> Node:
    reader = reader_of(data, section, section.start, [])
    return _traced(reader, section.stop, section.name)._replace(end=section.stop)


def _frame_header(raw: bytes, unit: Unit) -> list[Node]:
    """The nodes of the eight octets and the extended header, as far as they are there."""
    if len(raw) < HEADER_SIZE:
        return []
    layout = (("size", 0, 4), ("doff", 4, 5), ("type", 5, 6), ("channel", 6, 8))
    nodes = list(number_nodes(raw, layout))
    begin = min(unit.head, len(raw))
    if begin > HEADER_SIZE and unit.head <= int.from_bytes(raw[:4], "big"):
        nodes.append(octets_node("extended header", raw, HEADER_SIZE, begin))
    return nodes


class _Builder:
    """Nodes from a trace; each method takes the next entries of it.

    `value` is what the codec made of those octets, or None where it gave up before it could say.
    """

    def __init__(self, raw: bytes, trace: list[int]) -> None:
        self.raw = raw
        self.trace = trace
        self.next = 0

    def traced(self, end: int) -> bool:
        """Whether the next entry lies before `end`."""
        return self.next < len(self.trace) and self.trace[self.next] < end

    def value(self, name: str, stop: int, value: Value) -> Node:
        start = self.trace[self.next]
        self.next += 1
        code = self.raw[start]
        if code == DESCRIBED:
            return self.described_node(name, start, stop, value)
        return self.content(name, start, start + 1, code, stop, value)

    def content(self, name: str, start: int, at: int, code: int, stop: int, value: Value) -> Node:
        """What follows a constructor; `start` is the constructor, or an array element's begin."""
        kind = BY_CODE[code].type if code in BY_CODE else "unknown"
        end = self.reach(at, code, stop)
        how = encoding_label(code)
        if code < 0xC0:
            found = self.leaf(code, at, end, value)
            return Node(name, kind, code, start, end, found, encoding=how)
        if code >= 0xE0:
            children = self.array(at, code, end, value)
        elif kind == "map":
            children = self.pairs(end, value)
        else:
            children = self.items(end, value)
        return Node(name, kind, code, start, end, value, tuple(children), how)

    def reach(self, at: int, code: int, stop: int) -> int:
        """Where a value ends, cut at what contains it."""
        if code < 0x40:
            return stop
        width = _WIDTHS[code >> 4]
        if code < 0xA0:
            return min(at + width, stop)
        size = int.from_bytes(self.raw[at : at + width], "big")
        return stop if at + width > stop else min(at + width + size, stop)

    def leaf(self, code: int, at: int, end: int, value: Value) -> Value:
        """The value, read again where the codec lost it together with what contains it."""
        if value is not None or code not in BY_CODE:
            return value
        octets = bytes((code,)) + self.raw[at:end]
        try:
            return Reader(octets).value(len(octets))
        except Malformed:
            return None

    def items(self, end: int, value: Value) -> Iterator[Node]:
        known = value if isinstance(value, list) else []
        place = 0
        while self.traced(end):
            yield self.value(f"[{place}]", end, known[place] if place < len(known) else None)
            place += 1

    def pairs(self, end: int, value: Value) -> Iterator[Node]:
        known = [item for pair in value for item in pair] if isinstance(value, Map) else []
        place = 0
        key = ""
        while self.traced(end):
            name = key if place % 2 else "key"
            node = self.value(name, end, known[place] if place < len(known) else None)
            key = str(node.value)
            yield node
            place += 1

    def array(self, at: int, code: int, end: int, value: Value) -> Iterator[Node]:
        """The descriptors of the elements, then the elements."""
        known = value if isinstance(value, Array) else None
        described = 0
        element = DESCRIBED
        while element == DESCRIBED and self.traced(end):
            place = self.trace[self.next]
            self.next += 1
            element = self.raw[place]
            if element == DESCRIBED and self.traced(end):
                hint = known.descriptors if known is not None else ()
                yield self.descriptor(end, hint[described] if described < len(hint) else None)
                described += 1
        if element == DESCRIBED:
            return
        most = self.most(at, code, element, known)
        limit = end + 1 if element >> 4 == 4 else end
        number = 0
        while number < most and self.traced(limit):
            start = self.trace[self.next]
            self.next += 1
            item = known[number] if known is not None and number < len(known) else None
            yield self.content(f"[{number}]", start, start, element, end, item)
            number += 1

    def most(self, at: int, code: int, element: int, known: Array | None) -> int:
        """How many of the next entries can be elements of this array.

        Elements without octets lie where the array ends, and so may the value behind it.
        """
        if element >> 4 != 4:
            return len(self.trace)
        if known is not None:
            return len(known)
        width = _WIDTHS[code >> 4]
        count = int.from_bytes(self.raw[at + width : at + 2 * width], "big")
        return count if count <= MAX_EMPTY_ELEMENTS else 0

    def descriptor(self, stop: int, value: Value) -> Node:
        """A descriptor, with the name of what it describes."""
        node = self.value("descriptor", stop, value)
        if node.type != "ulong" or node.value is None:
            return node
        number = f"0x{int(node.value):02x}"
        known = descriptor_name(node.value)
        return node._replace(text=f"{number} = {known}" if known != number else number)

    def described_node(self, name: str, start: int, stop: int, value: Value) -> Node:
        """A descriptor and what it describes."""
        hint = value.descriptor if isinstance(value, Described) else None
        how = encoding_label(DESCRIBED)
        if not self.traced(stop):
            return Node(name, "described", DESCRIBED, start, stop, value, encoding=how)
        descriptor = self.descriptor(stop, hint)
        if not self.traced(stop) or self.trace[self.next] != descriptor.end:
            return Node(name, "described", DESCRIBED, start, stop, value, (descriptor,), how)
        plan = plan_of(descriptor.value)
        if plan is not None and self.raw[descriptor.end] in _LISTS:
            return self.composite(name, start, descriptor, plan, stop, value)
        inner = self.value("value", stop, value.value if isinstance(value, Described) else None)
        both = (descriptor, inner)
        return Node(name, "described", DESCRIBED, start, inner.end, value, both, how)

    def composite(
        self, name: str, start: int, descriptor: Node, plan: Plan, stop: int, value: Value
    ) -> Node:
        """A described list with named positions."""
        at = self.trace[self.next]
        self.next += 1
        code = self.raw[at]
        end = self.reach(at + 1, code, stop)
        body = value if isinstance(value, Body) else None
        children = [descriptor]
        while self.traced(end):
            place = len(children) - 1
            item = body.wire(place) if body is not None and place < len(body) else None
            node = self.value(field_name(plan, place), end, item)
            children.append(with_meaning(node, plan, place))
        how = encoding_label(code)
        return Node(name, plan.name, code, start, end, value, tuple(children), how, composite=True)


def with_meaning(node: Node, plan: Plan, place: int) -> Node:
    """A field of a composite, with the name that the specification has for its value."""
    fields = COMPOSITE[plan.name].fields
    label = choice(fields[place].type, node.value) if place < len(fields) else ""
    if not label:
        return node
    said = str(node.value)
    return node._replace(text=f"{said.lower() if isinstance(node.value, bool) else said} = {label}")
