"""Plays one part over one connection: octets, time, and what to do when nothing moves."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from amqpscope.protocols.replay import UNWRITABLE, Part
from amqpscope.replay.trace import TracedConnection
from amqpscope.replay.websocket import Reader, Writer

READ: Final = 1 << 16
MOST_BUFFERED: Final = 1 << 20
"""Octets that wait for the live peer to read them before more is sent."""
QUIET: Final = 0.2
"""Seconds without anything, until messages go ahead of outcomes that came first when recorded."""
GRACE: Final = 1.0
"""Seconds without anything, until order alone holds up nothing any more."""
FAREWELL: Final = 2.0
"""Seconds for the live peer to end TCP after us."""
RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds, beyond what the recorded peers waited."""

    warn: float = 3.0
    """Until it is reported what is waited for."""
    end: float = 15.0
    """Until it is given up."""


class Player:
    """One part on one connection."""

    def __init__(
        self,
        part: Part,
        reader: Reader,
        writer: Writer,
        *,
        patience: Patience,
        report: Callable[[str], None],
        trace: TracedConnection | None = None,
        strict: bool = False,
    ) -> None:
        self.part = part
        self.reader = reader
        self.writer = writer
        self.patience = patience
        self.report = report
        self.trace = trace
        self.strict = strict
        self.watch: Callable[[], None] | None = None
        """Called after something has come, while another conversation may be the one meant."""
        self.turned: Callable[[], None] | None = None
        """Called whenever something may have been played, for those who wait for it."""
        self.received: list[bytes] = []
        """What has come, and what was sent, as long as there is a watch."""
        self.sent = bytearray()
        self._limit: asyncio.Timeout | None = None
        """How long it listens."""
        self._moves = -1
        self.moved_at = 0.0
        self._loosened = self.late = False
        """`late`: it was reported what is waited for, and that has not come since."""

    async def run(self) -> None:
        """Play to the end."""
        loop = asyncio.get_running_loop()
        part = self.part
        part.start()
        while True:
            part = self.part
            now = loop.time()
            if self.writer.transport.get_write_buffer_size() < MOST_BUFFERED:
                part.proceed(now)
            self.flush()
            if part.over or (self.strict and part.divergences):
                break
            if not self.keep_patience(now):
                break
            if self.turned is not None:
                self.turned()
            if not await self.listen(self.pause(now)):
                break
        await self.hang_up(self.part.over or "fin")

    def flush(self) -> None:
        """Send what is to be sent."""
        out = self.part.out
        if out:
            octets = bytes(out)
            out.clear()
            if self.watch is not None:
                self.sent += octets
            if self.trace is not None:
                self.trace.data(self.part.side, octets)
            self.writer.write(octets)

    def pause(self, now: float) -> float:
        """Seconds until something is due without hearing from the peer."""
        if self.writer.transport.get_write_buffer_size() >= MOST_BUFFERED:
            return 0.01
        limit = QUIET if not self.part.eager else GRACE if not self._loosened else 0.5
        if self.part.wake is not None:
            limit = min(limit, max(0.0, self.part.wake - now))
        return limit

    async def listen(self, seconds: float) -> bool:
        """Take what comes within a time; whether the live peer goes on."""
        try:
            # Not wait_for, which would make a task for each read.
            async with asyncio.timeout(seconds) as self._limit:
                octets = await self.reader.read(READ)
        except TimeoutError:
            return True
        except (ConnectionError, OSError):
            self.lose_peer("rst")
            return False
        finally:
            self._limit = None
        if not octets:
            self.lose_peer("fin")
            return False
        if self.trace is not None:
            self.trace.data(1 - self.part.side, octets)
        if self.watch is not None:
            self.received.append(octets)
        try:
            self.part.receive(octets, asyncio.get_running_loop().time())
        except UNWRITABLE as error:
            self.part.diverge("stuck", None, f"the recording cannot be played on: {error}")
            return False
        if self.watch is not None:
            self.watch()
        return True

    def nudge(self) -> None:
        """Look at once what can be sent, without waiting for what may come."""
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(0.0)

    def lose_peer(self, reason: str) -> None:
        """The live peer has ended TCP."""
        if self.trace is not None:
            self.trace.end(1 - self.part.side, reason)
        self.part.lose_peer()

    def keep_patience(self, now: float) -> bool:
        """Do something about silence that lasts too long; whether there is a way on."""
        part = self.part
        if part.moves != self._moves or part.wake_for_time:
            self._moves, self.moved_at = part.moves, now
            self._loosened = self.late = False
            return True
        silence = now - self.moved_at
        if silence >= QUIET and part.hasten():
            part.wake = now
        if silence >= GRACE and not self._loosened:
            self._loosened = True
            if part.loosen():
                part.wake = now
        if silence < self.patience.warn:
            return True
        waits_for = part.waits_for()
        silence -= part.recorded_pause / (part.choices.speed or 1.0)
        if silence >= self.patience.warn and not self.late:
            self.late = True
            self.report(f"waiting: {waits_for}")
            part.hurry()
            part.wake = now
        if silence < self.patience.end:
            return True
        self.report(f"gave up after {silence:.0f} s: {waits_for}")
        self.moved_at = now
        self.late = False
        part.wake = now
        return part.give_up()

    async def hang_up(self, reason: str) -> None:
        """End TCP as the part asks for it."""
        writer, trace = self.writer, self.trace
        self.flush()
        if trace is not None:
            trace.end(self.part.side, reason)
        if reason == "rst":
            raw = writer.get_extra_info("socket")
            if raw is not None:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()
            return
        with suppress(TimeoutError, OSError):
            await asyncio.wait_for(self.say_farewell(), FAREWELL)
        writer.close()

    async def say_farewell(self) -> None:
        """Send what is left and let the live peer end TCP, so that nothing is lost by a reset."""
        await self.writer.drain()
        if self.writer.can_write_eof():
            self.writer.write_eof()
        while octets := await self.reader.read(READ):
            if self.trace is not None:
                self.trace.data(1 - self.part.side, octets)
        if self.trace is not None:
            self.trace.end(1 - self.part.side, "fin")
