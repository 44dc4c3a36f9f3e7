"""A frame of 0-9 and the content that it completes, field by field."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.protocols.voice import NOTHING_HIDDEN, BodyPart, Tree
from dissectors.secrets import secret_method
from dissectors.v0_9.span import unit_tree

PAYLOAD: Final = frozenset(("octets", "payload"))
HEADS: Final = (7, 8)
"""Octets of a frame's header; the second in early drafts."""
TERMS: Final = ("type", "encoding")


def trees(event: Event) -> list[Tree]:
    """The tree of a frame."""
    frame, unit = event.frame, event.unit
    head = unit.head if unit.head in HEADS else HEADS[0]
    spoiled = unit.faults or unit.cut
    hidden = PAYLOAD | {unit.name} if spoiled and secret_method(unit.name) else NOTHING_HIDDEN
    node = unit_tree(frame.raw, unit.dialect, frame.missing, head)
    return [Tree("frame", node, frame.raw, hidden, b"", 0)]


def bodies(event: Event) -> list[BodyPart]:
    """The body of a content."""
    body = event.message
    if not body:
        return []
    header = None if event.content is None else event.content.header
    if header is None:
        return [BodyPart(body, "", 0, len(body))]
    kind, encoding = (str(header.get(f"content-{name}") or "").lower() for name in TERMS)
    return [BodyPart(body, kind, 0, len(body), encoding)]
