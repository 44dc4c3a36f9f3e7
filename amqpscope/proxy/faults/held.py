"""Frames that wait for a person: what there is to know of them, and what a decision does.

A frame is held where it came in, before anything was made of it. Whatever its sender sends after it
waits behind it, octets and all, so a decision acts as if the frame had come just then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.analysis import Step
from amqpscope.protocols.peers import CannotApplyError, Output, Written
from amqpscope.proxy.faults.acting import view
from amqpscope.proxy.faults.acting import write as write_beside
from amqpscope.proxy.faults.fault import Fault
from amqpscope.proxy.faults.notation import LONGEST, read_frame, read_frames
from amqpscope.proxy.faults.parser import parse_decision
from amqpscope.stream.framer import Frame
from amqpscope.stream.marks import FAULT
from amqpscope.stream.types import PEERS
from dissectors.notation import write

if TYPE_CHECKING:
    from amqpscope.proxy.faults.layer import FaultLayer

LONGEST_SUMMARY: Final = 300
"""Characters of a frame's summary."""
HANDSHAKE: Final = 10.0
"""Seconds that RabbitMQ gives a client to open a connection; nothing on the wire says so."""


class Wait(NamedTuple):
    """A frame that waits until its receiver has room for it."""

    frame: Frame
    until: float


class Gate:
    """What one peer sends while a frame of it may wait for a decision."""

    def __init__(self) -> None:
        self.held: Held | None = None
        self.behind: deque[tuple[int, Callable[[], None]]] = deque()
        """What is to be done after that, and with how many octets."""
        self.size = 0
        """Octets that wait behind it."""
        self.wait: Wait | None = None
        """For room at the receiver."""

    @property
    def closed(self) -> bool:
        """Whether something waits, so that what comes has to wait behind it."""
        return self.held is not None or self.wait is not None

    def in_turn(self, size: int, action: Callable[[], None]) -> None:
        """Do something with octets of the peer now, or when its frame was decided on."""
        if not self.closed:
            action()
        else:
            self.behind.append((size, action))
            self.size += size

    def go_on(self) -> None:
        """Do what waits, up to the next frame that is held."""
        while self.behind and not self.closed:
            size, action = self.behind.popleft()
            self.size -= size
            action()

    def clear(self) -> None:
        """Nothing waits any more."""
        self.held = self.wait = None
        self.behind.clear()
        self.size = 0


