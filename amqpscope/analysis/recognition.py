"""Which connections use AMQP, and which protocol: decided by their first octets."""

from __future__ import annotations

from typing import Final

from amqpscope.analysis.step import Conversation
from amqpscope.protocols.protocol import HEADER_SIZE, Protocol
from amqpscope.protocols.registry import (
    PROTOCOLS,
    by_header,
    find_protocol,
    is_header,
    may_become_header,
)
from amqpscope.stream.types import CLIENT, SERVER, Analysed, Chunk, Connection, End

AMQP_PORT: Final = 5672
MAGIC: Final = b"AMQP"
MAX_HELD: Final = 64
"""Chunks of a connection that begins in the middle in which a frame is looked for."""
MAX_ODD: Final = 4096
"""Octets of a client that may wait for what a server does that cannot read them."""


class Candidate(Analysed):
    """What the analysis knows of a connection; at first not even whether it uses AMQP."""

    def __init__(self, connection: Connection, expected: bool) -> None:
        self.connection = connection
        self.expected = expected
        """It uses a port on which frames are expected, and a start of it was not seen."""
        self.held: list[Chunk] = []
        """The first chunks, while they are too short to say."""
        self.holes = [False, False]
        """Of which peers octets were missed before it was known."""
        self.conversation: Conversation | None = None
        self.dismissed = False
        self.ended = 0
        """Which directions are over, a bit for each peer."""


OVER: Final = Candidate(Connection(("", 0), ("", 0), False), False)
"""What is left of every connection that has ended: nothing of it is read any more."""
OVER.dismissed = True


def candidate_of(connection: Connection) -> Candidate | None:
    """What the analysis keeps with a connection; None before it has met it."""
    analysed = connection.analysed
    return analysed if isinstance(analysed, Candidate) else None


class Recognition:
    """Decides which connections of a capture use AMQP."""

    def __init__(self, decode_as: dict[int, str] | None = None) -> None:
        self.decode_as = decode_as or {}
        """The protocol that is assumed on a port where a connection begins in the middle."""
        self.speakers: set[tuple[str, int]] = set()
        """The servers that have sent a protocol header."""

    def meet(self, connection: Connection) -> Candidate:
        """See a connection for the first time."""
        expected = not connection.complete and self.is_expected(connection)
        candidate = Candidate(connection, expected)
        connection.analysed = candidate
        return candidate

    def is_expected(self, connection: Connection) -> bool:
        """Whether AMQP is expected on a port of this connection."""
        client, server = connection.client[1], connection.server[1]
        if AMQP_PORT in (client, server):
            return True
        return client in self.decode_as or server in self.decode_as

    def assumed_protocol(self, connection: Connection) -> str:
        """The protocol that the user named for a port of this connection; empty for none."""
        decode_as = self.decode_as
        return decode_as.get(connection.server[1]) or decode_as.get(connection.client[1]) or ""

    def recognise(self, candidate: Candidate, chunk: Chunk) -> tuple[Protocol, str] | None:
        """The family of a connection and what users call its protocol; None while that is open.

        What does not use AMQP is dismissed.
        """
        data = b"".join(held.data for held in candidate.held if held.sender == chunk.sender)
        data += chunk.data
        if not data:
            return None
        candidate.held.append(chunk)
        if may_become_header(data):
            return None
        if is_header(data, candidate.connection.anchored[chunk.sender]):
            return by_header(data)
        assumed = self.assumed_protocol(candidate.connection)
        protocols = self.expected_protocols(assumed)
        if candidate.expected:
            for protocol in protocols:
                if protocol.finds_frame(data) or protocol.finds_frame(chunk.data):
                    return protocol, assumed or protocol.name
            if len(candidate.held) < MAX_HELD:
                return None
        for protocol in protocols:
            if protocol.starts(data):
                return protocol, assumed or protocol.name
        if not self.odd_start(candidate, chunk):
            candidate.dismissed = True
            candidate.held = []
        return None

    def expected_protocols(self, assumed: str) -> list[Protocol]:
        """The families whose frames are looked for: the one that the user named, or all."""
        protocol = find_protocol(assumed) if assumed else None
        return PROTOCOLS if protocol is None else [protocol]

    def odd_start(self, candidate: Candidate, chunk: Chunk) -> bool:
        """A server that may know AMQP is sent something else: wait for what it does."""
        connection = candidate.connection
        port = connection.server[1]
        expected = port == AMQP_PORT or port in self.decode_as or self.is_speaker(connection)
        if not connection.complete or not expected:
            return False
        return chunk.sender == CLIENT and sum(len(held.data) for held in candidate.held) <= MAX_ODD

    def is_speaker(self, connection: Connection) -> bool:
        """Whether the server is known to use AMQP."""
        return connection.server in self.speakers

    def is_cut_short(self, candidate: Candidate, end: End) -> bool:
        """Whether a direction that ends now used AMQP: it ends inside its header, or with none."""
        held = candidate.held
        if candidate.dismissed or end.reason not in ("fin", "rst") or not held:
            return False
        data = b"".join(chunk.data for chunk in held if chunk.sender == end.sender)
        begun = data[:4] == MAGIC and may_become_header(data) and PROTOCOLS[0].may_begin(data[4:])
        # Silence is an answer in AMQP only of a server that is known to use it.
        known = self.is_speaker(candidate.connection)
        refused = known and end.sender == SERVER and end.reason == "fin" and is_unread(held)
        if not begun and not refused and end.sender == CLIENT and is_unread(held):
            candidate.dismissed = True  # it gave up first, so nobody owes it an answer
        return begun or refused

    def drop_header(self, candidate: Candidate, sender: int) -> None:
        """Forget the beginning of a header whose rest is missing: what follows is not its end."""
        data = b"".join(held.data for held in candidate.held if held.sender == sender)
        if not data or may_become_header(data) or is_header(data, True):
            candidate.held = [held for held in candidate.held if held.sender != sender]


def is_unread(held: list[Chunk]) -> bool:
    """Octets of a client, as many as a header has, that are none, and nothing else."""
    data = b"".join(chunk.data for chunk in held)
    ours = all(chunk.sender == CLIENT for chunk in held)
    return ours and len(data) >= HEADER_SIZE and data[:4] != MAGIC


def first_header(held: list[Chunk]) -> bytes:
    """The first header among the first octets of a connection, the client's first; or nothing."""
    for sender in (CLIENT, SERVER):
        start = b"".join([each.data for each in held if each.sender == sender])[:HEADER_SIZE]
        if is_header(start, True):
            return start
    return b""
