"""The frame layer: cuts what passes into frames, and lets faults act on those that match.

Octets in, octets out; the connection around it records and sends. As long as no fault has acted
every octet passes as it came. There are two models, one for each peer: a frame is judged by what
its sender has said and been told, which is not what the other peer has.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from amqpscope.analysis import Analyzer, Numbering, Step
from amqpscope.protocols.peers import CannotApplyError, Output, PeerView
from amqpscope.protocols.registry import may_become_header
from amqpscope.proxy.faults.acting import ACTIONS
from amqpscope.proxy.faults.backlog import catch_up
from amqpscope.proxy.faults.fault import Fault
from amqpscope.proxy.faults.held import Gate, Held
from amqpscope.proxy.faults.lane import FOR_EVER, Lane
from amqpscope.proxy.faults.quick import MOST_HELD, is_skipped, may_be_quick, take_frames
from amqpscope.proxy.faults.room import lacks_room, pass_waiting, wait_for_room
from amqpscope.proxy.faults.scope import NO_SCOPE
from amqpscope.proxy.faults.websocket import WebSocket
from amqpscope.stream.framer import Frame
from amqpscope.stream.marks import FAULT
from amqpscope.stream.types import CLIENT, SERVER, Chunk, Connection

if TYPE_CHECKING:
    from amqpscope.proxy.faults import FaultSet
    from amqpscope.proxy.layered_connection import LayeredConnection

HTTP: Final = b"GET "
"""How a WebSocket begins."""
TO_CLOSE: Final = 5.0
"""Seconds for which peers may answer when the proxy closes their connection."""


class Stream:
    """What one peer sends."""

    def __init__(self) -> None:
        self.waiting = bytearray()
        """Octets that are not passed on yet."""
        self.offset = 0
        """Where they begin in the stream."""
        self.passing = bytearray()
        """Octets that pass as they came, together as far as nothing happens between them."""
        self.unseen = bytearray()
        """... those of them that the receiver's model has not followed yet."""
        self.quick = False
        """Frames are cut here; else by the sender's model."""


