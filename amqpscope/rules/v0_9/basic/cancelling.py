"""Ends of consumers, and who may consume alone (A09-BAS-31 to 36; 1.1.6.3, 1.1.6.4)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import deliveries as states
from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.deliveries import Consumer
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.rules.v0_9 import ERROR, IMPLIED, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.basic.consuming import TAG, deleted_since
from amqpscope.rules.v0_9.channel.replies import UNASKED, report_no_wait
from amqpscope.rules.v0_9.versions import NEW
from dissectors.v0_9.codec import Method

NOTIFY: Final = "consumer_cancel_notify"
CONSUMER_OKS: Final = "basic.consume-ok basic.cancel-ok"
UNRELATED: Final = frozenset((200, 320, 501, 505, 506, 541))
"""Codes of closes that say nothing of whether a consumer was known."""


def blames(event: Event, name: str) -> bool:
    """A close names this method as its cause."""
    method, plan = event.unit.method, event.connection.dialect.by_name.get(name)
    if method is None or plan is None:
        return False
    return number(method, "class-id") << 16 | number(method, "method-id") == plan.code


@rule("A09-BAS-31", "cancel 01", MUST, WARNING, on="channel.close connection.close", needs="server")
def cancel_of_unknown_consumer_refused(event: Event, report: Reporter, method: Method) -> None:
    """A consumer that is not there, or not any more, can be cancelled without harm.

    It may have gone with its queue while the cancel was under way.

    Bad (queue):
        client: basic.cancel[1] consumer-tag="t"
        server: channel.close[1] reply-code=404 reply-text="NOT_FOUND" class-id=60
                method-id=30   # <- A09-BAS-31

    Good (queue):
        client: basic.cancel[1] consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="t"
    """
    if not blames(event, "basic.cancel"):
        return
    code = number(method, "reply-code")
    plan = event.connection.dialect.by_name["basic.cancel"]
    mark = event.partner.sent.get(plan.code)
    if code not in UNRELATED and mark is not None:
        words = f"a cancel is refused with {code}"
        report.sure(event, words, f"{event.name}.reply-code", ((mark, "the cancel"),))


@rule("A09-BAS-32", "1.1.6.4", IMPLIED, WARNING, on="basic.cancel-ok", needs="sure")
def cancel_ok_tag_differs(
    event: Event, report: Reporter, method: Method, channel: Channel, request: Request
) -> None:
    """A cancel-ok repeats the tag of the cancel.

    Bad (consuming):
        client: basic.cancel[1] consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="u"   # <- A09-BAS-32

    Good (consuming):
        client: basic.cancel[1] consumer-tag="t"
        server: basic.cancel-ok[1] consumer-tag="t"
    """
    if method.get(TAG) is None or request.method.get(TAG) is None:
        return
    said, wanted = text(method, TAG), text(request.method, TAG)
    waiting = [*channel.pending[1 - event.peer], *channel.unanswered]
    if said != wanted and said not in [text(each.method, TAG) for each in waiting]:
        related = ((request.mark, "the cancel"),)
        words = f"cancel-ok names the consumer {said!r}, the cancel {wanted!r}"
        report.sure(event, words, "basic.cancel-ok.consumer-tag", related)


@rule("A09-BAS-33", "no-wait", MUST, ERROR, on=f"unasked {CONSUMER_OKS}", needs=f"server {UNASKED}")
def consumer_reply_to_no_wait(event: Event, report: Reporter, channel: Channel) -> None:
    """A consume or cancel that wants no answer gets none.

    The client does not wait for it, and takes it for the answer to another request.

    Bad (queue):
        client: basic.consume[1] queue="q" consumer-tag="t" no-wait=true
        server: basic.consume-ok[1] consumer-tag="t"   # <- A09-BAS-33

    Good (consuming):
        client: basic.cancel[1] consumer-tag="t" no-wait=true
        client: basic.consume[1] queue="q" consumer-tag="u"
        server: basic.consume-ok[1] consumer-tag="u"
    """
    report_no_wait(event, report, channel)


@rule("A09-BAS-34", "amq_basic_02", MUST, WARNING, on="basic.consume-ok")
def exclusive_consume_not_enforced(
    event: Event, report: Reporter, request: Request, consumer: Consumer
) -> None:
    """Who asks to be a queue's only consumer is refused, with 403, while there are others.

    And while there is an only one, so is everyone else. What others do on other connections is
    not seen, so a consumer may have gone without a word.

    Bad (consuming exclusive=true):
        client: basic.consume[1] queue="q" consumer-tag="u"
        server: basic.consume-ok[1] consumer-tag="u"   # <- A09-BAS-34

    Good (consuming):
        client: basic.consume[1] queue="q" consumer-tag="u"
        server: basic.consume-ok[1] consumer-tag="u"
    """
    queue = consumer.queue
    for channel in event.connection.channels.values():
        if not queue or channel.closing or not channel.sure:
            continue
        for other in channel.consumers.values():
            if other is consumer or other.queue != queue or other.state != states.ACTIVE:
                continue
            if (other.exclusive or consumer.exclusive) and not deleted_since(event, other):
                words = f"a second consumer of {queue!r}, and one of them is to be the only one"
                related = ((other.mark, "the other's consume"), (consumer.mark, "its consume"))
                report.suspect(event, words, "", related)
                return


@rule(
    "A09-BAS-35",
    "consumer_cancel_notify",
    IMPLIED,
    WARNING,
    on="basic.cancel",
    dialects=NEW,
    needs="server",
)
def server_cancel_not_announced(event: Event, report: Reporter) -> None:
    """A server cancels consumers only of clients that announced to understand it.

    Bad (plain_consuming):
        server: basic.cancel[1] consumer-tag="t" no-wait=true   # <- A09-BAS-35

    Good (consuming):
        server: basic.cancel[1] consumer-tag="t" no-wait=true
    """
    connection = event.connection
    if connection.start_ok is None:
        return
    if NOTIFY not in event.partner.capabilities:
        related = ((connection.start_ok_mark, "the client's start-ok"),)
        words = f"basic.cancel to a client that did not announce {NOTIFY}"
        report.sure(event, words, "", related)


@rule(
    "A09-BAS-36",
    "[RMQ]",
    IMPLIED,
    WARNING,
    on="unasked basic.cancel-ok",
    dialects=NEW,
    needs=f"client {UNASKED}",
)
def cancel_ok_to_no_wait_cancel(event: Event, report: Reporter, channel: Channel) -> None:
    """A client does not answer the server's cancel when it has no-wait set.

    Brokers of some versions close the connection at it, and all its channels with it.

    Bad (consuming):
        server: basic.cancel[1] consumer-tag="t" no-wait=true
        client: basic.cancel-ok[1] consumer-tag="t"   # <- A09-BAS-36

    Good (consuming):
        server: basic.cancel[1] consumer-tag="t" no-wait=true
        client: channel.close[1] reply-code=200 reply-text="bye"
        server: channel.close-ok[1]
    """
    report_no_wait(event, report, channel)
