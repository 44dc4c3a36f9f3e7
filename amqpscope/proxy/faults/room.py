"""Frames that wait for room at their receiver, which a fault has used up by what it put in.

A sender that had credit for ten messages may have all ten under way when the proxy puts one in: the
tenth is then one too many. It waits, with all that its sender sends after it, until the receiver
grants credit or widens its window; not for ever, because the receiver may itself wait for
something behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqpscope.proxy.faults.acting import view
from amqpscope.proxy.faults.held import Wait
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, PEERS, SERVER

if TYPE_CHECKING:
    from amqpscope.proxy.faults.layer import FaultLayer

LONGEST: Final = 5.0
"""Seconds for which a frame waits for room."""


def lacks_room(layer: FaultLayer, frame: Frame) -> bool:
    """Whether a frame has to wait for room; never before a fault has acted."""
    return layer.connection.is_split and view(layer).lacks_room(frame)


def wait_for_room(layer: FaultLayer, frame: Frame, act: Callable[[], None]) -> None:
    """Do later what is to be done with a frame."""
    gate, size = layer.gates[frame.sender], len(frame.raw)
    gate.wait = Wait(frame, time.monotonic() + LONGEST)
    gate.behind.appendleft((size, act))
    gate.size += size
    layer.noted.clear()
    layer.mark_others(layer.comment)


def pass_waiting(layer: FaultLayer) -> None:
    """Pass on what has room now, or has waited for too long."""
    # What passes from one peer may be what gives room to the other's frames.
    while sum(open_gate(layer, side) for side in (CLIENT, SERVER)):
        pass


def open_gate(layer: FaultLayer, side: int) -> bool:
    """Go on with what a peer sent, if something of it waits and need not any more."""
    gate = layer.gates[side]
    wait = gate.wait
    if wait is None or layer.over:
        return False
    peers = view(layer)
    if peers.lacks_room(wait.frame):
        if time.monotonic() < wait.until:
            return False
        peers.waive_room(wait.frame)
        layer.connection.report(
            f"the {PEERS[1 - side]} has given no room for {LONGEST:g} s after a fault used it up: "
            f"a {wait.frame.unit.name} is passed on all the same"
        )
    gate.wait = None
    try:
        gate.go_on()
    except Exception as error:
        layer.step_aside(error)
    return True
