"""Errors in detach, end and close: who is right (ERR; spec 2.8).

An error that accuses the partner is compared with what was found against it. What a rule that does
not run would have found is not known, and then nothing is said.
"""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.knowledge import Grants
from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.connection import Fault
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, WARNING, Reporter, rule
from amqpscope.rules.v1_0.errors.reactions import (
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
from amqpscope.rules.v1_0.topics import REACTION
from dissectors.v1_0.bodies import Body, Error
from dissectors.v1_0.tables import COMPOSITE

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
ENDED: Final = ("fin", "rst")
NEAR: Final = 10
"""Frames of the connection in which a peer reacts to what is no error; later that is no cause."""
HARMLESS: Final = frozenset(("FLW-012",))
"""Warnings about what breaks nothing; where it does, they are errors of their own."""
PROVOKED: Final = frozenset(
    (
        "amqp:internal-error",
        "amqp:not-implemented",
        "amqp:illegal-state",
        "amqp:invalid-field",
        "amqp:decode-error",
    )
)
"""Errors that a frame brings about, whether or not anything is wrong with it."""
FIELDS: Final = tuple(
    {field.name for name in ("open", "begin", "attach") for field in COMPOSITE[name].fields
     if "-" in field.name}
)  # fmt: skip
"""What the description of an error can name."""
DOUBTFUL: Final = "; it may have been about a frame in flight"


@rule("ERR-016", "2.8.15-2.8.18", IMPLIED, WARNING, on="detach | end | close")
def accusation_unfounded(event: Event, report: Reporter, error: Error) -> None:
    """A peer that accuses its partner is right about it.

    When one side ends a session because of a window or a handle, users blame the other. Where the
    frames show that nothing of the kind happened, even by the narrowest reading of what had been
    granted, the accuser is wrong, or its frames say something else than it believes. What cannot be
    computed here in full, such as a decode-error, is reported as a note.

    Bad (sent settled=true):
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
    if error.condition is None:
        return
    condition, partner = str(error.condition), event.partner
    needed = ACCUSATIONS.get(condition)
    if needed is None or not needed <= report.active or not event.own.anchored:
        return
    if not partner.anchored or partner.damaged or not event.connection.clean(partner.peer):
        return
    numbers = contradiction(event, condition)
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


def contradiction(event: Event, condition: str) -> str | None:
    """What the frames say against an accusation; None when they do not."""
    session, link = event.session, event.link
    if condition == WINDOW:
        return None if session is None else window_kept(session)
    if condition == LIMIT:
        if link is None or link.pair is None or link.again:
            return None
        count = link.pair.sending.count_high
        lowest = narrowest(link.receiving.credit)
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
    lowest = narrowest(session.receiving.window)
    if pair is None or pair.sending.next_outgoing_id is None or lowest is None:
        return None
    if pair.sending.next_outgoing_id > lowest:
        return None
    return f": next transfer-id {pair.sending.next_outgoing_id}, the window ends before {lowest}"


def narrowest(grants: Grants) -> int | None:
    """The lowest limit among those that may have been in force."""
    if grants.unsure or not grants.entries:
        return None
    return min(entry.limit for entry in grants.entries)


@rule("ERR-022", "2.8", IMPLIED, INFO, on="detach | end | close")
def error_from_violator(event: Event, report: Reporter, error: Error) -> None:
    """An error that ends something is usually the consequence of an earlier frame.

    This points from the error of a link, session or connection to the first fault of the partner
    that was found in it; a note is no fault, nor is what the peer has put up with for long. Where
    the error's own words name a field, it points to what was found there, or to the frame that sets
    it. Where nothing was found and the error is of a kind that a frame brings about, it points to
    the last frame that had been received.

    Bad (sending):
        client: transfer[0] handle=1 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- LNK-005
        server: end[0] error=error(condition=:amqp:session:unattached-handle
                description="handle 1")   # <- ERR-022

    Bad (attaching_sender snd-settle-mode=settled):
        server: end[0] error=error(condition=:amqp:not-implemented
                description="snd-settle-mode settled not supported")   # <- ERR-022
        client: end[0]

    Bad (sent settled=true):
        server: end[0] error=error(condition=:amqp:internal-error
                description="badmatch")   # <- ERR-022
        client: end[0]

    Good (sending):
        server: end[0] error=error(condition=:amqp:resource-limit-exceeded description="disk full")
        client: end[0]
    """
    if str(error.condition) in UNRELATED:
        return
    field = named_field(error)
    faults = [fault for fault in event.connection.faults if may_be_cause(event, fault)]
    if field:
        faults = [fault for fault in faults if field in fault.path]
    if faults and not report.has_reported(REACTION, faults[0]):
        point_to_fault(event, report, error, faults[0])
    elif not faults and event.partner.anchored and event.partner.finished not in ENDED:
        point_to_frame(event, report, error, field)


def may_be_cause(event: Event, fault: Fault) -> bool:
    """A fault that the sender of an error may have read, in what the error ends."""
    if not fault.sure or fault.peer == event.peer or not event.knew(fault.mark):
        return False
    if event.partner.finished in ENDED:
        return fault.rule == "CON-008"
    before = fault.mark.frame < event.mark.frame
    since = event.connection.frames - fault.frames
    near = fault.severity == ERROR or (fault.severity == WARNING and since <= NEAR)
    return near and before and fault.rule not in HARMLESS and concerns(event, fault)


def point_to_fault(event: Event, report: Reporter, error: Error, fault: Fault) -> None:
    """Name the fault that an error seems to answer."""
    name = event.frame.unit.name
    report.suspect(
        event,
        f"{name} with {error.condition}: the probable cause is {fault.rule} in frame"
        f" {fault.mark.frame}",
        f"{name}.error",
        ((fault.mark, "the first fault of the peer"),),
        peer=fault.peer,
    )


def point_to_frame(event: Event, report: Reporter, error: Error, field: str) -> None:
    """Show the frame that an error names, or that came before it, where it broke no rule."""
    name = event.frame.unit.name
    text = f"{name} with {error.condition}"
    setter = field_setter(event, field) if field else None
    if setter is not None:
        text += f" names {field}, which frame {setter.frame} sets"
        report.suspect(event, text, f"{name}.error", ((setter, f"it sets {field}"),))
        return
    last = last_received(event)
    if last is None or last.frame < event.own.last_mark.frame:
        return  # it has said something since, so that is not what it stumbled over
    if str(error.condition) in PROVOKED:
        text += f" comes after frame {last.frame}, in which no fault was found"
        why = "the last frame that it had received"
        report.suspect(event, text, f"{name}.error", ((last, why),))


def named_field(error: Error) -> str:
    """The field that an error's description names, if it is one; those of one word are words."""
    text = error.description
    found = (
        [] if not isinstance(text, str) else [w for w in FIELDS if w in re.split(r"[^\w-]", text)]
    )
    return found[0] if len(found) == 1 else ""


def field_setter(event: Event, field: str) -> Mark | None:
    """The partner's newest attach, begin or open, of what an error ends, that sets a field."""
    session, partner = event.session, event.partner
    said: list[tuple[Body | None, Mark | None]] = [(partner.open, partner.open_mark)]
    pair = None if session is None else session.pair
    if pair is not None:
        said.append((pair.begin, pair.mark))
        ends = [*pair.handles.values(), *pair.detached.values()]
        said += [(end.attach, end.mark) for end in ends if event.link in (None, end.pair)]
    found = [mark for body, mark in said if mark is not None and sets(body, field)]
    return max((m for m in found if event.knew(m)), key=lambda mark: mark.frame, default=None)


def sets(body: Body | None, field: str) -> bool:
    """Whether a frame has a field, and in it something."""
    names = [] if body is None else [each.name for each in body.row.fields]
    return body is not None and field in names and body.wire(names.index(field)) is not None


def last_received(event: Event) -> Mark | None:
    """The partner's newest frame, of what an error ends, that its sender may have read."""
    pair = None if event.session is None else event.session.pair
    marks: list[Mark | None] = [event.partner.last_mark]
    if pair is not None:
        marks += [pair.mark, pair.flow_mark, pair.sending.last_mark]
        for end in (*pair.handles.values(), *pair.detached.values()):
            marks += [end.mark, end.flow_mark, end.sending.last_mark, end.detach_mark]
    read = [mark for mark in marks if mark is not None and mark.frame and event.knew(mark)]
    return max(read, key=lambda mark: mark.frame, default=None)
