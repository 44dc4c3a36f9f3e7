"""One way to make each object that a replay holds, whatever it will be filled with.

A compiled class makes no instance without its constructor, which wants arguments of the right
types. So a state that is thawed makes each object from its row here and then sets every attribute.
The rows' own objects stand in for whatever will be there; they are never changed.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Any, Final

from amqpscope import analysis
from amqpscope.capture import offsets as lane
from amqpscope.capture import tls
from amqpscope.capture import unwrap as layers
from amqpscope.check.selection import Choice
from amqpscope.insight import counters as numbers
from amqpscope.insight import statistics
from amqpscope.model import knowledge
from amqpscope.model.delivery import Delivery as AnyDelivery
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.place import Place
from amqpscope.model.v0_9 import (
    channel,
    content,
    declared,
    deliveries,
    dialogue,
    places,
    publishes,
    roles,
    staging,
)
from amqpscope.model.v0_9 import connection as connection_09
from amqpscope.model.v0_9 import tracker as tracker_09
from amqpscope.model.v1_0 import (
    connection,
    delivery,
    link,
    reported,
    sasl,
    session,
    terms,
    tracker,
    transaction,
)
from amqpscope.protocols.v0_9 import framer as framer_09
from amqpscope.protocols.v0_9 import talk as talk_09
from amqpscope.protocols.v0_9.voice import VOICE as VOICE_09
from amqpscope.protocols.v1_0 import framer as framer_10
from amqpscope.protocols.v1_0 import talk as talk_10
from amqpscope.protocols.v1_0.voice import VOICE as VOICE_10
from amqpscope.rules import v0_9 as rules_09
from amqpscope.rules import v1_0 as rules_10
from amqpscope.rules.registry import RuleSet
from amqpscope.spark import deliveries as rows_of_deliveries
from amqpscope.spark import gather, replay
from amqpscope.spark.work import Work
from amqpscope.stream import flow, ordering, reassembly
from amqpscope.stream import framer as frames
from amqpscope.stream import types as stream
from dissectors import wire
from dissectors.v0_9 import codec, message
from dissectors.v0_9 import framing as framing_09
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v1_0 import framing
from dissectors.v1_0.bodies import Transfer

_TCP: Final = stream.Connection(("", 0), ("", 0), False)
_HEADER: Final = wire.Header(0, 0, 0, 0)
_UNIT: Final = framing.Unit("", 0, 0, 0)
_END: Final = connection.ConnectionEnd(0, False)
_SESSION: Final = session.SessionEnd(_END, 0, None, NOWHERE)
_LINK: Final = link.LinkEnd(_SESSION, 0, None, NOWHERE)
_PLACES: Final = places.Places(0)
_DIALECT: Final = dialect(DEFAULT)
_PLAN: Final = next(iter(_DIALECT.methods.values()))
_METHOD: Final = codec.Method(_PLAN, [], 0, b"")
_SPOKEN: Final = framer_09.DialectGuess(_DIALECT, False)
_HOLES: Final = [False, False]
_TALK: Final = talk_10.Talk(0, _TCP, "", _HOLES, VOICE_10)
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
    partial(ordering.Order),
    partial(reassembly.Reassembler),
    partial(layers._Flow, 0),
    partial(layers.Unwrapper, tls.Records()),
    partial(lane.Lane),
    partial(frames.Frame, 0, 0, b"", 0, 0, 0, 0, _UNIT),
    partial(framer_10.Framer, 0),
    partial(framer_09.DialectGuess, _DIALECT, False),
    partial(framer_09.Framer, 0, _SPOKEN),
    partial(framing.Unit, "", 0, 0, 0),
    partial(framing_09.Unit, "", 0, 0, 0, _DIALECT),
    partial(codec.Method, _PLAN, [], 0, b""),
    partial(message.ContentHeader, 0, 0, 0, 0),
    # the model
    partial(Mark, 0, 0, 0, 0),
    partial(Place, "", "", "", 0, 0),
    partial(AnyDelivery, NOWHERE, None),
    partial(connection.SeenHeader, _HEADER, NOWHERE),
    partial(connection.Rivals, _LINK, _LINK),
    partial(connection.Fault, "", False, 0, NOWHERE),
    partial(connection.Breaches),
    partial(connection.EarlyFrames),
    partial(reported.EndReported),
    partial(connection.ConnectionEnd, 0, False),
    partial(connection.Connection, False),
    partial(sasl.Sasl),
    partial(session.SessionSending, None),
    partial(session.SessionReceiving),
    partial(session.SentDeliveries),
    partial(session.Echo),
    partial(reported.SessionReported),
    partial(session.SessionEnd, _END, 0, None, NOWHERE),
    partial(link.LinkSending, None),
    partial(link.LinkReceiving),
    partial(terms.Terms, None),
    partial(reported.Reported),
    partial(reported.LinkReported),
    partial(link.LinkEnd, _SESSION, 0, None, NOWHERE),
    partial(knowledge.Grant, 0, NOWHERE, 0),
    partial(knowledge.Grants),
    partial(delivery.Delivery, _LINK, None, Transfer(), NOWHERE),
    partial(transaction.Transaction, b"", _LINK, NOWHERE, NOWHERE),
    partial(transaction.Work),
    partial(transaction.ControlMessage, [], None, False),
    partial(transaction.Transactions),
    partial(tracker.Tracker, False),
    # the model of 0-9
    partial(channel.Request, _METHOD, NOWHERE, ()),
    partial(channel.Closed, 0, "", 0, 0, NOWHERE),
    partial(channel.Flow),
    partial(channel.Channel, 0, False, NOWHERE),
    partial(connection_09.Limits, 0, 0, 0, NOWHERE),
    partial(connection_09.Silence, 0, 0, NOWHERE),
    partial(connection_09.ConnectionEnd, 0, False),
    partial(connection_09.Sample, 0, 0, NOWHERE),
    partial(connection_09.Connection, False, _DIALECT),
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
    partial(places.Places, 0),
    partial(deliveries.Delivery, 0, NOWHERE, None, False, _PLACES),
    partial(deliveries.Settled, NOWHERE, ""),
    partial(deliveries.Deliveries),
    partial(dialogue.Asked, 0, "", (), NOWHERE),
    partial(dialogue.Dialogue),
    partial(publishes.Publish, 0, NOWHERE, "", "", _PLACES),
    partial(publishes.Confirms),
    partial(publishes.Work),
    partial(publishes.Transaction, NOWHERE),
    partial(publishes.Ending, NOWHERE, False, 0, []),
    partial(staging.Staging, "", 0, NOWHERE),
    partial(staging.Reference, NOWHERE),
    partial(staging.References),
    partial(roles.Role, _PLAN, False, False),
    partial(tracker_09.Tracker, False, _DIALECT),
    # the analysis
    partial(rules_10.Reporter, 0, False),
    partial(rules_09.Reporter, 0, False),
    partial(talk_10.Talk, 0, _TCP, "", _HOLES, VOICE_10),
    partial(talk_09.Talk, 0, _TCP, "", b"", _HOLES, VOICE_09),
    partial(analysis.Conversation, _TALK),
    partial(analysis.Numbering),
    partial(analysis.Candidate, _TCP, False),
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
    partial(statistics.Places),
    partial(rows_of_deliveries.Deliveries, ""),
    partial(gather.Minute),
    partial(gather.Person, _CONVERSATION, 0, 0),
    partial(gather.Gatherer, "", Choice(), None, False),
    partial(replay.Speakers, {}),
    partial(replay.Replay, "", Work(), RuleSet([])),
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
