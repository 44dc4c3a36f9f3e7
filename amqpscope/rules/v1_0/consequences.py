"""What follows from a violation proves nothing against the partner.

After a peer has provably broken the protocol, the two may see their shared state differently, and
the model has to guess. So a violation touches what it was about: a link, a session, or everything
where nobody can say what a frame was meant for. An accusation of the *other* peer that rests on
what was touched is no error any more: it says which violation it may follow from.

Not so where the accused's own frames prove it, whatever its partner has done. The tables here say
which rules these are; all others compare with what the partner has said.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.fault import EVERYTHING, NOTHING
from amqpscope.model.fault import Fault as Violation
from amqpscope.model.v1_0.connection import (
    CONNECTION,
    SOME_HANDLE,
    TERMS,
    TRANSACTIONS,
    Fault,
    of_link,
    of_terms,
)
from amqpscope.model.v1_0.event import MALFORMED, UNBEGUN, WRONG, Event
from amqpscope.model.v1_0.session import SessionEnd
from dissectors.v1_0.bodies import Attach, Begin, Close

OWN: Final = (
    "TYP", "ENC", "MSG",                                                # one frame or message
    "VER-001", "VER-002", "VER-013", "FRM-001", "FRM-002", "FRM-003",   # its own layers
    "FRM-004", "FRM-005", "FRM-008", "FRM-016",
    "SAS-003", "SAS-007", "SAS-008", "SAS-010", "SAS-011", "SAS-018", "SAS-021", "SAS-028",
    "SAS-029", "SAS-031",
    "CON-001", "CON-002", "CON-003", "CON-005", "CON-009", "CON-013",   # its own open and close
    "CON-014", "CON-022", "CON-023", "CON-024", "CON-035",
    "SES-001", "SES-002", "SES-009", "SES-010",                         # its own begins and ends
    "LNK-001", "LNK-004", "LNK-005", "LNK-006", "LNK-017", "LNK-028",   # its own handles
    "FLW-003", "FLW-009", "FLW-010",
    "DLV-001", "DLV-002", "DLV-004", "DLV-005", "DLV-006", "DLV-007",   # its own deliveries
    "DLV-009", "DLV-016",
    "DSP-002", "RES-002", "RES-003", "ERR-001", "SRC-001", "SRC-002",   # fields of one frame
    "OUT-002", "OUT-003", "OUT-004", "OUT-009", "OUT-011", "OUT-012", "OUT-018", "OUT-020",
    "TXN-012", "TXN-024", "TXN-030", "TXN-033", "TXN-042",
)  # fmt: skip
"""Rules that the frames of the accused prove alone, by the start of their ids."""

ON_CONNECTION: Final = ("VER", "FRM", "CON", "SAS", "TLS")
"""Rules that compare with what the partner said of the connection; sessions do not matter."""

ON_SESSION: Final = ("SES", "FLW-00", "DSP-001", "DSP-003")
"""Rules that compare with a session's own counters and numbers; its links do not matter."""

HARMLESS: Final = ("MSG", "ERR")
"""Rules whose violation changes nothing that the partner's next frames depend on."""

ON_LINK: Final = (
    "RES", "FLW-016", "FLW-017", "LNK-012",
    "DLV-014", "DLV-015", "DLV-016", "DLV-017", "DLV-020", "DLV-021",
)  # fmt: skip
"""Rules whose violation touches one link, but none of the session's counters."""

ON_TERMS: Final = ("SRC", "OUT")
"""Rules whose violation touches the termini and outcomes of a link, but none of its counts."""


def touched_by(event: Event, fault: Fault) -> tuple[int, int]:
    """What a proven violation has touched, and since which frame that is there."""
    if fault.rule.startswith(HARMLESS):
        return NOTHING, 0
    unit, body = event.frame.unit, event.body
    if fault.mark is event.mark:
        if fault.rule.startswith(("TYP", "ENC")) and not event.kinds & (MALFORMED | WRONG):
            return NOTHING, 0  # inside a message, or in a map that nobody compares
        if event.kinds & UNBEGUN or (body is None and unit.header is None and unit.kind != "empty"):
            return EVERYTHING, 0
        if isinstance(body, Begin):
            return unit.channel, event.mark.frame
    if fault.rule.startswith("TXN"):
        return TRANSACTIONS, 0
    session = end_of(fault.session, fault.peer)
    if session is None or isinstance(body, Close):
        return CONNECTION, 0
    if fault.rule.startswith(ON_TERMS):
        handle, since = link_of(event, fault, session)
        return of_terms(session.channel, handle), since
    if fault.rule.startswith(ON_LINK):
        handle, since = link_of(event, fault, session)
        return of_link(session.channel, handle), since
    return session.channel, session.mark.frame


def link_of(event: Event, fault: Fault, session: SessionEnd) -> tuple[int, int]:
    """The handle of the link that a violation is about, and the frame that attached it."""
    link, body = fault.link, event.body
    if link is not None and link.session is session:
        return link.handle, link.mark.frame
    if isinstance(body, Attach) and body.handle is not None:
        return body.handle, event.mark.frame
    return SOME_HANDLE, session.mark.frame


def end_of(session: SessionEnd | None, peer: int) -> SessionEnd | None:
    """A peer's own end of a session."""
    return session if session is None or session.owner.peer == peer else session.pair


def cause_of(event: Event, fault: Fault) -> Violation | None:
    """The partner's violation that may have led to this one; None when nothing was touched."""
    touched = event.connection.breaches.touched[1 - fault.peer]
    rule = fault.rule
    if not touched or (rule.startswith(OWN) and authored(fault)):
        return None
    found = touched.get(EVERYTHING)
    if found is None and rule.startswith(ON_CONNECTION):
        return touched.get(CONNECTION)
    if found is None and rule.startswith("TXN"):
        found = touched.get(TRANSACTIONS)
    return found or on_session(touched, fault)


def authored(fault: Fault) -> bool:
    """Whether a message is its sender's own: who set up an unanswered link is not known."""
    return not fault.rule.startswith("MSG") or (
        fault.link is not None and fault.link.pair is not None
    )


def on_session(touched: dict[int, Violation], fault: Fault) -> Violation | None:
    """The partner's violation in the session that an accusation is about, or on its link."""
    own = end_of(fault.session, fault.peer)
    other = None if own is None else own.pair
    if other is None:
        # Perhaps it has no partner because of the violation.
        return next((found for place, found in touched.items() if 0 <= place <= 0xFFFF), None)
    found = touched.get(other.channel)
    if found is not None and found.mark.frame >= other.mark.frame:
        return found  # else it was in a session that had the channel before
    if fault.rule.startswith(ON_SESSION):
        return None
    return on_link(touched, fault, other)


def on_link(touched: dict[int, Violation], fault: Fault, other: SessionEnd) -> Violation | None:
    """The partner's violation on a link; on any of the session when it is not known which."""
    link = fault.link
    pair = None if link is None else link if link.session is other else link.pair
    since = other.mark if pair is None else pair.mark
    counts = fault.rule.startswith("FLW")
    for place, found in touched.items():
        if place >= TERMS and counts:
            continue
        number = place & ~TERMS
        if place < 0 or number >> 32 != other.channel + 1 or found.mark.frame < since.frame:
            continue
        if pair is None or number & SOME_HANDLE in (pair.handle, SOME_HANDLE):
            return found
    return None
