"""What passes between the parts that read a capture: TCP segments, and pieces of streams.

A `Segment` is what one captured packet says. `reassembly` turns the segments of all connections
of a capture into pieces, each of one direction of one connection and in stream order:

* `Chunk`: octets that follow what came before,
* `Gap`: octets that the capture does not have and will not get,
* `Window`: the sender's own receive window went to zero, or opened again,
* `End`: this direction was closed (FIN), or the connection was reset (RST) or given up.

Nothing here knows what the octets mean.
"""

from __future__ import annotations

from typing import Final

from amqpscope.stream.marks import Marks

CLIENT: Final = 0
SERVER: Final = 1
PEERS: Final = ("client", "server")
"""The peer's name by its number: the client is who opened the TCP connection."""

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10
BEYOND: Final = (1 << 62) - 2
"""An ACK number that covers more than the capture shows: its sender may have read anything."""

INSIDE_TLS: Final = 0x100
"""No flag of TCP: the octets were inside TLS, which the recorder has removed."""
MARKED: Final = 0x200
"""No flag of TCP: a proxy has noted something about the packet, see `marks`."""


class Segment:
    """One TCP segment as a packet of the capture holds it."""

    __slots__ = (
        "ack", "comment", "flags", "key", "missing", "packet", "payload", "seq", "time", "window",
    )  # fmt: skip

    def __init__(
        self,
        packet: int,
        time: int,
        key: bytes,
        seq: int,
        ack: int,
        flags: int,
        window: int,
        payload: bytes,
        missing: int,
    ) -> None:
        self.packet = packet
        """The packet's number in the capture, from 1, as Wireshark counts."""
        self.time = time
        """Nanoseconds since the Unix epoch."""
        self.key = key
        """Source address, destination address, source port, destination port: 12 or 36 octets."""
        self.seq = seq
        self.ack = ack
        self.flags = flags
        self.window = window
        """As on the wire, not scaled: only 0 means something by itself."""
        self.payload = payload
        self.missing = missing
        """Octets of payload that the packet had and the capture's snap length cut off."""
        self.comment = ""
        """What a proxy has noted about it, where it is `MARKED`."""


class Certificate:
    """What a certificate says of whom it is for, and when it counts."""

    __slots__ = ("names", "not_after", "not_before")

    def __init__(self, names: list[str], not_before: int, not_after: int) -> None:
        self.names = names
        """The DNS names it is for, in lower case; none when it has no such list."""
        self.not_before = not_before
        """Nanoseconds since the Unix epoch, as all times here."""
        self.not_after = not_after


class Tls:
    """What the records of a TLS connection show without its keys."""

    __slots__ = (
        "alerts", "alpn", "certificate", "hello", "plain", "quiet", "server_name", "version",
    )  # fmt: skip

    def __init__(self) -> None:
        self.hello = [0, 0]
        """The packet in which each peer sent a ClientHello, client first; 0: it sent none."""
        self.plain = [False, False]
        """Which peers went on in the clear."""
        self.server_name = ""
        """The name that the ClientHello asks for (SNI), in lower case."""
        self.alpn: list[str] = []
        """The protocols that the ClientHello offers."""
        self.version = 0
        """What the ServerHello chose: 0x0303 for TLS 1.2, 0x0304 for 1.3; 0: not seen."""
        self.certificate: Certificate | None = None
        """The server's own, where it passes in the clear: up to TLS 1.2."""
        self.alerts: list[tuple[int, int, int]] = []
        """Alerts in the clear: who sent it, its description, and the packet."""
        self.quiet = 0
        """When the client's last record passed before any that held octets of its own."""


class WebSocket:
    """What the peers of a WebSocket agreed on, and how they send."""

    __slots__ = ("agreed", "asked", "text")

    def __init__(self) -> None:
        self.asked: list[str] | None = None
        """The subprotocols of the request; None when the request was not captured."""
        self.agreed: str | None = None
        """The subprotocol of the response; None when it names none."""
        self.text = [0, 0]
        """The packet of each peer's first text message; 0: it sent none."""


