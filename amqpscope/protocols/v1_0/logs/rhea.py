r"""rhea's frame logs: DEBUG=rhea:frames, and DEBUG=rhea:raw, which has the octets.

    2026-11-18T04:55:28.853Z rhea:frames [connection-1] -> { protocol_id: 0, major: 1, ... }
    2026-11-18T04:55:28.884Z rhea:frames [connection-1]:0 -> open#10 {"container_id":"c"}
    2026-11-18T04:55:33.090Z rhea:raw [connection-1] SENT: 32 0000002002000000005310d0...

On a terminal a line ends in the time since the one before, as in `+2ms`, and begins with none.
`rhea:frames` leaves out fields that are zero, false or the default, and the names of described
types within fields. Where a log has both, frames are read from the octets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in
from dissectors.v1_0.bodies import BODIES, Accepted, Modified, Received, Rejected, Source, Target
from dissectors.v1_0.bodies import Error as ErrorBody
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode_frame, encode_header
from dissectors.v1_0.tables import primitive
from dissectors.v1_0.values import Array, Map, Symbol, Value

_BEGIN: Final = r"^(?P<before>.*?)rhea:{} \[(?P<connection>[^\]]+)\]"
_END: Final = r"(?:\s+\+[0-9.]+(?:ms|s|m|h))?\s*$"
"""On a terminal: how long it is since the line before."""
_NUMBERS: Final = re.compile(r"(\w+): (\d+)")
_BUFFER: Final = re.compile(r"<Buffer ?([0-9a-f ]*?)(?: ?\.\.\. (\d+) more bytes?)?>")
SYMBOLS: Final = 0xB3
"""The format code of symbols of any length."""
ZEROS: Final[dict[str, tuple[str, ...]]] = {
    "begin": ("next-outgoing-id",),
    "attach": ("handle", "role"),
    "flow": ("next-outgoing-id",),
    "transfer": ("handle",),
    "disposition": ("role", "first"),
    "detach": ("handle",),
    "sasl-outcome": ("code",),
}
"""Fields that frames must have: where the log leaves one out it is zero or false."""


class RheaRaw(LogFormat):
    """Octets of rhea's frames; protocol headers are in its log of frames alone."""

    name = "rhea's octets"
    sign = re.compile(
        _BEGIN.format("raw")
        + r" (?P<way>SENT|RECV): (?P<size>\d+) (?P<octets>(?:[0-9a-f]{2})+)"
        + _END
    )

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The octets of a line, of which debug's own limit may leave some out."""
        octets = bytes.fromhex(found["octets"])
        lost = max(0, int(found["size"]) - len(octets))
        time = time_in(found["before"])
        yield LogEntry(found["connection"], found["way"] == "SENT", time, octets, lost)


class RheaFrames(LogFormat):
    """Frames of rhea."""

    name = "rhea's frames"
    sign = re.compile(
        _BEGIN.format("frames") + r"(?::(?P<channel>\d+))? (?P<way>->|<-) "
        r"(?P<said>(?P<name>[a-z_]+)#[0-9a-f]+ (?P<fields>\{.*)|empty|\{ protocol_id: .*\})" + _END
    )
    note = (
        "rhea:frames does not name outcomes or types within fields, so that what it shows of them"
        " is a guess; DEBUG=rhea:* has the octets"
    )

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, int], bool] = {}
        """Who began the session of a channel: true for the program that writes the log."""
        self.answered: set[tuple[str, int]] = set()
        """Sessions that both peers have begun."""

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The frame of a line."""
        entry = LogEntry(found["connection"], found["way"] == "->", time_in(found["before"]))
        if found["channel"] is None:
            said = {name: int(number) for name, number in _NUMBERS.findall(found["said"])}
            yield entry._replace(octets=encode_header(said["protocol_id"]))
            return
        channel = int(found["channel"])
        if found["name"] is None:
            yield entry._replace(octets=encode_frame(channel=channel))
            return
        fields, end = json.JSONDecoder().raw_decode(found["fields"])
        payload, lost = read_buffer(found["fields"][end:])
        name = found["name"].replace("_", "-")
        self.complete(name, fields, (entry.connection, channel), entry.outgoing)
        body = body_of(name, fields)
        octets = encode_frame(body, channel, payload + bytes(lost))
        yield entry._replace(octets=octets[: len(octets) - lost], lost=lost)

    def complete(
        self, name: str, fields: dict[str, Any], session: tuple[str, int], outgoing: bool
    ) -> None:
        """Add zeros that a frame must have because of those before it."""
        if name == "begin":
            if self.sessions.setdefault(session, outgoing) != outgoing:
                fields.setdefault("remote_channel", 0)
                self.answered.add(session)
        elif name == "flow" and session in self.answered:
            fields.setdefault("next_incoming_id", 0)


def read_buffer(text: str) -> tuple[bytes, int]:
    """The payload behind the fields, and how many octets are left out."""
    found = _BUFFER.search(text)
    if found is None:
        return b"", 0
    return bytes.fromhex(found[1]), int(found[2] or 0)


def body_of(name: str, fields: dict[str, Any]) -> Body:
    """A performative from the fields that the log has."""
    kind = BODIES.get(name)
    if kind is None:
        raise ValueError(f"{name} is no performative")
    values: list[Value] = []
    for field in kind.row.fields:
        given = fields.get(field.name.replace("-", "_"))
        if given is None and field.name in zeros_of(name, fields):
            given = False if primitive(field.type) == "boolean" else 0
        values.append(value_of(field.name, primitive(field.type), given))
    return kind(*values)


def zeros_of(name: str, fields: dict[str, Any]) -> tuple[str, ...]:
    """The fields that are zero or false where the log leaves them out."""
    zeros = ZEROS.get(name, ())
    if name == "transfer" and "delivery_tag" in fields:
        zeros += ("delivery-id", "message-format")
    elif name == "attach" and not fields.get("role"):
        zeros += ("initial-delivery-count",)
    elif name == "flow" and "link_credit" in fields:
        zeros += ("handle", "delivery-count")
    return zeros


def value_of(name: str, declared: str, given: Any) -> Value:
    """A field from what JSON left of it."""
    if isinstance(given, dict) and given.get("type") == "Buffer":
        return bytes(given["data"])
    if isinstance(given, dict):
        return Map((Symbol(key), value_of("", "*", value)) for key, value in given.items())
    if isinstance(given, list):
        if declared == "symbol":
            return Array(SYMBOLS, [Symbol(each) for each in given])
        return list_of(name, given)
    if isinstance(given, str) and declared == "symbol":
        return Symbol(given)
    return given


def list_of(name: str, given: list[Any]) -> Value:
    """A list, or the described type that its field has."""
    if name in ("source", "target"):
        kind = Source if name == "source" else Target
        fields = zip(kind.row.fields, given, strict=False)
        return kind(*(value_of(field.name, primitive(field.type), v) for field, v in fields))
    if name == "state" or name == "outcome":
        return state_of(given)
    if name == "error":
        condition = given[0] if given else None
        return ErrorBody(None if condition is None else Symbol(condition), *given[1:2])
    return [value_of("", "*", each) for each in given]


def state_of(given: list[Any]) -> Body:
    """A delivery state by the shape of its fields; an empty one is mostly accepted."""
    if given and isinstance(given[0], list):
        return Rejected(list_of("error", given[0]))
    if given and any(isinstance(each, bool) for each in given[:2]):
        return Modified(*given[:2])
    if len(given) == 2 and all(isinstance(each, int) for each in given):
        return Received(*given)
    return Accepted()
