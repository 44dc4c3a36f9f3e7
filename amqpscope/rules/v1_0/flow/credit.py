"""Link credit: who may send how much (FLW; spec 2.6.7, 2.7.4).

Credit is a grant that travels: it may have been taken back while the transfer that used it was on
its way, so a transfer is judged by the most generous credit that its sender may have gone by. The
counts on which it rests are in `delivery_count`, draining is in `drain`, and what waits too long in
`stalls`.
"""

from __future__ import annotations

from amqpscope.model.serial import HALF, unwrap, wire
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.credit import impossible, sender_count
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import RECEIVER
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from dissectors.v1_0.bodies import Flow


@rule("FLW-016", "2.6.7", MUST, ERROR, on="overrun first", needs="!discarded !ahead")
def transfer_without_credit(
    event: Event, report: Reporter, link: LinkEnd, pair: LinkEnd, delivery: Delivery
) -> None:
    """A sender begins a delivery only while it has link credit.

    Credit is how a receiver says what it can take. A message sent without it is dropped by some
    receivers and ends the link at others (amqp:link:transfer-limit-exceeded).

    Credit counts deliveries, not frames: further transfers of a delivery need none. Credit that was
    taken back while the transfer was on its way still counts, and so does a delivery-count that was
    set before the sender's attach could be known, in the kinder of its two readings. It is reported
    once for each end of credit.

    Bad (sent link-credit=1 settled=true):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")   # <- FLW-016

    Good (sent settled=true):
        server: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=1 link-credit=0
        client~1: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
    """
    count = link.sending.count_low
    if count is None or link.sending.miscounted or not pair.session.whole:
        return
    credit = pair.receiving.credit
    best = credit.best(event.known, event.own.proved)
    if best is None or credit.unsure or best.limit > count:
        return
    if not report.once(link, best.limit):
        return
    evidence = (
        (pair.mark, "the receiver's attach"),
        (best.mark, "the most generous credit that the sender may have known"),
    )
    text = (
        f"sender {link.label()} begins a delivery with no credit: delivery-count {wire(count)},"
        f" the credit reached to {wire(best.limit)}"
    )
    # Whether credit outlives a detach, and a resumed delivery needs any, is not said anywhere.
    if link.again or pair.again or delivery.resumed:
        report.suspect(event, text, "transfer.handle", evidence)
    else:
        report.sure(event, text, "transfer.handle", evidence)


@rule(
    "FLW-017", "2.6.7", MUST, ERROR, on="overrun first", needs="!discarded !ahead partner-anchored"
)
def transfer_before_first_flow(
    event: Event, report: Reporter, session: SessionEnd, link: LinkEnd, delivery: Delivery
) -> None:
    """A sender waits for the receiver's first flow on a link, because credit starts at zero.

    Some brokers used to send as soon as a consumer attached; clients that had not yet asked for
    anything lost those messages or closed the link.

    Bad (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- FLW-017

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- FLW-017

    Good (attaching_receiver):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 link-credit=10
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
    """
    if link.attach is None:
        return
    if link.role is RECEIVER or report.has_reported("FLW-016", link):
        return
    if not session.whole:
        return
    pair = link.pair
    if pair is None:
        if may_be_paired(link, event.partner):
            return
    elif (
        pair.receiving.early_flows
        or pair.attach is None
        or pair.receiving.credit.best(event.known, event.own.proved) is not None
        or pair.receiving.credit.unsure
    ):
        return
    if not report.once(link):
        return
    attached = "has not attached" if pair is None else "has not granted any"
    text = f"sender {link.label()} begins a delivery, though the receiver {attached} credit yet"
    if pair is None:
        text = f"sender {link.label()} begins a delivery before the receiver has attached"
    evidence = (
        (link.mark, "the sender's attach"),
        (None if pair is None else pair.mark, "the receiver's attach"),
    )
    if link.again or (pair is not None and pair.again) or delivery.resumed:
        report.suspect(event, text, "transfer.handle", evidence)
    else:
        report.sure(event, text, "transfer.handle", evidence)


def may_be_paired(link: LinkEnd, partner: ConnectionEnd) -> bool:
    """The partner has an end that could belong to this link, though it does not fit."""
    session = link.session
    pair = session.pair
    if pair is None:
        # An answer to the begin may not say so; but a peer without any session has no link either.
        return bool(partner.channels or partner.ended)
    return not pair.whole or any(
        other.name == link.name and other.pair is None for other in pair.handles.values()
    )


