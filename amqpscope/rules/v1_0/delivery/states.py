"""Settlement and states of deliveries as their sender states them (DLV; spec 2.6.12, 2.7.5)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import FINISHED, TICK, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.terms import FIRST, SECOND, SENDER, SETTLED, UNSETTLED
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.delivery.transfers import placed_link
from amqpscope.rules.v1_0.flow.stalls import STALL, links, sessions
from dissectors.v1_0.bodies import Detach, Disposition, Transfer

LONG_UNSETTLED: Final = 60_000_000_000
"""Nanoseconds after which it is worth a note that a delivery is not settled."""


@rule("DLV-013", "2.6.14", MUST, WARNING, on="odd-disposition receiver-disposition state")
def aborted_not_discarded(event: Event, report: Reporter, body: Disposition) -> None:
    """A receiver throws away a delivery that was aborted, and says nothing more about it.

    An abort settles the delivery on both sides. An outcome for it shows a receiver that took the
    pieces for a message. It may also have crossed the abort, so it is only suspected.

    Bad (sent more=true):
        client: transfer[0] handle=0 aborted=true
        @3s server: disposition[0] role=receiver first=0 settled=true
                state=accepted()   # <- DLV-013

    Good (sent more=true):
        client: transfer[0] handle=0 aborted=true
        server~1: disposition[0] role=receiver first=0 settled=true state=released()
    """
    found = event.covered
    if not found or not outcome(body.state):
        return
    for delivery in found:
        if not delivery.aborted:
            return
    last = found[-1].last_mark
    if event.surely_knew(last) or (event.knew(last) and event.since(last) > GRACE):
        report.suspect(
            event,
            f"states an outcome for delivery {wire(event.first)}, which its sender aborted",
            "disposition.state",
            ((last, "the transfer that aborted it"),),
        )


@rule("DLV-014", "2.7.5", MUST, ERROR, on="odd-transfer last", needs="!wrong")
def settled_missing_in_settled_mode(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd, delivery: Delivery
) -> None:
    """On a link of snd-settle-mode settled each delivery has a transfer with settled set.

    The receiver was told that nothing has to be settled; a delivery that is not settled then stays
    open for ever. The sender's own attach says which mode is in force.

    Bad (sending snd-settle-mode=settled):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")   # <- DLV-014

    Good (sent snd-settle-mode=settled settled=true more=true):
        client: transfer[0] handle=0 | data(b"1")
    """
    if link.terms.snd_settle_mode != SETTLED:
        return
    if body.settled or delivery.snd_settled is not None:
        return
    if placed_link(event) is None:
        return
    text = (
        f"sender {link.label()} completes delivery {wire(delivery.number or 0)} unsettled on a link"
        " of mode settled"
    )
    related = ((link.mark, "the sender's attach with snd-settle-mode settled"),)
    if delivery.resumed:
        report.suspect(event, text, "transfer.settled", related)
    else:
        report.sure(event, text, "transfer.settled", related)


@rule("DLV-015", "2.7.5", MUST, ERROR, on="odd-transfer last")
def settled_set_in_unsettled_mode(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd, delivery: Delivery
) -> None:
    """On a link of snd-settle-mode unsettled no delivery is sent settled.

    The receiver relies on being asked for an outcome; RabbitMQ closes such links. A delivery that
    is aborted in the end may have been marked, and a resumed one may carry its settlement.

    Bad (sending snd-settle-mode=unsettled):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- DLV-015

    Good (sent snd-settle-mode=unsettled settled=true more=true):
        client: transfer[0] handle=0 aborted=true
    """
    if link.terms.snd_settle_mode != UNSETTLED:
        return
    if delivery.resumed or not (body.settled or delivery.sent_settled):
        return
    if placed_link(event) is not None:
        report.sure(
            event,
            f"sender {link.label()} sends delivery {wire(delivery.number or 0)} settled on a link"
            " of mode unsettled",
            "transfer.settled",
            (
                (link.mark, "the sender's attach with snd-settle-mode unsettled"),
                (delivery.snd_settled, "the transfer that was marked settled"),
            ),
        )


@rule("DLV-016", "2.7.5", IMPLIED, ERROR, on="odd-transfer continuation")
def settled_reverted(event: Event, report: Reporter, body: Transfer, delivery: Delivery) -> None:
    """A delivery that was sent settled stays so on its further transfers.

    To leave the flag out there is fine, since it is kept; to set it to false contradicts what both
    sides have acted on. qpid-proton refuses it.

    Bad (sent settled=true more=true):
        client: transfer[0] handle=0 settled=false | data(b"1")   # <- DLV-016

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 | data(b"1")
    """
    if not delivery.sent_settled:
        return
    if body.settled is False and placed_link(event) is not None:
        report.sure(
            event,
            f"a further transfer of delivery {wire(delivery.number or 0)} says settled=false after"
            " an earlier one said true",
            "transfer.settled",
            ((delivery.snd_settled, "the transfer that settled the delivery"),),
        )


@rule("DLV-017", "2.7.5", IMPLIED, ERROR, on="odd-transfer", needs="!damaged")
def rcv_settle_mode_second_illegal(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd, pair: LinkEnd, delivery: Delivery
) -> None:
    """A transfer asks for receiver settle mode second only on a link of that mode.

    A receiver in mode first settles at once and does not wait for the sender, so the sender waits
    for something that will not come. On a settled transfer the field means nothing: a note.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                rcv-settle-mode=second | data(b"0")   # <- DLV-017

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                rcv-settle-mode=first | data(b"0")
    """
    if body.rcv_settle_mode != SECOND:
        return
    if pair.attach is None:
        return
    if pair.terms.rcv_settle_mode != FIRST:
        return
    if not event.knew(pair.mark) or pair.attach.wrong:
        return
    settled = body.settled or delivery.sent_settled
    report.sure(
        event,
        f"asks for rcv-settle-mode second on link {link.label()}, whose receiver uses first",
        "transfer.rcv-settle-mode",
        ((pair.mark, "the receiver's attach"),),
        severity=INFO if settled else "",
    )


@rule(
    "DLV-021",
    "2.7.5",
    IMPLIED,
    ERROR,
    on="odd-transfer state | odd-disposition sender-disposition state",
)
def terminal_state_changed_by_sender(event: Event, report: Reporter) -> None:
    """A sender that has stated an outcome of a delivery does not state another one.

    The receiver may have acted on the first. Details, such as the text of an error, may be added,
    and a state inside a transaction is not final.

    Bad (sent):
        client: disposition[0] role=sender first=0 state=released()
        client: disposition[0] role=sender first=0 settled=true state=rejected()   # <- DLV-021

    Good (sent):
        client: disposition[0] role=sender first=0 state=released()
        server: disposition[0] role=receiver first=0 settled=true state=released()
        client: disposition[0] role=sender first=0 settled=true state=released()
    """
    body = event.body
    if isinstance(body, Transfer):
        found = [] if event.delivery is None else [event.delivery]
        stated, path = outcome(body.state), "transfer.state"
    elif isinstance(body, Disposition):
        found, stated, path = event.covered, outcome(body.state), "disposition.state"
    else:
        return
    if not stated or event.damaged:
        return
    for delivery in found:
        before = outcome(delivery.snd_terminal)
        if before and before != stated and delivery.snd_settled is None:
            report.sure(
                event,
                f"the sender states {stated} for delivery {wire(delivery.number or 0)} after it"
                f" stated {before}",
                path,
                ((delivery.snd_terminal_mark, f"where it stated {before}"),),
            )
            return


@rule("DLV-024", "2.6.14", IMPLIED, INFO, on="tick | finished | detach")
def delivery_never_completed(event: Event, report: Reporter) -> None:
    """A delivery that announces more transfers is continued or aborted.

    The receiver holds what it has of it and cannot take the next message of the link. A producer
    that streams may be slow, so this is a note after ten seconds, or when it detaches the link; a
    receiver that detaches it wants no more.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                more=true | data(b"0")   # <- DLV-024
        @12s client: END

    Good (sent settled=true more=true):
        @2s client: transfer[0] handle=0 | data(b"1")
        @12s client: END

    Good (sent settled=true more=true):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:detach-forced
                description="moved")
        client: detach[0] handle=0 closed=true
    """
    leaving = event.link
    held = None if leaving is None else leaving.sending.open_delivery
    if isinstance(event.body, Detach) and leaving is not None and held is not None:
        answers = leaving.pair is not None and leaving.pair.is_detached
        if leaving.role is SENDER and placed_link(event) is not None and not answers:
            report_unfinished(event, report, held, "when its link was detached")
        return
    if not event.kinds & (TICK | FINISHED):
        return
    for link in links(event, SENDER):
        delivery = link.sending.open_delivery
        if delivery is None or delivery is event.delivery:
            continue
        if event.since(delivery.last_mark) >= STALL:
            when = f"after {event.since(delivery.last_mark) / 1e9:.1f} s"
            report_unfinished(event, report, delivery, when)


def report_unfinished(event: Event, report: Reporter, delivery: Delivery, when: str) -> None:
    """Report an unfinished delivery, at its last transfer."""
    if not report.once(delivery.link, delivery.mark.frame):
        return
    report.suspect(
        event,
        f"delivery {wire(delivery.number or 0)} on link {delivery.link.label()} announced more"
        f" transfers and was neither continued nor aborted {when}",
        "transfer.more",
        ((delivery.mark, "its first transfer"),),
        peer=delivery.link.session.owner.peer,
        mark=delivery.last_mark,
    )


@rule("DLV-027", "2.6.12", IMPLIED, INFO, on="tick | finished")
def unsettled_growth(event: Event, report: Reporter) -> None:
    """Deliveries are settled in the end.

    Long work on a message is normal, so this only points out, once per link, a delivery that has
    waited for a minute, and which side has to move: they cost memory on both sides, and brokers
    stop sending when too many are open.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")   # <- DLV-027
        @70s client: END

    Good (sent):
        @2s server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @70s client: END
    """
    for session in sessions(event):
        live = session.deliveries.live
        if not live:
            continue
        delivery = next(iter(live.values()))
        link = delivery.link
        if event.since(delivery.mark) < LONG_UNSETTLED:
            continue
        if not delivery.complete or link.detach is not None:
            continue
        if not report.once(link):
            continue
        # The receiver moves first, unless it has and waits for the sender.
        waits = delivery.rcv_terminal is None
        owner = session.owner if not waits else event.connection.ends[1 - session.owner.peer]
        report.suspect(
            event,
            f"delivery {wire(delivery.number or 0)} on link {link.label()} is not settled after"
            f" {event.since(delivery.mark) / 1e9:.0f} s: {len(live)} open on the session,"
            f" the {'receiver has not stated an outcome' if waits else 'sender has not settled'}",
            "transfer.settled",
            peer=owner.peer,
            mark=delivery.mark,
        )
