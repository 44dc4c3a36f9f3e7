"""Dispositions: what they say of their deliveries, and when these are settled (DSP; spec 2.6.12).

In receiver settle mode first the receiver settles on its own; in mode second it states an outcome,
waits until the sender settles, and settles then.
"""

from __future__ import annotations

from amqpscope.model.mark import Mark
from amqpscope.model.serial import wire
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.settlement import mode_of, provisional
from amqpscope.model.v1_0.terms import SECOND, SETTLED
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.disposition.ranges import range_text, sender_of
from amqpscope.rules.v1_0.flow.stalls import STALL, sessions
from dissectors.v1_0.bodies import Disposition


def all_settled(deliveries: list[Delivery], receiver: bool) -> bool:
    """A peer has settled all of them; there is one at least."""
    for delivery in deliveries:
        if (delivery.rcv_settled if receiver else delivery.snd_settled) is None:
            return False
    return len(deliveries) > 0


def whole_range(event: Event) -> bool:
    """All deliveries of a disposition are known."""
    return len(event.covered) == event.last - event.first + 1


@rule("DSP-006", "2.6.12", IMPLIED, INFO, on="odd-disposition")
def settled_twice(event: Event, report: Reporter, body: Disposition) -> None:
    """A peer settles a delivery once.

    A second time has no effect, and usually shows a counter that stands still or a retry that was
    not needed. Ranges that hold some ids of earlier ones are usual and not told.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        server: disposition[0] role=receiver first=0 settled=true state=accepted()   # <- DSP-006

    Good (sent):
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        client: disposition[0] role=sender first=0 settled=true state=accepted()
    """
    found = event.covered
    if not body.settled or not whole_range(event):
        return
    if not all_settled(found, bool(body.role)) or sender_of(event, body) is None:
        return
    if found[0].aborted or (body.role and found[0].sent_settled):
        return
    first = found[0].rcv_settled if body.role else found[0].snd_settled
    report.sure(
        event,
        f"{range_text(body)}: the same peer has settled all of it before",
        "disposition.settled",
        ((first, "where it settled the first"),),
        severity=WARNING,
    )


@rule("DSP-007", "2.6.12", IMPLIED, WARNING, on="odd-disposition state", needs="!wrong")
def settlement_reverted(event: Event, report: Reporter, body: Disposition) -> None:
    """A peer that has settled a delivery says nothing more of it.

    The partner has forgotten the delivery and ignores a later state, so what it says is lost.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        server: disposition[0] role=receiver first=0 settled=false
                state=accepted()   # <- DSP-007

    Good (sent):
        server: disposition[0] role=receiver first=0 state=received(section-number=0
                section-offset=0)
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    found = event.covered
    if body.settled or not whole_range(event):
        return
    if not all_settled(found, bool(body.role)) or sender_of(event, body) is None:
        return
    if found[0].aborted:
        return
    first = found[0].rcv_settled if body.role else found[0].snd_settled
    report.sure(
        event,
        f"{range_text(body)}: gets an unsettled state from the peer that has settled all of it",
        "disposition.settled",
        ((first, "where it settled the first"),),
    )


@rule("DSP-008", "2.6.12", IMPLIED, INFO, on="odd-disposition receiver-disposition")
def disposition_for_presettled(event: Event, report: Reporter, body: Disposition) -> None:
    """A receiver does not answer deliveries that were sent settled.

    The sender has forgotten them; the answers only cost traffic.

    Bad (sent settled=true):
        server: disposition[0] role=receiver first=0 settled=true state=accepted()   # <- DSP-008

    Good (sent settled=true):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
        server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
    """
    found = event.covered
    if not found or sender_of(event, body) is None:
        return
    for delivery in found:
        if not delivery.sent_settled or delivery.aborted or not event.knew(delivery.snd_settled):
            return
    report.sure(
        event,
        f"{range_text(body)}: sent settled, so nobody waits for an answer",
        "disposition.first",
        ((found[0].mark, "the transfer that was settled"),),
    )


@rule("DSP-009", "2.7.5", MUST, ERROR, on="odd-disposition receiver-disposition")
def second_mode_settled_early(event: Event, report: Reporter, body: Disposition) -> None:
    """In settle mode second a receiver settles only after the sender has.

    The mode is for handing over exactly once: until the sender settles, the receiver must be able
    to answer for the delivery after a break. A transfer may ask for mode first for its delivery.

    Bad (received rcv-settle-mode=second):
        client: disposition[0] role=receiver first=0 settled=true state=accepted()   # <- DSP-009

    Good (received rcv-settle-mode=second):
        client: disposition[0] role=receiver first=0 state=accepted()
        server: disposition[0] role=sender first=0 settled=true state=accepted()
        client: disposition[0] role=receiver first=0 settled=true state=accepted()
    """
    if not body.settled or sender_of(event, body) is None:
        return
    for delivery in event.covered:
        if mode_of(delivery) != SECOND or delivery.rcv_settled is not None:
            continue
        if delivery.snd_settled is not None and event.knew(delivery.snd_settled):
            continue
        receiver = delivery.link.pair
        if receiver is None or not receiver.session.whole or not event.knew(delivery.mark):
            continue
        if receiver.terms.rcv_settle_mode != SECOND:
            continue  # The transfer had no right to ask for it (DLV-017).
        report.sure(
            event,
            f"settles delivery {wire(delivery.number or 0)} on link {delivery.link.label()} in mode"
            " second before the sender has settled it",
            "disposition.settled",
            (
                (receiver.mark, "the receiver's attach with rcv-settle-mode second"),
                (answering(delivery.link), "the sender's attach, whose mode does not count"),
                (delivery.mark, "the delivery"),
            ),
        )
        return


def answering(sender: LinkEnd) -> Mark | None:
    """A sender's attach that names another mode; in force is the one that the receiver names."""
    if sender.attach is None or sender.terms.rcv_settle_mode == SECOND:
        return None
    return sender.mark


