"""Which octets say what: the tree of everything in a unit, with byte spans.

There is no second decoder here. The reader notes where each argument, table field and array item
begins and ends (its trace); rows say what they are called. Bits that share an octet are nodes side
by side over the same octet.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.tree import Node, header_tree, number_nodes, octets_node, plain_node
from dissectors.v0_9.codec import Method
from dissectors.v0_9.encodings import AS_SPOKEN, AS_WRITTEN, KINDS
from dissectors.v0_9.framing import (
    ENVELOPE,
    FRAME_END,
    RESPONSE,
    SHORT_HEARTBEAT,
    Unit,
    decode_unit,
)
from dissectors.v0_9.message import ContentHeader
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.rows import Field
from dissectors.v0_9.values import FieldArray, Table, Ulong, Value


def unit_tree(raw: bytes, dialect: Dialect, missing: int = 0, head: int = 7) -> Node:
    """The tree of a frame or protocol header; arguments as of `decode_unit`."""
    trace: list[int] = []
    unit = decode_unit(raw, dialect, trace, missing, head)
    if unit.kind == "header":
        return header_tree(raw, unit.header)
    if raw == SHORT_HEARTBEAT:
        layout = (("type", 0, 1), ("channel", 1, 3), ("frame-end", 3, 4))
        return plain_node("frame", 0, 4, None, tuple(number_nodes(raw, layout)))
    if len(raw) < head:
        return plain_node("frame", 0, len(raw), None, [octets_node("octets", raw, 0, len(raw))])
    children = list(number_nodes(raw, _HEADS[head]))
    closed = not missing and len(raw) > head and _whole(unit, raw, head)
    stop = len(raw) - 1 if closed else len(raw)
    if stop > head:
        children.append(_Builder(raw, trace, unit).payload(head, stop))
    if closed:
        children.append(plain_node("frame-end", stop, stop + 1, raw[stop]))
    return plain_node("frame", 0, len(raw), None, children)


_HEADS = {
    7: (("type", 0, 1), ("channel", 1, 3), ("size", 3, 7)),
    8: (("type", 0, 1), ("cycle", 1, 2), ("channel", 2, 4), ("size", 4, 8)),
}


def _whole(unit: Unit, raw: bytes, head: int) -> bool:
    """Whether the last octet is the one that ends the frame."""
    return head + unit.size + 1 == len(raw) or (unit.elsewhere and raw[-1] == FRAME_END)


_REQUEST = (("request-id", 0, 8), ("response-mark", 8, 16), ("reserved", 16, 20))
_RESPONSE = (("response-id", 0, 8), ("request-id", 8, 16), ("batch-offset", 16, 20))
_METHOD = (("class-id", 0, 2), ("method-id", 2, 4))
_CONTENT = (("class-id", 0, 2), ("weight", 2, 4), ("body-size", 4, 12))


class _Builder:
    """Nodes from a trace; each method takes the next entries of it."""

    def __init__(self, raw: bytes, trace: list[int], unit: Unit) -> None:
        self.raw = raw
        self.trace = trace
        self.unit = unit
        self.next = 0

    def payload(self, at: int, end: int) -> Node:
        """Everything between a frame's header and its end."""
        unit = self.unit
        start = at
        children: list[Node] = []
        if unit.envelope is not None:
            layout = _RESPONSE if unit.type == RESPONSE else _REQUEST
            children.extend(number_nodes(self.raw, layout, at))
            at += ENVELOPE
        if unit.label == "method" and end - at >= 4 and not unit.elsewhere:
            children.extend(number_nodes(self.raw, _METHOD, at))
            at += 4
            if unit.method is not None:
                children.extend(self.arguments(unit.method, end))
        elif unit.content is not None:
            children.extend(self.content(unit.content, at, end))
            at += 12 + 2 * unit.content.words
        else:
            return octets_node(
                "payload" if unit.label in _OPAQUE else "octets", self.raw, start, end
            )
        at = children[-1].end
        if at < end:
            children.append(octets_node("octets", self.raw, at, end))
        kind = "method" if unit.label == "method" else "content-header"
        return Node(unit.name, kind, -1, start, end, None, tuple(children))

    def arguments(self, method: Method, end: int) -> Iterator[Node]:
        for field, value in zip(method.plan.row.fields, method.values, strict=True):
            if not self.traced(end):
                return
            yield self.field(field, value, end)

    def content(self, content: ContentHeader, at: int, end: int) -> Iterator[Node]:
        yield from number_nodes(self.raw, _CONTENT, at)
        stop = at + 12 + 2 * content.words
        yield plain_node("property-flags", at + 12, stop, content.flags)
        flags = content.flags >> 16 * (content.words - 1)
        fields = () if content.plan is None else content.plan.row.properties
        for place, field in enumerate(fields):
            if flags & 0x8000 >> place and self.traced(end):
                yield self.field(field, content.values[place], end)

    def traced(self, end: int) -> bool:
        """Whether the next entry lies before `end`."""
        return self.next < len(self.trace) and self.trace[self.next] < end

    def take(self, end: int) -> tuple[int, int]:
        """The next entry; what was not read to its end reaches as far as what contains it."""
        start, stop = self.trace[self.next : self.next + 2]
        self.next += 2
        return start, end if stop < 0 else stop

    def field(self, field: Field, value: Value, end: int) -> Node:
        start, stop = self.take(end)
        children: Iterator[Node] = iter(())
        if field.type == "table":
            children = self.fields(value, stop)
        return Node(field.name, field.type, -1, start, stop, value, tuple(children))

    def fields(self, value: Value, end: int) -> Iterator[Node]:
        """The fields of a table: each its name, letter and value."""
        known = value if isinstance(value, Table) else Table()
        place = 0
        while self.traced(end):
            start = self.trace[self.next]
            size = self.raw[start]
            name, item = known[place] if place < len(known) else (self.name(start, size), None)
            yield self.item(name, item, start + 1 + size, end)
            place += 1

    def items(self, value: Value, end: int) -> Iterator[Node]:
        """The items of an array: each its letter and value."""
        known = value if isinstance(value, FieldArray) else FieldArray()
        place = 0
        while self.traced(end):
            item = known[place] if place < len(known) else None
            yield self.item(f"[{place}]", item, self.trace[self.next], end)
            place += 1

    def item(self, label: str, value: Value, letter: int, end: int) -> Node:
        """One value behind its letter, which is at the offset `letter` if it was read."""
        start, stop = self.take(end)
        read = AS_WRITTEN if isinstance(value, str | Ulong) else AS_SPOKEN
        kind = KINDS[read[self.raw[letter]]] if letter < stop else "unknown"
        children: Iterator[Node] = iter(())
        if kind == "table":
            children = self.fields(value, stop)
        elif kind == "array":
            children = self.items(value, stop)
        return Node(label, kind, -1, start, stop, value, tuple(children))

    def name(self, start: int, size: int) -> str:
        """The name of a field that was not read to its end."""
        return self.raw[start + 1 : start + 1 + size].decode("utf-8", "replace")


_OPAQUE = frozenset(("content-body", "trace", "heartbeat", "unknown"))
