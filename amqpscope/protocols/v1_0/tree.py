"""A frame of 1.0 and the message that it completes, field by field."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.v1_0.bodies import BATCH
from amqpscope.protocols.v1_0.secrets import earlier_octets, secret_message, secret_unit
from amqpscope.protocols.voice import NOTHING_HIDDEN, Tree
from dissectors.v1_0.framing import SASL_FRAME
from dissectors.v1_0.span import section_tree, unit_tree

PAYLOAD: Final = frozenset(("octets", "payload", "data", "amqp-sequence", "amqp-value"))
"""What at the top of a tree holds application data."""


def trees(event: Event) -> list[Tree]:
    """The frame, and its message where that has a format that is known."""
    frame, message, delivery = event.frame, event.message, event.delivery
    hidden = secret_parts(event)
    node = unit_tree(frame.raw, frame.missing)
    found = [Tree("frame", node, frame.raw, hidden, earlier_octets(event), 0)]
    form = 0 if delivery is None else delivery.message_format or 0
    if message and (not form >> 8 or form == BATCH):
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
