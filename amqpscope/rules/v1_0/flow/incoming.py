"""What a flow says of the transfers that came in: next-incoming-id (FLW; spec 2.5.6, 2.7.4)."""

from __future__ import annotations

from amqpscope.model.knowledge import GRACE
from amqpscope.model.ledger import WRONG_INCOMING_ID
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.flows import incoming_id, known_transfers
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.flow.windows import unreadable
from dissectors.v1_0.bodies import Flow


@rule("FLW-004", "2.7.4", MUST, ERROR, on="odd-flow")
def next_incoming_id_set_too_early(
    event: Event, report: Reporter, body: Flow, session: SessionEnd
) -> None:
    """A flow leaves next-incoming-id null until its sender has received the partner's begin.

    Before, it cannot know where the partner's transfer-ids start. A guess of 0 works with partners
    that start at 0; RabbitMQ 4 starts elsewhere and ends the session for it.

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0
                outgoing-window=9   # <- FLW-004
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9

    Good (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9
        server: begin[0] remote-channel=0 next-outgoing-id=7 incoming-window=9 outgoing-window=9
        client: flow[0] next-incoming-id=7 incoming-window=9 next-outgoing-id=0 outgoing-window=9
    """
    if body.next_incoming_id is None:
        return
    if too_early(event, session):
        related = None if session.pair is None else session.pair.mark
        report.sure(
            event,
            f"next-incoming-id {body.next_incoming_id} was sent before the partner's begin on"
            f" channel {session.channel} could be known",
            "flow.next-incoming-id",
            ((session.mark, "the begin"), (related, "the partner's begin, not yet received")),
        )


def too_early(event: Event, session: SessionEnd) -> bool:
    """The sender cannot have read its partner's begin."""
    if not session.whole or not event.partner.anchored or event.ahead or event.damaged:
        return False
    if session.begin is None or session.begin.remote_channel is not None:
        return False
    pair = session.pair
    if pair is None:
        # An answer that does not say what it answers may be among those that wait.
        return not event.partner.unpaired
    return not event.knew(pair.mark)


@rule("FLW-005", "2.7.4", MUST, ERROR, on="odd-flow")
def next_incoming_id_missing(
    event: Event, report: Reporter, body: Flow, session: SessionEnd
) -> None:
    """A flow states next-incoming-id once its sender has received the partner's begin.

    Without it the partner has to count the window from where it began, which gets smaller with
    every transfer; strict clients fail the session instead. Azure IoT Hub is known for it. A flow
    may cross the begin on the wire, so it counts only when the sender has shown that it had it.

    Bad (session):
        server: flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9   # <- FLW-005

    Good (session server.next-outgoing-id=7):
        client~1: flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9

    Good (session):
        client: GAP
        server: flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9

    Good (session):
        client: end[0]
        server: flow[0] incoming-window=9 next-outgoing-id=0 outgoing-window=9
    """
    if body.next_incoming_id is not None:
        return
    pair = session.pair
    if pair is None or unreadable(event) or session.assumed:
        return
    if pair.is_ended or not pair.whole:
        return  # The partner has ended the session, or may have: some leave it out then.
    text = f"no next-incoming-id, though the partner's begin on channel {pair.channel}"
    related = ((pair.mark, "the partner's begin"), (session.flow_mark, "the peer's flow before"))
    names = session.begin is not None and session.begin.remote_channel is not None
    if names or session.receiving.next_incoming_id is not None or event.surely_knew(pair.mark):
        if report.once(session):
            report.sure(event, f"{text} had been received", "flow.next-incoming-id", related)
    elif answered_attach(session):
        text = f"{text} shows in the attaches that it answered"
        if report.once(session):
            report.suspect(event, text, "flow.next-incoming-id", related)
    elif not pair.assumed and event.knew(pair.mark) and event.since(pair.mark) > GRACE:
        seconds = event.since(pair.mark) / 1e9
        text = f"{text} was sent {seconds:.1f} s before"
        if report.once(session):
            report.suspect(event, text, "flow.next-incoming-id", related)


def answered_attach(session: SessionEnd) -> bool:
    """A peer has attached a link as if in answer to its partner's attach on the session."""
    for link in session.handles.values():
        if link.replied and link.pair is not None and link.pair.mark.end <= link.known_then:
            return True
    return False


def judged_incoming_id(event: Event, body: Flow) -> int | None:
    """The next-incoming-id of a flow, if it can be judged."""
    session, said = event.session, body.next_incoming_id
    if said is None or session is None or event.damaged:
        return None
    if session.reported.has(WRONG_INCOMING_ID):
        return None
    pair = session.pair
    if pair is None or event.ahead:
        return None
    if pair.sending.miscounted or pair.sending.near_outgoing_id is None:
        return None
    return None if too_early(event, session) else incoming_id(said, pair.sending)


