"""One frame in full, as a tree of lines that know their octets: what the tree and hex panes show.

The first part is the frame; a message that came in several transfers is a second one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from amqpscope.analysis import Step
from amqpscope.protocols.voice import Tree
from amqpscope.protocols.words import escaped, printable
from amqpscope.report.tree import caption, clock, cover_of, name_of, size_line
from amqpscope.stream.types import PEERS
from dissectors.masking import SECRET, value_spans
from dissectors.tree import Node

HEADER_FIELDS: Final = ("size", "doff", "type", "channel")
MANY: Final = 200
"""Items from which on a list is shown closed."""
MOST: Final = 2000
"""Items of one list that are shown; `read -V` and JSON have all."""


@dataclass(eq=False)
class FieldLine:
    """One line of the tree."""

    text: str
    style: str = ""
    """What kind of line it is: `title`, `error`, `warning`, `info`, `null`, `secret`, `body`."""
    part: int = -1
    """Which octets it is about: 0 the frame's, 1 the message's; -1 none."""
    start: int = 0
    end: int = 0
    children: list[FieldLine] = field(default_factory=list)
    closed: bool = False
    """It is shown without what is below it until it is opened."""
    frame: int = 0
    """Another frame that it points to."""
    heads_body: bool = False
    """It says what the body below it is."""


@dataclass
class OctetSpan:
    """Octets that belong together."""

    title: str
    data: bytes
    covered: list[tuple[int, int]] = field(default_factory=list)
    """Those that are secret."""


@dataclass
class FramePicture:
    """Everything about one frame."""

    number: int
    fields: list[FieldLine]
    parts: list[OctetSpan]


def picture(step: Step, *, show_secrets: bool = False) -> FramePicture:
    """One frame in full."""
    return _Painter(step, show_secrets).picture()


class _Painter:
    """Makes the tree of one Step."""

    def __init__(self, step: Step, show_secrets: bool) -> None:
        self.step = step
        self.show_secrets = show_secrets
        self.parts: list[OctetSpan] = []
        self.part = -1
        """Which part holds the message, and where it begins in it."""
        self.base = 0

    def picture(self) -> FramePicture:
        step, frame = self.step, self.step.frame
        fields = [self.title(), *self.findings()]
        fields += [
            FieldLine(
                f"malformed: {printable(str(fault))}", "error", 0, fault.offset, fault.offset + 1
            )
            for fault in frame.unit.faults
        ]
        below: list[FieldLine] = []
        for tree in step.talk.voice.trees(step.event):
            below += self.tree(tree)
        below += self.bodies()
        for line, finding in zip(fields[1:], step.findings, strict=False):
            point(line, below, finding.path)
        fields += below
        return FramePicture(frame.number, fields, self.parts)

    def tree(self, tree: Tree) -> list[FieldLine]:
        """A frame's own octets, or the message that it completes."""
        if tree.title == "frame":
            self.parts.append(OctetSpan("frame", tree.octets))
            return self.frame_fields(self.cover_secrets(tree, 0, 0))
        part, base, note = 0, tree.inside, ""
        if tree.inside < 0:
            part, base = 1, 0
            self.parts.append(OctetSpan(tree.title, tree.octets))
            note = f", put together from {tree.frames} transfers"
        node, size = self.cover_secrets(tree, part, base), len(tree.octets)
        self.part, self.base = part, base
        below = self.below(node.children, part, base, [])
        text = f"{tree.title}, {size} octets{note}"
        return [FieldLine(text, "title", part, base, base + size, below)]

    def cover_secrets(self, tree: Tree, part: int, base: int) -> Node:
        """A tree without its secrets, whose octets are noted to be covered."""
        if self.show_secrets:
            return tree.node
        cover = cover_of(tree)
        made = cover.tree(tree.node)
        self.parts[part].covered += [(start + base, end + base) for start, end in cover.spans]
        return made

    def title(self) -> FieldLine:
        frame = self.step.frame
        text = (
            f"frame {frame.number}, {size_line(self.step)}, from the {PEERS[frame.sender]}, "
            f"packet {frame.packet}, {clock(frame.time)}"
        )
        return FieldLine(text, "title", 0, 0, len(frame.raw))

    def findings(self) -> list[FieldLine]:
        found = []
        for finding in self.step.findings:
            doubt = "" if finding.certainty == "sure" else " (suspected)"
            text = f"{finding.rule} {finding.name}, the {finding.peer}{doubt}: {finding.message}"
            related = [
                FieldLine(f"frame {number}: {printable(why)}", "info", frame=number)
                for number, why in finding.related
            ]
            found.append(FieldLine(printable(text), finding.severity, children=related))
        return found

    def frame_fields(self, tree: Node) -> list[FieldLine]:
        """The frame's own octets: its header on one line, then the performative."""
        head = [child for child in tree.children if child.label in HEADER_FIELDS]
        rest = [child for child in tree.children if child.label not in HEADER_FIELDS]
        fields = []
        if len(head) == len(HEADER_FIELDS):
            words = ", ".join(f"{node.label} {node.value}" for node in head)
            below = self.below(head, 0, 0, [])
            fields.append(FieldLine(f"frame header: {words}", "", 0, 0, 8, below, closed=True))
        else:
            rest = list(tree.children)
        return fields + self.below(rest, 0, 0, [])

    def bodies(self) -> list[FieldLine]:
        """The application data of a message as what its content-type says it is."""
        found: list[FieldLine] = []
        for body in self.step.talk.voice.bodies(self.step.event, self.show_secrets):
            from amqpscope.insight.bodies import read_body  # not before the first rows are shown

            octets, note = body.octets, ""
            if self.part < 0:  # it has no tree of its own
                covered = [] if self.show_secrets else value_spans(octets)
                self.parts.append(OctetSpan(body.name, octets, covered))
                self.part, self.base = len(self.parts) - 1, 0
                note = f", {len(octets)} octets"
            said = read_body(body, show_secrets=self.show_secrets)
            start, stop = self.base + body.start, self.base + body.stop
            below = [
                FieldLine(escaped(line.expandtabs(4)), "body", self.part, start, stop)
                for line in said.lines
            ]
            text = f"{body.name} as {said.title}{note}"
            head = FieldLine(printable(text), "title", self.part, start, stop, below)
            head.heads_body = True
            found.append(head)
        return found

    def below(
        self, nodes: list[Node] | tuple[Node, ...], part: int, base: int, path: list[str]
    ) -> list[FieldLine]:
        """The lines of some nodes beside each other."""
        fields = [self.line(node, part, base, path) for node in nodes[:MOST]]
        if len(nodes) > MOST:
            start, end = nodes[MOST].start + base, nodes[-1].end + base
            fields.append(FieldLine(f"... {len(nodes) - MOST} more", "info", part, start, end))
        return fields

    def line(self, node: Node, part: int, base: int, path: list[str]) -> FieldLine:
        """The line of a node, and those below it."""
        start, end = node.start + base, node.end + base
        text = caption(node, path)
        if node.type == SECRET:
            return FieldLine(text, "secret", part, start, end)
        nodes = node.children
        if node.composite and nodes and nodes[0].label == "descriptor":
            # The name says what the descriptor does.
            text += f"  ({caption(nodes[0], path).removeprefix('descriptor: ')})"
            nodes = nodes[1:]
        style = "null" if not node.children and node.value is None else ""
        below = self.below(nodes, part, base, [*path, name_of(node)])
        return FieldLine(text, style, part, start, end, below, closed=len(below) > MANY)


def point(line: FieldLine, fields: list[FieldLine], path: str) -> None:
    """Let the line of a finding point to the octets of the field that it is about."""
    found: FieldLine | None = None
    names = path.split(".")
    if any(label(field) == ".".join(names[:2]) for field in fields):
        names[:2] = [".".join(names[:2])]  # a method, whose name has a dot
    for name in names:
        name = name.partition("[")[0]
        inside = fields if found is None else found.children
        found = next((field for field in walk_fields(inside) if label(field) == name), None)
        if found is None:
            return
    if found is not None and found.part >= 0:
        line.part, line.start, line.end = found.part, found.start, found.end


def walk_fields(fields: list[FieldLine]) -> Iterator[FieldLine]:
    """Some lines and all below them."""
    for each in fields:
        yield each
        yield from walk_fields(each.children)


def label(field: FieldLine) -> str:
    """The name that a line begins with."""
    return field.text.partition(":")[0].partition("  (")[0]
