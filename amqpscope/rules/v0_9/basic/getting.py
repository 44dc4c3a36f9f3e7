"""Getting single messages, and getting them again (A09-BAS-20, 27 to 30)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.deliveries import Delivery
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.channel.replies import (
    ENDS,
    passed_over,
    report_unanswered,
    report_waiting,
    unasked,
)
from amqpscope.rules.v0_9.versions import NEW, OLD
from amqpscope.stream.types import CLIENT, SERVER

RECOVER_ASYNC: Final = "basic.recover-async"


@rule(
    "A09-BAS-20",
    "grammar",
    MUST,
    ERROR,
    on=f"unasked basic.get-ok basic.get-empty | answers basic.* | {ENDS}",
)
def get_answered_wrongly(event: Event, report: Reporter) -> None:
    """A get is answered by one get-ok with a message, or by one get-empty.

    Bad (queue):
        client: basic.get[1] queue="q"
        server: basic.get-empty[1]
        server: basic.get-empty[1]   # <- A09-BAS-20, A09-CHN-05

    Good (queue):
        client: basic.get[1] queue="q"
        client: basic.get[1] queue="q"
        server: basic.get-empty[1]
        server: basic.get-empty[1]

    Bad (queue):
        client: basic.get[1] queue="q"   # <- A09-BAS-20
        @60s client: channel.close[1] reply-code=200 reply-text="bye"

    Good (got):
        client: basic.ack[1] delivery-tag=1
        @60s client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    if event.name in ("basic.get-ok", "basic.get-empty"):
        if unasked(event) and event.peer == SERVER and event.trusted:
            report.sure(event, f"{event.name} answers no get")
        return
    for request in passed_over(event):
        if request.name == "basic.get":
            words = f"{event.name} comes before the answer to the earlier get"
            report.sure(event, words, "", ((request.mark, "the get"),), severity=WARNING)
            return
    if event.request is None:
        report_waiting(event, report, ("basic.get",))


@rule("A09-BAS-27", "amq_basic_23, requeue", MUST, INFO, on="basic.deliver", default=False)
def rejected_message_redelivered_here(
    event: Event, report: Reporter, channel: Channel, delivery: Delivery
) -> None:
    """A message that a client has rejected is not sent to it again on the same channel.

    RabbitMQ does so by design, and a client that rejects all it gets goes in circles with it.
    Messages are known again only by where they came from.

    Bad (delivered):
        client: basic.reject[1] delivery-tag=1 requeue=true
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
                redelivered=true   # <- A09-BAS-27

    Good (delivered):
        client: basic.reject[1] delivery-tag=1
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q" redelivered=true
        server: content-header[1] class=basic body-size=0
    """
    if not delivery.redelivered:
        return
    for each in channel.deliveries.requeued:
        same = (each.exchange, each.routing_key) == (delivery.exchange, delivery.routing_key)
        if same and each.queue == delivery.queue and each.outcome == "reject":
            words = f"delivery {delivery.tag} may be the rejected delivery {each.tag} again"
            report.suspect(event, words, "", ((each.settled, "the reject"),))
            return


@rule(
    "A09-BAS-28",
    "recover 01",
    MUST,
    WARNING,
    on="odd-deliver basic.deliver | odd-header",
    needs="sure",
)
def redelivered_flag_missing(
    event: Event, report: Reporter, channel: Channel, delivery: Delivery
) -> None:
    """What a recover brings again is marked as redelivered.

    Reported where the server uses the delivery's tag again, or where the message-id is the same:
    else nothing on the wire shows that it is the same message.

    Bad (plain_consuming):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.recover[1]
        server: basic.recover-ok[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q" # <- A09-BAS-28

    Good (plain_consuming):
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.recover[1]
        server: basic.recover-ok[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q" redelivered=true
        server: content-header[1] class=basic body-size=0

    Bad (delivered message-id="m1"):
        client: basic.recover[1] requeue=true
        server: basic.recover-ok[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 routing-key="q"
        server: content-header[1] class=basic body-size=0 message-id="m1"   # <- A09-BAS-28

    Good (delivered message-id="m1"):
        client: basic.recover[1] requeue=true
        server: basic.recover-ok[1]
        server: basic.deliver[1] consumer-tag="t" delivery-tag=2 redelivered=true routing-key="q"
        server: content-header[1] class=basic body-size=0 message-id="m1"
        server: basic.deliver[1] consumer-tag="t" delivery-tag=3 routing-key="q"
        server: content-header[1] class=basic body-size=0 message-id="m2"
    """
    if delivery.redelivered:
        return
    if event.name == "content-header":
        header = event.unit.content
        name = None if header is None else header.get("message-id")
        mark = channel.deliveries.recovered.get(str(name))
        if mark is not None and event.knew(mark):
            words = f"delivery {delivery.tag} seems to be one that the recover brings again"
            related = ((mark, "the recover"),)
            report.suspect(event, f"{words}, not marked as redelivered", "", related)
        return
    settled = channel.deliveries.settled.get(delivery.tag)
    if settled is not None and settled.outcome == "recover":
        words = f"delivery {delivery.tag} is redelivered after a recover, and not marked so"
        related = ((settled.mark, "the recover"),)
        report.sure(event, words, "basic.deliver.redelivered", related)


@rule(
    "A09-BAS-29",
    "recover 02",
    MUST,
    ERROR,
    on="basic.recover",
    dialects=OLD,
    needs="client trusted !closing",
)
def recover_on_tx_channel(event: Event, report: Reporter, channel: Channel) -> None:
    """In 0-8 and 0-9 a client does not recover on a channel with transactions.

    The text of 0-9-1 does not say so any more.

    Bad (v0_9_consuming):
        client: tx.select[1]
        server: tx.select-ok[1]
        client: basic.recover[1]   # <- A09-BAS-29

    Good (v0_9_consuming):
        client: basic.recover[1]
        client: tx.select[1]
        server: tx.select-ok[1]
    """
    if channel.transaction is not None:
        related = ((channel.transaction.select_mark, "the tx.select"),)
        report.sure(event, "a recover on a channel with transactions", "", related)


@rule(
    "A09-BAS-30",
    "recover",
    IMPLIED,
    WARNING,
    on=f"unasked basic.recover-ok | answers queue.* basic.* | {ENDS}",
    dialects=NEW,
)
def recover_unanswered(event: Event, report: Reporter) -> None:
    """A recover is answered by recover-ok; a recover-async is not.

    Bad (consuming):
        client: basic.recover[1] requeue=true
        client: queue.declare[1] queue="r"
        server: queue.declare-ok[1] queue="r"   # <- A09-BAS-30

    Good (consuming):
        client: basic.recover[1] requeue=true
        client: queue.declare[1] queue="r"
        server: basic.recover-ok[1]
        server: queue.declare-ok[1] queue="r"

    Bad (consuming):
        client: basic.recover-async[1] requeue=true
        server: basic.recover-ok[1]   # <- A09-BAS-30, A09-CHN-05

    Good (consuming):
        client: basic.recover-async[1] requeue=true
        client: basic.recover[1] requeue=true
        server: basic.recover-ok[1]
    """
    channel = event.channel
    if event.name == "basic.recover-ok":
        plan = event.connection.dialect.by_name.get(RECOVER_ASYNC)
        mark = None if channel is None or plan is None else channel.sent[CLIENT].get(plan.code)
        if unasked(event) and event.peer == SERVER and mark is not None:
            report.sure(event, "recover-ok answers a recover-async", "", ((mark, "that"),))
        return
    report_unanswered(event, report, "basic.recover")