class FaultLayer:
    """Faults on one connection."""

    def __init__(self, faults: FaultSet, connection: LayeredConnection) -> None:
        self.faults = faults
        self.connection = connection
        self.number = connection.number
        self.streams = (Stream(), Stream())
        self.gates = (Gate(), Gate())
        """By who sends; closed while a frame waits for a decision."""
        self.lanes = (Lane(), Lane())
        """By who sends; used once a fault has acted."""
        self.models = (self.make_model(), self.make_model())
        """By the peer whose view it is."""
        self.tcp = [
            Connection(connection.client_address, connection.server_address, True) for _ in range(2)
        ]
        self.offsets = [[0, 0], [0, 0]]
        """Octets of each sender that each model has seen."""
        self.view: PeerView | None = None
        self.following = faults.can_act(self.number)
        """Faults may act; else what passes is only kept, and all of it in the short way."""
        self.learning = False
        """What is fed has passed already."""
        self.begun = False
        """The client has said something."""
        self.websocket: WebSocket | None = None
        self.wake_at = FOR_EVER
        self.over = False
        """The connection was ended by a fault."""
        self.closing_at = 0.0
        self.received_at = 0
        """When what is handled now was recorded, in nanoseconds since the Unix epoch."""
        self.since = time.monotonic()
        self.sent_at = [self.since, self.since]
        """When each peer was last sent something."""
        self.scope = NO_SCOPE
        """Which frames faults can match at all."""
        self.scoped = -1
        """The version of the faults that it is of."""
        self.elsewhere: tuple[set[bytes], set[bytes]] = (set(), set())
        """By who sends: the links of which no fault can match a frame that names them."""
        self.noted: set[int] = set()
        """Who sends octets that have a comment on the fault that acts now."""
        self.comment = ""
        """On the fault that acted last: also for what is sent in its name later."""

    def make_model(self) -> Analyzer:
        """A model of the connection under its own number."""
        numbering = Numbering()
        numbering.connections = self.number - 1
        return Analyzer(numbering=numbering)

    # What the connection asks

    @property
    def waiting(self) -> bool:
        """Whether octets wait that will be passed on by themselves."""
        if any(gate.wait is not None for gate in self.gates):
            return True
        return any(not lane.empty and not lane.stalled for lane in self.lanes)

    @property
    def stalled(self) -> bool:
        """Whether octets wait that never will."""
        held = any(gate.held is not None for gate in self.gates)
        return held or any(lane.stalled for lane in self.lanes)

    def queued_octets(self, side: int) -> int:
        """Octets of a peer that wait."""
        return self.lanes[side].size + self.gates[side].size

    def feed(self, side: int, octets: bytes) -> None:
        """Take octets from a peer."""
        if self.over:
            return
        self.received_at = self.connection.recorded_at
        if side == CLIENT and not self.begun:
            self.begun = True
            if octets[: len(HTTP)] == HTTP:
                self.websocket = WebSocket(extended=self.learning)
        try:
            if self.websocket is None:
                self.take(side, octets)
            else:
                self.take_apart(self.websocket, side, octets)
        except Exception as error:
            self.step_aside(error)
        if not self.connection.closing:
            self.flush(side)
            self.pump()

    def catch_up(self) -> None:
        """Learn what has passed, a little at a time; from then on faults may act."""
        catch_up(self)

    def step_aside(self, error: Exception) -> None:
        """Something is wrong with us: this connection is lost, and no other one with it."""
        if self.learning:
            raise error
        self.connection.report(
            f"this is a bug of amqpscope, the connection is reset: {type(error).__name__}: {error}"
        )
        self.reset()

    def take_apart(self, websocket: WebSocket, side: int, octets: bytes) -> None:
        """Take octets of a WebSocket: what is inside its frames counts, the rest passes."""
        for piece in websocket.take_each(side, octets):
            if websocket.news:
                self.connection.report(websocket.news)
                websocket.news = ""
            split = self.connection.is_split
            if not split:
                websocket.keep(side, piece)
            elif not piece.plain:
                self.gates[side].in_turn(len(piece.raw), partial(self.put, side, piece.raw))
            if piece.plain:
                self.take(side, piece.payload)
            if self.connection.closing:
                return

    def take(self, side: int, octets: bytes) -> None:
        """Take octets of AMQP, or whatever it is."""
        stream = self.streams[side]
        begun = not stream.waiting
        stream.waiting += octets
        if stream.quick or (begun and may_be_quick(self)):
            stream.quick = take_frames(self, stream, side)
            if stream.quick or self.connection.closing:
                return
            octets = bytes(stream.waiting)
        for step in self.follow(side, side, octets):
            if self.view is None:
                self.view = step.talk.peer_view()
            self.handle(stream, step)
            if self.connection.closing:
                return
        if (stream.waiting and not self.is_begun(side)) or len(stream.waiting) > MOST_HELD:
            self.pass_untouched(stream, side, len(stream.waiting))

    def end(self, side: int) -> None:
        """A peer says no more."""
        stream = self.streams[side]
        if self.over:
            return
        self.pass_untouched(stream, side, len(stream.waiting))
        self.flush(side)
        if self.websocket is not None and (rest := self.websocket.unpassed_octets(side)):
            self.gates[side].in_turn(len(rest), partial(self.put, side, rest))
            self.pump()
        if self.connection.is_split:
            self.gates[side].in_turn(0, partial(self.put, side, None))
            self.pump()
        else:
            self.connection.pass_end(side)

    def pump(self) -> None:
        """Pass on what is due."""
        pass_waiting(self)
        now = time.monotonic()
        if self.wake_at <= now:
            self.wake_at = FOR_EVER
        for side in (CLIENT, SERVER):
            lane = self.lanes[side]
            while not self.over and (item := lane.take(now)) is not None:
                if item.octets is None:
                    self.connection.pass_end(side)
                else:
                    self.connection.emit(side, item.octets, item.comment)
                    self.sent_at[1 - side] = now
                if lane.slice:
                    self.connection.write_now(1 - side)
        if self.closing_at and (now >= self.closing_at or (self.view and self.view.is_over)):
            self.disconnect()
        due = min(self.lanes[CLIENT].due(), self.lanes[SERVER].due())
        due = min(due, self.closing_at or FOR_EVER)
        due = min(due, *(FOR_EVER if each.wait is None else each.wait.until for each in self.gates))
        if due < self.wake_at and not self.over:
            self.wake_at = due
            self.connection.call_later(max(0.0, due - now))

    # Frames

    def follow(self, leg: int, sender: int, octets: bytes) -> list[Step]:
        """Let a model see octets of a sender; the frames that they complete."""
        offset = self.offsets[leg][sender]
        self.offsets[leg][sender] += len(octets)
        chunk = Chunk(self.tcp[leg], sender, offset, octets, 0, time.time_ns(), -1)
        return self.models[leg].feed(chunk)

    def skip(self, leg: int, sender: int, size: int, frames: int) -> None:
        """Let a model count frames that it does not follow."""
        self.offsets[leg][sender] += size
        self.models[leg].numbering.frames += frames

    def show(self, side: int, octets: bytes) -> None:
        """Let the receiver's model follow what passes, unless nothing is asked about it there."""
        leg, stream = 1 - side, self.streams[side]
        if stream.quick and is_skipped(self, leg, octets):
            self.show_unseen(side)
            self.skip(leg, side, len(octets), 1)
        elif self.connection.is_split:
            self.follow(leg, side, octets)
        else:
            stream.unseen += octets

    def show_unseen(self, side: int) -> None:
        """Let the receiver's model follow what has passed."""
        stream = self.streams[side]
        if stream.unseen:
            octets = bytes(stream.unseen)
            stream.unseen.clear()
            self.follow(1 - side, side, octets)

    def is_begun(self, side: int) -> bool:
        """Whether what waits is the beginning of a frame; else it is none, and passes."""
        model, tcp = self.models[side], self.tcp[side]
        if model.is_dismissed(tcp):
            return False
        conversation = model.conversation_of(tcp)
        if conversation is None or (side == SERVER and conversation.last[SERVER] is None):
            if may_become_header(bytes(self.streams[side].waiting[:8])):
                return True
            if conversation is None:
                return False
        framers = getattr(conversation.talk_of(side), "framers", None)
        if framers is None:
            return False
        framer = framers[side]
        return framer.held > 0 and not framer.lost

    def handle(self, stream: Stream, step: Step) -> None:
        """Let a frame pass, or a fault act on it."""
        frame = step.frame
        side = frame.sender
        if frame.offset > stream.offset:
            self.pass_untouched(stream, side, frame.offset - stream.offset)
        size = frame.offset + len(frame.raw) - stream.offset
        whole = size == len(frame.raw)
        fault = None if self.learning else self.faults.choose(step, self.number)
        if not whole or self.view is None:
            if fault is not None:
                self.report(fault, frame, "part of the frame has passed already")
            if self.view is not None:
                self.view.translate(frame)  # it counts all the same
            self.pass_untouched(stream, side, size)
            return
        if fault is not None:
            self.split()
        del stream.waiting[:size]
        stream.offset += size
        if not self.gates[side].closed:
            self.pass_frame(step, fault, self.received_at)
        else:
            act = partial(self.pass_frame, step, fault, self.received_at)
            self.gates[side].in_turn(size, act)

    def pass_frame(self, step: Step, fault: Fault | None, received: int) -> None:
        """Let a frame whose turn it is pass, or the fault that was chosen for it act."""
        frame = step.frame
        if lacks_room(self, frame):
            wait_for_room(self, frame, partial(self.pass_frame, step, fault, received))
            return
        if fault is not None and fault.action.kind == "hold":
            if self.faults.holds(fault):
                self.hold(fault, step, received)
                return
            fault = None
        if fault is None:
            assert self.view is not None
            self.send_all(frame, self.view.translate(frame), "")
        else:
            self.act(fault, frame)

    def act(self, fault: Fault, frame: Frame) -> None:
        """Let a fault act on a frame."""
        view = self.view
        assert view is not None
        try:
            self.apply(fault, frame)
        except CannotApplyError as error:
            fault.acted -= 1
            self.faults.version += 1
            self.report(fault, frame, str(error))
            passed = view.translate(frame) if error.passed is None else error.passed
            self.send_all(frame, passed, "")

    def apply(self, fault: Fault, frame: Frame) -> None:
        """Do to a frame what a fault says; CannotApplyError if that cannot be."""
        self.noted.clear()
        comment = self.comment = f"{FAULT}{fault.name}: {fault.text} on {frame.unit.name}"
        ACTIONS[fault.action.kind](self, fault, frame, comment)
        self.mark_others(comment)

    def mark_others(self, comment: str) -> None:
        """Note that a fault has acted where no octets have a comment on it, behind what passed."""
        self.pump()
        if not self.over:
            self.mark_unnoted(comment)

    def mark_unnoted(self, comment: str) -> None:
        """Put a comment of its own where no octets have it."""
        for side in sorted({CLIENT, SERVER} - self.noted):
            self.connection.mark(side, comment)
            self.noted.add(side)

    def split(self) -> None:
        """Record both conversations from here on; what waits is in its sender's alone."""
        connection = self.connection
        if connection.is_split:
            return
        for side in (CLIENT, SERVER):
            self.flush(side)
        connection.split()
        for side in (CLIENT, SERVER):
            stream = self.streams[side]
            received = bytes(stream.waiting)
            if self.websocket is not None:
                if rest := self.websocket.rest(side, stream.offset):
                    self.lanes[side].put(rest, time.monotonic())
                received = self.websocket.unpassed_octets(side)
            if received:
                connection.record_received(side, received)
                self.received_at = connection.recorded_at

    def report(self, fault: Fault, frame: Frame, reason: str) -> None:
        """Let the user know of a fault that could not act."""
        name = frame.unit.name
        self.connection.report(f"fault {fault.name} was not applied to a {name}: {reason}")

    # Octets

    def pass_untouched(self, stream: Stream, side: int, size: int) -> None:
        """Pass octets that are not a frame, or too much of one."""
        if size:
            octets = bytes(stream.waiting[:size])
            del stream.waiting[:size]
            stream.offset += size
            self.gates[side].in_turn(size, partial(self.send, Output(1 - side, octets)))

    def send_all(self, frame: Frame, outputs: list[Output], comment: str, delay: float = 0) -> None:
        """Send frames to whom they are for; a delay holds for those that the frame became."""
        for output in outputs:
            own = output.to != frame.sender
            noted = comment or self.comment if output.forged else comment if own else ""
            self.send(output, noted, delay if own else 0.0)

    def send(self, output: Output, comment: str = "", delay: float = 0.0) -> None:
        """Send octets to a peer, behind all that waits for it."""
        side = 1 - output.to
        self.show(side, output.octets)
        if not self.connection.is_split:
            self.streams[side].passing += output.octets
            return
        octets = self.wrap(side, output.octets)
        self.lanes[side].put(octets, time.monotonic(), delay, comment)
        if comment:
            self.noted.add(side)

    def put(self, side: int, octets: bytes | None) -> None:
        """Pass octets of a peer on as they are, or its end, behind all that waits."""
        self.lanes[side].put(octets, time.monotonic())

    def wrap(self, side: int, octets: bytes) -> bytes:
        """Octets as they go out."""
        websocket = self.websocket
        return octets if websocket is None or websocket.refused else websocket.wrap(side, octets)

    def flush(self, side: int) -> None:
        """Pass on what came together, before a fault has acted."""
        stream = self.streams[side]
        octets = bytes(stream.passing)
        stream.passing.clear()
        self.show_unseen(side)
        if self.websocket is not None and not self.connection.is_split:
            octets = self.websocket.release(side, stream.offset)
        if octets and not self.learning:
            self.sent_at[1 - side] = time.monotonic()
            self.connection.emit(side, octets)

    # Frames that wait for a decision

    def hold(self, fault: Fault, step: Step, received: int) -> None:
        """Let a frame, and what its sender sends after it, wait for a decision."""
        frame = step.frame
        held = self.gates[frame.sender].held = Held(self, step, fault, received)
        self.faults.keep(held)
        self.noted.clear()
        self.mark_others(f"{FAULT}{fault.name}: hold on {frame.unit.name}")

    def abandon(self) -> None:
        """The connection is over: nobody can decide on its frames any more."""
        for gate in self.gates:
            held = gate.held
            if held is not None and held.number in self.faults.held:
                del self.faults.held[held.number]
                self.connection.report(
                    f"the connection ended: {held.name}, held as {held.number}, was not passed on"
                )
            elif gate.wait is not None and gate.size:
                self.connection.report(
                    f"the connection ended: {gate.size:,} octets that waited for their receiver's "
                    "room were not passed on"
                )
            gate.clear()
        self.faults.idle.discard(self)

    # Ends

    def disconnect(self, comment: str = "") -> None:
        """FIN to both peers, behind what waits for them; the comment names the fault."""
        if self.over:
            return
        self.over = True
        for side in (CLIENT, SERVER):
            for item in self.lanes[side].hurry():
                if item.octets:
                    self.connection.emit(side, item.octets, item.comment)
        if comment:
            self.mark_unnoted(comment)
        self.connection.close_both()

    def reset(self, comment: str = "") -> None:
        """RST to both peers, behind what passed before; the comment names the fault."""
        if comment:
            self.pump()
            for side in (CLIENT, SERVER):
                self.connection.write_now(side)
            self.mark_unnoted(comment)
        self.over = True
        self.connection.reset_both()

    def close_soon(self) -> None:
        """Disconnect when both peers have answered a close, or after a while."""
        self.closing_at = time.monotonic() + TO_CLOSE
