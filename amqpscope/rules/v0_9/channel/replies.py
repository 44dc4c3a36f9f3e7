"""Requests and replies on a channel (A09-CHN-04 to 06, 16, 20, EXC-11, 12, QUE-13; 2.2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v0_9 import event as kinds
from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.event import Event
from amqpscope.rules.v0_9 import ERROR, MUST, WARNING, Reporter, rule
from amqpscope.stream.types import PEERS

SUCCESS: Final = 200
LONG: Final = 10_000_000_000
"""Nanoseconds in which a request is answered, if it is answered at all."""
ENDS: Final = "channel.close | connection.close | finished"
OR_CLOSED: Final = f"{ENDS} | channel.close-ok"
"""It ends, or the close of the channel is answered and requests before it are not."""
UNASKED: Final = "trusted !ahead"
"""What must hold for an `unasked` reply to be one too many."""
IN_ORDER: Final = frozenset((
    "access.request", "basic.qos", "channel.open", "confirm.select",
    "exchange.declare", "exchange.delete", "exchange.bind", "exchange.unbind",
    "queue.declare", "queue.bind", "queue.unbind", "queue.purge", "queue.delete",
))  # fmt: skip
"""What brokers answer before they look at the next request; a consume is answered by its queue."""
ELSEWHERE: Final = (
    "connection.", "tx.", "dtx.", "file.open-ok", "file.stage", "message.", "test.",
)  # fmt: skip
"""Classes, and replies, that are the business of their own rules."""


def ended_channels(event: Event) -> list[Channel]:
    """The channels that a close or the end of a direction ends: one, or all that are open."""
    if event.name == "channel.close":
        return [] if event.channel is None or event.channel.closing else [event.channel]
    return [channel for channel in event.connection.channels.values() if not channel.closing]


class Waiting:
    """A request that has no answer where it could not come any more, or not in order."""

    def __init__(self, request: Request, asker: int, channel: Channel) -> None:
        self.request = request
        self.asker = asker
        self.channel = channel


def waiting(event: Event) -> Iterator[Waiting]:
    """The requests that wait in vain when a channel, the connection or a direction ends.

    A close answers all that its receiver has asked, so only its sender can have waited; unless it
    says that all is well, and what was asked is long ago. What is asked on a channel is done in
    order, so a close-ok comes after all other answers.
    """
    peer = event.peer
    if event.name == "channel.close-ok":
        for request in passed_over(event):
            if event.channel is not None and request.name in IN_ORDER:
                yield Waiting(request, 1 - peer, event.channel)
        return
    if event.own.close is not None or event.partner.close is not None or event.partner.finished:
        return
    if event.connection.blocked is not None:
        return
    patience = {peer: GRACE, 1 - peer: GRACE}
    if event.name != "finished":
        method = event.unit.method
        if method is None or method.get("reply-code") != SUCCESS:
            del patience[1 - peer]
        else:
            patience[1 - peer] = LONG
    for channel in ended_channels(event):
        for asker, least in patience.items():
            if channel.doubtful[asker] or not channel.sure:
                continue
            for request in channel.pending[asker]:
                if event.since(request.mark) > least:
                    yield Waiting(request, asker, channel)


def report_waiting(event: Event, report: Reporter, names: tuple[str, ...]) -> None:
    """Report requests of these names that wait in vain."""
    for each in waiting(event):
        request, number = each.request, each.channel.number
        if not request.name.startswith(names):
            continue
        seconds = event.since(request.mark) / 1e9
        who = PEERS[1 - each.asker]
        text = f"{request.name} on channel {number} is not answered by the {who}"
        if event.name != "channel.close-ok":
            text += f" in {seconds:.1f} s"
        report.suspect(event, text, peer=1 - each.asker, mark=request.mark, about=number)


@rule("A09-CHN-04", "1.1.2 grammar", MUST, WARNING, on=f"{ENDS} | answers exchange.* queue.*")
def channel_open_unanswered(event: Event, report: Reporter) -> None:
    """A channel.open is answered by open-ok, or a close.

    Bad (opened):
        client: channel.open[1]   # <- A09-CHN-04
        @60s client: connection.close reply-code=200 reply-text="bye"

    Good (channel):
        @60s client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    for request in passed_over(event):
        if request.name == "channel.open":
            text = f"{event.name}, and channel {event.unit.channel} has had no open-ok"
            report.sure(event, text, "", ((request.mark, "its open"),))
            return
    if event.request is None:
        report_waiting(event, report, ("channel.open",))


