"""What passed on a connection before there was a fault for it: learned when one comes.

Until then octets pass in the short way and are only kept. They are learned a little at a time, so
that no other connection waits; what passes meanwhile comes last.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqpscope.proxy.faults.layer import FaultLayer
    from amqpscope.proxy.history import History

PORTION: Final = 0.05
"""Seconds for which a connection is caught up with at a time, and rests then."""
LOST: Final = "too much has passed for faults to act on this connection; the next one can be held"


def catch_up(layer: FaultLayer) -> None:
    """Learn the next portion; after the last one faults may act."""
    connection = layer.connection
    if layer not in layer.faults.idle or not connection.client.alive:
        return
    layer.learning = True
    try:
        history = connection.history
        if history is None or history.lost:
            raise ValueError(LOST)
        layer.following = learn(layer, history) and pass_beginnings(layer)
    except Exception as error:
        layer.faults.idle.discard(layer)
        connection.report(str(error) or type(error).__name__)
        return
    finally:
        layer.learning = False
    if layer.following:
        layer.faults.idle.discard(layer)
    else:
        connection.relay.clock.call_later(PORTION, layer.catch_up)


def learn(layer: FaultLayer, history: History) -> bool:
    """Learn for a while; whether that was all."""
    until = time.monotonic() + PORTION
    while (passed := history.next()) is not None:
        layer.feed(passed.sender, passed.octets)
        ago = (time.time_ns() - passed.time) / 1e9
        layer.sent_at[1 - passed.sender] = time.monotonic() - max(0.0, ago)
        if time.monotonic() >= until:
            return False
    return True


def pass_beginnings(layer: FaultLayer) -> bool:
    """Take beginnings of frames for passed; False where one is inside a WebSocket's frame."""
    if layer.websocket is not None and not layer.websocket.is_whole:
        return False
    for side, stream in enumerate(layer.streams):
        layer.pass_untouched(stream, side, len(stream.waiting))
        layer.flush(side)
    return True
