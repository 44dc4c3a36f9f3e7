"""Delivery tags, and what the client acknowledges of them (A09-BAS-08 to 15; 1.1.6.10)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.deliveries import MAX_SETTLED, Delivery, Settled
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, parameter, rule
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method

TAG: Final = "delivery-tag"
MULTIPLE: Final = "multiple"
RECOVERS: Final = ("basic.recover", "basic.recover-async", "basic.recover-sync")
SETTLES: Final = "odd-settle basic.ack basic.nack basic.reject"
HANDS_OVER: Final = "odd-deliver basic.deliver basic.get-ok"


def recovered(event: Event, channel: Channel) -> bool:
    """The client has asked for a recover on this channel: some brokers use old tags again."""
    by_name = event.connection.dialect.by_name
    return any(name in by_name and by_name[name].code in channel.sent[CLIENT] for name in RECOVERS)


@rule("A09-BAS-08", "delivery-tag non-zero", MUST, ERROR, on=HANDS_OVER, needs="trusted")
def delivery_tag_zero(event: Event, report: Reporter, method: Method) -> None:
    """A delivery has a tag that is not zero.

    An acknowledgement of zero means all deliveries.

    Bad (consuming):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=0 routing-key="q" # <- A09-BAS-08

    Good (consuming):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    # Of the oldest draft the fields are not always known: then there is none.
    if method.get(TAG) == 0:
        report.sure(event, f"{event.name} with delivery tag 0", f"{event.name}.delivery-tag")


@rule("A09-BAS-09", "ack multiple", IMPLIED, WARNING, on=HANDS_OVER, needs="sure")
def delivery_tag_not_rising(
    event: Event, report: Reporter, channel: Channel, delivery: Delivery
) -> None:
    """The deliveries of a channel, by consumers and by get alike, are numbered one by one.

    An acknowledgement with `multiple` settles all up to its tag, so tags that do not rise settle
    what is not meant. A tag left out is odd, but does no harm.

    Bad (delivered):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q" # <- A09-BAS-09

    Good (delivered):
        client: basic.get[1] queue="q"
        server: basic.get-ok[1] delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0
    """
    deliveries = channel.deliveries
    wanted = deliveries.next_tag
    if not delivery.tag or wanted in (None, delivery.tag) or recovered(event, channel):
        return
    path = f"{event.name}.delivery-tag"
    if delivery.tag <= deliveries.highest:
        words = f"delivery tag {delivery.tag} comes after {deliveries.highest}"
        known = deliveries.outstanding.get(delivery.tag)
        related = () if known is None else ((known.mark, "the one that has it"),)
        report.sure(event, words, path, related)
    else:
        report.suspect(event, f"delivery tag {delivery.tag}, the next would be {wanted}", path)


class Misnamed:
    """What an acknowledgement names that it should not."""

    def __init__(self, tag: int, multiple: bool, settled: Settled | None, known: bool) -> None:
        self.tag = tag
        self.multiple = multiple
        """Others may be meant as well, so that it may be right in part."""
        self.settled = settled
        """How it was settled before."""
        self.known = known
        """There was such a delivery."""


ALL_SEEN: Final = "client clear counted !ahead"
"""What must hold for a delivery to be `misnamed`."""


@parameter("misnamed")
def find_misnamed(event: Event) -> Misnamed | None:
    """The delivery that an acknowledgement names and that waits for none, where ALL_SEEN holds."""
    channel, method = event.channel, event.unit.method
    if channel is None or method is None or rolling_back(channel):
        return None
    deliveries, tag = channel.deliveries, number(method, TAG)
    if not tag or tag in deliveries.outstanding:
        return None
    if event.own.damaged is not None or event.partner.damaged is not None:
        # What could not be read may have been a delivery, or its acknowledgement.
        return None
    settled = deliveries.settled.get(tag)
    known = settled is not None or (
        tag <= deliveries.highest and len(deliveries.settled) >= MAX_SETTLED
    )
    return Misnamed(tag, bool(method.get(MULTIPLE)), settled, known)


