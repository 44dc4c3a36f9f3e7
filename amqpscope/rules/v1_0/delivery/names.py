"""Deliveries among others: ids, tags, order and size (DLV; spec 2.6.12, 2.6.14, 2.7.3)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.serial import wire
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import LAST, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import SECOND
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.delivery.transfers import hex_tag, placed_link
from dissectors.v1_0.bodies import Attach, Transfer
from dissectors.v1_0.message import walk

BARE: Final = frozenset((0x73, 0x74, 0x75, 0x76, 0x77))
"""The sections of the bare message."""


@rule("DLV-007", "2.6.12", IMPLIED, ERROR, on="odd-transfer first")
def delivery_id_not_sequential(
    event: Event, report: Reporter, body: Transfer, session: SessionEnd, delivery: Delivery
) -> None:
    """Each new delivery of a peer on a session takes the next delivery-id, whatever its link.

    proton, protonj2 and RabbitMQ end the session when an id is out of order; senders that number
    deliveries in several threads, or by link, or by transfer frames run into it. The first id is
    free. That the step is one is not spelled out, so a gap is a warning; an id that was used
    before is an error.

    Bad (sent delivery-id=5 settled=true):
        client: transfer[0] handle=0 delivery-id=4 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")   # <- DLV-007

    Good (sent delivery-id=4294967295 settled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
    """
    expected, number = session.deliveries.next_delivery_id, delivery.number
    if body.delivery_id is None or expected is None or number is None or number == expected:
        return
    deliveries = session.deliveries
    if number == deliveries.skipped_id or number in deliveries.live or placed_link(event) is None:
        return
    last = deliveries.find(expected - 1)
    related = ((None if last is None else last.mark, "the delivery before"),)
    text = f"delivery-id {wire(number)} where {wire(expected)} is next on the session"
    if number < expected:
        hint = ""
        if wire(expected) < expected and wire(number) <= 1:
            hint = " (the counter went wrong where it passes 2**32)"
        text = f"{text}: it goes back by {expected - number}{hint}"
        report.sure(event, text, "transfer.delivery-id", related)
    else:
        text = f"{text}: {number - expected} are left out{frames_hint(session, number, last)}"
        report.sure(event, text, "transfer.delivery-id", related, severity=WARNING)


def frames_hint(session: SessionEnd, number: int, last: Delivery | None) -> str:
    """Whether a gap in delivery-ids comes from counting transfer frames (DLV-008)."""
    extra = 0 if last is None else last.transfers - 1
    expected = session.deliveries.next_delivery_id or 0
    if (extra > 0 and number - expected == extra) or (
        session.sending.next_outgoing_id == number and session.sending.next_outgoing_id != expected
    ):
        return " (as many as further transfers were sent: the id seems to count frames)"
    return ""


@rule("DLV-009", "2.6.14", MUST, ERROR, on="odd-transfer first | odd-transfer continuation")
def interleaved_on_link(event: Event, report: Reporter) -> None:
    """A sender finishes or aborts a delivery on a link before it begins the next one there.

    A receiver puts the transfers of a link together in the order in which they come; parts of two
    messages become one broken message. On different links they may alternate. If the receiver has
    settled the unfinished delivery the sender may leave it at that, so then it is only suspected.

    Bad (sent settled=true more=true):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")   # <- DLV-009

    Good (sent settled=true more=true):
        client: transfer[0] handle=0 aborted=true
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
    """
    link, delivery = placed_link(event), event.delivery
    if link is None or delivery is None:
        return
    broken = link.sending.interrupted
    if delivery is broken:
        if report.once(link):
            report.sure(
                event,
                f"goes on with delivery {wire(delivery.number or 0)} on link {link.label()} after"
                " another one was begun there",
                "transfer.delivery-id",
                ((delivery.mark, "the first transfer of the delivery"),),
            )
        return
    held = link.sending.open_delivery
    if held is None or held is delivery:
        return
    text = (
        f"begins delivery {wire(delivery.number or 0)} on link {link.label()} while delivery"
        f" {wire(held.number or 0)} there is not finished"
    )
    related = ((held.last_mark, "the last transfer of the unfinished delivery"),)
    if held.rcv_settled is not None and event.knew(held.rcv_settled):
        report.suspect(event, text, "transfer.delivery-id", related)
    else:
        report.once(link)  # that the first one goes on is no news then
        report.sure(event, text, "transfer.delivery-id", related)


@rule("DLV-018", "2.6.12", MUST, ERROR, on="odd-transfer first")
def delivery_tag_not_unique(event: Event, report: Reporter, body: Transfer) -> None:
    """A new delivery on a link has a tag that no unsettled delivery there has.

    Both ends keep what is unsettled by its tag: the second delivery takes the place of the first,
    and one of the two is never settled. As soon as a delivery is settled its tag is free again.

    Bad (sent):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"0" message-format=0
                | data(b"1")   # <- DLV-018

    Good (sent):
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"0" message-format=0 | data(b"1")
    """
    session, delivery = event.session, event.delivery
    if body.resume or body.delivery_tag is None:
        return
    link = placed_link(event)
    if link is None or session is None or delivery is None or link.attach is None:
        return
    if session.pair is None or session.deliveries.settled_ahead:
        return  # The old delivery may have been settled all the same.
    old = link.sending.unsettled.get(body.delivery_tag) or link.sending.freed.get(body.delivery_tag)
    if old is None or old.snd_settled is not None or old.aborted:
        return
    if delivery.number in session.deliveries.live:
        return
    if not event.partner.anchored or listed(link.attach, body.delivery_tag):
        return
    text = (
        f"delivery {wire(delivery.number or 0)} on link {link.label()} takes tag"
        f" {hex_tag(body.delivery_tag)}, which unsettled delivery {wire(old.number or 0)} has"
    )
    related = ((old.mark, "the delivery that has the tag"),)
    if old.rcv_settled is None or not event.knew(old.rcv_settled):
        if old.rcv_settled is not None:
            text = f"{text}; its settlement had not arrived yet"
        if not event.ahead:
            report.sure(event, text, "transfer.delivery-tag", related)
    elif old.rcv_settle_mode == SECOND or (link.pair and link.pair.terms.rcv_settle_mode == SECOND):
        text = f"{text} until its sender settles it"
        report.suspect(event, text, "transfer.delivery-tag", related)


def listed(attach: Attach, tag: bytes) -> bool:
    """The sender listed a delivery as unsettled when it attached, and may send it again as new."""
    unsettled = attach.unsettled
    return unsettled is not None and any(key == tag for key, _ in unsettled)


@rule("DLV-019", "2.6.12", IMPLIED, ERROR, on="odd-transfer first")
def delivery_id_reused_unsettled(
    event: Event, report: Reporter, body: Transfer, session: SessionEnd, delivery: Delivery
) -> None:
    """A new delivery has an id that no unsettled delivery of its sender has on the session.

    A disposition for that id would settle two deliveries, of which the receiver knows one.

    Bad (sent):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"1" message-format=0
                | data(b"1")   # <- DLV-019

    Good (sent):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
    """
    number = delivery.number
    if number is None or body.delivery_id is None or number == session.deliveries.next_delivery_id:
        return
    old = session.deliveries.live.get(number)
    if old is None or placed_link(event) is None:
        return
    report.sure(
        event,
        f"delivery-id {body.delivery_id} is given to a new delivery while an unsettled one has it",
        "transfer.delivery-id",
        ((old.mark, "the unsettled delivery with this id"),),
    )


@rule("DLV-020", "2.7.3", IMPLIED, ERROR, on="odd-transfer")
def message_too_large(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd, pair: LinkEnd, delivery: Delivery
) -> None:
    """A message is no larger than the max-message-size of the receiver's attach.

    What counts is not said; the bare message surely does, so it alone makes an error, and a
    delivery that is too large only with its header and annotations makes a note. It is reported at
    the transfer that goes past the limit.

    Bad (sending server.max-message-size=4):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0123456789")   # <- DLV-020

    Good (sending server.max-message-size=15):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0123456789")
    """
    if report.has_reported("DLV-020", link, delivery.mark.frame):
        return
    size = delivery.size + len(event.payload)
    limit = pair.terms.max_message_size
    if not limit or size <= limit or body.aborted:
        return
    if placed_link(event) is None or not event.knew(pair.mark) or delivery.resumed:
        return
    text = f"delivery {wire(delivery.number or 0)} on link {link.label()} has"
    related = ((pair.mark, f"the receiver's attach with max-message-size {limit}"),)
    bare = bare_size(delivery, event.payload)
    if bare > limit:
        report.once(link, delivery.mark.frame)
        text = f"{text} {bare} octets of bare message by now, the receiver takes {limit} at most"
        report.sure(event, text, "transfer", related)
    elif event.kinds & LAST:
        text = f"{text} {size} octets in all, the receiver takes messages of {limit} at most"
        report.sure(event, text, "transfer", related, severity=INFO)


def bare_size(delivery: Delivery, payload: bytes) -> int:
    """Octets of the bare message so far; 0 when that is not known."""
    data = delivery.join_payload(payload, 0)
    if data is None or (delivery.message_format or 0) >> 8:
        return 0
    sections, _ = walk(data)
    done = sections[-1].stop if sections else 0
    bare = sum(section.stop - section.start for section in sections if section.code in BARE)
    # A section that has only come in part is of the body, or behind it.
    partial = section_code(data, done)
    return bare + (len(data) - done if partial in BARE else 0)


def section_code(data: bytes, at: int) -> int:
    """The descriptor of the section that begins here, if it is a small number; else -1."""
    if at + 3 <= len(data) and data[at] == 0 and data[at + 1] == 0x53:
        return data[at + 2]
    return -1


@rule("DLV-022", "2.7.5", IMPLIED, INFO, on="odd-transfer last")
def transfer_empty_message(event: Event, report: Reporter, delivery: Delivery) -> None:
    """A delivery has a payload.

    A message of the standard's format has a body section at least; a delivery of no octets is
    usually a bug of the sender. Only formats of one's own, and resumed deliveries, may do without.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                settled=true   # <- DLV-022

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"")
    """
    if delivery.size or event.payload or delivery.resumed:
        return
    if (delivery.message_format or 0) == 0 and delivery.whole and placed_link(event) is not None:
        text = f"delivery {wire(delivery.number or 0)} is complete without any payload"
        report.suspect(event, text, "transfer")
