"""Flow control of sessions: transfer-ids, windows and echoes (FLW; spec 2.5.6, 2.7.4).

A window is a grant that travels. It may have been changed while the transfer that used it was on
its way, so a transfer is judged by the most generous window that its sender may still have gone
by. What a flow says of the other side's transfers is in `incoming`, link credit in `credit`.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.event import WRONG, Event
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from dissectors.v1_0.bodies import Flow

ECHO_LOOP: Final = 4
"""Flows in a row that only ask for one another."""


def unreadable(event: Event) -> bool:
    """What is null in the frame may not be, or nobody takes notice of the frame."""
    return event.kinds & WRONG != 0 or event.damaged or event.discarded


@rule("FLW-001", "2.5.6", MUST, ERROR, on="overrun", needs="!discarded !ahead")
def session_window_exceeded(
    event: Event, report: Reporter, session: SessionEnd, session_pair: SessionEnd
) -> None:
    """A peer sends a transfer only while its partner's incoming window has room.

    The receiver sized its buffers by the window it announced; what exceeds it may be dropped, and
    brokers end the session with amqp:session:window-violation. It is reported once per window.

    Bad (attaching_sender server.incoming-window=1):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 incoming-window=1 next-outgoing-id=0 outgoing-window=9
                handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")   # <- FLW-001

    Good (sent settled=true):
        server: flow[0] next-incoming-id=1 incoming-window=1 next-outgoing-id=0 outgoing-window=100
        server: flow[0] next-incoming-id=1 incoming-window=0 next-outgoing-id=0 outgoing-window=100
        client~1: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
    """
    transfer = session.sending.next_outgoing_id
    window = session_pair.receiving.window
    if transfer is None:
        return
    if session.sending.miscounted and session.sending.counted_id is not None:
        transfer = min(transfer, session.sending.counted_id)
    best = window.best(event.known, event.own.proved)
    if best is None or window.unsure or best.limit > transfer:
        return
    if not report.once(session, best.limit):
        return
    over = transfer - best.limit + 1
    report.sure(
        event,
        f"sent {over} past the end of the peer's incoming window: transfer-id {wire(transfer)},"
        f" the window ended before {wire(best.limit)}",
        "transfer",
        ((best.mark, "the most generous window that the sender may have known"),),
    )


@rule("FLW-002", "2.5.6", IMPLIED, INFO, on="overrun")
def own_outgoing_window_exceeded(event: Event, report: Reporter, session: SessionEnd) -> None:
    """A peer's outgoing-window says how many transfers it could send at once.

    To send more than it announced breaks nothing by itself, since the window is kept up by the
    sender's own policy; but the partner may have sized something by it. Reported once per session.

    Bad (attaching_sender client.outgoing-window=1):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")   # <- FLW-002

    Good (sent settled=true):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1 outgoing-window=1
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
    """
    if session.sending.miscounted:
        return
    sending = session.sending
    number, start, window = sending.next_outgoing_id, sending.announced_id, sending.outgoing_window
    if number is None or start is None or window is None or number - start < window:
        return
    if not report.once(session):
        return
    report.suspect(
        event,
        f"sent {number - start + 1} transfers since it announced an outgoing-window of {window}",
        "transfer",
        ((session.flow_mark or session.mark, "announced the outgoing-window"),),
    )


@rule("FLW-003", "2.5.6", IMPLIED, ERROR, on="odd-flow", needs="!damaged")
def next_outgoing_id_wrong(event: Event, report: Reporter, body: Flow, session: SessionEnd) -> None:
    """A flow's next-outgoing-id is the begin's plus the transfers that the peer has sent since.

    The partner takes it over as its own next-incoming-id and computes windows from it: one side
    then believes in transfers that do not exist, and the session slowly loses its window. Counting
    is by transfer frames, also of continued, aborted and discarded ones, never by deliveries.

    Bad (sent settled=true):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=2
                outgoing-window=100   # <- FLW-003

    Good (attaching_sender client.next-outgoing-id=4294967295):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=4294967295 incoming-window=9 next-outgoing-id=0
                outgoing-window=9 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
    """
    said, sending = body.next_outgoing_id, session.sending
    counted, adopted = sending.counted_id, sending.next_outgoing_id
    if said is None or counted is None or said == wire(counted):
        return
    if adopted is None or said == wire(adopted):
        return
    report.sure(
        event,
        f"next-outgoing-id {said} after {transfers(session, counted)}:"
        f" it should be {wire(counted)}{count_hint(session, said, counted)}",
        "flow.next-outgoing-id",
        ((session.mark, "the begin with which the count starts"),),
    )


def transfers(session: SessionEnd, counted: int) -> str:
    """How many transfers were sent, in words."""
    start = session.sending.initial_outgoing_id
    if start is None:
        return "the transfers since the last flow"
    return f"{counted - start} transfers from {wire(start)} on"


def count_hint(session: SessionEnd, said: int, counted: int) -> str:
    """What the wrong number probably is."""
    next_delivery = session.deliveries.next_delivery_id
    if next_delivery is not None and said == wire(next_delivery):
        return " (it is the next delivery-id: were deliveries counted instead of frames?)"
    if counted >= 1 << 32 and said <= counted - (1 << 32) + 1:
        return " (the counter went wrong where it passes 2**32)"
    if abs(said - wire(counted)) == 1:
        return " (off by one)"
    return ""


@rule("FLW-009", "2.7.4", MUST, ERROR, on="odd-flow session-flow", needs="!wrong")
def session_flow_carries_link_fields(event: Event, report: Reporter, body: Flow) -> None:
    """A flow without a handle speaks of the session only and sets no link fields.

    Credit in such a flow belongs to no link; it is lost, and the sender that waits for it starves.
    An explicit drain=false says what its absence says, and is only noted.

    Bad (session):
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                link-credit=10   # <- FLW-009

    Good (session):
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
    """
    if (
        body.delivery_count is None
        and body.link_credit is None
        and body.available is None
        and body.drain is None
        and body.properties is None
    ):
        return
    fields = (
        ("delivery-count", body.delivery_count),
        ("link-credit", body.link_credit),
        ("available", body.available),
        ("drain", body.drain or None),
        ("properties", body.properties),
    )
    names = [name for name, value in fields if value is not None]
    if names:
        text = f"a flow without a handle sets {', '.join(names)}"
        report.sure(event, text, f"flow.{names[0]}")
    else:
        text = "a flow without a handle spells out drain=false"
        report.sure(event, text, "flow.drain", severity=INFO)


@rule("FLW-027", "2.7.4", SHOULD, WARNING, on="odd-flow")
def echo_loop(event: Event, report: Reporter, body: Flow, session: SessionEnd) -> None:
    """A flow that answers an echo request does not ask for an echo itself.

    Two peers that both do so send each other flows without end. Both are at fault; the finding
    stands at the flow that makes the loop plain.

    Bad (session):
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true   # <- FLW-027

    Good (session):
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
    """
    if session.pair is None or not body.echo:
        return
    pair = session.pair
    if pair.echo.run != ECHO_LOOP - 1 or event.since(pair.flow_mark) > GRACE:
        return
    if session.flow == body:
        report.sure(
            event,
            f"the {ECHO_LOOP}th flow in a row, of both peers in turn, that asks for an echo and"
            " says nothing new",
            "flow.echo",
            ((pair.flow_mark, "the flow that it answers"), (session.flow_mark, "the one before")),
        )