@rule("DSP-010", "2.7.5", MUST, WARNING, on="tick | finished")
def first_mode_not_settled(event: Event, report: Reporter) -> None:
    """In settle mode first a receiver that states an outcome settles too.

    It does not wait for the sender. An outcome that is left unsettled for ten seconds while the
    sender does not settle either leaves the delivery open on both sides; some clients then take a
    rejected message for an accepted one. Reported once per link.

    Bad (sent):
        server: disposition[0] role=receiver first=0 state=rejected()   # <- DSP-010
        @12s client: END

    Good (sent):
        server: disposition[0] role=receiver first=0 state=accepted()
        client: disposition[0] role=sender first=0 settled=true state=accepted()
        @12s client: END
    """
    for delivery in waiting(event, second=False):
        if not report.once(delivery.link):
            continue
        stated = delivery.rcv_terminal_mark
        report.suspect(
            event,
            f"the receiver stated {outcome(delivery.rcv_terminal)} for delivery"
            f" {wire(delivery.number or 0)} on link {delivery.link.label()} in mode first and did"
            f" not settle it for {event.since(stated) / 1e9:.1f} s",
            "disposition.settled",
            ((delivery.mark, "the delivery"),),
            peer=1 - delivery.link.session.owner.peer,
            mark=stated,
        )


@rule("DSP-011", "2.6.12", IMPLIED, INFO, on="tick | finished")
def sender_settles_after_outcome(event: Event, report: Reporter) -> None:
    """In settle mode second a sender settles once it has the receiver's outcome.

    The receiver has to keep the delivery until then. Ten seconds without are a note, once per link.

    Bad (received rcv-settle-mode=second):
        client: disposition[0] role=receiver first=0 state=accepted()   # <- DSP-011
        @12s client: END

    Good (received rcv-settle-mode=second):
        client: disposition[0] role=receiver first=0 state=accepted()
        @1s server: disposition[0] role=sender first=0 settled=true state=accepted()
        @12s client: END
    """
    for delivery in waiting(event, second=True):
        if not report.once(delivery.link):
            continue
        stated = delivery.rcv_terminal_mark
        report.suspect(
            event,
            f"the sender has not settled delivery {wire(delivery.number or 0)} on link"
            f" {delivery.link.label()} for {event.since(stated) / 1e9:.1f} s after the receiver"
            f" stated {outcome(delivery.rcv_terminal)}",
            "disposition.settled",
            ((delivery.mark, "the delivery"),),
            peer=delivery.link.session.owner.peer,
            mark=stated,
        )


def waiting(event: Event, *, second: bool) -> list[Delivery]:
    """Of each session, the delivery with an outcome that has waited longest to be settled."""
    found: list[Delivery] = []
    for session in sessions(event):
        for delivery in session.deliveries.half_settled.values():
            link, pair = delivery.link, delivery.link.pair
            if event.since(delivery.rcv_terminal_mark) < STALL:
                break
            if link.detach is not None or pair is None or pair.detach is not None:
                continue
            if (mode_of(delivery) == SECOND) == second:
                found.append(delivery)
                break
    return found