class Held:
    """A frame that waits."""

    def __init__(self, layer: FaultLayer, step: Step, fault: Fault, received: int) -> None:
        self.number = 0
        """Among all frames that this proxy has held."""
        self.layer = layer
        self.step = step
        self.frame = step.frame
        self.fault = fault
        self.received = received
        """Nanoseconds since the Unix epoch, as the recording has them."""
        self.since = time.monotonic()
        voice = step.talk.voice
        self.name = voice.name(step.event)
        self.summary = voice.summary(step.event)[:LONGEST_SUMMARY]

    @property
    def dialect(self) -> str:
        """What the frame is written in."""
        return view(self.layer).dialect

    @property
    def is_secret(self) -> bool:
        """Whether the frame holds a password, token or the like."""
        shown: list[list[str]] = []
        for show_secrets in (False, True):
            shown.append([])
            self.step.talk.voice.put_content(shown[-1], self.step.event, show_secrets)
        return shown[0] != shown[1]

    @property
    def notation(self) -> str:
        """The frame in our notation; ValueError if it is too long for that."""
        if len(self.frame.raw) < LONGEST:
            text = write(self.frame.raw, 0, self.dialect)
            if len(text) <= LONGEST:
                return text
        size = len(self.frame.raw)
        raise ValueError(f"a frame of {size:,} octets is too long to edit; set changes its fields")

    def describe(self) -> dict[str, Any]:
        """What there is to know, as a table."""
        layer, side, now = self.layer, self.frame.sender, time.monotonic()
        connection = layer.connection
        flow = connection.ends[side].flow
        return {
            "number": self.number,
            "connection": connection.number,
            "from": PEERS[side],
            "name": self.name,
            "summary": self.summary,
            "octets": len(self.frame.raw),
            "fault": self.fault.name,
            "seconds": round(now - self.since, 3),
            "received": self.received,
            "port": flow.target if side else flow.source,
            "offset": self.frame.offset,
            "behind": layer.gates[side].size,
            "hung-up": [PEERS[at] for at, end in enumerate(connection.ends) if end.ended],
            "deadlines": sorted(self.find_deadlines(now), key=lambda each: each["left"]),
        }

    def find_deadlines(self, now: float) -> list[dict[str, Any]]:
        """Who closes the connection if this waits too long, and in how many seconds at the least.

        The receiver gets nothing while the frame waits, not even what keeps connections alive.
        """
        layer, receiver = self.layer, 1 - self.frame.sender
        peers, relay = view(layer), layer.connection.relay
        found = []
        limit, what = peers.patience_of(receiver)
        if limit:
            found.append((PEERS[receiver], what, limit, layer.sent_at[receiver] + limit))
        if not peers.is_open:
            found.append(
                ("server", "RabbitMQ's handshake timeout", HANDSHAKE, layer.since + HANDSHAKE)
            )
        if relay.limits.idle:
            passed, since = relay.clock.looks.get(layer.connection, (-1, now))
            since = since if passed == layer.connection.passed else now
            found.append(("proxy", "--idle-timeout", relay.limits.idle, since + relay.limits.idle))
        return [
            {"peer": peer, "what": what, "seconds": limit, "left": round(due - now, 3)}
            for peer, what, limit, due in found
        ]

    # Decisions: ValueError and CannotApplyError say what went wrong

    def resume(self) -> None:
        """Pass the frame on as it came."""
        what = f"resume after {time.monotonic() - self.since:.1f}s"
        self._decide(partial(self._send, what, view(self.layer).translate))

    def act(self, action: str) -> None:
        """Do to the frame what a fault could do."""
        fault = parse_decision(action, self.fault)
        self._decide(partial(self.layer.apply, fault, self.frame))

    def edit(self, text: str) -> None:
        """Send frames in our notation in its place, one a line."""
        own = read_frame(write(self.frame.raw, 0, self.dialect), self.dialect)
        written = read_frames(text, self.dialect)
        for each in written:
            if each.family != own.family and each.name not in ("octets", "header"):
                raise ValueError(f"{each.name} is not a frame of this connection's protocol")
        at = next((at for at, each in enumerate(written) if each.name == own.name), -1)
        make = self._replace if at < 0 else partial(self._rewrite, at)
        self._decide(partial(self._send, "edit", partial(make, written)))

    def _decide(self, act: Callable[[], None]) -> None:
        """Let something act on the frame, and go on with what waits behind it."""
        layer, problem = self.layer, ""
        gate, held = layer.gates[self.frame.sender], layer.faults.held
        if held.get(self.number) is not self:
            raise ValueError(f"frame {self.number} does not wait any more")
        try:
            try:
                act()
            except CannotApplyError as error:
                if error.passed is None:
                    raise
                problem = f"the frame was passed on as it came: {error}"
                layer.send_all(self.frame, error.passed, "")
            held.pop(self.number, None)
            gate.held = None
            if not layer.over:
                gate.go_on()
        except CannotApplyError:
            raise
        except Exception as error:
            layer.step_aside(error)
        layer.connection.pump()
        if problem:
            raise ValueError(problem)

    def _rewrite(self, at: int, written: list[Written], frame: Frame) -> list[Output]:
        """The frames in a frame's place, of which one is that frame itself with other values."""
        peers = view(self.layer)
        passed = peers.edit(frame, written[at].octets)
        return [
            *self._write(written[:at], frame, passed),
            *passed,
            *self._write(written[at + 1 :], frame, passed),
        ]

    def _replace(self, written: list[Written], frame: Frame) -> list[Output]:
        """The frames in a frame's place."""
        withheld = view(self.layer).withhold(frame)
        passed = [*withheld, Output(1 - frame.sender, frame.raw)]
        return [*withheld, *self._write(written, frame, passed)]

    def _write(self, written: list[Written], frame: Frame, passed: list[Output]) -> list[Output]:
        """Frames beside a frame; if they cannot be sent, that passes as it is in `passed`."""
        try:
            return write_beside(self.layer, frame, written, 1 - frame.sender)
        except CannotApplyError as error:
            raise CannotApplyError(str(error), [*passed, *(error.passed or ())]) from None

    def _send(self, what: str, make: Callable[[Frame], list[Output]]) -> None:
        layer, frame = self.layer, self.frame
        layer.noted.clear()
        comment = layer.comment = f"{FAULT}{self.fault.name}: {what} on {frame.unit.name}"
        layer.send_all(frame, make(frame), comment)
        layer.mark_others(comment)
