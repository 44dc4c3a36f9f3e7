"""One connection of a stream, between batches: its replay as octets, and back."""

from __future__ import annotations

import copyreg
import io
import json
import pickle
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, Final

from amqpscope import __version__, build
from amqpscope.capture.keylog import Keys
from amqpscope.check.selection import Selection
from amqpscope.insight.counters import MINUTE
from amqpscope.rules.dispatch import RuleSet
from amqpscope.spark.gather import LIVE, Block
from amqpscope.spark.interned import Known
from amqpscope.spark.numbering import octets_of
from amqpscope.spark.replay import Replay
from amqpscope.spark.state_classes import interpreted_classes, state_classes
from amqpscope.spark.state_templates import BLANKS, blank, layout
from amqpscope.spark.unpickling import Restricted
from amqpscope.spark.work import Work
from amqpscope.spark.worker import unpickle_segments
from amqpscope.stream.types import Segment

if TYPE_CHECKING:
    import pandas as pd

RULES: Final = "rules"
CHOICE: Final = "choice"
KEYS: Final = "keys"
NAME: Final = "amqpscope"
MAX_STAMP: Final = 256
NOTES: Final = "_notes"
"""Blocks of what the user should know, in JSON."""
UNDECRYPTED: Final = (
    "it is not decrypted with --follow, as that takes a capture that is complete: a run without"
    " it does so"
)
REMADE: Final[dict[type, str]] = {
    RuleSet: RULES,
    Selection: CHOICE,
    Keys: KEYS,
}
"""Made anew from what the user wants now; so the secrets of a key log are not written down."""


class Slices:
    """In a stream, rows are not grouped by where their frames lie."""

    def of_key(self, key: int) -> int:
        """One group for all."""
        return 0


class FrozenError(Exception):
    """A state that this process cannot go on with, and why."""


class Pickler(pickle.Pickler):
    """Leaves out what every process has."""

    def __init__(self, sink: IO[bytes], known: Known) -> None:
        super().__init__(sink, protocol=5)
        self.known = known.names
        self.dispatch_table = DISPATCH

    def persistent_id(self, obj: object) -> str | None:
        """A name for what is left out."""
        return self.known.get(id(obj)) or REMADE.get(type(obj))


class Unpickler(Restricted):
    """Puts it back."""

    def __init__(self, data: IO[bytes], known: Known, work: Work) -> None:
        super().__init__(data, ALLOWED)
        self.known = known.things
        self.rules = known.rules
        self.work = work

    def persistent_load(self, name: str) -> Any:
        """What a name stands for."""
        if name == CHOICE:
            return self.work.choice
        if name == KEYS:
            return Keys(*self.work.keylogs)
        return self.known[name]


class LostWindow:
    """Stands where messages of a WebSocket were inflated, by what had come before.

    zlib does not give that out, so nothing more of this direction can be read, as after a gap.
    """

    def decompress(self, data: bytes) -> bytes:
        """Refuse."""
        raise zlib.error("the window was not kept")


def _reduced(obj: Any) -> tuple[Any, ...]:
    return blank, (type(obj),), obj.__getstate__()


def _reduced_subclass(obj: Any) -> tuple[Any, ...]:
    # What plain Python adds to a compiled class is not in the state that the class gives.
    return blank, (type(obj),), {**(obj.__getstate__() or {}), **vars(obj)}


DISPATCH: Final = {
    **copyreg.dispatch_table,
    **dict.fromkeys(interpreted_classes(), _reduced_subclass),
    **dict.fromkeys(BLANKS, _reduced),
    type(zlib.decompressobj()): lambda obj: (LostWindow, ()),
}


def method_of(obj: object, name: str) -> Any:
    """The one method that a state holds; any other would be somebody else's."""
    if type(obj) is not Slices or name != "of_key":
        raise pickle.UnpicklingError(f"it asks for {name!r} of a {type(obj).__name__}")
    return obj.of_key


ALLOWED: Final = {
    **state_classes(),
    (Slices.__module__, Slices.__name__): Slices,
    (LostWindow.__module__, LostWindow.__name__): LostWindow,
    ("builtins", "getattr"): method_of,  # as a method is pickled
}
"""What a state may name."""


class Keeper:
    """Replays connections batch by batch."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.rules = work.choice.rules()
        self.known = Known(self.rules)
        self.stamp = stamp()

    def begin(self, ring: str) -> Replay:
        """A connection that was not seen before."""
        replay = Replay(ring, self.work, self.rules, Slices())
        replay.ended = {}
        replay.decryptor.refusal = UNDECRYPTED
        return replay

    def freeze(self, replay: Replay) -> bytes:
        """A replay as octets."""
        sink = io.BytesIO()
        sink.write(self.stamp)
        Pickler(sink, self.known).dump(replay)
        return sink.getvalue()

    def thaw(self, data: bytes) -> Replay:
        """A replay from octets."""
        source = io.BytesIO(data)
        written = source.readline(MAX_STAMP)
        if written != self.stamp:
            raise FrozenError(refusal(written.decode("utf-8", "replace")))
        try:
            found: Replay = Unpickler(source, self.known, self.work).load()
        except Exception as error:  # whatever damaged octets make of it
            raise FrozenError(f"the state of a connection is damaged: {error}") from error
        return found

    def segments(self, frames: Iterable[pd.DataFrame]) -> list[Segment]:
        """The segments of a connection in a batch, in capture order."""
        found = [
            segment
            for frame in frames
            for row in frame.itertuples(index=False)
            for segment in unpickle_segments(bytes(row.data))
        ]
        found.sort(key=lambda segment: segment.packet)
        return found

    def notes(self, replay: Replay, ring: str) -> list[tuple[str, str, int, bytes]]:
        """A block of what the user should know of a connection, unless that was said before."""
        found = replay.decryptor.take_notes()
        return [(NOTES, ring, len(found), json.dumps(found).encode())] if found else []

    def feed(self, replay: Replay, segments: list[Segment]) -> Iterator[Block]:
        """Go on with the next segments; rows of what is over."""
        yield from replay.feed(segments)
        gatherer = replay.gatherer
        if segments:
            for number in gatherer.persons:
                gatherer.pass_minutes(number, segments[-1].time // MINUTE)
        yield from gatherer.blocks()


def stamp() -> bytes:
    """What a state begins with: it means something to this version and build only."""
    kind, _, _ = build().partition(":")
    return f"{NAME} {__version__} ({kind}) {layout()}\n".encode()


def refusal(written: str) -> str:
    """Why a state with this stamp is of no use here, and what to do."""
    words = written.strip() if written.startswith(NAME) else f"another {NAME}"
    own = stamp().decode().strip()
    return (
        f"the state of its connections was written by {words}, and this is {own}:"
        " go on with that one, or follow into another --out"
    )


def frozen_reason(text: str) -> str | None:
    """The words of a FrozenError in what Spark tells of a failure."""
    found = re.search(rf"\b{FrozenError.__name__}: (.+)", text)
    return found and found[1].strip()


def provisional_rows(replay: Replay, ring: str) -> list[tuple[str, str, int, bytes]]:
    """Blocks of connections that go on, as they leave the worker; the replay is of no use then."""
    blocks = replay.gatherer.provisional()
    return [(LIVE + table, ring, rows, data) for table, ring, rows, data in rows_of(blocks, ring)]


def rows_of(blocks: Iterable[Block], ring: str) -> list[tuple[str, str, int, bytes]]:
    """Blocks as they leave the worker."""
    return [(block.table, ring, len(block.rows), octets_of(block)) for block in blocks]
