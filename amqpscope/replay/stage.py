"""Where conversations are replayed: as clients of a live server, or for live clients."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from amqpscope.protocols.protocol import HEADER_SIZE
from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import Choices
from amqpscope.protocols.replay_differences import Divergence
from amqpscope.replay.order import Order, Place
from amqpscope.replay.outcome import Outcome
from amqpscope.replay.player import Patience, Player
from amqpscope.replay.recorded import Recorded
from amqpscope.replay.trace import Trace, TracedConnection, address_of
from amqpscope.replay.websocket import (
    HTTP_REQUEST,
    Reader,
    UpgradeError,
    WebSocketStream,
    Writer,
)
from amqpscope.stream.types import CLIENT, SERVER
from amqpscope.wording import reason_of

FIRST: Final = 10.0
"""Seconds for a client to say what it wants."""
NANOSECONDS: Final = 1e9
MOST_REMEMBERED: Final = 1 << 20
MOST_READS: Final = 200
"""Octets sent, and pieces received, after which it is settled which conversation a client means."""


class ReplayError(Exception):
    """A replay that cannot begin; the text is one line for the user."""


@dataclass
class Settings:
    """What both sides need to know."""

    conversations: list[Recorded]
    choices: Choices = field(default_factory=Choices)
    patience: Patience = field(default_factory=Patience)
    strict: bool = False
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    websocket: str | None = None
    """The path of a WebSocket to connect to; None: AMQP goes over TCP as it is."""
    trace: Trace | None = None
    loop: int = 1
    """How often all is played; 0: for ever."""
    report: Callable[[str], None] = lambda line: None
    """Takes a line about what happens, as it does."""


class Stage:
    """What both sides share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.outcomes: list[Outcome] = []
        self._tags: dict[bytes, bytes] = {}
        """What each connection learns of tags, and a later one that resumes a link has to know."""
        self._prepared: dict[int, Part] = {}
        """Parts that were made before their peer waits for them, by connection."""

    def prepare(self, recorded: Recorded, side: int) -> None:
        """Make a part now, as that takes a while where much was recorded."""
        self._prepared[recorded.number] = recorded.part(side, self.settings.choices)

    @property
    def diverged(self) -> bool:
        """Whether something did not go as recorded."""
        return any(outcome.diverged for outcome in self.outcomes)

    def trace_of(self, writer: Writer, side: int) -> TracedConnection | None:
        """The record of a connection."""
        trace = self.settings.trace
        if trace is None:
            return None
        names = ("sockname", "peername") if side == CLIENT else ("peername", "sockname")
        client, server = (
            address_of(writer.get_extra_info(name), place) for place, name in enumerate(names)
        )
        return trace.connection(client, server)

    def player(
        self,
        recorded: Recorded,
        side: int,
        reader: Reader,
        writer: Writer,
    ) -> Player:
        """One conversation, ready to be played."""
        settings = self.settings
        part = self._prepared.pop(recorded.number, None) or recorded.part(side, settings.choices)
        part.tags = self._tags
        if recorded.problem:
            part.notes.append(f"{recorded.problem}: played up to there")
        return Player(
            part,
            reader,
            writer,
            patience=settings.patience,
            report=lambda line: settings.report(f"connection {recorded.number}: {line}"),
            trace=self.trace_of(writer, side),
            strict=settings.strict,
        )


class ClientStage(Stage):
    """Plays the clients of all conversations against one server."""

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        super().__init__(settings)
        self.host, self.port = host, port

    async def run(self) -> None:
        """Play all, as often as asked for."""
        turn = 0
        while turn < self.settings.loop or not self.settings.loop:
            turn += 1
            await self.run_once()
            if self.settings.strict and self.diverged:
                return

    async def run_once(self) -> None:
        """Each conversation begins when that was played which was recorded before it began."""
        choices, clock = self.settings.choices, asyncio.get_running_loop().time
        conversations = sorted(self.settings.conversations, key=lambda each: each.frames[0].number)
        for recorded in conversations:
            self.prepare(recorded, CLIENT)
        order, start = Order(conversations, list(self._prepared.values())), clock()
        for place in order.places:
            if choices.speed:
                pause = (place.recorded.begin - conversations[0].begin) / NANOSECONDS
                await asyncio.sleep(max(0.0, start + pause / choices.speed - clock()))
            await order.turn_of(place)
            if order.failed:
                break
            order.begin(place, asyncio.create_task(self.play(place, order)))
        await order.end()

    async def play(self, place: Place, order: Order) -> None:
        """Connect and play one conversation."""
        try:
            reader, writer = await asyncio.wait_for(self.connect(), FIRST)
        except TimeoutError:
            raise ReplayError(f"{self.host}:{self.port}: no answer within {FIRST:.0f} s") from None
        except ssl.SSLError as error:
            raise ReplayError(f"{self.host}:{self.port}: TLS: {error.reason or error}") from None
        except UpgradeError as error:
            raise ReplayError(f"{self.host}:{self.port}: {error}") from None
        except OSError as error:
            raise ReplayError(f"{self.host}:{self.port}: {plain_reason(error)}") from None
        player = self.player(place.recorded, CLIENT, reader, writer)
        order.connected(place, player)
        await player.run()
        self.outcomes.append(Outcome.of(place.recorded.number, player.part))

    async def connect(self) -> tuple[Reader, Writer]:
        """A connection to the server."""
        settings = self.settings
        reader, writer = await asyncio.open_connection(
            self.host, self.port, ssl=settings.tls, server_hostname=settings.server_name
        )
        if settings.websocket is None:
            return reader, writer
        stream = WebSocketStream(reader, writer, serves=False)
        await stream.ask(f"{self.host}:{self.port}", settings.websocket)
        return stream, stream


