"""What witnesses state of their connections holds nothing of the models behind them."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType
from typing import Any

import pytest

from amqpscope.analysis import Conversation
from amqpscope.insight.journeys.records import Court, Peers, Records, Source
from amqpscope.insight.journeys.witnesses import Witnesses
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.peer import PeerEnd
from amqpscope.runs.run import Run
from kit import CAPTURES

KINDS = [name for name in vars(Records) if not name.startswith("_") and name != "source"]
LIVE = (Conversation, Delivery, Event, PeerEnd, Source)


class Heard(Court):
    """Keeps all that is stated."""

    def __init__(self) -> None:
        self.stated: list[tuple[str, Any]] = []

    def meet(self, peers: Peers) -> Records:
        def keeping(kind: str) -> Any:
            return lambda _, *args, **more: self.stated.append((kind, (args, more)))

        own = {kind: keeping(kind) for kind in KINDS if kind != "follows"}
        made: Records = type("Taken", (Records,), own)()
        return made


def held_by(thing: object) -> list[object]:
    """All objects that can be reached from one, without code."""
    found: dict[int, object] = {}
    waiting = [thing]
    while waiting:
        each = waiting.pop()
        if id(each) not in found and not isinstance(each, type | ModuleType | FunctionType):
            found[id(each)] = each
            waiting += gc.get_referents(each)
    return list(found.values())


@pytest.mark.parametrize(
    "name",
    [
        "mixed_091-and-10_rabbitmq.pcap",
        "v10_proton-labbroker_tx.pcap",
        "v10_proton-labbroker_outcomes.pcap",
    ],
)
def test_records_hold_nothing_of_the_model(name: str) -> None:
    heard = Heard()
    witnesses = Witnesses(heard)
    with Run(str(CAPTURES / name)) as run:
        for batch in run:
            for step in batch.steps:
                witnesses.take(step)
            if batch.end is not None:
                witnesses.end(batch.end.conversation)
    assert {"message", "answer", "end"} <= {kind for kind, _ in heard.stated}
    assert not [each for each in held_by(heard.stated) if isinstance(each, LIVE)]
