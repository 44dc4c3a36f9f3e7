"""One connection of a stream, between batches: its replay as octets, and back."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from amqpscope.choice import Choice
from amqpscope.rules import Rule, RuleSet
from amqpscope.rules.all import load
from amqpscope.rules.older import OlderRuleSet
from amqpscope.spark.gather import MINUTE, Block
from amqpscope.spark.numbering import octets_of
from amqpscope.spark.replay import Replay
from amqpscope.spark.shares import unpickled
from amqpscope.spark.work import Work
from amqpscope.stream import Segment

if TYPE_CHECKING:
    import pandas as pd

RULES: Final = "rules"
OLDER_RULES: Final = "older rules"
CHOICE: Final = "choice"


class Slices:
    """In a stream, rows are not grouped by where their frames lie."""

    def of_key(self, key: int) -> int:
        """One group for all."""
        return 0


class Pickler(pickle.Pickler):
    """Leaves out what every process has."""

    def persistent_id(self, obj: object) -> tuple[str, str] | None:
        """A name for what is left out."""
        if isinstance(obj, RuleSet):
            return RULES, ""
        if isinstance(obj, OlderRuleSet):
            return OLDER_RULES, ""
        if isinstance(obj, Choice):
            return CHOICE, ""
        return ("rule", obj.id) if isinstance(obj, Rule) else None


class Unpickler(pickle.Unpickler):
    """Puts it back."""

    def __init__(self, data: bytes, rules: RuleSet, choice: Choice) -> None:
        super().__init__(io.BytesIO(data))
        self.rules = rules
        self.choice = choice

    def persistent_load(self, name: tuple[str, str]) -> Any:
        """What a name stands for."""
        if name[0] == RULES:
            return self.rules
        if name[0] == OLDER_RULES:
            return OlderRuleSet(self.rules.rules)
        return self.choice if name[0] == CHOICE else load()[name[1]]


class Keeper:
    """Replays connections batch by batch."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.rules = work.choice.rules()

    def begin(self, ring: str) -> Replay:
        """A connection that was not seen before."""
        replay = Replay(ring, self.work, self.rules, Slices())
        replay.ended = {}
        return replay

    def freeze(self, replay: Replay) -> bytes:
        """A replay as octets."""
        sink = io.BytesIO()
        Pickler(sink, protocol=5).dump(replay)
        return sink.getvalue()

    def thaw(self, data: bytes) -> Replay:
        """A replay from octets."""
        found: Replay = Unpickler(data, self.rules, self.work.choice).load()
        return found

    def segments(self, frames: Iterable[pd.DataFrame]) -> list[Segment]:
        """The segments of a connection in a batch, in capture order."""
        found = [
            segment
            for frame in frames
            for row in frame.itertuples(index=False)
            for segment in unpickled(bytes(row.data))
        ]
        found.sort(key=lambda segment: segment.packet)
        return found

    def feed(self, replay: Replay, segments: list[Segment]) -> Iterator[Block]:
        """Go on with the next segments; rows of what is over."""
        yield from replay.feed(segments)
        gatherer = replay.gatherer
        if segments:
            for number in gatherer.persons:
                gatherer.pass_minutes(number, segments[-1].time // MINUTE)
        yield from gatherer.blocks()


def rows_of(blocks: Iterable[Block], ring: str) -> list[tuple[str, str, int, bytes]]:
    """Blocks as they leave the worker."""
    return [(block.table, ring, len(block.rows), octets_of(block)) for block in blocks]
