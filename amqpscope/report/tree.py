"""One frame in full: as a tree (`read -V`) and as octets with the fields marked (`read -x`).

Both walk the same nodes, which know their octets; secrets are covered in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from amqpscope.analysis import Step
from amqpscope.protocols.voice import Tree
from amqpscope.protocols.words import escaped
from amqpscope.report.jsonl import seconds
from amqpscope.report.look import Look
from amqpscope.stream.types import PEERS
from dissectors.composite import Composite
from dissectors.masking import SECRET, Cover
from dissectors.secrets import MASK, Spans
from dissectors.tree import Node
from dissectors.values import (
    Array,
    Char,
    Described,
    Map,
    PosixTime,
    Symbol,
    Timestamp,
    Uuid,
    Value,
)

MAX_VALUE: Final = 400
"""Characters of one value in the tree; the whole is in the hex view and in JSON."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NARROW: Final = 100
"""Below so many columns fewer octets go on a line."""
LEFT_OVER: Final = "(left over)"
"""Octets behind the last item of what contains them."""


def detail_of(look: Look) -> Detail | None:
    """What is below the line of each frame, if anything."""
    if not look.tree and not look.octets:
        return None
    return Detail(
        tree=look.tree, octets=look.octets, show_secrets=look.show_secrets, width=look.width
    )


class Detail:
    """Writes Steps in full."""

    def __init__(
        self, *, tree: bool, octets: bool, show_secrets: bool = False, width: int = 0
    ) -> None:
        self.tree = tree
        self.octets = octets
        self.show_secrets = show_secrets
        self.width = width
        """Columns that captions beside octets keep to; 0 when they may be as long as they are."""
        self.per_line = 8 if 0 < width < NARROW else 16

    def lines(self, step: Step) -> Iterator[str]:
        """Everything about one unit, a blank line last."""
        frame = step.frame
        unit = frame.unit
        if self.tree:
            yield (
                f"       packet {frame.packet}, {clock(frame.time)} ({seconds(frame.time)}), "
                f"{size_line(step)}, sent by the {PEERS[frame.sender]}"
            )
        for fault in unit.faults:
            yield f"       malformed: {escaped(str(fault))}"
        for tree in step.talk.voice.trees(step.event):
            if tree.title != "frame":
                together = "" if tree.frames == 1 else ", put together"
                yield f"       {tree.title}, {len(tree.octets)} octets{together}"
            yield from self.part(tree)
        yield ""

    def part(self, tree: Tree) -> Iterator[str]:
        """A frame or a message."""
        node = tree.node
        spans: Spans = []
        if not self.show_secrets:
            cover = cover_of(tree)
            node = cover.tree(node)
            spans = cover.spans
        if self.tree:
            for child in node.children:
                yield from self.branch(child, 4, [])
        if self.octets:
            yield from self.mark_octets(node, tree.octets, spans)

    def branch(self, node: Node, depth: int, path: list[str]) -> Iterator[str]:
        """A node and what is below it."""
        yield f"{'  ' * depth}{caption(node, path)}"
        for child in node.children:
            yield from self.branch(child, depth + 1, [*path, name_of(node)])

    def mark_octets(self, node: Node, raw: bytes, spans: Spans) -> Iterator[str]:
        """Octets line by line, each run with the deepest node that it belongs to."""
        per_line = self.per_line
        room = self.width - 11 - per_line * 3 if self.width else 0
        stars = Stars(spans)
        for start, end, owner in self.runs(node, []):
            text = escaped(owner)
            if room and len(text) > room:
                text = text[: room - 3] + "..."
            for at in range(start, end, per_line):
                pairs = stars.pairs(raw, at, min(at + per_line, end))
                yield f"  {at:06x}  {pairs:{per_line * 3}} {text}".rstrip()
                text = ""

    def runs(self, node: Node, path: list[str]) -> Iterator[tuple[int, int, str]]:
        """Consecutive octets with one deepest node: begin, end, caption."""
        top = node.label in {"frame", "message"} and not path
        said = caption(node, path)
        at = node.start
        below = path if top else [*path, name_of(node)]
        for child in node.children:
            if child.start > at:
                yield at, child.start, said
                said = ""
            if child.end > child.start:
                yield from self.runs(child, below)
            at = max(at, child.end)
        if node.end > at:
            items = bool(node.children) and node.children[-1].label != "descriptor"
            yield at, node.end, said or (LEFT_OVER if items else "")