@rule("DSP-012", "2.6.12", SHOULD, INFO, on="odd-disposition sender-disposition state")
def spontaneous_terminal_confirmed(event: Event, report: Reporter, body: Disposition) -> None:
    """A sender that decides an outcome itself lets the receiver confirm it before it settles.

    Otherwise the receiver may have finished the delivery in another way. A message whose time is
    up may be settled so, which is why this is a note.

    Bad (sent):
        client: disposition[0] role=sender first=0 settled=true state=released()   # <- DSP-012

    Good (sent):
        client: disposition[0] role=sender first=0 state=released()
        server: disposition[0] role=receiver first=0 settled=true state=released()
    """
    if not body.settled or not outcome(body.state):
        return
    if sender_of(event, body) is None:
        return
    for delivery in event.covered:
        if delivery.snd_settled is not None or delivery.rcv_state is not None:
            continue
        if delivery.link.terms.snd_settle_mode == SETTLED or delivery.rcv_settled is not None:
            continue
        if provisional(delivery.snd_state) or delivery.snd_terminal is not None:
            continue
        report.suspect(
            event,
            f"the sender settles delivery {wire(delivery.number or 0)} as {outcome(body.state)}"
            " before the receiver has said anything",
            "disposition.settled",
            ((delivery.mark, "the delivery"),),
        )
        return


@rule("DSP-013", "2.6.12", IMPLIED, WARNING, on="odd-disposition receiver-disposition state")
def outcome_changed_by_receiver(event: Event, report: Reporter, body: Disposition) -> None:
    """A receiver that has stated an outcome of a delivery does not state another one.

    The sender may have acted on the first. To take over an outcome that the sender stated is fine.

    Bad (sent):
        server: disposition[0] role=receiver first=0 state=accepted()
        server: disposition[0] role=receiver first=0 settled=true state=rejected()   # <- DSP-013

    Good (sent):
        server: disposition[0] role=receiver first=0 state=accepted()
        client: disposition[0] role=sender first=0 state=released()
        server: disposition[0] role=receiver first=0 settled=true state=released()
    """
    if sender_of(event, body) is None:
        return
    stated = outcome(body.state)
    if not stated:
        return
    for delivery in event.covered:
        before = outcome(delivery.rcv_terminal)
        if not before or before == stated or delivery.rcv_settled is not None:
            continue
        if delivery.settled is not None or outcome(delivery.snd_terminal) == stated:
            continue
        report.sure(
            event,
            f"the receiver states {stated} for delivery {wire(delivery.number or 0)} after it"
            f" stated {before}",
            "disposition.state",
            ((delivery.rcv_terminal_mark, f"where it stated {before}"),),
        )
        return


@rule("DSP-014", "2.7.6", SHOULD, INFO, on="odd-disposition sender-disposition")
def disposition_mid_delivery(event: Event, report: Reporter, body: Disposition) -> None:
    """A sender states what it has to say of an unfinished delivery on its transfers.

    A disposition for it is possible, but the transfers carry the same fields at no cost.

    Bad (sent more=true):
        client: disposition[0] role=sender first=0 settled=true   # <- DSP-014
        client: transfer[0] handle=0 | data(b"1")

    Good (sent more=true):
        client: transfer[0] handle=0 settled=true | data(b"1")
    """
    if sender_of(event, body) is None:
        return
    for delivery in event.covered:
        if delivery is delivery.link.sending.open_delivery and delivery.snd_settled is None:
            report.sure(
                event,
                f"a disposition for delivery {wire(delivery.number or 0)}, whose last transfer is"
                " still to come",
                "disposition.first",
                ((delivery.last_mark, "its last transfer so far"),),
            )
            return


@rule("DSP-018", "2.6.12", IMPLIED, INFO, on="odd-disposition receiver-disposition", needs="!wrong")
def settled_without_state(event: Event, report: Reporter, body: Disposition) -> None:
    """A receiver that settles a delivery says with which outcome.

    Otherwise the default-outcome of the source holds, and where that is not set nobody has laid
    down whether the message was taken.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true   # <- DSP-018

    Good (sent):
        server: disposition[0] role=receiver first=0 state=accepted()
        server: disposition[0] role=receiver first=0 settled=true
    """
    if not body.settled or body.state is not None:
        return
    if sender_of(event, body) is None:
        return
    for delivery in event.covered:
        if delivery.settled is not None or delivery.rcv_state is not None or delivery.aborted:
            continue
        if delivery.snd_terminal is not None or not event.knew(delivery.mark):
            continue
        report.sure(
            event,
            f"the receiver settles delivery {wire(delivery.number or 0)} on link"
            f" {delivery.link.label()} without any outcome",
            "disposition.state",
            ((delivery.mark, "the delivery"),),
        )
        return
