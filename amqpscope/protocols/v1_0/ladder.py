"""What a ladder asks of a frame of 1.0: where it belongs, and what only repeats earlier ones."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.v1_0.summary import state
from amqpscope.protocols.words import OPEN, SETTLED, channel_word, printable
from dissectors.v1_0.bodies import Attach, Body, Detach, Disposition, End, Error, Flow, Transfer

STEADY: Final = frozenset(("transfer", "disposition", "flow", "empty"))
"""What traffic consists of once links are attached."""
SET_UP: Final = frozenset(("begin", "attach", "detach", "end"))
"""What comes in numbers only where there are many sessions or links."""


def rung(event: Event) -> str:
    """The address of the link, or its name, or its handle; the channel where there is no link."""
    link = event.link
    if event.covered:
        links = {delivery.link for delivery in event.covered}
        link = links.pop() if len(links) == 1 else None
    if link is None:
        unit = event.unit
        return channel_word(unit.channel if unit.header is None else 0, 0)
    return printable(link.node() or link.name) or f"handle {link.handle}"


def outcome_word(event: Event, body: Disposition) -> str:
    """What a disposition says of its deliveries, in a word or two."""
    if event.transacts:
        return event.transacts
    named = isinstance(body.state, Body)
    word = body.state.row.name if isinstance(body.state, Body) else printable(state(body.state))
    if body.settled:
        return word or SETTLED
    return f"{word}{OPEN}" if named else OPEN


def alike(event: Event, name: str) -> str:
    """The word that frames share which say nothing new once some of them were seen."""
    unit = event.unit
    body = unit.body
    if unit.faults or event.frame.missing or (body is None and name != "empty"):
        return ""
    if name in SET_UP:
        return f"{name} {event.frame.sender} {summary_of_end(body)}"
    if name not in STEADY:
        return ""
    told = [name, str(event.frame.sender), str(unit.channel)]
    if event.link is not None:
        told.append(f"{event.link.name} {event.link.handle}")
    if isinstance(body, Transfer):
        told += [word for word in ("settled", "resume", "aborted", "more") if getattr(body, word)]
        told.append("" if event.transfers <= 1 else "part")
        told.append(body.state.row.name if isinstance(body.state, Body) else "")
    elif isinstance(body, Flow):
        told += [word for word in ("drain", "echo") if getattr(body, word)]
        told.append("no credit" if body.link_credit == 0 else "")
        told.append("no window" if body.incoming_window == 0 else "")
    elif isinstance(body, Disposition):
        told.append(outcome_word(event, body))
        told.append("" if event.covered else "of nothing")
    return " ".join(told)


def summary_of_end(body: Body | None) -> str:
    """What makes one attach, detach, begin or end unlike another: its role, or its error."""
    if isinstance(body, Attach):
        return "receiver" if body.role else "sender"
    error = body.error if isinstance(body, Detach | End) else None
    return str(error.condition) if isinstance(error, Error) else ""
