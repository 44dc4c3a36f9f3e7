"""Nobody is accused because a capture is incomplete.

The rules' legal examples are played again with parts of them missing: without one direction, from
the middle on, with a hole in the place of each unit or of its end, and without ACK numbers. What
remains of a legal exchange is legal as far as anyone can tell, so no error may come of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from amqpscope.findings import ERROR, SURE, Finding
from amqpscope.rules.documents import documents
from dissectors.wire import HEADER_SIZE
from kit.conversation import Said
from kit.exchange import script
from kit.lossy import play_lossy

EXCHANGES = [
    pytest.param(exchange, id=f"{id}-{place}")
    for id, document in documents().items()
    if not id.startswith(("A09", "BRK"))
    for place, exchange in enumerate(document.exchanges)
    if exchange.good
]


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
    said = script(exchange.text, exchange.scene)
    for what, findings in variants(said):
        wrong = [f for f in findings if f.severity == ERROR and f.certainty == SURE]
        assert not wrong, f"{what}: {wrong}"
