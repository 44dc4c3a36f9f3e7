"""The dialects, and how to find the one of a connection.

The client's protocol header names a version. What the server says of itself in `connection.start`
then shows whose variant of it is in use (`refine`): vendors have given numbers of their own to
methods, and meanings of their own to letters of field tables.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from dissectors.v0_9 import encodings
from dissectors.v0_9.framing import BODY, HEADER, HEARTBEAT, METHOD, REQUEST, RESPONSE
from dissectors.v0_9.names import FRAME_TYPES, reply_codes
from dissectors.v0_9.plans import Dialect, Plan
from dissectors.v0_9.tables import table
from dissectors.v0_9.values import Value
from dissectors.v0_9.versions import DIALECT_OF

_NEWEST: Final = frozenset((METHOD, HEADER, BODY, HEARTBEAT))
_OLDEST: Final = frozenset(range(METHOD, HEARTBEAT + 1))
_MIDDLE: Final = _OLDEST | {REQUEST, RESPONSE}


class _Row(NamedTuple):
    """What a dialect has besides its methods."""

    protocol: str
    frame_types: frozenset[int]
    heads: tuple[int, ...]
    letters: str
    kinds: bytes
    siblings: tuple[str, ...]
    """Dialects whose methods may turn up in this one."""


_P, _W = encodings.AS_SPOKEN, encodings.AS_WRITTEN
_OLD, _MID = encodings.BEFORE_0_9, encodings.OF_0_9
_NEW, _OWN = encodings.OF_0_9_1, encodings.OF_PRODUCTS

_ROWS: Final = {
    # name           protocol      frame types  heads   letters     siblings
    "10-3":         _Row("amqp-10-3",  _OLDEST, (8, 7), _OLD, _P, ("0-8",)),
    "0-8":          _Row("amqp-0-8",   _OLDEST, (7, 8), _OLD, _P, ("0-8-qpid",)),
    "0-8-qpid":     _Row("amqp-0-8",   _OLDEST, (7,),   _OWN, _P, ("0-8",)),
    "0-9":          _Row("amqp-0-9",   _MIDDLE, (7,),   _MID, _P, ("0-9-qpid",)),
    "0-9-qpid":     _Row("amqp-0-9",   _MIDDLE, (7,),   _OWN, _P, ()),
    "0-9-1":        _Row("amqp-0-9-1", _NEWEST, (7,),   _NEW, _W, ("0-9-1-rabbit", "0-9-1-qpid")),
    "0-9-1-qpid":   _Row("amqp-0-9-1", _NEWEST, (7,),   _OWN, _P, ("0-9-1-rabbit",)),
    "0-9-1-rabbit": _Row("amqp-0-9-1", _NEWEST, (7,),   _OWN, _P, ("0-9-1-qpid",)),
}  # fmt: skip
NAMES: Final = tuple(_ROWS)
DEFAULT: Final = "0-9-1-rabbit"
"""What nearly all traffic of this family is; taken where nothing says otherwise."""

_RABBITS: Final = ("rabbitmq", "lavinmq", "avalanchemq")
_QPID: Final = "qpid"


@cache
def dialect(name: str) -> Dialect:
    """A dialect by its name; its tables are read when it is first asked for."""
    row = _ROWS[name]
    made = Dialect(name, row.protocol, table(name))
    made.heads = row.heads
    made.frame_types = {number: FRAME_TYPES[number] for number in sorted(row.frame_types)}
    made.letters = row.letters
    made.kinds = row.kinds
    made.other_kinds = encodings.AS_SPOKEN if row.kinds == _W else encodings.AS_WRITTEN
    made.constants = reply_codes(name)
    for sibling in row.siblings:
        _adopt(made, sibling)
    return made


def _adopt(made: Dialect, sibling: str) -> None:
    """Know a sibling's methods where the dialect has none of their number, or others do not fit."""
    for row in table(sibling):
        for method in row.methods:
            plan = Plan(method._replace(extension=True))
            own = made.methods.get(plan.code)
            if made.name == "10-3":  # numbered otherwise throughout: a method is known by name
                own = made.by_name.get(plan.name)
                if own is not None:
                    plan = Plan(method._replace(id=own.row.id, extension=True))
            elif own is None:
                made.add(plan)
            if own is not None and own.types != plan.types and own.other is None:
                own.other = plan


def by_version(version: bytes) -> Dialect | None:
    """The dialect that the four octets after `AMQP` announce, if it is one of these."""
    name = DIALECT_OF.get(version)
    return None if name is None else dialect(name)


def refine(spoken: Dialect, server_properties: Value) -> Dialect:
    """The variant of a dialect that a server uses, by what it says in `connection.start`."""
    product = product_of(server_properties)
    version = spoken.name.removesuffix("-qpid").removesuffix("-rabbit")
    if any(name in product for name in _RABBITS):
        # RabbitMQ answers a client of 0-9 with the methods of 0-9-1.
        return dialect("0-9-1-rabbit") if version in {"0-9-1", "0-9"} else spoken
    if _QPID in product and f"{version}-qpid" in _ROWS:
        return dialect(f"{version}-qpid")
    return spoken


def product_of(properties: Value) -> str:
    """The product that a peer's properties name, in small letters."""
    found = properties.get("product") if hasattr(properties, "get") else None
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace").lower()
    return found.lower() if isinstance(found, str) else ""
