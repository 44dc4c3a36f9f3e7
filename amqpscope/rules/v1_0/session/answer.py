"""Sessions: the begin that answers another (SES; spec 2.5.1, 2.7.2).

A begin that answers names its partner's channel, and that begin must have passed before. Numbers
come back after an end, so begins are matched with the oldest unanswered one on their channel.
"""

from __future__ import annotations

from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.event import TICK, Event
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, MUST, Reporter, rule
from amqpscope.rules.v1_0.overdue import common_link, judging, owes, stands_for
from amqpscope.rules.v1_0.topics import BEGIN_UNANSWERED
from dissectors.v1_0.bodies import Begin


def waiting(event: Event, channel: int) -> bool:
    """The partner has a begin on a channel that may have been read and has no answer."""
    return any(one.channel == channel and event.knew(one.mark) for one in event.partner.unpaired)


def any_waiting(event: Event) -> SessionEnd | None:
    """The partner's oldest begin that waits for an answer and may have been read."""
    for one in event.partner.unpaired:
        if event.knew(one.mark):
            return one
    return None


def twin(event: Event, channel: int) -> SessionEnd | None:
    """A live session of the same peer that answers the same begin of the partner."""
    for one in event.own.channels.values():
        pair = one.pair
        if one.begin is None or pair is None or pair.channel != channel:
            continue
        if one.begin.remote_channel == channel:
            return one
    return None


def answered_before(event: Event, channel: int) -> bool:
    """The partner has begun a session on a channel, and it has its answer."""
    for session in (event.partner.channels.get(channel), event.partner.ended.get(channel)):
        if session is None or session.begin is None or session.pair is None:
            continue
        if not session.replied:
            return True
    return False


def names_wrong_channel(event: Event) -> int:
    """The remote-channel of a begin that answers nothing; -1 when all is well or not known."""
    body = event.body
    if not isinstance(body, Begin) or body.remote_channel is None or event.damaged:
        return -1
    own, partner = event.own, event.partner
    if not own.anchored or not partner.anchored or partner.damaged or event.discarded:
        return -1
    if own.close is not None or body.wrong or event.ahead:
        return -1
    return -1 if waiting(event, body.remote_channel) else body.remote_channel


@rule("SES-003", "2.7.2", MUST, ERROR, on="begin")
def remote_channel_set_by_initiator(event: Event, report: Reporter) -> None:
    """A begin that opens a new session leaves remote-channel null.

    By this field the partner tells a new session from the answer to one of its own. Set, even to 0,
    it names a session that the partner never began. (Some programs print null as 0 in their logs;
    here the octets count.)

    Bad (opened):
        client: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9
                outgoing-window=9   # <- SES-003
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9

    Good (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[5] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: begin[1] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
    """
    channel = names_wrong_channel(event)
    if channel < 0 or twin(event, channel) is not None:
        return
    if any_waiting(event) is not None or answered_before(event, channel):
        return
    report.sure(
        event,
        f"begin sets remote-channel {channel}, but the peer had no begin that waits for an answer:"
        " a begin that opens a session leaves it null",
        "begin.remote-channel",
    )


@rule("SES-004", "2.7.2", MUST, ERROR, on="close | tick | finished")
def remote_channel_missing_in_reply(event: Event, report: Reporter) -> None:
    """A begin that answers its partner's begin names the partner's channel.

    Without remote-channel it opens another session, and the one that was asked for waits for ever.
    Two begins without it may have crossed, so this is judged late: when both stay without an answer
    and links of one are answered on the other. It is sure when a message went over such a link.

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9   # <- SES-004
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                handle=0 delivery-count=0 link-credit=1
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: close
        server: close

    Good (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server~1: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[1] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: begin[1] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: close
        server: close
    """
    for debtor in event.connection.ends:
        waiting = event.connection.ends[1 - debtor.peer].unpaired
        if not debtor.unpaired or not waiting or not debtor.anchored or debtor.damaged:
            continue
        for session in debtor.unpaired:
            asked = stands_for(session, waiting)
            if asked is None or report.has_reported(BEGIN_UNANSWERED, session):
                continue
            if event.kinds & TICK and not (judging(event) and owes(event, debtor, asked.mark)):
                continue
            report.once(session, topic=BEGIN_UNANSWERED)
            report.once(asked, topic=BEGIN_UNANSWERED)
            missing_answer(event, report, session, asked)


def missing_answer(event: Event, report: Reporter, session: SessionEnd, asked: SessionEnd) -> None:
    """Report a begin that was meant as an answer and does not say so."""
    both = common_link(asked, session)
    text = f"begin sets no remote-channel, but seems to answer the begin on channel {asked.channel}"
    related: tuple[tuple[Mark | None, str], ...] = ((asked.mark, "the begin without an answer"),)
    sent = 0
    if both is not None:
        text += (
            f": link {both[0].label()} is attached on both, and neither begin has another answer"
        )
        related += ((both[0].mark, "an attach on that session"), (both[1].mark, "its answer"))
        sent = both[0].sending.delivery_total + both[1].sending.delivery_total
    peer, mark = session.owner.peer, session.mark
    if sent:
        report.sure(
            event, text, "begin.remote-channel", related, peer=peer, mark=mark, about=session
        )
    else:
        report.suspect(
            event, text, "begin.remote-channel", related, peer=peer, mark=mark, about=session
        )


@rule("SES-005", "2.7.2", MUST, ERROR, on="begin")
def remote_channel_wrong(event: Event, report: Reporter) -> None:
    """A begin that answers names the channel of a begin that waits for its answer.

    The number is the partner's, by which the partner will know its session again. A session
    that its owner has ended meanwhile still gets its answer, even if the channel is in use anew:
    begins are matched with the oldest unanswered one on their channel.

    Bad (opened):
        client: begin[3] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9
                outgoing-window=9   # <- SES-005

    Good (opened):
        client: begin[3] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: end[3]
        client: begin[3] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] remote-channel=3 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: end[0]
        server: begin[0] remote-channel=3 next-outgoing-id=0 incoming-window=9 outgoing-window=9
    """
    channel = names_wrong_channel(event)
    if channel < 0 or twin(event, channel) is not None:
        return
    meant = any_waiting(event)
    if meant is None and not answered_before(event, channel):
        return
    if meant is None:
        fact = f"every begin of the peer on channel {channel} has its answer already"
    else:
        fact = f"the peer's begin that waits for an answer is on channel {meant.channel}"
    report.sure(
        event,
        f"begin names remote-channel {channel}: {fact}",
        "begin.remote-channel",
        ((None if meant is None else meant.mark, "the begin that waits for an answer"),),
    )


@rule("SES-006", "2.7.2", IMPLIED, ERROR, on="begin")
def remote_channel_duplicate(event: Event, report: Reporter) -> None:
    """A begin of the partner is answered once.

    Two live sessions that name the same remote channel would both be the other half of one.

    Bad (session):
        server: begin[1] remote-channel=0 next-outgoing-id=0 incoming-window=9
                outgoing-window=9   # <- SES-006

    Good (session):
        client: end[0]
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[1] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: end[0]
    """
    channel = names_wrong_channel(event)
    if channel < 0:
        return
    first = twin(event, channel)
    if first is None:
        return
    report.sure(
        event,
        f"begin names remote-channel {channel}, which the session on channel {first.channel}"
        " has answered already",
        "begin.remote-channel",
        ((first.mark, "the first answer"),),
    )
