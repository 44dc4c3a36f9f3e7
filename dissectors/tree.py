"""The tree of a unit or a message: which octets say what.

Every family makes it in its `span` module, by what its codec noted while it was reading. A node
covers its own octets and its children; what could not be read belongs to the node that contains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dissectors.values import Value
from dissectors.wire import MAGIC, PROTOCOL_IDS, Header


class Node(NamedTuple):
    """One thing on the wire and the octets that say it."""

    label: str
    """The field's name, `[3]` for an item, `key`, `descriptor`, or a part of the frame."""
    type: str
    """`uint`, `map`, `source`, `longstr`, `unknown`; `octets` where no type applies."""
    code: int
    """The format code in AMQP 1.0; -1 where there is none."""
    start: int
    end: int
    value: Value
    """The Python value, None also where it could not be read."""
    children: tuple[Node, ...] = ()
    encoding: str = ""
    """How the value was encoded, where its family has several ways: `smalluint`, `list8`."""
    composite: bool = False
    """`type` is the name of a type with fields of its own."""
    text: str = ""
    """The value with what it means, where the specification has a name for it: `1 = second`."""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """This node and all below it with their depth, in the order of the octets."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def at(self, offset: int) -> list[Node]:
        """The nodes that cover an octet, from this one to the deepest."""
        path = [self]
        while True:
            inside = (n for n in path[-1].children if n.start <= offset < n.end)
            found = next(inside, None)
            if found is None:
                return path
            path.append(found)


def plain_node(
    label: str, start: int, end: int, value: Value, children: Sequence[Node] = ()
) -> Node:
    """A part of the frame, which has no type."""
    return Node(label, "octets", -1, start, end, value, tuple(children))


def octets_node(label: str, raw: bytes, start: int, end: int) -> Node:
    """Octets as they are."""
    return plain_node(label, start, end, raw[start:end])


def number_nodes(raw: bytes, layout: Sequence[tuple[str, int, int]], at: int = 0) -> Iterator[Node]:
    """Numbers of fixed places: each a label, where it begins and where it ends, from `at` on."""
    for label, start, end in layout:
        number = int.from_bytes(raw[at + start : at + end], "big")
        yield plain_node(label, at + start, at + end, number)


def header_tree(raw: bytes, header: Header | None) -> Node:
    """The tree of a protocol header; only those of AMQP have ids that mean something."""
    name = PROTOCOL_IDS.get(raw[4], raw[4])
    children = (
        octets_node("protocol", raw, 0, 4),
        plain_node("id", 4, 5, name if raw[:4] == MAGIC else raw[4]),
        *number_nodes(raw, (("major", 5, 6), ("minor", 6, 7), ("revision", 7, 8))),
    )
    return plain_node("header", 0, len(raw), header, children)
