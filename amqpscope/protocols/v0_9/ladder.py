"""What a ladder asks of a frame of 0-9: where it belongs, and what only repeats earlier ones."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.event import Event
from amqpscope.protocols.v0_9.summary import MOVES
from amqpscope.protocols.words import channel_word, printable

STEADY: Final = MOVES | {"content-header", "content-body", "heartbeat"}
"""What traffic consists of."""
ANSWERS: Final = frozenset(("ack", "nack", "reject"))


def rung(event: Event) -> str:
    """The queue or exchange of an answer, which only has a number; else the channel."""
    if event.covered or event.confirmed:
        return printable(event.address)
    return channel_word(event.unit.channel, 1)


def answer(event: Event) -> str:
    """What an acknowledgement says: `ack`, `nack`, `reject`."""
    if not event.covered and not event.confirmed:
        return ""
    return event.method_name.partition(".")[2]


def alike(event: Event) -> str:
    """The word that frames share which say nothing new once some of them were seen."""
    unit, name = event.unit, event.method_name
    if unit.faults or event.frame.missing or unit.header is not None:
        return ""
    words = [name, str(event.peer)]
    method = name.partition(".")[2]
    if is_steady(event):
        words += [str(unit.channel), event.address]
        delivery = event.delivery
        words.append("again" if delivery is not None and delivery.redelivered else "")
    elif method.startswith("close") or name.startswith("connection."):
        return ""
    return " ".join(words)


def is_steady(event: Event) -> bool:
    """Whether a frame is of the traffic, and not of what sets it up."""
    name = event.method_name
    return name in STEADY or name.partition(".")[2] in ANSWERS
