"""Links: detach and link errors (LNK; spec 2.6.4 to 2.6.6, 2.7.7).

Nothing on the wire proves that a peer has read its partner's detach, and detaches often cross. So
what is wrong only after a detach was read is reported as suspect, after a time in which frames
in flight have arrived.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import SENDER
from amqpscope.rules.v1_0 import IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.overdue import judging, owes, seconds
from dissectors.v1_0.bodies import Attach, Close, Detach, Disposition, End, Source, Target
from dissectors.v1_0.values import Value

NODE_CONDITIONS: Final = ("amqp:not-found", "amqp:unauthorized-access")


@rule("LNK-023", "2.6.6", IMPLIED, WARNING, on="tick | finished")
def detach_answered(event: Event, report: Reporter) -> None:
    """A closing detach is answered by a detach.

    Programs wait for it when they close a link. Reported when 10 s have passed and neither the
    session nor the connection was ended. A detach that does not close asks for no answer by the
    letter; without one it is reported as a note.

    Bad (sending):
        client: detach[0] handle=0 closed=true   # <- LNK-023
        @11s server: empty

    Good (sending):
        client: detach[0] handle=0 closed=true
        server~1: detach[0] handle=0 closed=true
        @11s server: empty
    """
    if judging(event):
        for debtor in event.connection.ends:
            for session in debtor.channels.values():
                if session.whole and session.pair is not None and session.pair.ended is None:
                    still_attached(event, session, report)


def still_attached(event: Event, session: SessionEnd, report: Reporter) -> None:
    """Links of a session whose partner has detached long ago."""
    for link in session.handles.values():
        pair = link.pair
        if pair is None or pair.detach is None:
            continue
        if not owes(event, session.owner, pair.detach_mark):
            continue
        if not report.once(pair):
            continue
        closing = bool(pair.detach.closed)
        report.suspect(
            event,
            f"the {'closing ' if closing else ''}detach of link {pair.label()} has no answer after"
            f" {seconds(event, pair.detach_mark)}",
            "detach",
            ((link.mark, "the attach of the end that stays"),),
            peer=session.owner.peer,
            mark=pair.detach_mark,
            about=pair,
            severity=WARNING if closing else INFO,
        )


@rule("LNK-025", "2.6.5", MUST, WARNING, on="end | close")
def link_error_detach(event: Event, report: Reporter) -> None:
    """An error of one link is reported by a detach of that link.

    To end the session or the connection for it takes down all other links, which had no part in
    it. The condition may be meant for more than one link, so this is suspect.

    Bad (attaching_sender):
        server: end[0] error=error(condition=:amqp:not-found
                description="no such queue")   # <- LNK-025
        client: end[0]

    Good (attaching_sender):
        server: end[0] error=error(condition=:amqp:resource-limit-exceeded
                description="too many links")
        client: end[0]
    """
    body = event.body
    if not isinstance(body, (End, Close)) or body.error is None:
        return
    condition = body.error.condition or ""
    name = event.frame.unit.name
    if condition.startswith("amqp:link:"):
        text = f"{name} with {condition}, the error of a link: it belongs in a detach of that link"
        report.suspect(event, text, f"{name}.error")
        return
    session = event.session
    if condition not in NODE_CONDITIONS or session is None or session.pair is None:
        return
    waiting = [link for link in session.pair.unpaired if event.knew(link.mark)]
    if waiting:
        report.suspect(
            event,
            f"{name} with {condition} while link {waiting[0].label()} waits for its answer:"
            " an attach and a detach refuse a link",
            f"{name}.error",
            ((waiting[0].mark, "the attach without an answer"),),
        )


@rule("LNK-026", "2.6.5", MUST, WARNING, on="odd-link")
def errant_link_input(event: Event, report: Reporter) -> None:
    """Nothing but a detach is sent for a link that the partner has detached with an error.

    By the letter such input ends the session (amqp:session:errant-link), though hardly any program
    does so, since every frame in flight would be punished. So this is reported, once for a link,
    when the detach was answered or is more than a second old.

    Bad (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:resource-deleted
                description="queue deleted")
        @2s client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                settled=true | data(b"0")   # <- LNK-026

    Good (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:resource-deleted
                description="queue deleted")
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        @2s client: detach[0] handle=0 closed=true
    """
    body = event.body
    link = event.link
    gone: LinkEnd | None = None
    if isinstance(body, Disposition):
        if event.covered:
            gone = other_end(event.covered[0], bool(body.role))
    elif link is not None and not isinstance(body, Detach):
        gone = link.pair
    if gone is None or gone.detach is None or gone.detach.error is None:
        return
    if not read(event, gone):
        return
    if event.discarded:
        return
    if not report.once(gone):
        return
    name = event.frame.unit.name
    report.suspect(
        event,
        f"{name} for link {gone.label()} {seconds(event, gone.detach_mark)} after the peer has"
        f" detached it with {gone.detach.error.condition}",
        name,
        ((gone.detach_mark, "the detach with an error"),),
        about=gone,
    )


def read(event: Event, gone: LinkEnd) -> bool:
    """The sender has most likely read its partner's detach: it has answered it, or had the time."""
    mark, own = gone.detach_mark, gone.pair
    if mark is None or not event.knew(mark):
        return False
    if own is not None and own.detach is not None and mark.end <= own.detach_known:
        return True
    return event.since(mark) >= GRACE