def settled_in_view(event: Event, channel: Channel, method: Method) -> Settled | None:
    """How the delivery that is named was settled, where not all of the channel was seen.

    What was settled since the capture began, or since octets were lost, is settled.
    """
    tag, connection = number(method, TAG), event.connection
    settled = channel.deliveries.settled.get(tag)
    if settled is None or channel.sure or tag in channel.deliveries.outstanding:
        return None
    rollback = connection.dialect.by_name["tx.rollback"].code
    if rollback in channel.sent[CLIENT] or recovered(event, channel):
        return None
    if event.own.damaged is not None or (method.get(MULTIPLE) and not strict(event)):
        return None
    lost = settled.mark.time < connection.shaken_until
    return None if lost or settled.outcome not in ("ack", "nack", "reject") else settled


def rolling_back(channel: Channel) -> bool:
    """A rollback is under way, after which deliveries can be acknowledged again."""
    transaction = channel.transaction
    return transaction is not None and any(each.rollback for each in transaction.ending)


def strict(event: Event) -> bool:
    """RabbitMQ wants what is named to be there still, also with `multiple` and after a recover."""
    return event.connection.ends[SERVER].product == "RabbitMQ"


def accuse(event: Event, report: Reporter, found: Misnamed, words: str) -> None:
    """Report an acknowledgement; with `multiple` brokers judge it differently."""
    settled = found.settled
    related = () if settled is None else ((settled.mark, "where it was settled"),)
    severity = WARNING if found.multiple and not strict(event) else ""
    report.sure(event, words, f"{event.name}.delivery-tag", related, severity=severity)


@rule("A09-BAS-10", "ack exists", MUST, ERROR, on=SETTLES, needs=ALL_SEEN)
def ack_of_unknown_delivery(
    event: Event, report: Reporter, channel: Channel, misnamed: Misnamed
) -> None:
    """An acknowledgement names a delivery of its channel.

    The broker closes the channel with 406. Most often it is the tag of another channel, or of
    this one before it was closed and opened again.

    Bad (delivered):
        client: basic.ack[1] delivery-tag=7   # <- A09-BAS-10

    Good (delivered):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.reject[1] delivery-tag=1
        client: basic.ack[1] multiple=true
    """
    tag, settled, path = misnamed.tag, misnamed.settled, f"{event.name}.delivery-tag"
    if settled is not None and settled.outcome == "recover":
        related = ((settled.mark, "the recover"),)
        words = f"delivery {tag} is acknowledged after the client gave it back by a recover"
        report.sure_if(strict(event), event, words, path, related)
    elif not misnamed.known:
        highest = channel.deliveries.highest
        last = f"the last one was {highest}" if highest else "nothing was delivered yet"
        text = f"there is no delivery {tag} on this channel, {last}"
        if tag > highest:
            report.sure(event, text, path)
        else:
            accuse(event, report, misnamed, text)


@rule("A09-BAS-11", "ack exists", MUST, ERROR, on=SETTLES, needs="client trusted !closing")
def ack_repeated(event: Event, report: Reporter, channel: Channel, method: Method) -> None:
    """A delivery is acknowledged once.

    The broker closes the channel with 406. With `multiple`, deliveries below the tag may be
    settled already, but RabbitMQ wants the one that is named to be still there.

    Bad (delivered):
        client: basic.ack[1] delivery-tag=1
        client: basic.ack[1] delivery-tag=1   # <- A09-BAS-11

    Good (delivered):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
        client: basic.ack[1] delivery-tag=2 multiple=true
    """
    seen = channel.sure and not channel.deliveries.unsure and not event.ahead
    found = find_misnamed(event) if seen else None
    if found is None:
        settled = settled_in_view(event, channel, method)
        if settled is not None:
            text = f"a delivery is acknowledged which the {settled.outcome} before has settled"
            related = ((settled.mark, "where it was settled"),)
            report.suspect(event, text, f"{event.name}.delivery-tag", related)
        return
    if not found.known:
        return
    outcome = "" if found.settled is None else found.settled.outcome
    if outcome not in ("no-ack", "recover"):
        how = {"nack": "given back by a nack", "reject": "rejected"}.get(outcome, "acknowledged")
        accuse(event, report, found, f"delivery {found.tag} was {how} before")


