"""Recorded conversations for programs and tests:

    with amqpscope.replayed("broker.pcapng") as broker:
        run_the_client(broker.url)

The server of the recording is played for the clients that connect inside the block, in a thread of
its own. The block ends with `Diverged` when they did not do what was recorded.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

from amqpscope.capture.source import CaptureError
from amqpscope.protocols.replay_acts import Choices
from amqpscope.protocols.replay_differences import Divergence
from amqpscope.proxy.address import address_text, parse_listen
from amqpscope.replay.outcome import Outcome
from amqpscope.replay.player import Patience
from amqpscope.replay.recorded import Recorded, Recording
from amqpscope.replay.stage import ReplayError, ServerStage, Settings
from amqpscope.replay.trace import Trace
from amqpscope.runs.input import Input, split_connection
from amqpscope.runs.run import Run

ANY_PORT: Final = "127.0.0.1:0"
LAST: Final = 2.0
"""Seconds for those who are connected to end, when the block is over."""


class Diverged(AssertionError):
    """Clients did something else than what was recorded; the text says what."""


def read_conversations(
    source: Input, wanted: Iterable[int] = (), report: Callable[[str], None] | None = None
) -> list[Recorded]:
    """The conversations of a capture that can be played; ReplayError when there is none.

    Those that cannot be played are reported, or an error where nobody takes a report.
    """
    name, number = split_connection(source.name) if isinstance(source.given, str) else ("", 0)
    if number:
        source, wanted = replace(source, given=name), (*wanted, number)
    recording = Recording()
    try:
        with Run(source) as run:
            for batch in run:
                recording.take(batch)
            problem = run.pieces.capture.problem
    except CaptureError as error:
        raise ReplayError(f"{error.path}: {error.message}") from error
    chosen = recording.choose(wanted)
    absent = set(wanted) - set(recording.conversations)
    if absent:
        last = max(recording.conversations, default=0)
        raise ReplayError(
            f"{source.name}: there is no connection {min(absent)}, the last is {last}"
        )
    if not chosen:
        raise ReplayError(f"{source.name}: {problem or 'no AMQP in it'}")
    playable = [each for each in chosen if not each.playable]
    for each in chosen:
        if each.playable:
            line = f"{source.name}#{each.number} cannot be played: {each.playable}"
            if report is None or not playable:
                raise ReplayError(line)
            report(line)
    if problem and report is not None:
        report(f"{source.name}: {problem}: played up to there")
    return playable


class Replayed:
    """A recorded server that clients can connect to."""

    def __init__(self, settings: Settings, listen: str, capture: str) -> None:
        self.capture = capture
        self._settings = settings
        self._host, self._port = parse_listen(listen)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stopping = asyncio.Event()
        self._error: ReplayError | None = None
        self._stage: ServerStage | None = None
        self.host, self.port = "", 0
        self._thread = threading.Thread(target=self._serve, name="amqpscope-replay", daemon=True)

    @property
    def address(self) -> str:
        """`HOST:PORT` to connect to."""
        return address_text((self.host, self.port))

    @property
    def url(self) -> str:
        """What to connect to."""
        return f"amqp{'s' * (self._settings.tls is not None)}://{self.address}"

    @property
    def outcomes(self) -> list[Outcome]:
        """How each conversation went that is over."""
        return [] if self._stage is None else self._stage.outcomes

    @property
    def divergences(self) -> list[Divergence]:
        """All that was not as recorded."""
        return [each for outcome in self.outcomes for each in outcome.divergences]

    @property
    def lines(self) -> list[str]:
        """All that was not as recorded, as text."""
        return [line for outcome in self.outcomes for line in outcome.lines(self.capture)]

    def start(self) -> None:
        """Begin to listen; ReplayError if that cannot be."""
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Let those who are connected end, and listen no more."""
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._play())
        finally:
            self._loop.close()
            self._ready.set()

    async def _play(self) -> None:
        stage = self._stage = ServerStage(self._settings)
        try:
            self.host, self.port = await stage.open(self._host, self._port)
        except ReplayError as error:
            self._error = error
            return
        self._ready.set()
        await self._stopping.wait()
        await stage.close(LAST)
        stage.report_absent()


@contextmanager
def replayed(
    capture: str | os.PathLike[str],
    *,
    listen: str = ANY_PORT,
    connections: Iterable[int] = (),
    speed: float = 0.0,
    ignore: Iterable[str] = (),
    strict: bool = False,
    loop: bool = False,
    write: str | os.PathLike[str] | None = None,
    faults: Iterable[str] = (),
    timeout: float = 15.0,
    keylogs: tuple[bytes, ...] = (),
    allow_divergence: bool = False,
    user: str | None = None,
    password: str = "",
) -> Iterator[Replayed]:
    """Play the server of a capture inside the block; `broker.url` is what to connect to.

    `capture` may name a connection as in `run.pcap#2`; `connections` are several. `speed` 1 keeps
    the recorded times, 0 does not wait. `ignore` names fields that are not compared, such as
    `body`. `loop` plays the conversations as often as clients come. `write` records what passes.
    `user` and `password` are what clients prove to know who log in by SCRAM or CRAM-MD5.
    `faults` are rules as `--fault` of the proxy takes them, which is then in between. The
    block ends with `Diverged` unless `allow_divergence`; `ReplayError` when it cannot begin.
    """
    conversations = read_conversations(Input(os.fspath(capture), keylogs), connections)
    with ExitStack() as stack:
        trace = None if write is None else Trace(os.fspath(write))
        if trace is not None:
            stack.callback(trace.close)
        settings = Settings(
            conversations,
            Choices(user=user, password=password, speed=speed, ignore=frozenset(ignore)),
            Patience(end=timeout),
            strict=strict,
            trace=trace,
            loop=0 if loop else 1,
        )
        broker = Replayed(settings, listen, os.fspath(capture))
        broker.start()
        stack.callback(broker.stop)
        rules = tuple(faults)
        if rules:
            from amqpscope.runs.proxied import proxied

            proxy = stack.enter_context(proxied(broker.url, faults=rules, allow_empty=True))
            broker.host, broker.port = proxy.host, proxy.port
        try:
            yield broker
        except Exception as error:
            stack.close()
            for line in broker.lines:
                error.add_note(line)
            raise
    if broker.divergences and not allow_divergence:
        raise Diverged("\n" + "\n".join(broker.lines))
