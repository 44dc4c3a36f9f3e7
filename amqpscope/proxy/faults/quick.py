"""The short way of frames that come by the thousand and that no fault can match.

They are cut here, by their sizes, and counted by the peers' view. A model follows them only where
a fault can match one that its peer sends, and they are decoded only after a fault has acted, or
where they are out of the ordinary.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Step
from amqpscope.proxy.faults.acting import view
from amqpscope.proxy.faults.room import lacks_room, wait_for_room
from amqpscope.proxy.faults.scope import Scope
from amqpscope.stream.framer import Frame

if TYPE_CHECKING:
    from amqpscope.proxy.faults.layer import FaultLayer, Stream

MOST_HELD: Final = 16 << 20
"""Octets of a frame that are held until it is whole; a larger one passes as it comes."""


def scope_of(layer: FaultLayer) -> Scope:
    """Which frames the faults of now can match."""
    faults = layer.faults
    if layer.scoped != faults.version:
        layer.scoped = faults.version
        chosen = [fault for fault in faults.faults if fault.may_match(layer.number)]
        layer.scope = Scope(chosen, view(layer).quick, view(layer).linked)
        forget_links(layer)
    return layer.scope


def forget_links(layer: FaultLayer) -> None:
    """Links may be others from now on."""
    for links in layer.elsewhere:
        links.clear()


def may_be_quick(layer: FaultLayer) -> bool:
    """Whether frames can be cut here from now on: their peers have opened the connection."""
    if layer.view is None or layer.learning or not layer.view.is_open:
        return False
    return scope_of(layer).quick


def is_skipped(layer: FaultLayer, leg: int, octets: bytes) -> bool:
    """Whether a model need not follow a frame that its peer is sent."""
    if scope_of(layer).needed[leg]:
        return False
    size, name = view(layer).measure(bytearray(octets), 0)
    return bool(name) and size == len(octets)


def take_frames(layer: FaultLayer, stream: Stream, side: int) -> bool:
    """Pass whole frames on, or let faults act on them; False where there are none any more."""
    peers, waiting = view(layer), stream.waiting
    links = layer.elsewhere[side]
    at = frames = size = 0
    while not layer.connection.closing:
        size, name = peers.measure(waiting, at)
        if size <= 0 or at + size > len(waiting):
            break
        if name and not layer.connection.is_split:
            scope = scope_of(layer)
            untouched = name in scope.passed[side]
            if not untouched and name in scope.by_link[side] and links:
                untouched = peers.link_key(waiting, at) in links
            if untouched and peers.count(side, waiting, at, size):
                at += size
                frames += 1
                continue
        pass_run(layer, stream, side, at, frames)
        at = frames = 0
        take_frame(layer, stream, side, size, name)
    pass_run(layer, stream, side, at, frames)
    return 0 <= size <= MOST_HELD


def pass_run(layer: FaultLayer, stream: Stream, side: int, size: int, frames: int) -> None:
    """Pass frames on that were counted."""
    if not size:
        return
    stream.passing += stream.waiting[:size]
    del stream.waiting[:size]
    stream.offset += size
    layer.show_unseen(side)
    for leg in (0, 1):
        layer.skip(leg, side, size, frames)


def take_frame(layer: FaultLayer, stream: Stream, side: int, size: int, name: str) -> None:
    """Let one frame pass, or a fault act on it."""
    raw, scope, offset = bytes(stream.waiting[:size]), scope_of(layer), stream.offset
    if name in scope.unmatched[side]:
        if scope.needed[side]:
            layer.follow(side, side, raw)
        else:
            layer.skip(side, side, size, 1)
        del stream.waiting[:size]
        stream.offset += size
        frame = view(layer).decode(side, offset, raw)
        layer.gates[side].in_turn(size, partial(pass_decoded, layer, frame))
        return
    if not name:
        forget_links(layer)
    key = view(layer).link_key(stream.waiting, 0) if name in scope.by_link[side] else b""
    seen = bool(name) and not scope.needed[side]
    for step in look_at(layer, side, offset, raw) if seen else layer.follow(side, side, raw):
        if key and scope.is_elsewhere(step, name):
            layer.elsewhere[side].add(key)
        layer.handle(stream, step)
    if stream.offset == offset and not layer.connection.closing:
        layer.pass_untouched(stream, side, size)


def look_at(layer: FaultLayer, side: int, offset: int, raw: bytes) -> list[Step]:
    """A frame as its sender's model has it, which does not follow it."""
    conversation = layer.models[side].conversation_of(layer.tcp[side])
    if conversation is None:
        return layer.follow(side, side, raw)
    layer.skip(side, side, len(raw), 1)
    frame = view(layer).decode(side, offset, raw)
    frame.number = layer.models[side].numbering.frames
    talk = conversation.talk_of(side)
    return [Step(conversation, talk, talk.locate(frame), [])]


def pass_decoded(layer: FaultLayer, frame: Frame) -> None:
    """Let a frame pass that no fault can match."""
    if lacks_room(layer, frame):
        wait_for_room(layer, frame, partial(pass_decoded, layer, frame))
    else:
        layer.send_all(frame, view(layer).translate(frame), "")
