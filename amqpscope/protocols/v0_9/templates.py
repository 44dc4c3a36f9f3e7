"""One way to make each compiled object of 0-9 that the state of a connection holds.

A compiled class makes no instance without its constructor, which wants arguments of the right
types. What a state that is read back needs is made from a row here, and then every attribute is
set. The rows' own objects are placeholders, and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from amqpscope.model.mark import NOWHERE
from amqpscope.model.v0_9 import (
    channel,
    connection,
    content,
    declared,
    deliveries,
    dialogue,
    event,
    places,
    publishes,
    roles,
    staging,
    tracker,
)
from amqpscope.protocols.v0_9.framer import DialectGuess, Framer
from amqpscope.protocols.v0_9.talk import Talk
from amqpscope.protocols.v0_9.voice import VOICE
from amqpscope.rules.v0_9 import Reporter
from amqpscope.stream import types as stream
from dissectors.v0_9 import codec, framing, message, values
from dissectors.v0_9.dialects import DEFAULT, NAMES, dialect

_TCP: Final = stream.Connection(("", 0), ("", 0), False)
_PLACES: Final = places.ChannelPlaces(0)
_DIALECT: Final = dialect(DEFAULT)
_PLAN: Final = next(iter(_DIALECT.methods.values()))
_METHOD: Final = codec.Method(_PLAN, [], 0, b"")

# fmt: off
ROWS: Final[list[partial[Any]]] = [
    partial(framing.Unit, "", 0, 0, 0, _DIALECT),
    partial(codec.Method, _PLAN, [], 0, b""),
    partial(message.ContentHeader, 0, 0, 0, 0),
    partial(DialectGuess, _DIALECT, False),
    partial(Framer, 0, DialectGuess(_DIALECT, False)),
    partial(channel.Request, _METHOD, NOWHERE, ()),
    partial(channel.Closed, 0, "", 0, 0, NOWHERE),
    partial(channel.Flow),
    partial(channel.Channel, 0, False, NOWHERE),
    partial(connection.Limits, 0, 0, 0, NOWHERE),
    partial(connection.Silence, 0, 0, NOWHERE),
    partial(connection.ConnectionEnd, 0, False),
    partial(connection.Sample, 0, 0, NOWHERE),
    partial(connection.Connection, False, _DIALECT),
    partial(content.Content, None, NOWHERE),
    partial(content.TangledFrame, 0, "", NOWHERE),
    partial(content.Tangle, NOWHERE, 0, 0),
    partial(content.Assembly, 0, 0),
    partial(declared.Exchange, "", "", NOWHERE),
    partial(declared.Queue, "", NOWHERE),
    partial(declared.Binding, "", "", "", False, NOWHERE),
    partial(declared.Declared),
    partial(deliveries.Qos, 0, 0, False, NOWHERE),
    partial(deliveries.Consumer, "", "", False, False, NOWHERE),
    partial(places.ChannelPlaces, 0),
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
    partial(tracker.Tracker, False, _DIALECT),
    partial(Reporter, 0, False),
    partial(Talk, 0, _TCP, "", b"", [False, False], VOICE),
]
# fmt: on


def is_own(thing: Any) -> bool:
    """Whether it is a class of values of this family."""
    return isinstance(thing, type) and thing.__module__ == values.__name__


CLASSES: Final[list[Any]] = [
    *(kind for kind in vars(values).values() if is_own(kind)),
]
"""What a state may name: values, and what makes them."""


def interned_objects() -> dict[str, object]:
    """Empty lists that are told from others by being that very list, and all of the dialects."""
    found: dict[str, object] = {
        "NO_DELIVERIES": event.NO_DELIVERIES,
        "NO_PUBLISHES": event.NO_PUBLISHES,
        "NO_PIECES": content.NO_PIECES,
    }
    for name in NAMES:
        found.update(_of_dialect(name))
    return found


def _of_dialect(name: str) -> Iterator[tuple[str, object]]:
    spoken = dialect(name)
    yield name, spoken
    yield f"{name} roles", roles.roles(name)
    for method, role in roles.roles(name).items():
        yield f"{name} role {method}", role
    for code, plan in (*spoken.methods.items(), *spoken.by_name.items()):
        yield f"{name} {code}", plan
        if plan.other is not None:
            yield f"{name} other {code}", plan.other
    for number, contents in spoken.contents.items():
        yield f"{name} content {number}", contents
