r"""Azure's Python SDKs with logging_enable: the frames of their own AMQP stack.

    2026-11-18 09:16:20,450 DEBUG azure.servicebus._pyamqp._connection -> Header(b'AMQP\x00...')
    ... <- OpenFrame(container_id=b'broker', hostname=None, max_frame_size=32768, ...)
    ... -> TransferFrame(handle=1, delivery_id=0, delivery_tag=b'\x01', ..., payload=b'***')

Frames are printed as Python prints them. Channels, SASL and payloads are not in the log; a frame is
taken to be of the newest session, and strings of the partner for what their fields declare.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in
from dissectors.v1_0.bodies import BODIES
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode_frame
from dissectors.v1_0.encodings import ENCODINGS
from dissectors.v1_0.tables import primitive
from dissectors.v1_0.values import Array, Map, Symbol, Value

LEFT_OUT: Final = 1
"""Octets of a payload that are missing: the log does not even have their number."""
DESCRIBED: Final = b"\0"
SYMBOLS: Final = max(row.code for row in ENCODINGS if row.type == "symbol")
FRAMES: Final = "Open|Begin|Attach|Flow|Transfer|Disposition|Detach|End|Close"
OTHER_NAMES: Final = {
    # what the library calls a field
    "snd-settle-mode": "send_settle_mode",
    "idle-time-out": "idle_timeout",
    "filter": "filters",
}
COMPOSITES: Final = ("source", "target", "error")
"""Fields whose type is not printed where the partner sent them."""


@dataclass(frozen=True)
class Made:
    """An object as its class prints it."""

    name: str
    fields: dict[str, Any]


class PyamqpLog(LogFormat):
    """Frames of Azure's SDKs for Python."""

    name = "the frames of Azure's SDK for Python"
    sign = re.compile(
        r"^(?P<before>.*?)(?P<way>->|<-) (?P<channel>)"
        rf"(?P<said>(?P<name>Header|EmptyFrame|{FRAMES})(?:Frame)?\(.*\))\s*$"
    )
    note = (
        "Azure's SDK for Python does not log channels, SASL and payloads, so that they are unknown"
    )

    def __init__(self) -> None:
        self.sessions: dict[bool, int] = defaultdict(int)
        """How many sessions each side has begun on this connection."""

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The frame of a line."""
        outgoing = found["way"] == "->"
        entry = LogEntry("", outgoing, time_in(found["before"]))
        name, said = found["name"], found["said"]
        if name == "EmptyFrame" or said == "EmptyFrame()":
            yield entry._replace(octets=encode_frame())
            return
        made = parse(said)
        if name == "Header":
            self.sessions[outgoing] = 0
            yield entry._replace(octets=made.fields[""])
            return
        name = name.lower()
        self.sessions[outgoing] += name == "begin"
        channel = 0 if name in ("open", "close") else self.sessions[outgoing]
        lost = LEFT_OUT if made.fields.get("payload") else 0
        # A message begins with a descriptor: one octet shows that the performative is whole.
        payload = DESCRIBED + bytes(lost) if lost else b""
        octets = encode_frame(body_of(name, made.fields), channel, payload)
        yield entry._replace(octets=octets[: len(octets) - lost], lost=lost)


def parse(text: str) -> Made:
    """An object that is printed; ValueError where it cannot be read."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("expected an object as Python prints it") from error
    made = literal(tree)
    if not isinstance(made, Made):
        raise ValueError("expected a frame")
    return made


def literal(node: ast.expr) -> Any:
    """A value; objects are those that print as calls."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        fields = {each.arg or "": literal(each.value) for each in node.keywords}
        if node.args:
            fields[""] = literal(node.args[0])
        return Made(node.func.id, fields)
    if isinstance(node, ast.List | ast.Tuple):
        return [literal(each) for each in node.elts]
    if isinstance(node, ast.Dict):
        keys = [None if key is None else literal(key) for key in node.keys]
        return dict(zip(map(_hashable, keys), map(literal, node.values), strict=True))
    return ast.literal_eval(node)


def _hashable(key: Any) -> Any:
    return key if isinstance(key, str | bytes | int | float | None) else repr(key)


def body_of(name: str, fields: dict[str, Any]) -> Body:
    """A composite from its fields by name."""
    kind = BODIES[name]
    return kind(*(
        value_of(field.name, primitive(field.type), fields.get(own_name(field.name)))
        for field in kind.row.fields
    ))  # fmt: skip


def own_name(field: str) -> str:
    """What the library calls a field."""
    return OTHER_NAMES.get(field, field.replace("-", "_"))


def value_of(name: str, declared: str, given: Any) -> Value:
    """A field from what was printed of it."""
    if name in COMPOSITES and given is not None:
        return composite(name, given)
    if isinstance(given, Made):
        return composite(given.name.lower(), given)
    if name in ("state", "default-outcome") and isinstance(given, dict) and len(given) == 1:
        ((outcome, values),) = given.items()
        return composite(str(outcome), values)
    if isinstance(given, dict):
        return Map((key_of(name, key), value_of("", "*", value)) for key, value in given.items())
    if isinstance(given, list):
        if declared == "symbol":
            return Array(SYMBOLS, [Symbol(text_of(each)) for each in given])
        return [value_of("", "*", each) for each in given]
    if isinstance(given, str | bytes) and declared != "binary":
        return Symbol(text_of(given)) if declared == "symbol" else text_of(given)
    if declared == "uint" and isinstance(given, int):
        return abs(given)  # the library counts windows below zero, and sends them without a sign
    return given


def composite(name: str, given: Any) -> Body:
    """A described type, by its fields in order or by name."""
    if name not in BODIES:
        raise ValueError(f"{name} is no type of AMQP")
    if isinstance(given, Made):
        return body_of(name, given.fields)
    fields = BODIES[name].row.fields
    listed = given if isinstance(given, list) else [given]
    return body_of(name, {own_name(field.name): each for field, each in zip(fields, listed)})  # noqa: B905


def key_of(field: str, key: Any) -> Value:
    """A key of a map: a symbol, but for delivery tags."""
    return key if field == "unsettled" or not isinstance(key, str | bytes) else Symbol(text_of(key))


def text_of(given: Any) -> str:
    """A text; the library leaves those of the partner as octets."""
    return given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