@rule("A09-BAS-12", "channel-local", MUST, WARNING, on=SETTLES, needs=ALL_SEEN)
def ack_on_other_channel(event: Event, report: Reporter, misnamed: Misnamed) -> None:
    """A delivery is acknowledged on the channel that it came by.

    All channels count from one, so this is reported only where the tag means nothing on the channel
    itself.

    Bad (consuming):
        client: channel.open[2]
        server: channel.open-ok[2]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[2] delivery-tag=1   # <- A09-BAS-12, A09-BAS-10

    Good (consuming):
        client: channel.open[2]
        server: channel.open-ok[2]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
    """
    if misnamed.known:
        return
    for place, other in event.connection.channels.items():
        delivery = other.deliveries.outstanding.get(misnamed.tag)
        if other is not event.channel and delivery is not None and event.knew(delivery.mark):
            words = f"delivery {misnamed.tag} waits to be acknowledged on channel {place}, not here"
            related = ((delivery.mark, "the delivery"),)
            report.suspect(event, words, f"{event.name}.delivery-tag", related)
            return


@rule("A09-BAS-13", "no-ack", MUST, ERROR, on=SETTLES, needs=ALL_SEEN)
def ack_of_no_ack_delivery(event: Event, report: Reporter, misnamed: Misnamed) -> None:
    """What a client asked for with `no-ack` is not acknowledged.

    For the server it is settled as soon as it is sent; the broker closes the channel with 406.

    Bad (delivered no-ack=true):
        client: basic.ack[1] delivery-tag=1   # <- A09-BAS-13

    Good (delivered):
        client: basic.ack[1] delivery-tag=1
    """
    if misnamed.settled is not None and misnamed.settled.outcome == "no-ack":
        accuse(event, report, misnamed, f"delivery {misnamed.tag} was asked for with no-ack")


@rule("A09-BAS-14", "ack multiple", MUST, ERROR, on=SETTLES, needs="trusted")
def ack_tag_zero_alone(event: Event, report: Reporter, method: Method) -> None:
    """An acknowledgement of tag 0 means all deliveries, and has `multiple` set.

    Bad (delivered):
        client: basic.ack[1] delivery-tag=0   # <- A09-BAS-14

    Good (delivered):
        client: basic.ack[1] delivery-tag=0 multiple=true
    """
    if method.get(TAG) != 0 or method.get(MULTIPLE):
        return
    path = f"{event.name}.delivery-tag"
    if event.name == "basic.reject":
        # It has no `multiple`, and the texts do not say what zero means here.
        report.sure(event, "a reject of tag 0, which no delivery has", path, severity=WARNING)
    else:
        report.sure(event, f"{event.name} of tag 0 without multiple", path)


@rule("A09-BAS-15", "ack multiple 01", MUST, WARNING, on="answers", needs="server sure !closing")
def bad_ack_tolerated(event: Event, report: Reporter, channel: Channel, request: Request) -> None:
    """A server closes the channel when a client acknowledges what is not there to acknowledge.

    Reported when it answers a later request on the channel instead.

    Bad (consuming):
        client: basic.ack[1] delivery-tag=7   # <- A09-BAS-10
        client: queue.declare[1] queue="r"
        server: queue.declare-ok[1] queue="r"   # <- A09-BAS-15

    Good (delivered):
        client: basic.ack[1] delivery-tag=1
        client: queue.declare[1] queue="r"
        server: queue.declare-ok[1] queue="r"
    """
    bad = channel.deliveries.misnamed
    if bad is None or request.mark.end <= bad.end:
        return
    if not any(fault.sure and fault.mark.frame == bad.frame for fault in event.connection.faults):
        return
    if report.once(channel):
        words = f"goes on with {event.name} after an acknowledgement that named no delivery"
        report.sure(event, words, "", ((bad, "the acknowledgement"),))
