"""One way to make each object that a replay holds, whatever it will be filled with.

A compiled class makes no instance without its constructor, which wants arguments of the right
types. So a state that is thawed makes each object from its row here and then sets every attribute.
The rows' own objects stand in for whatever will be there; they are never changed.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Any, Final

from amqpscope import (
    analysis,
    flow,
    frames,
    frames_older,
    numbers,
    older,
    ordering,
    reassembly,
    rules,
    statistics,
    statistics_older,
    stream,
)
from amqpscope.capture import lane, layers, tls
from amqpscope.choice import Choice
from amqpscope.model import (
    connection,
    delivery,
    knowledge,
    link,
    sasl,
    session,
    tracker,
    transaction,
)
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.older import (
    channel,
    content,
    declared,
    deliveries,
    dialogue,
    publishes,
    roles,
    staging,
)
from amqpscope.model.older import connection as older_connection
from amqpscope.model.older import tracker as older_tracker
from amqpscope.rules import older as older_rules
from amqpscope.rules.all import load
from amqpscope.spark import deliveries as rows_of_deliveries
from amqpscope.spark import gather, gather_older, replay
from amqpscope.spark.work import Work
from dissectors.v0_9 import codec
from dissectors.v0_9 import framing as older_framing
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v1_0 import framing
from dissectors.v1_0.bodies import Transfer

_TCP: Final = stream.Connection(("", 0), ("", 0), False)
_RULE: Final = next(iter(load().values()))
_HEADER: Final = framing.Header(0, 0, 0, 0)
_UNIT: Final = framing.Unit("", 0, 0, 0)
_END: Final = connection.ConnectionEnd(0, False)
_SESSION: Final = session.SessionEnd(_END, 0, None, NOWHERE)
_LINK: Final = link.LinkEnd(_SESSION, 0, None, NOWHERE)
_CONVERSATION: Final = analysis.Conversation(0, _TCP, "")
_DIALECT: Final = dialect(DEFAULT)
_PLAN: Final = next(iter(_DIALECT.methods.values()))
_METHOD: Final = codec.Method(_PLAN, [], 0, b"")
_OLDER_UNIT: Final = older_framing.OlderUnit("", 0, 0, 0, _DIALECT)
_SPOKEN: Final = frames_older.Spoken(_DIALECT, False)

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
    partial(ordering.Order),
    partial(reassembly.Reassembler),
    partial(layers._Flow, 0),
    partial(layers.Unwrapper, tls.Records()),
    partial(lane.Lane),
    partial(frames.Frame, 0, 0, b"", 0, 0, 0, 0, _UNIT),
    partial(frames.Framer, 0),
    partial(frames_older.OlderFrame, 0, 0, b"", 0, 0, 0, 0, _OLDER_UNIT),
    partial(frames_older.Spoken, _DIALECT, False),
    partial(frames_older.OlderFramer, 0, _SPOKEN),
    partial(framing.Unit, "", 0, 0, 0),
    partial(older_framing.OlderUnit, "", 0, 0, 0, _DIALECT),
    partial(codec.Method, _PLAN, [], 0, b""),
    partial(codec.ContentHeader, 0, 0, 0, 0),
    # the model
    partial(Mark, 0, 0, 0, 0),
    partial(connection.SeenHeader, _HEADER, NOWHERE),
    partial(connection.Rivals, _LINK, _LINK),
    partial(connection.Fault, "", False, 0, NOWHERE),
    partial(connection.Breaches),
    partial(connection.ConnectionEnd, 0, False),
    partial(connection.Connection, False),
    partial(sasl.Sasl),
    partial(session.SessionEnd, _END, 0, None, NOWHERE),
    partial(link.LinkEnd, _SESSION, 0, None, NOWHERE),
    partial(knowledge.Grant, 0, NOWHERE, 0),
    partial(knowledge.Grants),
    partial(delivery.Delivery, _LINK, None, Transfer(), NOWHERE),
    partial(transaction.Transaction, b"", _LINK, NOWHERE, NOWHERE),
    partial(transaction.Work),
    partial(transaction.ControlMessage, [], None, False),
    partial(transaction.Transactions),
    partial(tracker.Tracker, False),
    # the model of the older family
    partial(channel.Request, _METHOD, NOWHERE, ()),
    partial(channel.Closed, 0, "", 0, 0, NOWHERE),
    partial(channel.Flow),
    partial(channel.Channel, 0, False, NOWHERE),
    partial(older_connection.Limits, 0, 0, 0, NOWHERE),
    partial(older_connection.Silence, 0, 0, NOWHERE),
    partial(older_connection.OlderEnd, 0, False),
    partial(older_connection.Sample, 0, 0, NOWHERE),
    partial(older_connection.OlderConnection, False, _DIALECT),
    partial(content.Content, None, NOWHERE),
    partial(content.Entry, 0, "", NOWHERE),
    partial(content.Tangle, NOWHERE, 0, 0),
    partial(content.Assembly, 0, 0),
    partial(declared.Exchange, "", "", NOWHERE),
    partial(declared.Queue, "", NOWHERE),
    partial(declared.Binding, "", "", "", False, NOWHERE),
    partial(declared.Declared),
    partial(deliveries.Qos, 0, 0, False, NOWHERE),
    partial(deliveries.Consumer, "", "", False, False, NOWHERE),
    partial(deliveries.Delivery, 0, NOWHERE, None, False),
    partial(deliveries.Settled, NOWHERE, ""),
    partial(deliveries.Deliveries),
    partial(dialogue.Asked, 0, "", (), NOWHERE),
    partial(dialogue.Dialogue),
    partial(publishes.Publish, 0, NOWHERE, "", ""),
    partial(publishes.Confirms),
    partial(publishes.Work),
    partial(publishes.Transaction, NOWHERE),
    partial(publishes.Ending, NOWHERE, False, 0, []),
    partial(staging.Staging, "", 0, NOWHERE),
    partial(staging.Reference, NOWHERE),
    partial(staging.References),
    partial(roles.Role, _PLAN, False, False),
    partial(older_tracker.OlderTracker, False, _DIALECT),
    # the analysis
    partial(rules.Report, _RULE, "", "", 0, "", "", NOWHERE, None, "", ()),
    partial(rules.Reporter),
    partial(older_rules.OlderReporter),
    partial(older.OlderTalk, _TCP, b"", [False, False]),
    partial(analysis.Conversation, 0, _TCP, ""),
    partial(analysis.Suspect, _TCP, False),
    partial(analysis.Analyzer),
    # numbers and rows
    partial(numbers.Tally),
    partial(numbers.Counts),
    partial(numbers.Sent),
    partial(numbers.Histogram),
    partial(numbers.Stall),
    partial(numbers.LinkNumbers, "", "", "", 0),
    partial(numbers.SessionNumbers, "", 0),
    partial(numbers.ConnectionNumbers, 0, "", "", ""),
    partial(statistics.Statistics),
    partial(statistics_older.OlderStatistics),
    partial(rows_of_deliveries.Deliveries, ""),
    partial(gather.Minute),
    partial(gather.Person, _CONVERSATION, 0, 0),
    partial(gather.Gatherer, "", Choice(), None, False),
    partial(gather_older.Pending, 0),
    partial(gather_older.OlderMessages),
    partial(replay.Speakers, {}),
    partial(replay.Replay, "", Work(), rules.RuleSet([])),
)
# fmt: on
BLANKS: Final[dict[type, partial[Any]]] = {row.func: row for row in ROWS}  # type: ignore[misc]


def blank(kind: type) -> Any:
    """An object of a class, to be filled."""
    return BLANKS[kind]()


def layout() -> str:
    """A short name for the classes and attributes of this build."""
    names = blake2b(digest_size=8)
    for row in ROWS:
        made = row()
        state = made.__getstate__()
        attributes = state if isinstance(state, dict) else state[1]
        names.update(f"{type(made).__module__} {type(made).__name__} {[*attributes]}\n".encode())
    return names.hexdigest()