class Stars:
    """Octets as hex, those of secrets as stars; asked for from the first to the last."""

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self.next = 0

    def pairs(self, raw: bytes, start: int, end: int) -> str:
        """Octets in hexadecimal, two digits each."""
        spans = self.spans
        while self.next < len(spans) and spans[self.next][1] <= start:
            self.next += 1
        if self.next == len(spans) or spans[self.next][0] >= end:
            return raw[start:end].hex(" ")
        made = raw[start:end].hex(" ").split(" ")
        for first, last in spans[self.next :]:
            if first >= end:
                break
            for at in range(max(first, start), min(last, end)):
                made[at - start] = "**"
        return " ".join(made)


def cover_of(tree: Tree) -> Cover:
    """What covers the secrets in a frame or message."""
    return Cover(tree.octets, tree.hidden, token="amqp-value" in tree.hidden, before=tree.before)


def clock(nanoseconds: int) -> str:
    """A time of day, in UTC."""
    return instant(nanoseconds // 1000, 1)


def size_line(step: Step) -> str:
    """How large the frame is, and what of it the capture has."""
    frame = step.frame
    if frame.missing:
        return f"{len(frame.raw) + frame.missing} octets ({frame.missing} {frame.absence})"
    return f"{len(frame.raw)} octets"


def name_of(node: Node) -> str:
    """The composite's name, or the label: what secrets are known by."""
    return node.type if node.composite else node.label


def caption(node: Node, path: list[str]) -> str:
    """A node in words: name, value, encoding."""
    label = escaped(node.label)
    if node.type == SECRET:
        return f"{label}: {MASK} ({node.end - node.start} octets)"
    kind = node.encoding or node.type
    if node.composite:
        return label if label == node.type else f"{label}: {node.type}"
    if node.children:
        if node.type == "described":
            return f"{label}: described"
        return f"{label}: {node.type}" + (f" ({kind})" if kind != node.type else "")
    if label == "payload" and not path:
        return f"payload: {node.end - node.start} octets"
    value = describe(node)
    if not node.encoding:
        return f"{label}: {value}" if value else label
    return f"{label}: {value} ({kind})"


def describe(node: Node) -> str:
    """A leaf's value, with its meaning where the specification has a name for it."""
    text = node.text or show(node.value)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}... ({len(text)} characters)"


def show(value: Value) -> str:
    """A value as text on one line."""
    if value is None:
        return "null"
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, PosixTime):
        return f"{int(value)} = {instant(value, 1_000_000)}"
    if isinstance(value, Timestamp):
        return f"{int(value)} = {instant(value)}"
    if isinstance(value, Symbol):
        return escaped(value)
    if isinstance(value, Char):
        return escaped(f"'{value}'")
    if isinstance(value, str):
        return escaped(f'"{value}"')
    if isinstance(value, bytes) and not isinstance(value, Uuid):
        return octets(value)
    if isinstance(value, Map | Array | list):
        return "empty" if not value else f"{len(value)} items"
    if isinstance(value, Composite | Described):
        return escaped(repr(value))
    return str(value)


def octets(value: bytes) -> str:
    """Octets as hex, and as text beside it if they are that."""
    if not value:
        return "no octets"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
    shown = f' = "{text}"' if text.isprintable() and len(value) <= 64 else ""
    return f"0x{value.hex()}{shown}"


def instant(value: int, microseconds: int = 1000) -> str:
    """A timestamp as a date, where Python's calendar reaches."""
    try:
        moment = _EPOCH + timedelta(microseconds=value * microseconds)
    except OverflowError:
        return "beyond the calendar"
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f UTC")