def other_end(delivery: Delivery, by_receiver: bool) -> LinkEnd | None:
    """The end of a delivery's link that a disposition goes to."""
    return delivery.link if by_receiver else delivery.link.pair


@rule("LNK-027", "2.6.5", MUST, WARNING, on="attach", needs="!damaged")
def resume_after_error_needs_unsettled(
    event: Event, report: Reporter, body: Attach, session: SessionEnd
) -> None:
    """A link that the partner detached with an error comes back with a non-null unsettled map.

    The partner has destroyed its end, so the link can only be resumed; by a map, even an empty one,
    an attach says that it means this and was not on its way already. A link that was closed is
    gone, and the next attach of its name makes a new one.

    Bad (sending):
        server: detach[0] handle=0 error=error(condition=:amqp:link:detach-forced
                description="maintenance")
        client: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0   # <- LNK-027
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")

    Good (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:detach-forced
                description="maintenance")
        client: detach[0] handle=0 closed=true
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")

    Good (sending):
        server: detach[0] handle=0 error=error(condition=:amqp:link:detach-forced
                description="maintenance")
        client~1: detach[0] handle=0
        client~1: attach[0] name="s" handle=0 role=sender source=source()
                target=target(address="q") initial-delivery-count=0
    """
    if body.wire(7) is not None or not session.detached:
        return
    for old in session.detached.values():
        if old.name != body.name or old.role != body.role or not failed(old):
            continue
        gone = old.pair
        if gone is None:
            return
        text = (
            f"attach of link {old.label()} has no unsettled map, though the peer had detached the"
            " link with an error and not closed it"
        )
        related = ((gone.detach_mark, "the detach with an error"),)
        if event.surely_knew(gone.detach_mark):
            report.sure(event, text, "attach.unsettled", related)
        elif read(event, gone):
            report.suspect(event, text, "attach.unsettled", related)
        return


def failed(old: LinkEnd) -> bool:
    """The partner has detached with an error, and neither side has closed the link."""
    own, other = old.detach, None if old.pair is None else old.pair.detach
    if own is None or other is None or other.error is None or own.closed or other.closed:
        return False
    attach = old.attach
    return attach is not None and not expires(attach.source) and not expires(attach.target)


def expires(terminus: Value) -> bool:
    """A terminus that goes away with the link's detach."""
    if isinstance(terminus, (Source, Target)):
        return terminus.expiry_policy == "link-detach"
    return False


@rule("LNK-030", "2.6.14", IMPLIED, INFO, on="detach")
def detach_mid_delivery(event: Event, report: Reporter, body: Detach, link: LinkEnd) -> None:
    """A sender finishes or aborts a message before it closes its link.

    The receiver has to drop what it got of it. After an error, or when the link may be resumed,
    there is nothing to say.

    Bad (sent more=true):
        client: detach[0] handle=0 closed=true   # <- LNK-030
        server: detach[0] handle=0 closed=true

    Good (sent more=true):
        client: transfer[0] handle=0 aborted=true
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true
    """
    if link.role is not SENDER:
        return
    delivery = link.sending.open_delivery
    if delivery is None or not body.closed or body.wire(2) is not None:
        return
    if link.pair is not None and link.pair.detach is not None:
        return
    report.suspect(
        event,
        f"sender {link.label()} closes the link in the middle of a delivery:"
        f" {delivery.transfers} transfers, {delivery.size} octets, more to come",
        "detach",
        ((delivery.mark, "the first transfer of the delivery"),),
    )
