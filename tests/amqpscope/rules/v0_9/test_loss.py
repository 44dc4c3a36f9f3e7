"""Nobody is accused because a capture is incomplete.

The rules' legal examples are played again with parts of them missing: without one direction, from
the middle on, with a hole in the place of each unit or of its end, and without ACK numbers. What
remains of a legal exchange is legal as far as anyone can tell, so no error may come of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from amqpscope.findings import ERROR, SURE, Finding
from amqpscope.rules.all import load
from amqpscope.rules.documents import documents
from amqpscope.rules.v0_9 import FAMILY
from amqpscope.stream.types import Chunk, Connection, End, Gap
from kit.conversation import Said
from kit.exchange_v0_9 import Player, script

EXCHANGES = [
    pytest.param(exchange, id=f"{id}-{place}")
    for id, rule in load().items()
    if rule.family.name == FAMILY
    for place, exchange in enumerate(documents()[id].exchanges)
    if exchange.good
]
HEAD = 7


class LossyPlayer(Player):
    """Plays what is left of an exchange."""

    def __init__(self, said, *, lost, keep=0, complete=True, deaf=-1, acks=True):
        """Units in `lost` are missing but for `keep` octets, and all of the peer `deaf`."""
        connection = Connection(("127.0.0.1", 50000), ("127.0.0.1", 5672), complete)
        if deaf >= 0:
            connection.anchored[deaf] = False
        left = [each for place, each in enumerate(said) if place not in lost]
        super().__init__(connection, left if not complete else said)
        self.lost = lost
        self.keep = keep
        self.deaf = deaf
        self.acks = acks
        self.started = complete

    def play(self, said: list[Said]) -> list[Finding]:
        for place, each in enumerate(said):
            self.unit(place, each)
        return self.played.findings

    def unit(self, place: int, each: Said) -> None:
        own, other = self.ends[each.sender], self.ends[1 - each.sender]
        size = 100 if each.end == "GAP" else len(each.raw)
        start = own[-1]
        own.append(start + size)
        if each.sender == self.deaf:
            return
        if each.end in {"FIN", "RST", "END"}:
            reason = {"FIN": "fin", "RST": "rst", "END": "capture"}[each.end]
            self.end(End(self.connection, each.sender, reason, place, each.time))
            return
        seen = other[max(len(other) - 1 - each.unseen, 0)] if self.acks and self.deaf < 0 else -1
        if each.end == "GAP" or place in self.lost:
            if self.keep and not each.end:
                self.octets(each, start, each.raw[: self.keep], place, seen)
            if self.started:
                missing = size - self.keep
                self.gap(Gap(self.connection, each.sender, start, missing, place, each.time))
            return
        self.started = True
        self.octets(each, start, each.raw, place, seen)

    def octets(self, each: Said, start: int, data: bytes, place: int, seen: int) -> None:
        chunk = Chunk(self.connection, each.sender, start, data, place, each.time, seen)
        for frame in self.talk.chunk(chunk):
            self.step(frame)


def variants(said: list[Said], common: int) -> Iterator[tuple[str, list[Finding]]]:
    """The exchange, of which so many units are a common beginning, with parts missing."""
    nothing: set[int] = set()
    yield "without ACK numbers", LossyPlayer(said, lost=nothing, acks=False).play(said)
    for peer, name in enumerate(("client", "server")):
        yield f"without the {name}", LossyPlayer(said, lost=nothing, deaf=peer).play(said)
    for start in range(1, len(said)):
        missing = set(range(start))
        player = LossyPlayer(said, lost=missing, complete=False)
        yield f"from unit {start} on", player.play(said)
    for place in range(1, len(said)):
        yield f"without unit {place}", LossyPlayer(said, lost={place}).play(said)
        for keep in sorted({9, len(said[place].raw) * 2 // 3}):
            if HEAD < keep < len(said[place].raw) and place >= common:
                cut = LossyPlayer(said, lost={place}, keep=keep).play(said)
                yield f"with {keep} octets of unit {place}", cut


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_a_legal_exchange_stays_legal_when_parts_of_it_are_missing(exchange):
    said = script(exchange.text, exchange.scene)
    for what, findings in variants(said, len(script("", exchange.scene))):
        wrong = [f for f in findings if f.severity == ERROR and f.certainty == SURE]
        assert not wrong, f"{what}: {wrong}"
