"""A frame of 1.0 and the message that it completes, field by field."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.v1_0.secrets import earlier_octets, secret_message, secret_unit
from amqpscope.protocols.voice import NOTHING_HIDDEN, BodyPart, Tree
from dissectors.v1_0.bodies import Properties
from dissectors.v1_0.framing import SASL_FRAME
from dissectors.v1_0.message import DATA, read_section, walk
from dissectors.v1_0.span import section_tree, unit_tree

PAYLOAD: Final = frozenset(("octets", "payload", "data", "amqp-sequence", "amqp-value"))
"""What at the top of a tree holds application data."""


def trees(event: Event) -> list[Tree]:
    """The frame, and its message where that has the standard's format."""
    frame, message, delivery = event.frame, event.message, event.delivery
    hidden = secret_parts(event)
    node = unit_tree(frame.raw, frame.missing)
    found = [Tree("frame", node, frame.raw, hidden, earlier_octets(event), 0)]
    if message and not (delivery is not None and (delivery.message_format or 0) >> 8):
        base = frame.unit.payload
        inside = base if frame.raw[base:] == message else -1
        node = section_tree(message)
        found.append(Tree("message", node, message, hidden, b"", inside, event.transfers))
    return found


def secret_parts(event: Event) -> frozenset[str]:
    """What at the top of a frame's and a message's tree must be covered."""
    unit = event.unit
    if secret_message(event):
        return PAYLOAD
    if secret_unit(unit) or (unit.type == SASL_FRAME and event.frame.missing):
        return PAYLOAD | {unit.name, "body"}
    return NOTHING_HIDDEN


def bodies(event: Event) -> list[BodyPart]:
    """The data sections of a message; those of one with a token are not shown."""
    message, delivery = event.message, event.delivery
    if not message or (delivery is not None and (delivery.message_format or 0) >> 8):
        return []
    kind = content_type(message)
    found = []
    for section in walk(message)[0]:
        if section.code == DATA:
            value, _ = read_section(message, section)
            if isinstance(value, bytes) and value:
                found.append(BodyPart(bytes(value), kind, section.start, section.stop))
    return found


def content_type(message: bytes) -> str:
    """What a message says its body is."""
    for section in walk(message)[0]:
        if section.name == "properties":
            value, _ = read_section(message, section)
            if isinstance(value, Properties):
                return str(value.content_type or "").lower()
    return ""
