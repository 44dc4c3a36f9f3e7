"""One way to make each compiled object that a replay holds, whatever it will be filled with.

A compiled class makes no instance without its constructor, which wants arguments of the right
types. So a state that is read back makes each object from its row and then sets every attribute.
The rows' own objects are placeholders, and never changed. Here are the rows of what all protocol
families share; each family brings those of its own model. A class that plain Python may build on
needs none: its instances can be made empty.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Any, Final

from amqpscope import analysis
from amqpscope.capture import offsets as lane
from amqpscope.capture import tls
from amqpscope.capture import unwrap as layers
from amqpscope.check.selection import Selection
from amqpscope.insight import counters as numbers
from amqpscope.insight import statistics
from amqpscope.model import knowledge
from amqpscope.model.delivery import Delivery as AnyDelivery
from amqpscope.model.fault import Breaches, Fault
from amqpscope.model.ledger import Ledger
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import Place
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.reporter import Reporter
from amqpscope.spark import deliveries as rows_of_deliveries
from amqpscope.spark import gather, minutes, replay
from amqpscope.spark.work import Work
from amqpscope.stream import flow, marks, ordering, reassembly
from amqpscope.stream import framer as frames
from amqpscope.stream import types as stream
from dissectors import wire

_TCP: Final = stream.Connection(("", 0), ("", 0), False)
_TALK: Final = PROTOCOLS[0].talk(0, _TCP, "", b"", [False, False])
_CONVERSATION: Final = analysis.Conversation(_TALK)

# fmt: off
ROWS: Final[tuple[partial[Any], ...]] = (
    # capture and reassembly
    partial(stream.Segment, 0, 0, b"", 0, 0, 0, 0, b"", 0),
    partial(stream.Certificate, [], 0, 0),
    partial(stream.Tls),
    partial(stream.WebSocket),
    partial(stream.Connection, ("", 0), ("", 0), False),
    partial(stream.Chunk, _TCP, 0, 0, b"", 0, 0, 0),
    partial(stream.Gap, _TCP, 0, 0, 0, 0, 0),
    partial(stream.End, _TCP, 0, "", 0, 0),
    partial(stream.Window, _TCP, 0, False, 0, 0),
    partial(flow.Waiting, 0, b"", 0, 0, 0, 0),
    partial(flow.Flow, b"", _TCP, 0),
    partial(marks.Marks),
    partial(ordering.Order),
    partial(reassembly.Reassembler),
    partial(layers._Flow, 0),
    partial(layers.Unwrapper, tls.Records()),
    partial(lane.Lane),
    partial(frames.Frame, 0, 0, b"", 0, 0, 0, 0, wire.Unit("", 0, 0, 0)),
    partial(wire.Unit, "", 0, 0, 0),
    # what all models share
    partial(Ledger),
    partial(Mark, 0, 0, 0, 0),
    partial(Place, "", "", "", 0, 0),
    partial(AnyDelivery, NOWHERE, None),
    partial(Breaches),
    partial(knowledge.Grant, 0, NOWHERE, 0),
    partial(knowledge.Grants),
    partial(Fault, "", False, 0, NOWHERE),
    partial(PeerEnd, 0, False),
    # the analysis
    partial(Reporter, 0, False),
    partial(analysis.Conversation, _TALK),
    partial(analysis.Numbering),
    partial(analysis.Candidate, _TCP, False),
    partial(analysis.Recognition),
    partial(analysis.Analyzer),
    # numbers and rows
    partial(numbers.Count),
    partial(numbers.Counts),
    partial(numbers.Sent),
    partial(numbers.Histogram),
    partial(numbers.Starved),
    partial(numbers.Stall),
    partial(numbers.LinkNumbers, "", "", "", 0),
    partial(numbers.SessionNumbers, "", 0),
    partial(numbers.ConnectionNumbers, 0, "", "", ""),
    partial(statistics.Statistics),
    partial(statistics.PlaceNumbers),
    partial(rows_of_deliveries.Deliveries, ""),
    partial(minutes.Minute),
    partial(minutes.Minutes),
    partial(gather.ConnectionRows, _CONVERSATION, 0, 0),
    partial(gather.Gatherer, "", Selection(), None, False),
    partial(replay.Speakers, {}),
    partial(replay.Replay, "", Work(messages=False), RuleSet([])),
    # what each family has
    *(row for protocol in PROTOCOLS for row in protocol.state_templates()),
)
# fmt: on
BLANKS: Final[dict[type, partial[Any]]] = {row.func: row for row in ROWS}  # type: ignore[misc]


def blank(kind: Any) -> Any:
    """An object of a class, to be filled."""
    row = BLANKS.get(kind)
    return kind.__new__(kind) if row is None else row()


def layout() -> str:
    """A short name for the classes and attributes of this build."""
    names = blake2b(digest_size=8)
    for row in ROWS:
        made = row()
        state = made.__getstate__()
        attributes = state if isinstance(state, dict) else state[1]
        names.update(f"{type(made).__module__} {type(made).__name__} {[*attributes]}\n".encode())
    return names.hexdigest()
