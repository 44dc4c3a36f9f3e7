"""Steps of the older protocols as entries of a ladder: publishes joined to their confirms,
deliveries to their acknowledgements."""

from __future__ import annotations

from typing import Final

from amqpscope.model.older.event import OlderEvent
from amqpscope.report.ladder import Entry, channel_word
from amqpscope.report.older_summary import MOVES, older_colour, older_place
from amqpscope.report.summary import printable

STEADY: Final = MOVES | {"content-header", "content-body", "heartbeat"}
"""What traffic consists of."""
ANSWERS: Final = frozenset(("ack", "nack", "reject"))


def older_entry(event: OlderEvent, connection: int) -> Entry:
    """One unit, without its label and findings."""
    frame = event.frame
    joined = [delivery.mark.frame for delivery in event.covered]
    joined += [publish.mark.frame for publish in event.confirmed]
    method = event.name.partition(".")[2]
    # The summary names exchange and queue itself, but for answers, which only have a number.
    where = printable(older_place(event)) if joined else channel_word(event.unit.channel, 1)
    return Entry(
        frame.number,
        frame.time,
        connection,
        frame.sender,
        event.name,
        where,
        "",
        alike(event, method),
        tuple(each for each in joined if each < frame.number),
        method if joined else "",
        (),
        frame.lost_before,
        kind=older_colour(event),
    )


def alike(event: OlderEvent, method: str) -> str:
    """The word that frames share which say nothing new once some of them were seen."""
    unit = event.unit
    if unit.faults or event.frame.missing or unit.header is not None:
        return ""
    told = [event.name, str(event.peer)]
    if event.name in STEADY or method in ANSWERS:
        told += [str(unit.channel), older_place(event)]
        delivery = event.delivery
        told.append("again" if delivery is not None and delivery.redelivered else "")
    elif method.startswith("close") or event.name.startswith("connection."):
        return ""
    return " ".join(told)


def steady(event: OlderEvent) -> bool:
    """Whether a frame is of the traffic, and not of what sets it up."""
    return event.name in STEADY or event.name.partition(".")[2] in ANSWERS
