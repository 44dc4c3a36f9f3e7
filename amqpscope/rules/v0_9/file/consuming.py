"""Consumers of files and their acknowledgements (A09-FIL-06 to 11; 1.1.7.1 to 1.1.7.12)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import MAX_GONE, Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.rules.v0_9 import ERROR, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.basic.cancelling import blames
from amqpscope.rules.v0_9.basic.consuming import IN_USE, TAG, deleted_since
from amqpscope.rules.v0_9.versions import KNOWN
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method

CLOSE: Final = "channel.close connection.close"
SETTLES: Final = "odd-settle file.ack file.reject"
ACCESS_REFUSED: Final = 403
RESOURCE_LOCKED: Final = 405


@rule("A09-FIL-06", "1.1.7.1", MUST, ERROR, on="file.consume", dialects=KNOWN, needs="client clear")
def file_consumer_tag_in_use(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A new consumer of files has a tag that no other consumer of the channel has.

    The server closes the connection with 530.

    Bad (file_consuming):
        client: file.consume[1] queue="q" consumer-tag="t"   # <- A09-FIL-06

    Good (file_consuming):
        client: file.cancel[1] consumer-tag="t"
        client: file.consume[1] queue="q" consumer-tag="t"
        server: file.cancel-ok[1] consumer-tag="t"
        server: file.consume-ok[1] consumer-tag="t"
    """
    report_tag_in_use(event, report, method, channel)


def report_tag_in_use(event: Event, report: Reporter, method: Method, channel: Channel) -> None:
    """Report a consume whose tag another consumer of its class has."""
    tag = text(method, TAG)
    consumer = channel.consumers.get(tag)
    if consumer is None or not tag or consumer.assumed or consumer.state not in IN_USE:
        return
    if consumer.class_name != method.plan.row.class_name:
        return  # Whether the tags of two classes may be the same is nowhere said.
    words, path = f"the consumer tag {tag!r} is in use on this channel", f"{event.name}.{TAG}"
    related = ((consumer.mark, "the consumer that has it"),)
    proven = consumer.tag == tag and not deleted_since(event, consumer)
    report.sure_if(proven, event, words, path, related)


@rule("A09-FIL-07", "amq_file_00", MUST, INFO, on=CLOSE, dialects=KNOWN, needs="server")
def file_exclusive_code_wrong(event: Event, report: Reporter, method: Method) -> None:
    """Who may not be the only consumer of a queue of files is refused with 405.

    With basic it is 403, which here means that the right to read is missing. Why a consume was
    refused is not on the wire, so this is a suspicion.

    Bad (v0_9):
        client: file.consume[1] queue="q" consumer-tag="t" exclusive=true
        server: channel.close[1] reply-code=403 reply-text="ACCESS_REFUSED" class-id=70
                method-id=20   # <- A09-FIL-07

    Good (v0_9):
        client: file.consume[1] queue="q" consumer-tag="t" exclusive=true
        server: channel.close[1] reply-code=405 reply-text="RESOURCE_LOCKED" class-id=70
                method-id=20
        client: channel.close-ok[1]
    """
    report_exclusive_code(event, report, method, "file.consume")


def report_exclusive_code(event: Event, report: Reporter, method: Method, name: str) -> None:
    """Report a refused exclusive consume with another code than 405."""
    if not blames(event, name):
        return
    code, reason = number(method, "reply-code"), text(method, "reply-text").lower()
    if code != ACCESS_REFUSED and (code == RESOURCE_LOCKED or "exclusive" not in reason):
        return
    for channel in event.connection.channels.values():
        for request in channel.pending[CLIENT]:
            if request.name == name and request.method.get("exclusive"):
                words = f"an exclusive {name} is refused with {code}, not with {RESOURCE_LOCKED}"
                related = ((request.mark, "the consume"),)
                report.suspect(event, words, f"{event.name}.reply-code", related)
                return