class ServerStage(Stage):
    """Plays the server of all conversations for the clients that come."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.free = list(settings.conversations)
        """Conversations that no client has come for."""
        self.turns = 1
        self.playing: set[asyncio.Task[None]] = set()
        self.done = asyncio.Event()
        """All was played as often as asked for."""
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> tuple[str, int]:
        """Begin to listen; where."""
        for recorded in self.free:
            self.prepare(recorded, SERVER)
        try:
            self._server = await asyncio.start_server(
                self.welcome, host or None, port, ssl=self.settings.tls
            )
        except OSError as error:
            raise ReplayError(f"{host}:{port}: {plain_reason(error)}") from None
        address = self._server.sockets[0].getsockname()
        return str(address[0]), int(address[1])

    async def close(self, seconds: float) -> None:
        """Give those who are connected so long to end, then end."""
        if self._server is not None:
            self._server.close()
        if self.playing:
            await asyncio.wait(self.playing, timeout=seconds)
        for task in list(self.playing):
            task.cancel()
        if self.playing:
            await asyncio.wait(self.playing, timeout=1.0)

    def report_absent(self) -> None:
        """Note the conversations for which no client came."""
        if self.turns > 1:
            return
        for recorded in self.free:
            where = "connection: recorded, no client came for it"
            self.outcomes.append(Outcome(recorded.number, [Divergence("stuck", 0, where, "", "")]))
        self.free = []

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client has connected."""
        task = asyncio.current_task()
        assert task is not None
        self.playing.add(task)
        try:
            await self.greet(reader, writer)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self.playing.discard(task)
            if not self.free and not self.playing:
                self.done.set()

    async def greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """See what a client begins with: AMQP, or a WebSocket around it."""
        try:
            first = await asyncio.wait_for(reader.readexactly(HEADER_SIZE), FIRST)
            if not first.startswith(HTTP_REQUEST):
                await self.serve(first, reader, writer)
                return
            stream = WebSocketStream(reader, writer, serves=True)
            await asyncio.wait_for(stream.answer(first), FIRST)
            first = await asyncio.wait_for(stream.readexactly(HEADER_SIZE), FIRST)
            await self.serve(first, stream, stream)
        except (TimeoutError, asyncio.IncompleteReadError, UpgradeError):
            writer.close()

    async def serve(self, first: bytes, reader: Reader, writer: Writer) -> None:
        """Play the conversation that a client means by its header."""
        recorded = self.choose(first)
        if recorded is None:
            where = "connection: all that were recorded have been played"
            self.outcomes.append(Outcome(0, [Divergence("extra", 0, where, "", "")]))
            writer.close()
            return
        player = self.player(recorded, SERVER, reader, writer)
        loop = asyncio.get_running_loop()
        if player.trace is not None:
            player.trace.data(CLIENT, first)
        player.part.receive(first, loop.time())
        finder = Finder(self, player, recorded, first)
        player.watch = finder.look
        try:
            await player.run()
        finally:
            part = player.part
            if not part.over and not part.divergences:
                part.abandon(part.cues)
            self.outcomes.append(Outcome.of(finder.recorded.number, part))

    def choose(self, header: bytes) -> Recorded | None:
        """The first free conversation whose client began so."""
        if not self.free and (self.turns < self.settings.loop or not self.settings.loop):
            self.turns += 1
            self.free = list(self.settings.conversations)
        alike = [each for each in self.free if each.frames[0].raw[:HEADER_SIZE] == header]
        found = next(iter(alike or self.free), None)
        if found is not None:
            self.free.remove(found)
        return found


def plain_reason(error: OSError) -> str:
    """Why a socket failed, without the address, which asyncio names once more."""
    if isinstance(error, ConnectionError) and not error.errno:
        return "the peer ends the connection before it is set up"
    if error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno).lower()
    return reason_of(error)


class Finder:
    """Finds which conversation a client means, where several begin alike."""

    def __init__(
        self, stage: ServerStage, player: Player, recorded: Recorded, first: bytes
    ) -> None:
        self.stage = stage
        self.player = player
        self.recorded = recorded
        self.first = first

    def look(self) -> None:
        """Change to another conversation that fits, if this one does not."""
        player = self.player
        if len(player.sent) > MOST_REMEMBERED or len(player.received) > MOST_READS:
            player.watch = None
            return
        if not player.part.divergences:
            return
        for other in list(self.stage.free):
            part = self.rehearse(other)
            if part is not None:
                self.stage.free[self.stage.free.index(other)] = self.recorded
                self.stage.free.sort(key=lambda each: each.number)
                self.recorded, player.part = other, part
                return
        player.watch = None

    def rehearse(self, other: Recorded) -> Part | None:
        """Another conversation up to now; None if it says something else, or does not fit."""
        now = asyncio.get_running_loop().time()
        choices = self.stage.settings.choices
        part = other.part(SERVER, replace(choices, speed=0.0, rate=0.0))
        part.eager = self.player.part.eager
        sent = bytearray()
        part.start()
        for octets in (self.first, *self.player.received):
            part.proceed(now)
            sent += part.out
            part.out.clear()
            part.receive(octets, now)
        if part.divergences or sent != self.player.sent:
            return None
        part.choices = choices
        return part
