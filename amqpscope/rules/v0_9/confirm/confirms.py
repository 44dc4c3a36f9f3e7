"""Publisher confirms, RabbitMQ's extension (A09-CNF).

After confirm.select each publish of the channel has a number, from 1, in the order in which the
client sends them. The server's acks and nacks name these numbers.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.model.v0_9.publishes import Confirms, Publish
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, parameter, rule
from amqpscope.rules.v0_9.channel.replies import (
    ENDS,
    ended_channels,
    report_no_wait,
    report_unanswered,
)
from amqpscope.rules.v0_9.versions import NEW
from amqpscope.stream.types import SERVER
from dissectors.v0_9.codec import Method

CAPABILITY: Final = "publisher_confirms"
PATIENCE: Final = 10_000_000_000
"""Nanoseconds in which a broker may be busy with a message."""
CONFIRMS: Final = "odd-confirm basic.ack basic.nack"
SEEN: Final = "server clear !ahead"
"""What must hold for `confirms` to be all that the client has published on a channel."""


@parameter("confirms")
def find_confirms(event: Event) -> Confirms | None:
    """The publishes of a channel that are counted, where all of the client could be read."""
    channel = event.channel
    return None if channel is None or event.partner.damaged is not None else channel.confirms


@rule(
    "A09-CNF-01",
    "confirm",
    MUST,
    WARNING,
    on=f"{CONFIRMS} | unasked confirm.select-ok | answers basic.* queue.* | {ENDS}",
)
def confirm_select_unanswered(event: Event, report: Reporter) -> None:
    """A confirm.select is answered by select-ok, but for one with no-wait.

    Bad (queue):
        client: confirm.select[1]
        client: queue.declare[1] queue="r"
        server: queue.declare-ok[1] queue="r"   # <- A09-CNF-01, A09-CHN-05

    Good (queue):
        client: confirm.select[1]
        client: queue.declare[1] queue="r"
        server: confirm.select-ok[1]
        server: queue.declare-ok[1] queue="r"

    Bad (queue):
        client: confirm.select[1]   # <- A09-CNF-01
        @60s client: channel.close[1] reply-code=200 reply-text="bye"

    Good (queue):
        client: confirm.select[1] nowait=true
        @60s client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]

    Bad (queue):
        client: confirm.select[1] nowait=true
        server: confirm.select-ok[1]   # <- A09-CNF-01

    Good (queue):
        client: confirm.select[1] nowait=true
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: basic.ack[1] delivery-tag=1
    """
    if event.name == "confirm.select-ok":
        if event.channel is not None and event.trusted and not event.ahead:
            report_no_wait(event, report, event.channel)
    elif event.request is not None or event.name in ENDS:
        report_unanswered(event, report, "confirm.select")


@rule("A09-CNF-02", "confirm", IMPLIED, WARNING, on=CONFIRMS, needs=SEEN)
def confirm_count_wrong(
    event: Event, report: Reporter, method: Method, channel: Channel, confirms: Confirms
) -> None:
    """Confirms count publishes from 1, and from the confirm.select on.

    Bad (unconfirmed):
        server: basic.ack[1] delivery-tag=0   # <- A09-CNF-02

    Good (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: confirm.select[1]
        server: confirm.select-ok[1]
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: basic.ack[1] delivery-tag=1

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        client: confirm.select[1]
        server: confirm.select-ok[1]
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: basic.ack[1] delivery-tag=2   # <- A09-CNF-02, A09-CNF-03

    Good (unconfirmed):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: basic.ack[1] delivery-tag=2 multiple=true
    """
    if not confirms.on:
        return
    tag, path = number(method, "delivery-tag"), f"{event.name}.delivery-tag"
    if not tag:
        report.sure(event, "confirms publish 0, but publishes are counted from 1", path)
    elif confirms.next_number <= tag <= channel.publishes and not confirms.unsure:
        counted = confirms.next_number - 1
        words = f"confirms publish {tag}: {channel.publishes} in all, {counted} since the select"
        report.sure(event, words, path, ((confirms.select_mark, "the confirm.select"),))


@rule("A09-CNF-03", "nack exists", MUST, ERROR, on=CONFIRMS, needs=SEEN)
def confirm_of_unpublished(
    event: Event, report: Reporter, method: Method, confirms: Confirms
) -> None:
    """A server confirms what was published.

    Bad (unconfirmed):
        server: basic.ack[1] delivery-tag=2   # <- A09-CNF-03

    Good (unconfirmed):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: basic.nack[1] delivery-tag=2
        server: basic.ack[1] delivery-tag=1
    """
    tag = number(method, "delivery-tag")
    if confirms.on and not confirms.unsure and tag >= confirms.next_number:
        counted = confirms.next_number - 1
        words = f"confirms publish {tag}, but only {counted} came since the confirm.select"
        related = ((confirms.select_mark, "the confirm.select"),)
        report.sure(event, words, f"{event.name}.delivery-tag", related)


@rule("A09-CNF-04", "nack exists", MUST, WARNING, on=CONFIRMS, needs=SEEN)
def confirm_repeated(event: Event, report: Reporter, method: Method, confirms: Confirms) -> None:
    """A publish is confirmed once.

    With `multiple`, numbers that were confirmed before may be among those that are meant.

    Bad (unconfirmed):
        server: basic.ack[1] delivery-tag=1
        server: basic.nack[1] delivery-tag=1   # <- A09-CNF-04

    Good (unconfirmed):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: basic.nack[1] delivery-tag=1
        server: basic.ack[1] delivery-tag=2 multiple=true
    """
    if method.get("multiple") or confirms.unsure:
        return
    tag = number(method, "delivery-tag")
    settled = confirms.settled.get(tag)
    if settled is not None and tag not in confirms.outstanding:
        words = f"publish {tag} was confirmed before, by {settled.outcome}"
        related = ((settled.mark, f"the {settled.outcome}"),)
        report.sure(event, words, f"{event.name}.delivery-tag", related)


@rule("A09-CNF-05", "confirm all messages", MUST, WARNING, on=ENDS, needs="!over")
def publish_never_confirmed(event: Event, report: Reporter) -> None:
    """Every publish is confirmed, if the channel lasts long enough.

    Reported when the channel or the connection ends and ten seconds have passed since the publish.

    Bad (unconfirmed):
        @60s client: channel.close[1] reply-code=200 reply-text="bye"   # <- A09-CNF-05

    Good (unconfirmed):
        server: basic.ack[1] delivery-tag=1
        @60s client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    if event.connection.blocked is not None or (event.peer == SERVER and event.name != "finished"):
        return
    for channel in ended_channels(event):
        confirms = channel.confirms
        late = next(iter(confirms.outstanding.values()), None)
        if late is None or not channel.sure or confirms.unsure:
            continue
        if event.since(late.mark) > PATIENCE:
            seconds = event.since(late.mark) / 1e9
            words = f"publish {late.number} is not confirmed in {seconds:.1f} s"
            related = ((late.mark, "the publish"),)
            report.suspect(event, words, "", related, peer=SERVER, about=channel.number)


@rule("A09-CNF-06", "confirm unroutable", MUST, WARNING, on="basic.return", needs=SEEN)
def return_after_confirm(
    event: Event, report: Reporter, confirms: Confirms, publish: Publish
) -> None:
    """A message that comes back does so before it is confirmed.

    A client that sees the confirm first takes the message for delivered.

    Bad (confirming):
        client: basic.publish[1] exchange="amq.topic" routing-key="a" mandatory=true
        client: content-header[1] class=basic body-size=0
        server: basic.ack[1] delivery-tag=1
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"   # <- A09-CNF-06

    Good (confirming):
        client: basic.publish[1] exchange="amq.topic" routing-key="a" mandatory=true
        client: content-header[1] class=basic body-size=0
        server: basic.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="amq.topic"
                routing-key="a"
        server: content-header[1] class=basic body-size=0
        server: basic.ack[1] delivery-tag=1
    """
    if publish.settled is not None and not confirms.unsure:
        related = ((publish.settled, "the confirm"), (publish.mark, "the publish"))
        report.sure(event, f"publish {publish.number} comes back after its confirm", "", related)


@rule("A09-CNF-07", "confirm", IMPLIED, WARNING, on=CONFIRMS, needs=SEEN)
def confirm_without_select(event: Event, report: Reporter, confirms: Confirms) -> None:
    """A server confirms only on channels that are in confirm mode.

    Bad (channel):
        client: basic.publish[1] routing-key="q"
        client: content-header[1] class=basic body-size=0
        server: basic.ack[1] delivery-tag=1   # <- A09-CNF-07

    Good (unconfirmed):
        server: basic.ack[1] delivery-tag=1
    """
    if not confirms.on:
        report.sure(event, f"the server's {event.name} without a confirm.select on the channel")


@rule("A09-CNF-09", "[RMQ]", IMPLIED, WARNING, on="confirm.select", dialects=NEW, needs="client")
def confirm_not_announced(event: Event, report: Reporter) -> None:
    """A client asks for confirms only from a server that announced to have them.

    Bad (plain):
        client: confirm.select[1]   # <- A09-CNF-09

    Good (channel):
        client: confirm.select[1]
        server: confirm.select-ok[1]
    """
    connection = event.connection
    if connection.start is None or CAPABILITY in event.partner.capabilities:
        return
    if report.once(event.own):
        related = ((connection.start_mark, "the server's start"),)
        report.sure(event, f"the server did not announce {CAPABILITY}", "", related)
