"""What happens in an exchange, in the order in which it is captured: the same for all protocols.

    client: ...        a unit from the client; the sender has seen all that came before
    client~2: ...      the same, but the last two units of the server had not reached it yet
    client^1: ...      it had read the server's next unit too, which is captured only later
    @2.5s server: ...  with the time since the start
    client: FIN        the client ends its direction;  RST resets;  END: the capture ends here
    client: GAP        100 octets of the client are missing here
    client: TLS ...    records of a TLS handshake (see `beneath`); what follows is inside TLS
    client: HTTP ...   an upgrade to WebSocket; what follows is inside its frames

The units are in the notation; a comment names the rules that one breaks.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from amqpscope.capture.write import ConnectionWriter
from amqpscope.stream.types import PEERS, Chunk, Connection, End, Gap
from dissectors.notation import parse_conversation

LOST: Final = 100
"""Octets that a GAP stands for."""

_ENDS: Final = re.compile(
    r"^(?:@(\d+(?:\.\d+)?)s\s+)?(client|server): (FIN|RST|END|GAP|TLS .*?|HTTP .*?)\s*(#.*)?$"
)
_UNSEEN: Final = re.compile(r"^(\s*(?:@\d+(?:\.\d+)?s\s+)?)(client|server)([~^]\d+):", re.MULTILINE)
_ID: Final = re.compile(r"A09-[A-Z]{2,3}-\d{2}|[A-Z]{3}-\d{3}")


class Said(NamedTuple):
    """One thing that happens in an exchange: a unit, or the end of a direction."""

    sender: int
    time: int
    raw: bytes = b""
    unseen: int = 0
    """Units of the partner that had not reached the sender yet; below 0, that reached it early."""
    marks: tuple[str, ...] = ()
    ahead: int = 0
    """Octets of the units that reached the sender early."""
    end: str = ""
    """FIN, RST, END or GAP; empty for a unit."""


def happenings(text: str) -> list[Said]:
    """An exchange as what happens, in order."""
    unseen = {
        text.count("\n", 0, m.end()) + 1: int(m[3].replace("~", "").replace("^", "-"))
        for m in _UNSEEN.finditer(text)
    }
    lines = _UNSEEN.sub(r"\1\2:", text).split("\n")
    # Ends of directions are no units: they are taken out, and put back in their places.
    ends = {n: found for n, line in enumerate(lines, 1) if (found := _ENDS.match(line.strip()))}
    units = "\n".join("" if n in ends else line for n, line in enumerate(lines, 1))
    said: list[tuple[int, Said]] = [
        (
            line.number,
            Said(PEERS.index(line.peer), nanoseconds(line.time), line.raw,
                 unseen.get(line.number, 0), line.marks),
        )
        for line in parse_conversation(units)
    ]  # fmt: skip
    for number, found in ends.items():
        before = [each.time for n, each in said if n < number]
        time = nanoseconds(float(found[1])) if found[1] else (before or [nanoseconds(0)])[-1]
        marks = tuple(_ID.findall(found[4] or ""))
        said.append((number, Said(PEERS.index(found[2]), time, marks=marks, end=found[3])))
    return [each for _, each in sorted(said, key=lambda pair: pair[0])]


def with_early(script: list[Said]) -> list[Said]:
    """The same, each with the octets that had reached its sender and are captured only later."""
    return [each._replace(ahead=ahead(script, place)) for place, each in enumerate(script)]


def ahead(script: list[Said], place: int) -> int:
    each = script[place]
    others = [other.raw for other in script[place:] if other.sender != each.sender and other.raw]
    return sum(len(raw) for raw in others[: max(0, -each.unseen)])


def nanoseconds(seconds: float) -> int:
    """A time in an exchange as a time of a capture."""
    return 1_700_000_000_000_000_000 + int(seconds * 1e9)


class Pieces:
    """Makes of what happens the pieces of a connection, as a capture of it gives them."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ends: list[list[int]] = [[0], [0]]
        """Where each peer's units end in its stream."""
        self.packet = 0

    def piece(self, said: Said) -> Chunk | Gap | End:
        sender, time = said.sender, said.time
        own, other = self.ends[sender], self.ends[1 - sender]
        offset = own[-1]
        if said.end == "GAP":
            own.append(offset + LOST)
            return Gap(self.connection, sender, offset, LOST, self.packet, time)
        if said.end:
            reason = {"FIN": "fin", "RST": "rst", "END": "capture"}[said.end]
            return End(self.connection, sender, reason, self.packet, time)
        self.packet += 1
        seen = other[max(len(other) - 1 - max(said.unseen, 0), 0)] + said.ahead
        own.append(offset + len(said.raw))
        return Chunk(self.connection, sender, offset, said.raw, self.packet, time, seen)


def record(said: list[Said], talk: ConnectionWriter) -> None:
    """Write an exchange as packets."""
    sizes: list[list[int]] = [[], []]
    talk.open(said[0].time)
    for each in said:
        if each.end == "FIN":
            talk.finish(each.sender, each.time)
        elif each.end == "RST":
            talk.reset(each.sender, each.time)
        elif each.end == "GAP":
            talk.seq[each.sender] += LOST
        elif not each.end:
            newest = sizes[1 - each.sender]
            unseen = sum(newest[len(newest) - max(each.unseen, 0) :])
            talk.data(each.sender, each.time, each.raw, unseen - each.ahead)
            sizes[each.sender].append(len(each.raw))