@rule("FLW-006", "2.5.6", IMPLIED, ERROR, on="odd-flow")
def next_incoming_id_leads(
    event: Event, report: Reporter, body: Flow, session: SessionEnd, session_pair: SessionEnd
) -> None:
    """A flow's next-incoming-id counts no transfers that the partner has not sent.

    RabbitMQ ends the session over it ("leads next-outgoing-id"). Typical causes are a counter that
    starts at 0 where the partner starts below 2**32, and deliveries of other sessions counted in.

    Bad (sent settled=true):
        server: flow[0] next-incoming-id=2 incoming-window=100 next-outgoing-id=0
                outgoing-window=100   # <- FLW-006

    Good (sent settled=true):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
        server~1: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100
    """
    value = judged_incoming_id(event, body)
    sent = None if value is None else known_transfers(event, session_pair.sending)
    if value is None or sent is None or value <= sent:
        return
    report.once(session, topic=WRONG_INCOMING_ID)
    report.sure(
        event,
        f"next-incoming-id {wire(value)} counts {value - sent} transfers more than were sent:"
        f" the next to come was {wire(sent)}",
        "flow.next-incoming-id",
        ((session_pair.mark, f"the partner's begin: its ids start at {start_of(session_pair)}"),),
    )


def start_of(session: SessionEnd) -> str:
    """Where a peer's transfer-ids start, in words."""
    start = session.sending.initial_outgoing_id
    return "an unknown value" if start is None else str(start)


@rule("FLW-007", "2.5.6", IMPLIED, ERROR, on="odd-flow")
def next_incoming_id_regresses(
    event: Event, report: Reporter, body: Flow, session: SessionEnd, session_pair: SessionEnd
) -> None:
    """A peer's next-incoming-id never goes back within a session.

    It takes window away from the partner that was granted before, and shows a broken counter.

    Bad (sent settled=true):
        server: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100   # <- FLW-007

    Good (attaching_sender client.next-outgoing-id=4294967295):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=4294967295 incoming-window=9 next-outgoing-id=0
                outgoing-window=9 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
    """
    before = session.receiving.next_incoming_id
    value = None if before is None else judged_incoming_id(event, body)
    if before is None or value is None or value >= before:
        return
    start = session_pair.sending.initial_outgoing_id
    if start is not None and before < start:
        return
    report.once(session, topic=WRONG_INCOMING_ID)
    report.sure(
        event,
        f"next-incoming-id {wire(value)} falls below {wire(before)}, which the same peer"
        " stated before",
        "flow.next-incoming-id",
        ((session.flow_mark, "the peer's flow before"),),
    )


@rule("FLW-008", "2.5.6", IMPLIED, ERROR, on="odd-flow")
def next_incoming_id_not_initialised(
    event: Event, report: Reporter, body: Flow, session: SessionEnd, session_pair: SessionEnd
) -> None:
    """A peer's next-incoming-id starts from the next-outgoing-id of the partner's begin.

    A stack that always starts at 0 works until a partner starts elsewhere; then the windows that it
    grants lie in the past and the partner stops sending.

    Bad (session client.next-outgoing-id=5):
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0
                outgoing-window=9   # <- FLW-008

    Good (session client.next-outgoing-id=5):
        server: flow[0] next-incoming-id=5 incoming-window=9 next-outgoing-id=0 outgoing-window=9
    """
    if session.receiving.next_incoming_id is not None:
        return
    start = session_pair.sending.initial_outgoing_id
    value = None if start is None else judged_incoming_id(event, body)
    if start is None or value is None or value >= start:
        return
    report.once(session, topic=WRONG_INCOMING_ID)
    report.sure(
        event,
        f"next-incoming-id {wire(value)} lies before {start}, where the partner's ids start",
        "flow.next-incoming-id",
        ((session_pair.mark, "the partner's begin"),),
    )


@rule("FLW-032", "2.5.6", MUST, WARNING, on="odd-flow")
def session_state_adopted(event: Event, report: Reporter, body: Flow, session: SessionEnd) -> None:
    """A peer takes over the next-outgoing-id of its partner's flow as its own next-incoming-id.

    That is how two sides agree again after a miscount. It can only be suspected: the flow may have
    been slow to arrive.

    Bad (sent settled=true):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100
        @3s server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100   # <- FLW-032

    Good (sent settled=true):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100
        @3s server~1: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100
    """
    if session.pair is None:
        return
    pair = session.pair
    flow = pair.flow
    if flow is None or flow.next_outgoing_id is None or event.since(pair.flow_mark) <= GRACE:
        return
    value = judged_incoming_id(event, body) if event.knew(pair.flow_mark) else None
    announced = incoming_id(flow.next_outgoing_id, pair.sending)
    before = session.receiving.next_incoming_id
    if value is None or value >= announced or (before is not None and value < before):
        return
    start = pair.sending.initial_outgoing_id
    if start is not None and value < start:
        return
    report.suspect(
        event,
        f"next-incoming-id {wire(value)} is behind the {wire(announced)} that the partner announced"
        f" {event.since(pair.flow_mark) / 1e9:.1f} s before",
        "flow.next-incoming-id",
        ((pair.flow_mark, "the partner's flow"),),
    )