def report_unanswered(event: Event, report: Reporter, name: str) -> None:
    """Report a request of this name that a reply passes over, or that waits in vain."""
    for request in passed_over(event):
        if request.name == name:
            short = name.removeprefix("basic.")
            related = ((request.mark, f"the {short}"),)
            report.sure(event, f"{event.name} comes before the answer to the {short}", "", related)
            return
    if event.request is None:
        report_waiting(event, report, (name,))


def passed_over(event: Event) -> list[Request]:
    """The requests that a reply passes over, where that is sure."""
    channel, asker = event.channel, 1 - event.peer
    if not event.skipped or channel is None or not channel.sure or channel.doubtful[asker]:
        return []
    return channel.pending[asker][: event.skipped]


@rule(
    "A09-CHN-05",
    "2.2.1",
    MUST,
    ERROR,
    on="unasked | answers exchange.* queue.* access.* confirm.* | basic.qos-ok",
    needs="trusted !faulty",
)
def reply_out_of_order(event: Event, report: Reporter, channel: Channel) -> None:
    """A reply answers a request that waits for it, and requests are answered in their order.

    Sender and receiver match them by their order alone: one reply too many, or two that change
    places, and the client takes each for another. Replies to what wants none have rules of their
    own. RabbitMQ lets a queue answer basic.consume and basic.cancel, which may come later.

    Bad (channel):
        client: channel.close-ok[1]   # <- A09-CHN-05

    Good (channel):
        client: queue.declare[1] queue="a"
        client: exchange.declare[1] exchange="x" type="direct"
        server: queue.declare-ok[1] queue="a"
        server: exchange.declare-ok[1]

    Bad (channel):
        client: queue.declare[1] queue="a"
        client: exchange.declare[1] exchange="x" type="direct"
        server: exchange.declare-ok[1]   # <- A09-CHN-05

    Good (queue):
        client: basic.consume[1] queue="q" consumer-tag="t"
        client: queue.declare[1] queue="r"
        server: queue.declare-ok[1] queue="r"
        server: basic.consume-ok[1] consumer-tag="t"
    """
    if event.name.startswith(ELSEWHERE):
        return
    if event.request is None:
        if event.name not in channel.unawaited and unasked(event):
            report.sure(event, f"{event.name} answers nothing that was asked on this channel")
        return
    skipped = [request for request in passed_over(event) if request.name in IN_ORDER]
    if skipped and skipped[0].name != "channel.open":
        first = skipped[0]
        text = f"{event.name} comes before the answer to the earlier {first.name}"
        related = ((first.mark, f"the {first.name}"), (event.request.mark, "what it answers"))
        report.sure(event, text, "", related)


def unasked(event: Event) -> bool:
    """Nothing that waits for this reply was asked, for sure."""
    return bool(event.kinds & kinds.UNASKED) and not event.ahead


@rule("A09-CHN-06", "2.2.1", MUST, WARNING, on=OR_CLOSED)
def request_never_answered(event: Event, report: Reporter) -> None:
    """A request gets its answer, or a close.

    Reported when the channel or the connection ends, and not if that is within a second: brokers
    can be busy.

    Bad (channel):
        client: queue.declare[1] queue="q"   # <- A09-CHN-06
        @60s client: channel.close[1] reply-code=200 reply-text="bye"

    Good (channel):
        client: queue.declare[1] queue="q"
        server: channel.close[1] reply-code=403 reply-text="ACCESS_REFUSED" class-id=50 method-id=10
        @60s client: channel.close-ok[1]
    """
    report_waiting(event, report, ("queue.", "access.", "basic.consume", "basic.cancel"))


