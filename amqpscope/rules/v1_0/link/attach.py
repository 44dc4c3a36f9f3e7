"""Links: what an attach says and how it is answered (LNK; spec 2.6.3, 2.7.3).

A peer speaks for its own terminus only: a sender's source, a receiver's target. What it says of
the other one, and of the partner's settle mode, is a wish.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.event import FINISHED, TICK, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import MIXED, RECEIVER, SENDER
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.overdue import judging, owes, seconds
from amqpscope.rules.v1_0.topics import ATTACH_UNANSWERED
from dissectors.v1_0.bodies import Attach, End, Flow

SND_MODES: Final = ("unsettled", "settled", "mixed")
RCV_MODES: Final = ("first", "second")


@rule("LNK-010", "2.6.3", IMPLIED, WARNING, on="tick | finished")
def attach_answered(event: Event, report: Reporter) -> None:
    """Every attach is answered by an attach of the same name and the opposite role.

    Also a refusal begins with it. Clients wait for it and hang. Reported when 10 s have passed and
    neither the session nor the connection was ended.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0   # <- LNK-010
        @11s server: empty

    Good (attaching_sender):
        @2s server: attach[0] name="s" handle=0 role=receiver source=source()
                target=target(address="q")
        @11s server: empty
    """
    if judging(event):
        for end in event.connection.ends:
            for session in end.channels.values():
                report_unanswered(event, session, report)


def report_unanswered(event: Event, session: SessionEnd, report: Reporter) -> None:
    """The attaches of a session that wait too long."""
    pair = session.pair
    if pair is None or pair.ended is not None or not pair.whole:
        return
    for link in session.unpaired:
        if link.refused:
            continue
        if not owes(event, pair.owner, link.mark):
            break
        if same_role(pair, link) is not None or reattaching(pair, link):
            continue
        if not report.once(link, topic=ATTACH_UNANSWERED):
            continue
        report.suspect(
            event,
            f"attach of link {link.label()} has no answer after {seconds(event, link.mark)}",
            "attach",
            peer=pair.owner.peer,
            mark=link.mark,
            about=link,
        )


def reattaching(pair: SessionEnd, link: LinkEnd) -> bool:
    """The partner still has its old end attached, or has closed it and so is told that it is."""
    ends = list(pair.handles.values())
    if link.detach is not None and link.detach.closed:
        ends += [end for end in pair.detached.values() if end.detach and end.detach.closed]
    return any(other.name == link.name and other.role != link.role for other in ends)


def same_role(session: SessionEnd, link: LinkEnd) -> LinkEnd | None:
    """An unanswered attach of the partner with the same name and the same role."""
    for other in session.unpaired:
        if other.name == link.name and other.role == link.role and other.role is not None:
            return other
    return None


@rule("LNK-011", "2.6.3", IMPLIED, WARNING, on="tick | finished | end | close")
def attach_reply_role(event: Event, report: Reporter) -> None:
    """The attach that answers has the opposite role.

    With the same role it is a new link in the other direction, which may have the same name. When
    both stay without an answer until 10 s have passed or the session ends, the later one was most
    likely meant as an answer; within a second both may just have come too late.

    Bad (attaching_sender):
        server: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0   # <- LNK-011
        client: end[0]
        server: end[0]

    Good (attaching_sender):
        server: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
        client: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
        client: end[0]
        server: end[0]
    """
    if event.kinds & (TICK | FINISHED) and not judging(event):
        return
    only = event.session if isinstance(event.body, End) else None
    for session in event.own.channels.values():
        pair = session.pair
        if pair is None or (only is not None and session is not only):
            continue
        if not session.whole or not pair.whole:
            continue
        for link in session.unpaired:
            other = same_role(pair, link)
            if other is None:
                continue
            first, second = (link, other) if link.mark.frame < other.mark.frame else (other, link)
            if first.refused or report.has_reported(ATTACH_UNANSWERED, first):
                continue
            if first.mark.end > second.known_then:
                continue
            if event.kinds & TICK and not owes(event, second.session.owner, first.mark):
                continue
            report.once(first, topic=ATTACH_UNANSWERED)
            report.once(second, topic=ATTACH_UNANSWERED)
            role = "receiver" if link.role else "sender"
            report.suspect(
                event,
                f"attach of link {second.label()} has the role {role}, as the attach that waits for"
                " its answer; neither was answered",
                "attach.role",
                ((first.mark, "the attach that it seems to answer"),),
                peer=second.session.owner.peer,
                mark=second.mark,
                about=second,
                severity=WARNING if event.since(second.mark) >= GRACE else INFO,
            )


@rule("LNK-015", "2.7.3", IMPLIED, WARNING, on="odd-link first", needs="!discarded")
def sender_without_source_transfers(event: Event, report: Reporter, link: LinkEnd) -> None:
    """A sender that attached without a source has nothing to send from.

    A null source says that there is no terminus, and no message can come of it; an empty `source()`
    is enough to say that there is one. Some client libraries leave it null and send all the same,
    so this is a warning. Reported once for a link.

    Bad (sending client.source=null):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- LNK-015

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
    """
    if link.sending.delivery_total or link.role is not SENDER or link.may_answer:
        return
    if not link.terms.no_terminus:
        return
    report.sure(
        event,
        f"sender {link.label()} sends a message although it attached with a null source",
        "transfer",
        ((link.mark, "its attach"),),
    )


@rule("LNK-016", "2.7.3", IMPLIED, WARNING, on="odd-link receiver-flow", needs="!discarded")
def receiver_without_target_grants(
    event: Event, report: Reporter, body: Flow, link: LinkEnd
) -> None:
    """A receiver that attached without a target has no place for messages, so it grants no credit.

    Some client libraries attach with a null target and consume all the same; this is reported as a
    note for them, once for a link. As an answer a null target is a refusal: see LNK-012.

    Bad (attaching_receiver target=null):
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10   # <- LNK-016

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
    """
    if link.may_answer or not body.link_credit:
        return
    if not link.terms.no_terminus:
        return
    if not report.once(link):
        return
    report.sure(
        event,
        f"receiver {link.label()} grants {body.link_credit} credit although it attached with a"
        " null target",
        "flow.link-credit",
        ((link.mark, "its attach"),),
        severity=INFO,
    )


@rule("LNK-017", "2.7.3", MUST, ERROR, on="attach", needs="!damaged !discarded")
def initial_delivery_count_missing(event: Event, report: Reporter, body: Attach) -> None:
    """The attach of a sender sets initial-delivery-count.

    Credit counts from it, so without it the receiver can only guess; strict libraries refuse the
    link. It is due in every attach of a sender, also in one that refuses or resumes. On a
    receiver's attach it means nothing.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender source=source()
                target=target(address="q")   # <- LNK-017
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")

    Good (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
    """
    if body.role is not SENDER:
        return
    if body.wire(9) is not None:
        return
    report.sure(
        event,
        f'attach of the sender "{body.name or ""}" sets no initial-delivery-count',
        "attach.initial-delivery-count",
    )


def wish(event: Event, role: bool) -> tuple[Attach, LinkEnd] | None:
    """The attach of a peer of this role that answers a wish, and the link end that wishes."""
    session, body = event.session, event.body
    if session is None or session.pair is None or not isinstance(body, Attach):
        return None
    if body.role is not role or event.damaged or body.wire(6 if role else 5) is None:
        return None
    for other in session.pair.unpaired:
        if other.name == body.name and other.role is (not role) and event.knew(other.mark):
            return body, other
    return None


@rule("LNK-018", "2.7.3", SHOULD, INFO, on="attach")
def snd_settle_mode_not_respected(event: Event, report: Reporter) -> None:
    """A sender that answers adopts the snd-settle-mode that the receiver asked for, if it can.

    What the sender states holds. Some clients insist on their wish and drop the link, which looks
    like a failure without a reason; hence the note. Any answer meets a wish for mixed.

    Bad (attaching_receiver snd-settle-mode=settled):
        server: attach[0] name="r" handle=0 role=sender snd-settle-mode=unsettled
                source=source(address="q") target=target() initial-delivery-count=0   # <- LNK-018

    Good (attaching_receiver snd-settle-mode=settled):
        server: attach[0] name="r" handle=0 role=sender snd-settle-mode=settled
                source=source(address="q") target=target() initial-delivery-count=0
    """
    found = wish(event, SENDER)
    if found is None:
        return
    body, other = found
    asked = None if other.attach is None else other.attach.snd_settle_mode
    given = MIXED if body.snd_settle_mode is None else body.snd_settle_mode
    if asked is None or asked in (MIXED, given) or max(asked, given) > MIXED:
        return
    report.sure(
        event,
        f"attach of the sender {other.label()} has the snd-settle-mode {SND_MODES[given]},"
        f" the receiver asked for {SND_MODES[asked]}",
        "attach.snd-settle-mode",
        ((other.mark, "the receiver's attach"),),
    )


@rule("LNK-019", "2.7.3", SHOULD, INFO, on="attach")
def rcv_settle_mode_not_respected(event: Event, report: Reporter) -> None:
    """A receiver that answers adopts the rcv-settle-mode that the sender asked for, if it can.

    What the receiver states holds: a sender that wanted `second` and gets `first` has no third step
    in which to settle. Some clients drop the link when their wish is not met.

    Bad (attaching_sender rcv-settle-mode=second):
        server: attach[0] name="s" handle=0 role=receiver source=source()
                target=target(address="q")   # <- LNK-019

    Good (attaching_sender rcv-settle-mode=second):
        server: attach[0] name="s" handle=0 role=receiver rcv-settle-mode=second source=source()
                target=target(address="q")
    """
    found = wish(event, RECEIVER)
    if found is None:
        return
    body, other = found
    asked = None if other.attach is None else other.attach.rcv_settle_mode
    given = body.rcv_settle_mode or 0
    if asked is None or asked == given or max(asked, given) > 1:
        return
    report.sure(
        event,
        f"attach of the receiver {other.label()} has the rcv-settle-mode {RCV_MODES[given]},"
        f" the sender asked for {RCV_MODES[asked]}",
        "attach.rcv-settle-mode",
        ((other.mark, "the sender's attach"),),
    )