class Analysed:
    """What the analysis keeps with a connection; its own subclass says what that is."""


class Connection:
    """One TCP connection: who opened it, and what was seen of how it was set up."""

    __slots__ = (
        "analysed", "anchored", "client", "disordered", "encrypted", "guessed", "marks", "opened",
        "server", "tls", "unseen", "websocket",
    )  # fmt: skip

    def __init__(self, client: tuple[str, int], server: tuple[str, int], complete: bool) -> None:
        self.client = client
        self.server = server
        self.anchored = [complete, complete]
        """Of which peers the capture holds the SYN, so that offset 0 is their first octet."""
        self.guessed = False
        """No SYN was captured and the ports do not show either who is the client."""
        self.disordered = False
        """Segments came in another order than they were sent, or with a hole before them."""
        self.unseen = [False, False]
        """Of which peers the other one had read more when it ended than was captured by then:
        octets, or only the FIN."""
        self.opened = 0
        """When the newest SYN of it passed; 0: none was captured."""
        self.encrypted = False
        """Its octets came out of TLS."""
        self.tls: Tls | None = None
        """Set as soon as it turns out to be TLS, by a header or from its first octet on."""
        self.websocket: WebSocket | None = None
        self.analysed: Analysed | None = None
        """The analysis's own: `analysis.candidate_of` reads it."""
        self.marks: Marks | None = None
        """What a proxy noted about its packets."""

    @property
    def complete(self) -> bool:
        """The capture holds the beginning of both directions."""
        return self.anchored[CLIENT] and self.anchored[SERVER]


class Chunk:
    """Octets of one direction of a connection, in order."""

    __slots__ = ("ack", "connection", "data", "offset", "packet", "sender", "time")

    def __init__(
        self,
        connection: Connection,
        sender: int,
        offset: int,
        data: bytes,
        packet: int,
        time: int,
        ack: int,
    ) -> None:
        self.connection = connection
        self.sender = sender
        """CLIENT or SERVER."""
        self.offset = offset
        """Where the octets lie in that direction's stream; the first after the SYN is 0."""
        self.data = data
        self.packet = packet
        """The packet that carried these octets."""
        self.time = time
        self.ack = ack
        """How many octets of the *other* direction the sender's TCP had by then; -1: unknown,
        BEYOND: maybe more than the capture shows."""


class Gap:
    """Octets of one direction that the capture does not have."""

    __slots__ = ("connection", "offset", "packet", "sender", "size", "snapped", "time")

    def __init__(
        self, connection: Connection, sender: int, offset: int, size: int, packet: int, time: int
    ) -> None:
        self.connection = connection
        self.sender = sender
        self.offset = offset
        self.snapped = False
        """Their packet is there: the capture's snap length cut them off."""
        self.size = size
        """How many; -1 when even that is unknown."""
        self.packet = packet
        """The packet at which the loss was noticed."""
        self.time = time


class End:
    """Nothing more comes from this sender."""

    __slots__ = ("connection", "packet", "reason", "sender", "time")

    def __init__(
        self, connection: Connection, sender: int, reason: str, packet: int, time: int
    ) -> None:
        self.connection = connection
        self.sender = sender
        self.reason = reason
        """`fin`, `rst` (of either side, and it ends both: the one that sent it comes first),
        `reused` (a new SYN on the port pair), `idle` (given up) or `capture` (the file ends)."""
        self.packet = packet
        self.time = time


class Window:
    """This sender cannot take any more octets just now, or can again."""

    __slots__ = ("connection", "packet", "sender", "time", "zero")

    def __init__(
        self, connection: Connection, sender: int, zero: bool, packet: int, time: int
    ) -> None:
        self.connection = connection
        self.sender = sender
        self.zero = zero
        self.packet = packet
        self.time = time


Piece = Chunk | Gap | End | Window
