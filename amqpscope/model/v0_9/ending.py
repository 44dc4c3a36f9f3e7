"""How a connection, channel or consumer of 0-9 ended; see `amqpscope.model.ending`."""

from __future__ import annotations

from typing import Final

from amqpscope.model.ending import (
    CANCEL,
    CHANNEL,
    CLOSE,
    CONNECTION,
    CONSUMER,
    Ending,
    finished_at,
    first,
    tcp_ending,
    tcp_over,
)
from amqpscope.model.v0_9.channel import Channel, Closed
from amqpscope.model.v0_9.connection import OPEN, UNKNOWN, Connection
from amqpscope.model.v0_9.deliveries import Consumer
from amqpscope.stream.types import CLIENT, SERVER

FAULT: Final = 300
"""Reply codes from here on report a fault."""
DELETED: Final = "queue deleted"


def connection_ending(connection: Connection) -> Ending | None:
    """How a connection ended; None while it goes on, or where the capture ends first."""
    closes = [ending_of_close(CONNECTION, end.peer, end.close) for end in connection.ends]
    tcp = tcp_ending(connection.ends)
    opened = connection.stage in (OPEN, UNKNOWN)
    return first((*closes, None if tcp is None else tcp._replace(opened=opened)))


def over_at(connection: Connection) -> int:
    """When a connection was over, or else the capture, in nanoseconds; 0 while it goes on."""
    answers = [
        end.close.answer.time
        for end in connection.ends
        if end.close is not None and end.close.answer is not None
    ]
    return tcp_over(connection.ends) or max(answers, default=finished_at(connection.ends))


def channel_ending(connection: Connection, channel: Channel) -> Ending | None:
    """How a channel ended; None while it goes on."""
    closes = [ending_of_close(CHANNEL, peer, close) for peer, close in enumerate(channel.closes)]
    return first((*closes, connection_ending(connection)))


def consumer_ending(connection: Connection, channel: Channel, consumer: Consumer) -> Ending | None:
    """How a consumer ended; None while it gets messages."""
    asked, gone = consumer.cancel_mark, consumer.gone_mark
    cancelled: Ending | None = None
    if asked is not None:
        # What the server cancels is gone at once; what the client does, with the answer.
        peer = SERVER if gone is not None and gone.frame == asked.frame else CLIENT
        cancelled = Ending(CONSUMER, CANCEL, peer, asked)
    elif gone is not None:
        cancelled = Ending(CONSUMER, CANCEL, SERVER, gone, text=DELETED)
    return first((cancelled, channel_ending(connection, channel)))


def ending_of_close(what: str, peer: int, close: Closed | None) -> Ending | None:
    """The ending that a close brings; codes below 300 report no fault."""
    if close is None:
        return None
    code = str(close.code) if close.code >= FAULT else ""
    return Ending(what, CLOSE, peer, close.mark, code, close.text if code else "",
                  answered=close.answer is not None)  # fmt: skip
