"""The dialects, and how to tell which one a connection speaks.

The client's protocol header names a version. What the server says of itself in `connection.start`
then tells whose variant of it is spoken (`refine`): vendors have given numbers of their own to
methods, and meanings of their own to letters of field tables.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from dissectors.v0_9 import letters
from dissectors.v0_9.framing import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    OOB_BODY,
    OOB_HEADER,
    OOB_METHOD,
    REQUEST,
    RESPONSE,
    TRACE,
)
from dissectors.v0_9.plans import Dialect, Plan
from dissectors.v0_9.rows import Constant
from dissectors.v0_9.tables import table
from dissectors.v1_0.values import Value

FRAME_TYPES: Final = {
    METHOD: "method", HEADER: "header", BODY: "body",
    OOB_METHOD: "oob-method", OOB_HEADER: "oob-header", OOB_BODY: "oob-body",
    TRACE: "trace", HEARTBEAT: "heartbeat", REQUEST: "request", RESPONSE: "response",
}  # fmt: skip
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


_P, _W = letters.AS_SPOKEN, letters.AS_WRITTEN
_OLD, _MID = letters.BEFORE_0_9, letters.OF_0_9
_NEW, _OWN = letters.OF_0_9_1, letters.OF_PRODUCTS

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
"""What nearly all traffic of the older family is; taken where nothing tells."""

VERSIONS: Final = {
    # the four octets after "AMQP": dialect
    b"\x00\x00\x09\x01": "0-9-1",
    b"\x01\x01\x00\x09": "0-9",
    b"\x01\x01\x08\x00": "0-8",
    b"\x01\x01\x09\x01": "0-8",  # as the examples in the texts of 0-8 and 0-9 have it
    b"\x01\x01\x0a\x03": "10-3",
}
VERSION_0_10: Final = b"\x01\x01\x00\x0a"
"""Another protocol, with frames and types of its own: recognised, not read."""
PROTOCOL_0_10: Final = "amqp-0-10"

_RABBITS: Final = ("rabbitmq", "lavinmq", "avalanchemq")
_QPID: Final = "qpid"

_SOFT: Final = "soft-error"
_HARD: Final = "hard-error"
_CONSTANTS: Final = (
    # value, name,         level, dialects that have it (by the start of their names)
    (200, "reply-success",       "",    ("0-8", "0-9")),
    (310, "not-delivered",       _SOFT, ("0-8", "0-9=")),
    (311, "content-too-large",   _SOFT, ("0-8", "0-9")),
    (312, "no-route",            _SOFT, ("0-9=", "0-9-1-rabbit")),
    (313, "no-consumers",        _SOFT, ("0-9",)),
    (320, "connection-forced",   _HARD, ("0-8", "0-9")),
    (402, "invalid-path",        _HARD, ("0-8", "0-9")),
    (403, "access-refused",      _SOFT, ("0-8", "0-9")),
    (404, "not-found",           _SOFT, ("0-8", "0-9")),
    (405, "resource-locked",     _SOFT, ("0-8", "0-9")),
    (406, "precondition-failed", _SOFT, ("0-9",)),
    (501, "frame-error",         _HARD, ("0-8", "0-9")),
    (502, "syntax-error",        _HARD, ("0-8", "0-9")),
    (503, "command-invalid",     _HARD, ("0-8", "0-9")),
    (504, "channel-error",       _HARD, ("0-8", "0-9")),
    (505, "unexpected-frame",    _HARD, ("0-9-1",)),
    (506, "resource-error",      _HARD, ("0-8", "0-9")),
    (530, "not-allowed",         _HARD, ("0-8", "0-9")),
    (540, "not-implemented",     _HARD, ("0-8", "0-9")),
    (541, "internal-error",      _HARD, ("0-8", "0-9")),
)  # fmt: skip
"""`0-9=` is 0-9 and its variant, without 0-9-1."""
FRAME_MIN_SIZE: Final = 4096


@cache
def dialect(name: str) -> Dialect:
    """A dialect by its name; its tables are read when it is first asked for."""
    row = _ROWS[name]
    made = Dialect(name, row.protocol, table(name))
    made.heads = row.heads
    made.frame_types = {number: FRAME_TYPES[number] for number in sorted(row.frame_types)}
    made.letters = row.letters
    made.kinds = row.kinds
    made.other_kinds = letters.AS_SPOKEN if row.kinds == _W else letters.AS_WRITTEN
    made.constants = tuple(
        Constant(value, word, level)
        for value, word, level, where in _CONSTANTS
        if any(_has(name, start) for start in where)
    )
    for sibling in row.siblings:
        _adopt(made, sibling)
    return made


def _has(name: str, start: str) -> bool:
    if start.endswith("="):
        return name in {start[:-1], f"{start[:-1]}-qpid"}
    return name.startswith(start)


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
    name = VERSIONS.get(version)
    return None if name is None else dialect(name)


def refine(spoken: Dialect, server_properties: Value) -> Dialect:
    """The variant of a dialect that a server speaks, by what it says in `connection.start`."""
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
