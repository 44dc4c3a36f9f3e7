"""Nobody is accused because a capture of several connections is incomplete.

The rules' legal examples are played again with a hole in the place of each unit.
"""

from __future__ import annotations

import re

import pytest

from amqpscope.rules.all import load
from amqpscope.rules.broker import FAMILY
from amqpscope.rules.documents import documents
from kit.exchange_broker import play, split

GOOD = [
    pytest.param(exchange, id=f"{id}-{place}")
    for id, rule in load().items()
    if rule.family.name == FAMILY
    for place, exchange in enumerate(documents()[id].exchanges)
    if exchange.good
]
SENDER = re.compile(r"(@\S+) (client|server)")


def holed(text: str, place: int) -> str:
    """The exchange with a hole in the place of a unit."""
    lines = split(text)
    letter, line = lines[place]
    time, peer = SENDER.match(line).groups()
    lines[place] = letter, f"{time} {peer}: GAP"
    return "\n".join(re.sub(SENDER, rf"\1 {letter}.\2", line, count=1) for letter, line in lines)


@pytest.mark.parametrize("exchange", GOOD)
def test_a_hole_accuses_nobody(exchange) -> None:
    for place in range(len(split(exchange.text))):
        text = holed(exchange.text, place)
        assert play(text, exchange.scene).findings == [], text
        assert play(text, exchange.scene, closed_world=True).findings == [], text
