"""What was around the AMQP of a connection, noted in a capture that has the AMQP alone.

Commands that write a conversation again leave TLS and WebSocket out. What the rules want to know
of them goes into a comment on the connection's first packet: `amqpscope carrier {...}`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from amqpscope.stream.marks import CARRIER
from amqpscope.stream.types import Certificate, Connection, Tls, WebSocket

FLAGS: Final = ("disordered", "encrypted")
"""What is true or not of a connection."""
TLS: Final = ("server_name", "alpn", "version", "quiet", "plain", "alerts")
CERTIFICATE: Final = ("names", "not_before", "not_after")
WEBSOCKET: Final = ("asked", "agreed")
SEEN: Final = 1
"""The packet of what was seen in packets that are left out."""


def note_carrier(connection: Connection) -> str:
    """The comment that says what was around a connection; empty where there was nothing."""
    facts: dict[str, Any] = {name: True for name in FLAGS if getattr(connection, name)}
    if any(connection.unseen):
        facts["unseen"] = connection.unseen
    tls, websocket = connection.tls, connection.websocket
    if tls is not None:
        found = {name: getattr(tls, name) for name in TLS}
        found["hello"] = [SEEN if packet else 0 for packet in tls.hello]
        if tls.certificate is not None:
            found["certificate"] = {name: getattr(tls.certificate, name) for name in CERTIFICATE}
        facts["tls"] = found
    if websocket is not None:
        facts["websocket"] = {name: getattr(websocket, name) for name in WEBSOCKET}
        facts["websocket"]["text"] = [SEEN if packet else 0 for packet in websocket.text]
    return CARRIER + json.dumps(facts, separators=(",", ":")) if facts else ""


def read_carrier(connection: Connection, comment: str) -> None:
    """Take what a comment says; one that cannot be read says nothing."""
    try:
        facts = json.loads(comment[len(CARRIER) :])
        for name in FLAGS:
            if facts.get(name) is True:
                setattr(connection, name, True)
        connection.unseen = [bool(each) for each in facts.get("unseen", connection.unseen)][:2]
        if "tls" in facts:
            connection.tls = _tls(facts["tls"])
        if "websocket" in facts:
            connection.websocket = _websocket(facts["websocket"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return


def _tls(facts: dict[str, Any]) -> Tls:
    made = Tls()
    made.hello = _pair(facts["hello"])
    made.plain = [bool(each) for each in _pair(facts["plain"])]
    made.server_name = str(facts["server_name"])
    made.alpn = [str(each) for each in facts["alpn"]]
    made.version, made.quiet = int(facts["version"]), int(facts["quiet"])
    made.alerts = [(int(sender), int(code), SEEN) for sender, code, _ in facts["alerts"]]
    said = facts.get("certificate")
    if said is not None:
        names = [str(each) for each in said["names"]]
        made.certificate = Certificate(names, int(said["not_before"]), int(said["not_after"]))
    return made


def _websocket(facts: dict[str, Any]) -> WebSocket:
    made = WebSocket()
    asked, agreed = facts["asked"], facts["agreed"]
    made.asked = None if asked is None else [str(each) for each in asked]
    made.agreed = None if agreed is None else str(agreed)
    made.text = _pair(facts["text"])
    return made


def _pair(given: list[Any]) -> list[int]:
    client, server = given
    return [int(client), int(server)]
