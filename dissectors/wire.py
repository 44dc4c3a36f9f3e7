"""What every family has on the wire: numbers, protocol headers, and units.

A stream is a sequence of units: a unit is a protocol header of eight octets or a frame. In each
family `framing.measure` finds how long the unit at an offset is, or answers MORE or DAMAGED, and
`framing.decode_unit` makes the family's own subclass of `Unit` of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dissectors.errors import Damage, Malformed
from dissectors.native import mypyc_attr

if TYPE_CHECKING:
    from mypy_extensions import i64

MAGIC: Final = b"AMQP"
"""What every protocol header begins with."""
HEADER_SIZE: Final = 8
"""Octets of a protocol header."""
MAX_FRAME_SIZE: Final = 128 * 1024 * 1024
"""The largest frame we hold in memory. Peers agree on 4 kB to 1 MB, seldom more."""
PROTOCOL_IDS: Final = {0: "AMQP", 2: "TLS", 3: "SASL"}

MORE: Final = 0
"""`measure` needs more octets to find the size."""
DAMAGED: Final = -1
"""No unit can begin with these octets."""

# Whether a frame begins in octets of which the start is unknown: `resync` of each family.
LARGEST: Final = 1 << 24
"""A size above this is taken for chance."""
CHAIN: Final = 3
"""Frames in a row that prove the place."""
NO: Final = 0
PERHAPS: Final = 1
"""Nothing is against it, but the octets that would decide are not there yet."""
YES: Final = 2

NO_FAULTS: Final[list[Malformed]] = []
"""What sound octets have; shared, so never added to."""


def u16(data: bytes, at: i64) -> i64:
    """Two octets, big-endian."""
    high: i64 = data[at]
    low: i64 = data[at + 1]
    return (high << 8) | low


def u32(data: bytes, at: i64) -> i64:
    """Four octets, big-endian."""
    a: i64 = data[at]
    b: i64 = data[at + 1]
    c: i64 = data[at + 2]
    d: i64 = data[at + 3]
    return (a << 24) | (b << 16) | (c << 8) | d


def u64(data: bytes, at: i64) -> int:
    """Eight octets, big-endian."""
    high: int = u32(data, at)
    low: int = u32(data, at + 4)
    return (high << 32) | low


class Header(NamedTuple):
    """A protocol header: `AMQP`, a protocol id and a version."""

    id: int
    major: int
    minor: int
    revision: int

    def __str__(self) -> str:
        name = PROTOCOL_IDS.get(self.id, f"id {self.id}")
        return f"{name} {self.major}.{self.minor}.{self.revision}"


@mypyc_attr(allow_interpreted_subclasses=True, acyclic=True)
class Unit:
    """One protocol header or frame, decoded."""

    def __init__(self, kind: str, channel: int, type: int, head: int) -> None:
        self.kind = kind
        """`header`, `malformed`, `unknown` (of another frame type), or a kind of the family."""
        self.channel = channel
        """The channel, or the octets in its place in a frame type that has none."""
        self.type = type
        self.head = head
        """Octets of the frame's own header, as it says itself; 0 for a protocol header."""
        self.header: Header | None = None
        self.payload = 0
        """Where the payload begins; the size of the frame if there is none."""
        self.faults: list[Malformed] = NO_FAULTS

    @property
    def name(self) -> str:
        """The spec's name of what the unit carries; else the kind."""
        return self.kind

    @property
    def title(self) -> str:
        """The name for a list of units: `unknown` for what the family has no name for."""
        return self.name

    def mark_damaged(self, at: int, reason: str) -> None:
        """Store that the frame's own header is wrong."""
        self.kind = "malformed"
        self.faults = [Malformed(Damage.FRAME, at, reason)]