@rule(
    "A09-FIL-08",
    "1.1.7.1",
    MUST,
    WARNING,
    on="full file.deliver",
    dialects=KNOWN,
    needs="sure trusted counted",
)
def file_prefetch_exceeded(event: Event, report: Reporter, channel: Channel) -> None:
    """A client is not sent more files than it said to want before it acknowledges some.

    Bad (file_limited):
        server: file.deliver[1] consumer-tag="t" delivery-tag=2 identifier="f" # <- A09-FIL-08

    Good (file_limited):
        client: file.ack[1] delivery-tag=1
        server: file.deliver[1] consumer-tag="t" delivery-tag=2 identifier="f"
        client: file.ack[1] delivery-tag=2
    """
    limits = [qos for qos in channel.qos if qos.class_name == "file"]
    # Until all are answered, the server may go by an older one.
    if not limits or any(not qos.count or qos.ok_mark is None for qos in limits):
        return
    count = sum(
        delivery.consumer is not None and delivery.consumer.class_name == "file"
        for delivery in channel.deliveries.outstanding.values()
    )
    most = max(qos.count for qos in limits)
    if count >= most:
        related = ((limits[-1].mark, "the limit"),)
        words = f"delivery {count + 1} without an acknowledgement, the client allows {most}"
        report.sure(event, words, "file.deliver", related)


@rule(
    "A09-FIL-09", "ack multiple 01", MUST, ERROR, on=SETTLES, dialects=KNOWN, needs="clear counted"
)
def file_ack_of_unknown_delivery(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """What is acknowledged or rejected was delivered, and not settled before.

    The server closes the channel.

    Bad (file_consuming):
        client: file.ack[1] delivery-tag=1   # <- A09-FIL-09

    Good (file_delivered):
        client: file.ack[1] delivery-tag=1

    Bad (file_delivered):
        client: file.ack[1] delivery-tag=1
        client: file.reject[1] delivery-tag=1   # <- A09-FIL-09
    """
    deliveries = channel.deliveries
    tag, multiple = number(method, "delivery-tag"), bool(method.get("multiple"))
    if mixed(event, channel):
        return
    path = f"{event.name}.delivery-tag"
    if tag > deliveries.highest:
        words = f"delivery {tag} is settled, the last one was {deliveries.highest}"
        report.sure(event, words, path)
    elif tag in deliveries.settled and not (multiple and event.covered):
        before = deliveries.settled[tag]
        words = f"delivery {tag} is settled again"
        report.suspect(event, words, path, ((before.mark, before.outcome),))
    elif not tag and not multiple:
        report.suspect(event, "delivery-tag is 0, and multiple is not set", path)


def mixed(event: Event, channel: Channel) -> bool:
    """Messages of other classes have tags too: whether they are of one sequence is not said."""
    known = event.connection.dialect.by_name
    names = ("basic.deliver", "basic.get-ok", "stream.deliver")
    return any(known[name].code in channel.sent[SERVER] for name in names if name in known)


@rule("A09-FIL-11", "1.1.7.2", MUST, ERROR, on="file.cancel", dialects=KNOWN, needs="clear")
def file_consumer_tag_differs(
    event: Event, report: Reporter, method: Method, channel: Channel
) -> None:
    """A consumer is named by the tag that the server's consume-ok gave it.

    Bad (v0_9):
        client: file.consume[1] queue="q" consumer-tag=""
        server: file.consume-ok[1] consumer-tag="t-1"
        client: file.cancel[1] consumer-tag="t"   # <- A09-FIL-11

    Good (v0_9):
        client: file.consume[1] queue="q" consumer-tag=""
        server: file.consume-ok[1] consumer-tag="t-1"
        client: file.cancel[1] consumer-tag="t-1"
        server: file.cancel-ok[1] consumer-tag="t-1"

    Bad (v0_8):
        client: file.consume[1] queue="q" consumer-tag="t"
        server: file.consume-ok[1] consumer-tag="t-1"
        client: file.cancel[1] consumer-tag="t"   # <- A09-FIL-11
    """
    tag, path = text(method, TAG), "file.cancel.consumer-tag"
    consumer = channel.consumers.get(tag)
    if consumer is None:
        if tag not in channel.gone and len(channel.gone) < MAX_GONE:
            report.sure(event, f"there never was a consumer {tag!r} on this channel", path)
    elif consumer.tag != tag and event.knew(consumer.ok_mark):
        related = ((consumer.ok_mark, "its consume-ok"),)
        words = f"the consumer is called {tag!r}, its consume-ok said {consumer.tag!r}"
        report.sure_if(event.surely_knew(consumer.ok_mark), event, words, path, related)
