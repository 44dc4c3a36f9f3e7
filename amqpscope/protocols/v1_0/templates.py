"""One way to make each compiled object of 1.0 that the state of a connection holds.

A compiled class makes no instance without its constructor, which wants arguments of the right
types. What a state that is read back needs is made from a row here, and then every attribute is
set. The rows' own objects are placeholders, and never changed.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from amqpscope.model.mark import NOWHERE
from amqpscope.model.v1_0 import (
    connection,
    delivery,
    event,
    link,
    sasl,
    session,
    terms,
    tracker,
    transaction,
)
from amqpscope.protocols.v1_0.framer import Framer
from amqpscope.protocols.v1_0.talk import Talk
from amqpscope.protocols.v1_0.voice import VOICE
from amqpscope.rules.v1_0 import Reporter
from amqpscope.stream import types as stream
from dissectors import wire
from dissectors.v1_0 import bodies, body, framing, values

_TCP: Final = stream.Connection(("", 0), ("", 0), False)
_HEADER: Final = wire.Header(0, 0, 0, 0)
_END: Final = connection.ConnectionEnd(0, False)
_SESSION: Final = session.SessionEnd(_END, 0, None, NOWHERE)
_LINK: Final = link.LinkEnd(_SESSION, 0, None, NOWHERE)

# fmt: off
ROWS: Final[list[partial[Any]]] = [
    partial(framing.Unit, "", 0, 0, 0),
    partial(Framer, 0),
    partial(connection.SeenHeader, _HEADER, NOWHERE),
    partial(connection.Rivals, _LINK, _LINK),
    partial(connection.Fault, "", False, 0, NOWHERE),
    partial(connection.EarlyFrames),
    partial(connection.ConnectionEnd, 0, False),
    partial(connection.Connection, False),
    partial(sasl.Sasl),
    partial(session.SessionSending, None),
    partial(session.SessionReceiving),
    partial(session.SentDeliveries),
    partial(session.Echo),
    partial(session.SessionEnd, _END, 0, None, NOWHERE),
    partial(link.LinkSending, None),
    partial(link.LinkReceiving),
    partial(terms.Terms, None),
    partial(link.LinkEnd, _SESSION, 0, None, NOWHERE),
    partial(delivery.Delivery, _LINK, None, bodies.Transfer(), NOWHERE),
    partial(transaction.Transaction, b"", _LINK, NOWHERE, NOWHERE),
    partial(transaction.Work),
    partial(transaction.ControlMessage, [], None, False),
    partial(transaction.Transactions),
    partial(tracker.Tracker, False),
    partial(Reporter, 0, False),
    partial(Talk, 0, _TCP, "", [False, False], VOICE),
]
# fmt: on


def is_own(thing: Any) -> bool:
    """Whether it is a class of values of this family."""
    return isinstance(thing, type) and thing.__module__ == values.__name__


CLASSES: Final[list[Any]] = [
    *(kind for kind in vars(values).values() if is_own(kind)),
    bodies.restore,
]
"""What a state may name: values, and what makes them."""
INTERNED: Final[dict[str, object]] = {
    "NO_DELIVERIES": event.NO_DELIVERIES,
    "NO_PARTS": delivery.NO_PARTS,
    "NO_WRONG": body.NO_WRONG,
}
"""Empty lists that are told from others by being that very list."""
