"""The methods of the connection itself: handshake, limits, blocking and closing (4.1)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v0_9 import connection as stages
from amqpscope.model.v0_9.channel import Closed
from amqpscope.model.v0_9.connection import NO_LIMIT, Connection, Limits
from amqpscope.model.v0_9.event import Event
from amqpscope.model.v0_9.messages import number, text
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.codec import Method
from dissectors.v0_9.dialects import refine
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.values import Table, Value

CAPABILITIES: Final = "capabilities"
LOGINS: Final = frozenset((b"LOGIN", "LOGIN"))


def apply_header(event: Event) -> None:
    """A protocol header: the client's begins, the server's refuses."""
    own, connection = event.own, event.connection
    if own.header is None:
        own.header, own.header_mark = event.unit.header, event.mark
    if connection.stage == stages.UNKNOWN:
        return
    if event.peer == SERVER:
        connection.stage = stages.REFUSED
    elif connection.stage == stages.NEW:
        connection.stage = stages.HDR


def apply_handshake(event: Event, method: Method) -> None:
    """A method that leads to the next stage, whatever the stage was."""
    connection, name = event.connection, method.plan.name
    connection.stage = stages.AFTER[name]
    if name == "connection.start":
        start(event, connection, method)
    elif name == "connection.start-ok":
        start_ok(event, connection, method)
    elif name == "connection.tune":
        connection.tune = limits(event, method)
    elif name == "connection.tune-ok":
        connection.tune_ok = limits(event, method)
        connection.ends[CLIENT].frame_limit = agreed_frame_max(connection)
    elif name == "connection.open":
        connection.virtual_host = text(method, "virtual-host")
        connection.insist = bool(method.get("insist"))
        connection.open_mark = event.mark
    elif name == "connection.open-ok":
        # It has read the open, and so the tune-ok before it.
        connection.ends[SERVER].frame_limit = agreed_frame_max(connection)


def start(event: Event, connection: Connection, method: Method) -> None:
    """What the server says of itself also shows its dialect."""
    connection.start, connection.start_mark = method, event.mark
    introduce(event, method.get("server-properties"))


def start_ok(event: Event, connection: Connection, method: Method) -> None:
    """Who the client is, and how it logs in."""
    connection.start_ok, connection.start_ok_mark = method, event.mark
    connection.mechanism = text(method, "mechanism")
    connection.user = login(connection.mechanism, method.get("response"))
    introduce(event, method.get("client-properties"))


def introduce(event: Event, properties: Value) -> None:
    """Take a peer's properties."""
    if not isinstance(properties, Table):
        return
    own = event.own
    own.properties = properties
    own.product = property_text(properties, "product")
    own.version = property_text(properties, "version")
    capabilities = properties.get(CAPABILITIES)
    if isinstance(capabilities, Table):
        own.capabilities = frozenset([name for name, value in capabilities if value is True])


def property_text(properties: Table, name: str) -> str:
    """A text among a peer's properties."""
    value = properties.get(name)
    return value if isinstance(value, str) else ""


def login(mechanism: str, response: Value) -> str:
    """The name that a client logs in with, where the mechanism shows it."""
    raw = response.encode() if isinstance(response, str) else response
    if not isinstance(raw, bytes):
        return ""
    if mechanism == "PLAIN":
        parts = raw.split(b"\0")
        return parts[1].decode("utf-8", "replace") if len(parts) == 3 else ""
    if mechanism == "AMQPLAIN":
        at = raw.find(b"\x05LOGINS")
        if at < 0 or at + 11 > len(raw):
            return ""
        size = int.from_bytes(raw[at + 7 : at + 11], "big")
        return raw[at + 11 : at + 11 + size].decode("utf-8", "replace")
    return ""


def limits(event: Event, method: Method) -> Limits:
    """What a tune or tune-ok says."""
    return Limits(
        number(method, "channel-max"),
        number(method, "frame-max"),
        number(method, "heartbeat"),
        event.mark,
    )


def agreed_frame_max(connection: Connection) -> int:
    """The largest frame that both agreed on."""
    limit = connection.limit("frame_max")
    # Below the lowest limit that there is, what was said cannot have been meant.
    return NO_LIMIT if limit <= 0 else max(limit, stages.FRAME_MIN_SIZE)


def refined_dialect(connection: Connection) -> str:
    """The name of the dialect that the server's own words show."""
    found = connection.start
    properties = None if found is None else found.get("server-properties")
    return refine(connection.dialect, properties).name


def refined_by(event: Event) -> Dialect:
    """The dialect of an event; that of a start follows from what it says itself."""
    spoken, method = event.connection.dialect, event.unit.method
    if method is None or method.plan.name != "connection.start":
        return spoken
    return refine(spoken, method.get("server-properties"))


def read_close(event: Event, method: Method) -> Closed:
    """What a close says."""
    return Closed(
        number(method, "reply-code"),
        text(method, "reply-text"),
        number(method, "class-id"),
        number(method, "method-id"),
        event.mark,
    )


def apply_close(event: Event, method: Method) -> None:
    """A peer closes the connection."""
    event.own.close = read_close(event, method)
    event.connection.zero.closes[event.peer] = event.own.close


def apply_close_ok(event: Event) -> None:
    """A peer answers the close of its partner."""
    event.own.close_ok_mark = event.mark
    close = event.partner.close
    if close is not None:
        close.answer = event.mark
