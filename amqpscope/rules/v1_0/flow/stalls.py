"""What waits too long for a flow: drains, echoes, closed windows and empty credit (FLW).

Nothing here is proved by octets, so all of it is only suspected: a peer may be slow, or hold back
on purpose. A finding stands at the frame that waits, against the peer that should move. It is
looked for once a second, and when a direction ends.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import RECEIVER, SENDER
from amqpscope.rules.v1_0 import IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.topics import UNMET_DRAIN

SECOND: Final = 1_000_000_000
ANSWER: Final = 5 * SECOND
"""How long an answer to a drain or an echo request may take."""
STALL: Final = 10 * SECOND
"""How long a sender may be held before somebody should know."""


def sessions(event: Event) -> list[SessionEnd]:
    """The session ends of both peers that are up and were seen from their begin."""
    found: list[SessionEnd] = []
    for end in event.connection.ends:
        if end.close is not None or not end.anchored:
            return []
        for session in end.channels.values():
            pair = session.pair
            if pair is not None and pair.ended is None and session.whole and pair.whole:
                found.append(session)
    return found


def links(event: Event, role: bool) -> list[LinkEnd]:
    """The link ends of a role that are attached on both sides."""
    found: list[LinkEnd] = []
    for session in sessions(event):
        for link in session.handles.values():
            pair = link.pair
            if link.role is role and pair is not None and pair.detach is None:
                found.append(link)
    return found


def quiet(event: Event, *marks: Mark | None) -> int:
    """Nanoseconds since the newest of some frames."""
    newest = max((mark.time for mark in marks if mark is not None), default=event.time)
    return event.time - newest


def window_closed(session: SessionEnd) -> bool:
    """A session has no room for a transfer of this peer, as far as its partner has said."""
    pair, number = session.pair, session.sending.next_outgoing_id
    last = None if pair is None else pair.receiving.window.latest()
    return number is None or last is None or last.limit <= number


def undrained_credit(receiver: LinkEnd, sender: LinkEnd) -> int:
    """Credit that a sender has still to use or give up for a drain; 0 if none."""
    receiving, count = receiver.receiving, sender.sending.count_high
    last = receiving.credit.latest()
    if not receiving.drain or last is None or count is None or receiving.credit.unsure:
        return 0
    return max(last.limit - count, 0)


@rule("FLW-021", "2.6.7", MUST, WARNING, on="tick | finished")
def drain_answered(event: Event, report: Reporter) -> None:
    """A sender that is asked to drain uses its credit up, or gives it up with a flow.

    With nothing to send it raises its delivery-count to the end of the credit and says so. A
    receiver that waits for this to know that there is nothing more hangs or times out ("remote did
    not respond to a drain request in time"). Five seconds without a transfer are taken for none.
    Whether a drain without credit asks for a flow is not clear; as clients wait for it, it is a
    note that none came.

    Bad (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
                drain=true   # <- FLW-021
        @7s client: END

    Bad (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=0
                drain=true   # <- FLW-021
        @7s client: END

    Good (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=0 drain=true
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=0 drain=true
        @7s client: END

    Good (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=1 drain=true
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        @7s client: END
    """
    for receiver in links(event, RECEIVER):
        if receiver.receiving.drain and receiver.pair is not None:
            drain_unanswered(event, report, receiver, receiver.pair)


def drain_unanswered(event: Event, report: Reporter, receiver: LinkEnd, sender: LinkEnd) -> None:
    """Report a drain that the sender has not answered at all."""
    asked, answer = receiver.receiving.drain_mark, sender.flow_mark
    left = undrained_credit(receiver, sender)
    if asked is None:
        return
    if without_credit(receiver):
        drain_without_credit(event, report, receiver, sender)
        return
    if not left or window_closed(sender.session):
        return
    answered = answer is not None and answer.frame > asked.frame
    if answered and sender.flow is not None and sender.flow.drain:
        # It has answered, if not enough: that is FLW-022.
        return
    if quiet(event, asked, sender.sending.last_mark, receiver.flow_mark) < ANSWER:
        return
    if not report.once(receiver, asked.frame, topic=UNMET_DRAIN):
        return
    report.suspect(
        event,
        f"sender {sender.label()} was asked to drain and {event.since(asked) / 1e9:.1f} s later has"
        f" neither used nor given up {left} credit",
        "flow.drain",
        ((sender.sending.last_mark, "its last transfer"), (answer, "its last flow")),
        peer=sender.session.owner.peer,
        mark=asked,
    )


def without_credit(receiver: LinkEnd) -> bool:
    """A receiver's last flow asks to drain and grants nothing."""
    return receiver.receiving.drain_mark is receiver.flow_mark and (
        receiver.flow is not None and receiver.flow.link_credit == 0
    )


def drain_without_credit(
    event: Event, report: Reporter, receiver: LinkEnd, sender: LinkEnd
) -> None:
    """Note that nothing came after a drain that left nothing to use up or give up."""
    asked, answer = receiver.receiving.drain_mark, sender.flow_mark
    if asked is None or (answer is not None and answer.frame > asked.frame):
        return
    if quiet(event, asked, sender.sending.last_mark) < ANSWER:
        return
    if not report.once(receiver, asked.frame, topic=UNMET_DRAIN):
        return
    report.suspect(
        event,
        f"sender {sender.label()} was asked to drain with no credit left, and"
        f" {event.since(asked) / 1e9:.1f} s later has sent no flow: a receiver that waits for one"
        " hangs",
        "flow.drain",
        ((sender.sending.last_mark, "its last transfer"), (answer, "its last flow")),
        severity=INFO,
        peer=sender.session.owner.peer,
        mark=asked,
        about=sender,
    )


@rule("FLW-022", "2.6.7", MUST, WARNING, on="tick | finished")
def drain_incomplete(event: Event, report: Reporter) -> None:
    """A sender's answer to a drain leaves no credit.

    A flow that repeats drain but keeps credit may be a first word; when nothing follows it, the
    receiver waits for the rest.

    Bad (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
                drain=true   # <- FLW-022
        @7s client: END

    Good (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        @1s client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
        @7s client: END
    """
    for receiver in links(event, RECEIVER):
        sender, asked = receiver.pair, receiver.receiving.drain_mark
        if sender is None or asked is None:
            continue
        left, answer = undrained_credit(receiver, sender), sender.flow_mark
        if not left or answer is None or answer.frame < asked.frame or sender.flow is None:
            continue
        if not sender.flow.drain or window_closed(sender.session):
            continue
        if quiet(event, answer, sender.sending.last_mark, receiver.flow_mark) < ANSWER:
            continue
        if not report.once(receiver, asked.frame, topic=UNMET_DRAIN):
            continue
        report.suspect(
            event,
            f"sender {sender.label()} answered a drain with {left} credit left, and nothing"
            f" followed for {event.since(answer) / 1e9:.1f} s",
            "flow.link-credit",
            ((asked, "the receiver's flow with drain"),),
            peer=sender.session.owner.peer,
            mark=answer,
        )


@rule("FLW-026", "2.7.4", SHOULD, WARNING, on="tick | finished")
def echo_answered(event: Event, report: Reporter) -> None:
    """A flow that asks for an echo gets a flow in return soon.

    One answer may serve several requests, and one for a link of the session serves a request for
    the session.

    Bad (session):
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                echo=true   # <- FLW-026
        @7s client: END

    Good (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 echo=true
        @1s server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        @7s client: END
    """
    for session in sessions(event):
        asked, link, pair = session.echo.mark, session.echo.link, session.pair
        if asked is None or pair is None or event.since(asked) < ANSWER:
            continue
        if not report.once(session, asked.frame):
            continue
        # A drain that goes unanswered is reported as such.
        if link is not None:
            over = link.detach is not None or link.pair is None or link.pair.detach is not None
            if over or link.receiving.drain_mark is asked:
                continue
        report.suspect(
            event,
            f"an echo was asked for, and no flow came in {event.since(asked) / 1e9:.1f} s"
            f" {'for the session' if link is None else 'on link ' + link.label()}",
            "flow.echo",
            peer=pair.owner.peer,
            mark=asked,
        )


@rule("FLW-029", "2.5.6", IMPLIED, WARNING, on="tick | finished")
def session_window_stall(event: Event, report: Reporter) -> None:
    """A receiver announces its incoming-window anew before it is used up.

    A sender with credit but no window waits in silence: the consumer that just stops after 2048 or
    65535 transfers. The window counts transfer frames, so a receiver that refills by messages runs
    dry on large ones. A receiver may throttle on purpose, so this is reported as a stall.

    Bad (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 incoming-window=1 next-outgoing-id=0 outgoing-window=9
                handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- FLW-029
        @12s client: END

    Good (sent settled=true):
        server: flow[0] next-incoming-id=1 incoming-window=1 next-outgoing-id=0 outgoing-window=100
        @12s client: END
    """
    for session in sessions(event):
        pair, number = session.pair, session.sending.next_outgoing_id
        if pair is None or number is None or session.sending.miscounted:
            continue
        last = None if pair.receiving.window.unsure else pair.receiving.window.latest()
        if last is None or last.limit > number:
            continue
        if quiet(event, last.mark, session.sending.last_mark, pair.flow_mark) < STALL:
            continue
        link = creditor(session)
        if link is None:
            continue
        if not report.once(session, last.limit):
            continue
        waits = session.sending.last_mark or last.mark
        report.suspect(
            event,
            f"the incoming-window is used up at transfer-id {wire(number)} and was not renewed for"
            f" {quiet(event, waits) / 1e9:.1f} s, while sender {link.label()} has credit",
            "flow.incoming-window",
            ((last.mark, "the last window"),),
            peer=pair.owner.peer,
            mark=waits,
        )


def creditor(session: SessionEnd) -> LinkEnd | None:
    """A sending link of a session that has credit."""
    for link in session.handles.values():
        pair, count = link.pair, link.sending.count_high
        if link.role is SENDER and pair is not None and count is not None and pair.detach is None:
            last = pair.receiving.credit.latest()
            if last is not None and last.limit > count and not pair.receiving.credit.unsure:
                return link
    return None


@rule("FLW-030", "2.6.7", IMPLIED, INFO, on="tick | finished")
def link_credit_stall(event: Event, report: Reporter) -> None:
    """A receiver gives new credit to a sender that has messages and no credit.

    The sender says that messages are available, the last credit is used up, and no flow comes: the
    receiver has paused, or waits for something that never comes.

    Bad (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=0
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=0
                available=7   # <- FLW-030
        @12s client: END

    Good (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 available=0
        @12s client: END
    """
    for sender in links(event, SENDER):
        receiver, count, available = sender.pair, sender.sending.count_low, sender.sending.available
        if receiver is None or count is None or not available or receiver.receiving.credit.unsure:
            continue
        last = receiver.receiving.credit.latest()
        if last is not None and last.limit > count:
            continue
        waits = sender.flow_mark
        if waits is None:
            continue
        if quiet(event, waits, receiver.flow_mark, sender.sending.last_mark, receiver.mark) < STALL:
            continue
        if not report.once(sender):
            continue
        report.suspect(
            event,
            f"sender {sender.label()} has {available} messages available and no credit, and"
            f" the receiver has sent no flow for it for {quiet(event, waits) / 1e9:.1f} s",
            "flow.available",
            ((None if last is None else last.mark, "the last credit"),),
            peer=receiver.session.owner.peer,
            mark=waits,
        )


@rule("FLW-034", "2.6.7", MUST, WARNING, on="tick | finished")
def credit_base_when_count_null(event: Event, report: Reporter) -> None:
    """Credit from a flow without delivery-count counts from the sender's initial-delivery-count.

    A sender that counts it from 0 and does not start there believes that it has no credit, and
    never sends. It shows only as a sender with messages, credit and no transfers.

    Bad (attaching_receiver):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 link-credit=10
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=50
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=50 link-credit=0
                available=7   # <- FLW-034
        @12s client: END

    Good (attaching_receiver):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 link-credit=10
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=50
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=50 link-credit=10 available=1
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        @12s client: END
    """
    for sender in links(event, SENDER):
        receiver = sender.pair
        if receiver is None or receiver.flow is None:
            continue
        if not sender.sending.available or sender.sending.delivery_total:
            continue
        if receiver.flow.delivery_count is not None or not sender.sending.initial_count:
            continue
        last, waits = receiver.receiving.credit.latest(), sender.flow_mark
        count = sender.sending.count_high
        if last is None or count is None or last.limit <= count or waits is None:
            continue
        if window_closed(sender.session):
            continue
        if quiet(event, waits, receiver.flow_mark) < STALL:
            continue
        if not report.once(sender):
            continue
        report.suspect(
            event,
            f"sender {sender.label()} has {sender.sending.available} messages and credit from its"
            f" initial delivery-count {sender.sending.initial_count} on, and sends nothing",
            "flow.link-credit",
            ((receiver.flow_mark, "the receiver's flow without delivery-count"),),
            peer=sender.session.owner.peer,
            mark=waits,
        )
