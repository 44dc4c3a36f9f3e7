"""What each action does to the frame that matched."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqpscope.protocols.peers import CannotApplyError, Output, PeerView, Written
from amqpscope.proxy.faults.fault import Fault
from amqpscope.proxy.faults.lane import FOR_EVER
from amqpscope.proxy.faults.notation import read_frames
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import PEERS
from dissectors.notation import DEFAULT
from dissectors.notation_scanner import NotationError

if TYPE_CHECKING:
    from amqpscope.proxy.faults.layer import FaultLayer

LONG: Final = 1.0
"""Seconds after which a peer may be blamed for silence: a longer delay is noted when it begins."""
Act = Callable[["FaultLayer", Fault, Frame, str], None]


def view(layer: FaultLayer) -> PeerView:
    """Both peers of a connection whose protocol is known."""
    assert layer.view is not None
    return layer.view


def delay(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Let a frame, and what follows it, wait."""
    action = fault.action
    seconds = action.seconds + fault.random.uniform(0, action.jitter)
    if seconds >= LONG:
        layer.mark_others(comment)
    layer.send_all(frame, view(layer).translate(frame), comment, seconds)


def drop(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Do not pass a frame on."""
    layer.send_all(frame, view(layer).withhold(frame), comment)


def duplicate(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Pass a frame on twice."""
    layer.send_all(frame, view(layer).duplicate(frame), comment)


def change(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Pass a frame on with other values in its fields."""
    layer.send_all(frame, view(layer).change(frame, fault.action.notation), comment)


def read(layer: FaultLayer, fault: Fault) -> list[Written]:
    """The frames of a fault's notation."""
    dialect = view(layer).dialect
    try:
        return read_frames(fault.action.notation, dialect)
    except NotationError as error:
        raise CannotApplyError(f"{dialect or DEFAULT}: {error.reason}") from error


def write(layer: FaultLayer, frame: Frame, written: list[Written], to: int) -> list[Output]:
    """Frames to be put in beside another; the error of one that cannot be has those before it."""
    outputs: list[Output] = []
    try:
        for each in written:
            outputs += view(layer).write(frame, each, to)
    except CannotApplyError as error:
        # They have been counted, so they have to be sent.
        raise CannotApplyError(str(error), outputs) from None
    return outputs


def replace(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Send other frames in the place of a frame."""
    first, *others = read(layer, fault)
    outputs = view(layer).replace(frame, first)
    try:
        outputs += write(layer, frame, others, 1 - frame.sender)
    except CannotApplyError as error:
        raise CannotApplyError(str(error), [*outputs, *(error.passed or ())]) from None
    layer.send_all(frame, outputs, comment)


def inject(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Send other frames before or after a frame."""
    action = fault.action
    to = PEERS.index(action.to) if action.to else 1 - frame.sender
    frames = read(layer, fault)
    if action.when == "before":
        try:
            written = write(layer, frame, frames, to)
        except CannotApplyError as error:
            passed = [*(error.passed or ()), *view(layer).translate(frame)]
            raise CannotApplyError(str(error), passed) from None
        layer.send_all(frame, written, comment)
        layer.send_all(frame, view(layer).translate(frame), "")
        return
    passed = view(layer).translate(frame)
    try:
        written = write(layer, frame, frames, to)
    except CannotApplyError as error:
        raise CannotApplyError(str(error), [*passed, *(error.passed or ())]) from None
    layer.send_all(frame, passed, "")
    layer.send_all(frame, written, comment)


def settle(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Answer a message instead of passing it on."""
    layer.send_all(frame, view(layer).settle(frame, fault.action), comment)


def end(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """End the link, session, channel or connection of a frame for both peers."""
    outputs = view(layer).end(frame, fault.action)
    for output in outputs:
        layer.send(output, comment if output.forged else "")
    if fault.action.kind == "close":
        layer.close_soon()


def stall(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Let nothing more pass in a direction, for a while or for ever."""
    seconds = fault.action.seconds
    layer.mark_others(comment)  # what is stalled for ever can note nothing
    layer.lanes[frame.sender].stall(time.monotonic() + seconds if seconds else FOR_EVER)
    layer.send_all(frame, view(layer).translate(frame), comment)


def reset(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """RST to both peers."""
    layer.reset(comment)


def disconnect(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """FIN to both peers."""
    layer.disconnect(comment)


def corrupt(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Change bits of a frame."""
    for output in view(layer).translate(frame):
        if output.forged:
            layer.send(output, comment)
            continue
        octets = bytearray(output.octets)
        count = min(int(fault.action.number) or 1, len(octets))
        for place in fault.random.sample(range(len(octets)), count):
            octets[place] ^= 1 << fault.random.randrange(8)
        layer.send(Output(output.to, bytes(octets), forged=True), comment)


def truncate(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Pass the first half of a frame on, then FIN to both peers."""
    for output in view(layer).translate(frame):
        cut = output.octets if output.forged else output.octets[: len(output.octets) // 2]
        layer.send(Output(output.to, cut, forged=True), comment)
    layer.disconnect(comment)


def cut_in_slices(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Write small pieces from here on."""
    lane = layer.lanes[frame.sender]
    lane.slice, lane.pause = int(fault.action.number), fault.action.seconds
    layer.send_all(frame, view(layer).translate(frame), comment)


def limit_rate(layer: FaultLayer, fault: Fault, frame: Frame, comment: str) -> None:
    """Write slowly from here on."""
    layer.lanes[frame.sender].rate = fault.action.number
    layer.send_all(frame, view(layer).translate(frame), comment)


ACTIONS: Final[dict[str, Act]] = {
    "delay": delay,
    "drop": drop,
    "duplicate": duplicate,
    "set": change,
    "replace": replace,
    "inject": inject,
    "detach": end,
    "end": end,
    "close": end,
    "channel.close": end,
    "cancel": end,
    "reject": settle,
    "release": settle,
    "modify": settle,
    "accept": settle,
    "nack": settle,
    "return": settle,
    "stall": stall,
    "reset": reset,
    "disconnect": disconnect,
    "corrupt": corrupt,
    "truncate": truncate,
    "slice": cut_in_slices,
    "rate": limit_rate,
}
