"""Limits: what the server proposes and the client takes (A09-CON-08 to 11)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9.connection import FRAME_MIN_SIZE
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number
from amqpscope.rules.v0_9 import ERROR, MUST, WARNING, Reporter, rule
from amqpscope.rules.v0_9.versions import rabbit_since
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method

RABBIT_MIN_SIZE: Final = 8192
"""The lowest frame-max that RabbitMQ takes, from 4.1 on."""
ABOVE: Final = frozenset(("A09-CON-08", "A09-CON-10"))


def report_above(event: Event, report: Reporter, name: str, offered: int) -> None:
    """Report a tune-ok that asks for more than was offered."""
    method, connection = event.unit.method, event.connection
    tune = connection.tune
    if method is None or tune is None or not offered or event.unit.faults or event.peer != CLIENT:
        return
    chosen = number(method, name)
    related = ((tune.mark, "the server's tune"),)
    path = f"connection.tune-ok.{name}"
    if chosen > offered:
        report.sure(event, f"{name} is {chosen}, the server offers {offered}", path, related)
    elif not chosen:
        text = f"{name} is 0, which is no limit, and the server offers {offered}"
        report.suspect(event, text, path, related)


@rule("A09-CON-08", "tune-ok channel-max upper-limit", MUST, ERROR, on="connection.tune-ok")
def channel_max_above_offer(event: Event, report: Reporter) -> None:
    """The client takes no more channels than the server offers.

    Zero is no limit, so it is more than any number; some clients mean "as many as you like" by it.
    RabbitMQ refuses that with 530 since 3.7.5.

    Bad (tuned):
        client: connection.tune-ok channel-max=11 frame-max=4096   # <- A09-CON-08

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    tune = event.connection.tune
    report_above(event, report, "channel-max", 0 if tune is None else tune.channel_max)


@rule("A09-CON-10", "tune-ok frame-max upper-limit", MUST, ERROR, on="connection.tune-ok")
def frame_max_above_offer(event: Event, report: Reporter) -> None:
    """The client takes no larger frames than the server offers.

    Bad (tuned):
        client: connection.tune-ok channel-max=10 frame-max=8192   # <- A09-CON-10

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    tune = event.connection.tune
    report_above(event, report, "frame-max", 0 if tune is None else tune.frame_max)


@rule("A09-CON-09", "same", MUST, WARNING, on="connection.open-ok")
def tune_violation_tolerated(event: Event, report: Reporter) -> None:
    """A server whose limits are not kept drops the connection.

    Otherwise each peer goes by another limit, and the first large frame ends it all.

    Bad (tuned):
        client: connection.tune-ok channel-max=11 frame-max=4096   # <- A09-CON-08
        client: connection.open virtual-host="/"
        server: connection.open-ok   # <- A09-CON-09

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    for fault in event.connection.faults:
        if fault.rule in ABOVE and fault.sure and event.peer == SERVER:
            related = ((fault.mark, "the client's tune-ok"),)
            report.sure(event, "the server goes on with limits above its own", "", related)
            return


@rule("A09-CON-11", "frame-max minimum", MUST, ERROR, on="connection.tune connection.tune-ok")
def frame_max_below_minimum(event: Event, report: Reporter, method: Method) -> None:
    """Every peer takes frames of 4096 octets, so no frame-max is below that, but for 0.

    RabbitMQ takes none below 8192 from 4.1 on, and then closes without a word.

    Bad (tuned connection.tune.frame-max=131072):
        client: connection.tune-ok channel-max=10 frame-max=4095   # <- A09-CON-11

    Good (opened):
        client: channel.open[1]
        server: channel.open-ok[1]
    """
    size = number(method, "frame-max")
    path = f"{event.name}.frame-max"
    if 0 < size < FRAME_MIN_SIZE:
        report.sure(event, f"frame-max is {size}, the least is {FRAME_MIN_SIZE}", path)
    elif 0 < size < RABBIT_MIN_SIZE and rabbit_since(event.connection, 4, 1):
        text = f"frame-max is {size}, RabbitMQ from 4.1 on takes none below {RABBIT_MIN_SIZE}"
        report.sure(event, text, path, severity=WARNING)