@rule("A09-CHN-16", "1.1.2.4", MUST, WARNING, on=ENDS)
def channel_flow_unanswered(event: Event, report: Reporter) -> None:
    """A channel.flow is answered by flow-ok.

    Without it nobody knows from when on it holds.

    Bad (plain):
        server: channel.flow[1] active=false   # <- A09-CHN-16
        @60s server: connection.close reply-code=320 reply-text="stop"

    Good (stopped):
        client: channel.flow-ok[1] active=false
        @60s server: connection.close reply-code=320 reply-text="stop"
        client: connection.close-ok

    Bad (plain):
        server: channel.flow[1] active=false   # <- A09-CHN-16
        @20s client: connection.close reply-code=200 reply-text="bye"

    Good (stopped):
        @1s client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    report_waiting(event, report, ("channel.flow",))


@rule("A09-CHN-20", "grammar", MUST, WARNING, on=ENDS, dialects="0-9=")
def ping_or_resume_unanswered(event: Event, report: Reporter) -> None:
    """Ping, pong and resume are answered by ok.

    Bad (v0_9):
        client: channel.ping[1]   # <- A09-CHN-20
        @60s client: connection.close reply-code=200 reply-text="bye"

    Good (v0_9):
        client: channel.ping[1]
        server: channel.ok[1]
        @60s client: connection.close reply-code=200 reply-text="bye"
        server: connection.close-ok
    """
    report_waiting(event, report, ("channel.ping", "channel.pong", "channel.resume"))


@rule("A09-EXC-11", "no-wait field", MUST, ERROR, on="unasked exchange.*", needs=UNASKED)
def exchange_reply_to_no_wait(event: Event, report: Reporter, channel: Channel) -> None:
    """A request of the exchange class that wants no answer gets none.

    The client does not wait for it, and takes it for the answer to something else.

    Bad (channel):
        client: exchange.declare[1] exchange="x" type="direct" no-wait=true
        server: exchange.declare-ok[1]   # <- A09-EXC-11

    Good (channel):
        client: exchange.declare[1] exchange="x" type="direct" no-wait=true
        client: exchange.declare[1] exchange="x" type="direct"
        server: exchange.declare-ok[1]
    """
    report_no_wait(event, report, channel)


@rule("A09-QUE-13", "no-wait", MUST, ERROR, on="unasked queue.*", needs=UNASKED)
def queue_reply_to_no_wait(event: Event, report: Reporter, channel: Channel) -> None:
    """A request of the queue class that wants no answer gets none.

    A09-CHN-06 reports one that wants an answer and gets none.

    Bad (queue):
        client: queue.bind[1] queue="q" exchange="amq.topic" no-wait=true
        server: queue.bind-ok[1]   # <- A09-QUE-13

    Good (queue):
        client: queue.bind[1] queue="q" exchange="amq.topic" no-wait=true
        client: queue.purge[1] queue="q"
        server: queue.purge-ok[1]
    """
    report_no_wait(event, report, channel)


def report_no_wait(event: Event, report: Reporter, channel: Channel) -> None:
    """Report a reply to what wants none."""
    mark = channel.unawaited.get(event.name)
    if mark is not None:
        text = f"{event.name} answers a request with no-wait"
        report.sure(event, text, "", ((mark, "the request"),))


@rule("A09-EXC-12", "no-wait field", MUST, WARNING, on=OR_CLOSED)
def exchange_reply_missing(event: Event, report: Reporter) -> None:
    """A request of the exchange class without no-wait gets its answer, or a close.

    Bad (channel):
        client: exchange.declare[1] exchange="x" type="direct"   # <- A09-EXC-12
        @60s client: channel.close[1] reply-code=200 reply-text="bye"

    Good (exchange):
        @60s client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    report_waiting(event, report, ("exchange.",))