@rule("FLW-019", "2.6.7", MUST, WARNING, on="odd-flow sender-flow", needs="!ahead")
def sender_credit_formula(
    event: Event, report: Reporter, body: Flow, link: LinkEnd, pair: LinkEnd
) -> None:
    """A sender's link-credit is what the receiver's last flow leaves after its own count.

    That is the receiver's delivery-count and credit less the sender's delivery-count. The field's
    description reads as if the receiver's number were just repeated, so that is taken too.

    Bad (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=50   # <- FLW-019

    Good (sent settled=true):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=0 delivery-count=1 link-credit=9
    """
    if not body.link_credit:
        return
    peak = link.sending.count_peak
    if peak is None or pair.receiving.credit.unsure or link.sending.miscounted:
        return
    if body.delivery_count is None or link.again or pair.again:
        return
    value, credit = sender_count(event, link, body.delivery_count), body.link_credit
    if impossible(event, link, value) or unbalanced(event, link, pair, body):
        return
    best = pair.receiving.credit.best(event.known, event.own.proved)
    limit = value if best is None else best.limit
    if value + credit <= limit or pair.receiving.early_flows:
        return
    # One that repeats the receiver's number may have an older one in mind.
    if any(grant.amount >= credit for grant in pair.receiving.credit.entries):
        return
    granted = "none was granted" if best is None else f"{limit - value} is left of what was granted"
    report.suspect(
        event,
        f"sender {link.label()} states link-credit {credit} at delivery-count {wire(value)}, where"
        f" {granted}",
        "flow.link-credit",
        ((None if best is None else best.mark, "the most generous credit that it may have known"),),
    )


@rule("FLW-020", "2.6.7", MUST, WARNING, on="odd-flow sender-flow")
def delivery_count_credit_sync(
    event: Event, report: Reporter, body: Flow, link: LinkEnd, pair: LinkEnd
) -> None:
    """As a sender's delivery-count goes up, its link-credit goes down by as much.

    While the receiver grants nothing new, the sum of both stays the same from one flow of the
    sender to the next. Repeating the receiver's number is taken as another reading.

    Bad (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=0 delivery-count=1 link-credit=5   # <- FLW-020

    Good (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=0 delivery-count=1 link-credit=9
    """
    if link.flow is None:
        return
    if not unbalanced(event, link, pair, body):
        return
    said = link.flow
    value = sender_count(event, link, body.delivery_count or 0)
    if link.sending.miscounted or impossible(event, link, value):
        return
    report.sure(
        event,
        f"sender {link.label()} went from delivery-count {said.delivery_count} with credit"
        f" {said.link_credit} to {body.delivery_count} with {body.link_credit}, and the receiver"
        " granted nothing in between",
        "flow.link-credit",
        ((link.flow_mark, "its flow before"), (pair.flow_mark, "the receiver's last flow")),
    )


def unbalanced(event: Event, link: LinkEnd, pair: LinkEnd, body: Flow) -> bool:
    """The sum of count and credit changed, and no grant can have changed it."""
    before = link.flow
    if before is None or before.link_credit is None or before.delivery_count is None:
        return False
    if body.link_credit is None or body.delivery_count is None or event.damaged or event.ahead:
        return False
    granted = pair.flow_mark
    if granted is not None and granted.end > link.flow_proved:
        return False
    if pair.receiving.credit.unsure or (body.link_credit == 0 and before.link_credit == 0):
        return False
    if pair.flow is not None and body.link_credit == pair.flow.link_credit:
        return False
    last = pair.receiving.credit.latest()
    reached = sender_count(event, link, body.delivery_count) + body.link_credit
    if last is not None and (
        reached == last.limit or (not body.link_credit and reached > last.limit)
    ):
        # Right now; the flow before it may have repeated the receiver's number.
        return False
    moved = unwrap(body.delivery_count, before.delivery_count) - before.delivery_count
    return moved + body.link_credit != before.link_credit


@rule("FLW-025", "2.6.7", MUST, INFO, on="odd-flow receiver-flow")
def available_misuse(
    event: Event, report: Reporter, body: Flow, link: LinkEnd, pair: LinkEnd
) -> None:
    """A receiver's available only repeats what the sender stated.

    How many messages wait is the sender's to say. The number decides nothing, so this is a note.

    Bad (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
                available=7   # <- FLW-025

    Good (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 available=7
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 available=7
    """
    if not body.available:
        return
    if body.available <= pair.sending.available_peak:
        return
    if not pair.session.whole or link.again:
        return
    if not report.once(link):
        return
    report.suspect(
        event,
        f"receiver {link.label()} states {body.available} available, the sender never more than"
        f" {pair.sending.available_peak}",
        "flow.available",
        ((pair.flow_mark, "the sender's last flow"),),
    )


@rule("FLW-028", "2.6.7", IMPLIED, INFO, on="odd-flow receiver-flow")
def credit_ambiguous_large(event: Event, report: Reporter, body: Flow, link: LinkEnd) -> None:
    """Credit of 2**31 or more cannot be compared as a serial number.

    Any number is allowed; but a sender that computes the last delivery-count it may reach, and
    compares by the rules for numbers that wrap, takes such credit for a limit in the past.

    Bad (receiving):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0
                link-credit=4294967295   # <- FLW-028

    Good (receiving):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=2147483647
    """
    if body.link_credit is None:
        return
    if body.link_credit >= HALF and report.once(link):
        report.sure(
            event,
            f"receiver {link.label()} grants {body.link_credit} credit, half the range of the"
            " delivery-count or more",
            "flow.link-credit",
        )
