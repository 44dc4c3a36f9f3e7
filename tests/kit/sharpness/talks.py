"""Recorded connections as units that can be changed, and written as captures again.

A unit keeps its time and how many of its partner's units its sender had read (the ACK number of
its packet, counted in units), so that a change of size moves all sequence numbers with it.
"""

from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.stream.types import PEERS, End

MOST_UNITS = 400
"""Longer connections repeat themselves, and take long."""
MOST_OCTETS = 400_000
CLIENT, SERVER = ("10.0.0.1", 50000), ("10.0.0.2", 5672)


class Spoken(NamedTuple):
    """One unit, or the end of a direction, as one peer sent it."""

    sender: int
    time: int
    raw: bytes
    known: int
    """Units of the partner that the sender's TCP had acknowledged."""
    unit: object = None
    """The unit, decoded; None for one that was made up, or for an end."""
    end: str = ""
    """`fin` or `rst`; empty for a unit."""

    @property
    def name(self):
        """The performative or method, `header`, `empty`, ...; `` of an end."""
        return "" if self.unit is None else self.unit.name

    @property
    def channel(self):
        return self.unit.channel

    @property
    def body(self):
        return self.unit.body

    @property
    def peer(self):
        return PEERS[self.sender]


class Talk:
    """One connection."""

    def __init__(self, name, protocol, said):
        self.name = name
        self.protocol = protocol
        self.said = said

    @property
    def v0_9(self):
        return self.protocol != "amqp-1.0"

    @cached_property
    def octets(self):
        return sum(len(each.raw) for each in self.said)

    def replaced(self, place, raw):
        """With other octets in the place of a unit."""
        said = list(self.said)
        said[place] = said[place]._replace(raw=raw, unit=None)
        return Talk(self.name, self.protocol, said)

    def with_extra(self, place, raw):
        """With one unit more, by the sender of the one at `place` and just behind it."""
        before = self.said[place]
        extra = before._replace(raw=raw, unit=None)
        # Whoever has read the unit before has read this one too.
        order = sum(
            each.sender == before.sender and not each.end for each in self.said[: place + 1]
        )
        rest = [
            each._replace(known=each.known + 1)
            if each.sender != before.sender and each.known >= order
            else each
            for each in self.said[place + 1 :]
        ]
        return Talk(self.name, self.protocol, [*self.said[: place + 1], extra, *rest])

    def without(self, place):
        """Without a unit."""
        gone = self.said[place]
        order = sum(each.sender == gone.sender and not each.end for each in self.said[:place])
        rest = [
            each._replace(known=each.known - 1)
            if each.sender != gone.sender and each.known > order
            else each
            for each in self.said
        ]
        return Talk(self.name, self.protocol, [*rest[:place], *rest[place + 1 :]])

    def write(self, path):
        """As a capture; units are numbered from 1 in it, in their order."""
        ends = [[0], [0]]
        for each in self.said:
            if not each.end:
                ends[each.sender].append(ends[each.sender][-1] + len(each.raw))
        sent = [0, 0]
        with path.open("wb") as file:
            written = ConnectionWriter(CaptureWriter(file), CLIENT, SERVER)
            written.open(self.said[0].time)
            for each in self.said:
                other = ends[1 - each.sender]
                unseen = sent[1 - each.sender] - other[min(each.known, len(other) - 1)]
                if each.end == "rst":
                    written.reset(each.sender, each.time)
                elif each.end:
                    written.finish(each.sender, each.time)
                else:
                    written.data(each.sender, each.time, each.raw, unseen)
                    sent[each.sender] += len(each.raw)


def read_talks(path):
    """The connections of a capture that were seen whole from their first octet."""
    analyzer = Analyzer({5672: "amqp-1.0"})
    heard = {}
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    heard.setdefault(step.conversation, []).append(step.frame)
                talk = analyzer.conversation_of(piece.connection)
                if isinstance(piece, End) and talk in heard and piece.reason in {"fin", "rst"}:
                    heard[talk].append(piece)
    return [
        Talk(f"{Path(path).name}#{talk.number}", talk.protocol, said(frames))
        for talk, frames in heard.items()
        if not talk.gaps and talk.connection.complete
    ]


def said(frames):
    """Frames and ends as what was said."""
    units = [each for each in frames if not isinstance(each, End)]
    ends = [
        [each.offset + len(each.raw) for each in units if each.sender == peer] for peer in range(2)
    ]
    passed, found = [0, 0], []
    for each in frames:
        other = 1 - each.sender
        if isinstance(each, End):
            found.append(Spoken(each.sender, each.time, b"", passed[other], end=each.reason))
            continue
        known = passed[other] if each.ack < 0 else bisect_right(ends[other], each.ack)
        found.append(Spoken(each.sender, each.time, each.raw, known, each.unit))
        passed[each.sender] += 1
    return found


def usable(talk):
    """Short enough to be played often, and of a protocol that is judged."""
    units = [each for each in talk.said if not each.end]
    if len(units) > MOST_UNITS or talk.octets > MOST_OCTETS:
        return False
    if len({each.sender for each in units}) < 2:
        return False
    return talk.protocol in {"amqp-1.0", "amqp-0-9-1"}


def all_talks(folder):
    """The connections of all captures in a folder."""
    paths = sorted(path for path in Path(folder).iterdir() if ".pcap" in path.name)
    return [
        talk
        for path in paths
        if not path.name.startswith(("dmg_", "fmt_"))
        for talk in read_talks(path)
        if usable(talk)
    ]
