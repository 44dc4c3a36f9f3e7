"""Errors in detach, end and close: the reactions that are prescribed (ERR; spec 2.7, 2.8).

For some faults the specification says how the partner has to react. This rests on the findings of
other rules. That a frame is the reaction to a fault is a guess, so all of it is suspect.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.connection import Fault
from amqpscope.model.v1_0.event import TICK, Event
from amqpscope.rules.v1_0 import IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.overdue import judging, owes, seconds
from amqpscope.rules.v1_0.parameters import error_in
from amqpscope.rules.v1_0.topics import REACTION
from dissectors.v1_0.bodies import Detach, End

FRAMING: Final = "amqp:connection:framing-error"
IN_USE: Final = "amqp:session:handle-in-use"
UNATTACHED: Final = "amqp:session:unattached-handle"
WINDOW: Final = "amqp:session:window-violation"
LIMIT: Final = "amqp:link:transfer-limit-exceeded"
SIZE: Final = "amqp:link:message-size-exceeded"
DECODE: Final = "amqp:decode-error"

UNRELATED: Final = frozenset(
    (
        "amqp:connection:forced",
        "amqp:connection:redirect",
        "amqp:link:detach-forced",
        "amqp:link:redirect",
        "amqp:link:stolen",
    )
)
"""Conditions that tell of something else than a fault of the partner."""


def concerns(event: Event, fault: Fault) -> bool:
    """An error frame may be the reaction to a fault: same connection, session or link."""
    link, session = event.link, event.session
    # Which of the two ends is noted depends on the frame at which the fault was found.
    if isinstance(event.body, Detach):
        return link is not None and fault.link is not None and fault.link in (link, link.pair)
    if isinstance(event.body, End):
        ends = () if session is None else (session, session.pair)
        return fault.session is not None and fault.session in ends
    return True


def reaction(
    event: Event, report: Reporter, triggers: tuple[str, ...], condition: str, means: str
) -> None:
    """Compare the reaction to a fault with the one that is prescribed."""
    for fault in event.connection.faults:
        if fault.rule not in triggers or not fault.sure or fault.reported.has(REACTION):
            continue
        if event.kinds & TICK:
            lenient(event, report, fault, condition, means)
        error = error_in(event)
        if error is None or event.peer == fault.peer or not event.knew(fault.mark):
            continue
        said, name = str(error.condition), event.frame.unit.name
        if said in UNRELATED or not concerns(event, fault):
            continue
        report.once(fault, topic=REACTION)
        if said != condition or name not in means:
            report.suspect(
                event,
                f"{fault.rule} is answered by {name} with {said}; {means} with {condition} is due",
                f"{name}.error.condition",
                ((fault.mark, "what it seems to answer"),),
            )


def lenient(event: Event, report: Reporter, fault: Fault, condition: str, means: str) -> None:
    """A fault that its receiver has let pass."""
    judge = event.connection.ends[1 - fault.peer]
    if not judging(event) or not owes(event, judge, fault.mark):
        return
    if fault.session is not None and fault.session.pair is not None and fault.session.pair.ended:
        return
    report.once(fault, topic=REACTION)
    if judge.last_mark.frame > fault.mark.frame:
        report.suspect(
            event,
            f"{fault.rule} was let pass for {seconds(event, fault.mark)}; {means} with {condition}"
            " is due",
            "",
            peer=judge.peer,
            mark=fault.mark,
            about=fault.link or fault.session,
            severity=INFO,
        )


@rule("ERR-005", "2.7.1", MUST, WARNING, on="end | close | tick")
def oversize_frame_reaction(event: Event, report: Reporter) -> None:
    """A frame above the receiver's max-frame-size is answered by close with framing-error.

    Any other condition sends whoever debugs the sender the wrong way. A receiver that just goes on
    is reported as a note.

    Bad (opened server.max-frame-size=512):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: attach[0] name="r" handle=0 role=receiver source=source()
                target=target() properties={
                :a="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                :b="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                :c="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                :d="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                :e="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                :f="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                :g="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                }   # <- FRM-006
        server: close error=error(condition=:amqp:not-allowed description="no")   # <- ERR-005

    Good (opened):
        server: close error=error(condition=:amqp:not-allowed description="no")
        client: close
    """
    if event.connection.faults:
        reaction(event, report, ("FRM-006",), FRAMING, "close")


@rule("ERR-006", "2.7.1", MUST, WARNING, on="end | close | tick")
def channel_range_reaction(event: Event, report: Reporter) -> None:
    """A channel above the receiver's channel-max is answered by close with framing-error.

    A receiver that just goes on is reported as a note.

    Bad (opened):
        client: begin[101] next-outgoing-id=0 incoming-window=9 outgoing-window=9   # <- FRM-011
        server: close error=error(condition=:amqp:not-allowed description="no")   # <- ERR-006

    Good (opened):
        client: begin[100] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: close error=error(condition=:amqp:not-allowed description="no")
        client: close
    """
    if event.connection.faults:
        reaction(event, report, ("FRM-011",), FRAMING, "close")


@rule("ERR-007", "2.7.2", MUST, WARNING, on="end | close | tick")
def handle_range_reaction(event: Event, report: Reporter) -> None:
    """A handle above the receiver's handle-max is answered by close with framing-error.

    Many end the session instead. A receiver that just goes on is reported as a note.

    Bad (session server.handle-max=0):
        client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q")
                initial-delivery-count=0   # <- SES-016
        server: end[0] error=error(condition=:amqp:not-allowed description="no")   # <- ERR-007

    Good (attaching_sender attach.handle=1):
        server: end[0] error=error(condition=:amqp:not-allowed description="no")
        client: end[0]
    """
    if event.connection.faults:
        reaction(event, report, ("SES-016",), FRAMING, "close")


@rule("ERR-008", "2.7.3", MUST, WARNING, on="end | close | tick")
def handle_in_use_reaction(event: Event, report: Reporter) -> None:
    """An attach on a handle in use is answered by close with handle-in-use.

    The condition is one of sessions though a close is asked for, so an end with it is as good. A
    receiver that just goes on is reported as a note.

    Bad (sending):
        client: attach[0] name="t" handle=0 role=sender source=source() target=target(address="r")
                initial-delivery-count=0   # <- LNK-001
        server: end[0] error=error(condition=:amqp:not-allowed description="no")   # <- ERR-008

    Good (sending):
        client: attach[0] name="t" handle=1 role=sender source=source() target=target(address="r")
                initial-delivery-count=0
        server: end[0] error=error(condition=:amqp:not-allowed description="no")
        client: end[0]
    """
    if event.connection.faults:
        reaction(event, report, ("LNK-001",), IN_USE, "close or end")


@rule("ERR-009", "2.7.4", MUST, WARNING, on="end | close | tick")
def unattached_handle_reaction(event: Event, report: Reporter) -> None:
    """A flow on a handle that is not attached is answered by end with unattached-handle.

    For transfers and detaches no reaction is prescribed. A receiver that just goes on is reported
    as a note.

    Bad (session):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=7 delivery-count=0 link-credit=1   # <- LNK-004
        server: close error=error(condition=:amqp:invalid-field
                description="no such handle: 7")   # <- ERR-009

    Good (session):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100
        server: close error=error(condition=:amqp:resource-limit-exceeded description="too slow")
        client: close
    """
    if event.connection.faults:
        reaction(event, report, ("LNK-004",), UNATTACHED, "end")


@rule("ERR-011", "2.8.17", IMPLIED, INFO, on="end | close | tick")
def window_violation_reaction(event: Event, report: Reporter) -> None:
    """Transfers past the session window are answered by end with window-violation.

    Some close the connection with that condition, which is as clear.

    Bad (attaching_sender server.incoming-window=1):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 incoming-window=1 next-outgoing-id=0 outgoing-window=9
                handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")   # <- FLW-001
        server: end[0] error=error(condition=:amqp:not-allowed description="no")   # <- ERR-011

    Good (sent settled=true):
        server: end[0] error=error(condition=:amqp:not-allowed description="no")
        client: end[0]
    """
    if event.connection.faults:
        reaction(event, report, ("FLW-001",), WINDOW, "end or close")


@rule("ERR-013", "2.8.18", IMPLIED, WARNING, on="detach")
def message_size_reaction(event: Event, report: Reporter) -> None:
    """A message above max-message-size is answered by detach with message-size-exceeded.

    Or by the outcome `rejected`, as brokers often do; then the link goes on.

    Bad (sending server.max-message-size=4):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"too large")   # <- DLV-020
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-allowed
                description="no")   # <- ERR-013

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"too large")
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-allowed
                description="no")
        client: detach[0] handle=0 closed=true
    """
    if event.connection.faults:
        reaction(event, report, ("DLV-020",), SIZE, "detach")


@rule("ERR-014", "2.8.16", IMPLIED, WARNING, on="end | close")
def malformed_frame_reaction(event: Event, report: Reporter) -> None:
    """Octets that make no frame header are answered by close with framing-error.

    Bad (session):
        client: octets 0x0000000801000000   # <- FRM-002
        server: close error=error(condition=:amqp:internal-error description="no")   # <- ERR-014

    Good (session):
        client: octets 0x0000000802000000
        server: close error=error(condition=:amqp:resource-limit-exceeded description="no")
        client: close
    """
    if event.connection.faults:
        reaction(event, report, ("FRM-001", "FRM-002", "FRM-003", "FRM-004"), FRAMING, "close")
