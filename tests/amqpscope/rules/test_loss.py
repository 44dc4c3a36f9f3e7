"""Nobody is accused because a capture is incomplete.

The rules' legal examples are played again with parts of them missing: without one direction, from
the middle on, with a hole in the place of each unit or of its end, and without ACK numbers. What
remains of a legal exchange is legal as far as anyone can tell, so no error may come of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from beneath import Opened
from conversation import Said
from exchange import script

from amqpscope.analysis import Analyzer
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.findings import ERROR, SURE, Finding
from amqpscope.rules.all import load
from amqpscope.rules.documents import documents
from amqpscope.rules.registry import RuleSet
from amqpscope.stream.types import Chunk, Connection, End, Gap
from dissectors.wire import HEADER_SIZE

EXCHANGES = [
    pytest.param(exchange, id=f"{id}-{place}")
    for id, document in documents().items()
    if not id.startswith("A09")
    for place, exchange in enumerate(document.exchanges)
    if exchange.good
]


def play_lossy(
    said: list[Said],
    *,
    lost: set[int],
    keep: int = 0,
    complete: bool = True,
    deaf: int = -1,
    acks: bool = True,
) -> list[Finding]:
    """Play units of which those in `lost` are missing, and all of the peer `deaf`.

    The first `keep` octets of what is lost are there.
    """
    analyzer = Analyzer({5672: "amqp-1.0"}, RuleSet(list(load().values())))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", 5672), complete)
    if deaf >= 0:
        connection.anchored[deaf] = False
    unwrapper = Unwrapper(Opened())
    ends: list[list[int]] = [[0], [0]]
    findings: list[Finding] = []

    def feed(piece: Chunk | Gap | End) -> None:
        for inner in unwrapper.feed(piece):
            for step in analyzer.feed(inner):
                findings.extend(step.findings)

    started = complete
    for place, each in enumerate(said):
        own, other = ends[each.sender], ends[1 - each.sender]
        size = len(each.raw)
        known = other[max(len(other) - 1 - max(each.unseen, 0), 0)] + each.ahead
        seen = known if acks and deaf < 0 else -1
        piece: Chunk | Gap | End
        if each.end in {"FIN", "RST", "END"}:
            reason = {"FIN": "fin", "RST": "rst", "END": "capture"}[each.end]
            piece = End(connection, each.sender, reason, place, each.time)
        elif each.end == "GAP":
            size = 100
            piece = Gap(connection, each.sender, own[-1], size, place, each.time)
        elif place in lost:
            start = own[-1] + keep
            if keep:
                head = each.raw[:keep]
                feed(Chunk(connection, each.sender, own[-1], head, place, each.time, seen))
            piece = Gap(connection, each.sender, start, size - keep, place, each.time)
        else:
            piece = Chunk(connection, each.sender, own[-1], each.raw, place, each.time, seen)
            started = True
        own.append(own[-1] + size)
        if each.sender == deaf or (not started and isinstance(piece, Gap)):
            continue
        feed(piece)
    return findings + analyzer.late


def variants(said: list[Said]) -> Iterator[tuple[str, list[Finding]]]:
    """The exchange with all sorts of parts missing."""
    nothing: set[int] = set()
    yield "without ACK numbers", play_lossy(said, lost=nothing, acks=False)
    for peer, name in enumerate(("client", "server")):
        yield f"without the {name}", play_lossy(said, lost=nothing, deaf=peer)
    for start in range(1, len(said)):
        missing = set(range(start))
        yield f"from unit {start} on", play_lossy(said, lost=missing, complete=False)
    for place in range(len(said)):
        yield f"without unit {place}", play_lossy(said, lost={place})
        for keep in sorted({18, len(said[place].raw) * 2 // 3}):
            if HEADER_SIZE < keep < len(said[place].raw):
                cut = play_lossy(said, lost={place}, keep=keep)
                yield f"with {keep} octets of unit {place}", cut


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_a_legal_exchange_stays_legal_when_parts_of_it_are_missing(exchange):
    said = script(exchange.text, exchange.setup)
    for what, findings in variants(said):
        wrong = [f for f in findings if f.severity == ERROR and f.certainty == SURE]
        assert not wrong, f"{what}: {wrong}"
