"""Between the relay and whoever watches it: lines to tell, questions about its state, the end.

JSON objects, one a line, over a pair of sockets. The relay never waits for its watcher: what does
not fit is counted and dropped. When one of the two is gone, the other sees the end of the stream.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from amqpscope.proxy.connection import IN
from amqpscope.proxy.relay import QUIET, Relay, Status

STATUS: Final = "status"
STOP: Final = "stop"
READING: Final = "reading"
FAULTS: Final = "faults"
COUNTED: Final = "counted"
HELD: Final = "held"
ENDED: Final = "ended"
ANSWER_SECONDS: Final = 5.0
"""A relay that does not answer for so long is stuck in a write to a slow disk."""
FAULT_SECONDS: Final = 30.0
"""A relay that is asked for its first fault has to import what plays faults."""
LARGEST: Final = 1 << 16


class Channel:
    """The relay's end."""

    def __init__(self, end: socket.socket, alone: Callable[[str], None]) -> None:
        self.end = end
        self.alone = alone
        """Who hears the lines when no watcher is there."""
        self.watched = True
        self.dropped = 0
        self._received = b""
        self._rest = b""
        end.setblocking(False)

    def serve(self, relay: Relay, on_leave: Callable[[], None]) -> None:
        """Answer from the relay's loop; `on_leave` is called when the watcher is gone."""

        def event(_: int) -> None:
            if not self._answer(relay):
                relay.epoll.unregister(self.end.fileno())
                relay.handlers.pop(self.end.fileno(), None)
                self.watched = False
                on_leave()

        relay.register(self.end.fileno(), IN, event)

    def tell(self, line: str) -> None:
        """One line for the user."""
        if self.watched:
            self.send({"tell": line})
        else:
            self.alone(line)

    def send(self, message: dict[str, Any]) -> None:
        """Say something without waiting."""
        if self.dropped:
            message = {**message, "dropped": self.dropped}
        try:
            # Of a line that went out in part the rest comes first.
            self._rest = self._rest[self.end.send(self._rest) :] if self._rest else b""
            if self._rest:
                raise BlockingIOError
            octets = json.dumps(message).encode() + b"\n"
            sent = self.end.send(octets)
        except OSError:
            self.dropped += 1
            return
        self._rest = octets[sent:]
        self.dropped = 0

    def close(self) -> None:
        """Let the watcher see the end."""
        self.end.close()

    def _answer(self, relay: Relay) -> bool:
        try:
            octets = self.end.recv(LARGEST)
        except BlockingIOError:
            return True
        except OSError:
            return False
        *words, self._received = (self._received + octets).split(b"\n")
        for word in words:
            if word == STATUS.encode():
                self.send({STATUS: relay.status()._asdict()})
            elif word == STOP.encode():
                relay.drain(quiet=QUIET)
            elif word.startswith(READING.encode()):
                relay.recording.files.reading(int(word.split()[1]))
                relay.tell_news()
            elif word.startswith(FAULTS.encode()):
                question = word[len(FAULTS) :]
                answer = partial(self._answer_about_faults, relay, question)
                relay.later.append(partial(relay.loader.when_ready, answer))
            elif word.startswith(COUNTED.encode()):
                relay.analysis = json.loads(word[len(COUNTED) :])
        return bool(octets)

    def _answer_about_faults(self, relay: Relay, question: bytes) -> None:
        """Answer after the turn, for that may pass frames on; see `faults.commands`."""
        from amqpscope.proxy.faults.commands import answer

        asked = json.loads(question)
        self.send({FAULTS: answer(relay, asked), "about": asked.get("about")})


class Watch:
    """The other end: what the relay says, and how it is doing."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.ended = False
        """The relay is gone; what it recorded is complete, or as complete as it will be."""
        self.in_order = False
        """It ended as it should, and told its last status."""
        self.latest: Status | None = None
        """The newest answer to `ask` or `status`."""
        self.held: dict[str, Any] = {}
        """The newest answer to `ask_for_held`."""
        self._answers = 0
        self._received = b""
        self._told: list[str] = []
        self._messages: list[dict[str, Any]] = []

    def ask(self) -> None:
        """Ask how it goes, and do not wait: the answer is in `latest` when `told` has met it."""
        self._say(STATUS)

    def status(self) -> Status | None:
        """Ask how it goes; None when the relay is gone or does not answer."""
        answers = self._answers
        self.ask()
        until = time.monotonic() + ANSWER_SECONDS
        while self._answers == answers:
            if self.ended or time.monotonic() >= until:
                return None
            self._read(until - time.monotonic())
        return self.latest

    def stop(self) -> None:
        """Let the relay end."""
        self._say(STOP)

    def reading(self, number: int) -> None:
        """Report which file of a rotated recording is read now: those before it may go."""
        self._say(f"{READING} {number}")

    def report(self, counted: dict[str, Any]) -> None:
        """Report what the analysis has counted so far, for the relay's metrics."""
        self._say(f"{COUNTED} {json.dumps(counted)}")

    def new_lines(self) -> list[str]:
        """The lines that came since the last call."""
        self._read(0)
        lines, self._told = self._told, []
        return lines

    def wait_for(self, kind: str, seconds: float = ANSWER_SECONDS) -> Any:
        """The next message of a kind; None when it does not come."""
        until = time.monotonic() + seconds
        while True:
            for message in self._messages:
                if kind in message:
                    self._messages.remove(message)
                    return message[kind]
            left = until - time.monotonic()
            if self.ended or left <= 0:
                return None
            self._read(left)

    def ask_about_faults(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """Ask about faults, or for some; None when the relay is gone or does not answer."""
        self._say(f"{FAULTS} {json.dumps(question)}")
        answer = self.wait_for(FAULTS, FAULT_SECONDS)
        return answer if isinstance(answer, dict) else None

    def ask_for_held(self) -> None:
        """Ask for the frames that wait, and do not wait: they are in `held` when `told` met it."""
        self._say(f"{FAULTS} {json.dumps({'do': 'held', 'about': HELD})}")

    def wait_for_end(self) -> None:
        """Wait until the relay is gone, or told to go and stuck."""
        until = time.monotonic() + ANSWER_SECONDS
        while not self.ended and time.monotonic() < until:
            self._read(until - time.monotonic())

    def close(self) -> None:
        """Stop watching."""
        self.end.close()
        self.ended = True

    def _say(self, word: str) -> None:
        with contextlib.suppress(OSError):
            self.end.sendall(word.encode() + b"\n")

    def _read(self, seconds: float) -> None:
        if self.ended:
            return
        poll = select.poll()
        poll.register(self.end, select.POLLIN)
        while poll.poll(seconds * 1000):
            try:
                octets = self.end.recv(LARGEST)
            except OSError:
                octets = b""
            self.ended = not octets
            *lines, self._received = (self._received + octets).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
            if lines or self.ended:
                return

    def _take(self, message: dict[str, Any]) -> None:
        if "dropped" in message:
            self._told.append(f"{message['dropped']} messages of the relay were lost")
        if "tell" in message:
            self._told.append(message["tell"])
        elif STATUS in message:
            self.latest = Status(**message[STATUS])
            self._answers += 1
        elif message.get("about") == HELD:
            self.held = message[FAULTS]
        elif ENDED in message:
            self.latest = Status(**message[ENDED])
            self.in_order = True
        else:
            self._messages.append(message)
