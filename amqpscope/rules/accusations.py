"""Errors in detach, end and close: who is right (ERR; spec 2.8).

An error that accuses the partner is compared with what was found against it. What a rule that does
not run would have found is not known, and then nothing is said.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.event import Event
from amqpscope.model.knowledge import Grants
from amqpscope.model.session import SessionEnd
from amqpscope.rules import IMPLIED, INFO, WARNING, Reporter, rule
from amqpscope.rules.errors import error_in
from amqpscope.rules.reactions import (
    DECODE,
    FRAMING,
    IN_USE,
    LIMIT,
    SIZE,
    UNATTACHED,
    UNRELATED,
    WINDOW,
    concerns,
)

ACCUSATIONS: Final = {
    # condition: the rules that would have found what it says
    WINDOW: frozenset(("FLW-001", "FLW-003", "FLW-004", "FLW-006")),
    LIMIT: frozenset(("FLW-016",)),
    IN_USE: frozenset(("LNK-001", "LNK-002")),
    UNATTACHED: frozenset(("LNK-004", "LNK-005", "LNK-006")),
    FRAMING: frozenset(("FRM-001", "FRM-006", "FRM-011", "SES-016")),
    SIZE: frozenset(("DLV-020",)),
    DECODE: frozenset(("TYP-001", "TYP-002")),
}
COMPUTED: Final = frozenset((WINDOW, LIMIT, IN_USE, UNATTACHED))
"""What follows from the frames alone; the others may have reasons that cannot be seen here."""
DOUBTFUL: Final = "; it may have been about a frame in flight"


@rule(
    "ERR-016", "accusation-unfounded", "2.8.15-2.8.18", IMPLIED, WARNING, on="detach | end | close"
)
def accusation_unfounded(event: Event, report: Reporter) -> None:
    """A peer that accuses its partner is right about it.

    When one side ends a session because of a window or a handle, users blame the other. Where the
    frames show that nothing of the kind happened, even by the narrowest reading of what had been
    granted, the accuser is wrong, or its frames say something else than it believes. What cannot be
    computed here in full, such as a decode-error, is told as a note.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        server: detach[0] handle=0 closed=true error=error(
                condition=:amqp:link:transfer-limit-exceeded description="no credit")   # <- ERR-016
        client: detach[0] handle=0 closed=true

    Good (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=0
        client~1: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        server: detach[0] handle=0 closed=true error=error(
                condition=:amqp:link:transfer-limit-exceeded description="no credit")
        client: detach[0] handle=0 closed=true
    """
    error = error_in(event)
    if error is None or error.condition is None:
        return
    condition, partner = str(error.condition), event.partner
    needed = ACCUSATIONS.get(condition)
    if needed is None or not needed <= report.active or not event.own.anchored:
        return
    if not partner.anchored or partner.damaged or not event.connection.clean(partner.peer):
        return
    numbers = kept(event, condition)
    if numbers is None:
        return
    name = event.frame.unit.name
    sure = condition in COMPUTED and numbers != DOUBTFUL
    report.suspect(
        event,
        f"{name} accuses the peer of {condition}, but nothing of the kind was seen" + numbers,
        f"{name}.error.condition",
        severity=WARNING if sure else INFO,
    )


def kept(event: Event, condition: str) -> str | None:
    """What the frames say against an accusation; None when they do not."""
    session, link = event.session, event.link
    if condition == WINDOW:
        return None if session is None else window_kept(session)
    if condition == LIMIT:
        if link is None or link.pair is None or link.again:
            return None
        count = link.pair.count_high
        lowest = narrowest(link.credit)
        if count is None or lowest is None or count > lowest:
            return None
        return f": delivery-count {count}, credit reached to {lowest}"
    if condition == UNATTACHED and session is not None and session.pair is not None:
        for other in (*session.pair.handles.values(), *session.pair.detached.values()):
            if other.pair is not None and other.pair.detach is not None:
                return DOUBTFUL
    return ""


def window_kept(session: SessionEnd) -> str | None:
    """The partner's transfers against the narrowest window that it may have known."""
    pair = session.pair
    lowest = narrowest(session.window)
    if pair is None or pair.next_outgoing_id is None or lowest is None:
        return None
    if pair.next_outgoing_id > lowest:
        return None
    return f": next transfer-id {pair.next_outgoing_id}, the window ends before {lowest}"


def narrowest(grants: Grants) -> int | None:
    """The lowest limit among those that may have been in force."""
    if grants.unsure or not grants.entries:
        return None
    return min(entry.limit for entry in grants.entries)


@rule("ERR-022", "error-from-violator", "2.8", IMPLIED, INFO, on="detach | end | close")
def error_from_violator(event: Event, report: Reporter) -> None:
    """An error that ends something is usually the consequence of an earlier fault.

    This points from the error of a link, session or connection to the first fault of the partner
    that was found in it.

    Bad (sending):
        client: transfer[0] handle=1 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- LNK-005
        server: end[0] error=error(condition=:amqp:session:unattached-handle
                description="handle 1")   # <- ERR-022

    Good (sending):
        server: end[0] error=error(condition=:amqp:internal-error description="disk full")
        client: end[0]
    """
    error = error_in(event)
    if error is None or str(error.condition) in UNRELATED:
        return
    for fault in event.connection.faults:
        if not fault.sure or fault.peer == event.peer or not event.knew(fault.mark):
            continue
        if fault.mark.frame >= event.mark.frame or not concerns(event, fault):
            continue
        if fault.answered:
            return
        name = event.frame.unit.name
        report.suspect(
            event,
            f"{name} with {error.condition}: the probable cause is {fault.rule} in frame"
            f" {fault.mark.frame}",
            f"{name}.error",
            ((fault.mark, "the first fault of the peer"),),
            peer=fault.peer,
        )
        return
