"""Plays an exchange of 1.0 in notation through the real analysis, as the rules' examples are.

`conversation` tells how it is written. An exchange may begin where a common SETUP ends.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.analysis import Analyzer, Step
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.findings import Finding
from amqpscope.rules.all import load
from amqpscope.rules.registry import RuleSet
from amqpscope.stream.types import Connection
from kit.beneath import Beneath, Opened
from kit.conversation import Pieces, Said, happenings, with_early

SETUPS: Final = {"": ""}
SETUPS["opened"] = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c" max-frame-size=65536 channel-max=100
server: open container-id="s" max-frame-size=65536 channel-max=100
"""
SETUPS["session"] = f"""{SETUPS["opened"]}
client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
SETUPS["sending"] = f"""{SETUPS["session"]}
client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q") initial-delivery-count=0
server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=0 delivery-count=0 link-credit=10
"""
SETUPS["receiving"] = f"""{SETUPS["session"]}
client: attach[0] name="r" handle=0 role=receiver source=source(address="q") target=target()
server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target() initial-delivery-count=0
client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=0 delivery-count=0 link-credit=10
"""
SETUPS["control"] = f"""{SETUPS["session"]}
client: attach[0] name="ctrl" handle=0 role=sender source=source() target=coordinator(capabilities=[:amqp:local-transactions]) initial-delivery-count=0
server: attach[0] name="ctrl" handle=0 role=receiver source=source() target=coordinator(capabilities=[:amqp:local-transactions])
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=0 delivery-count=0 link-credit=10
"""
SETUPS["transaction"] = f"""{SETUPS["control"]}
client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q") initial-delivery-count=0
server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=1 delivery-count=0 link-credit=10
client: attach[0] name="r" handle=2 role=receiver source=source(address="q") target=target()
server: attach[0] name="r" handle=2 role=sender source=source(address="q") target=target() initial-delivery-count=0
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | amqp-value(declare())
server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
"""
SETUPS["sasl"] = """
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]
"""

SETUPS["amqps"] = ""
PORTS: Final = {"amqps": 5671}
"""The server's port by the setup, where it is not 5672."""


class Played(NamedTuple):
    """What came of an exchange."""

    steps: list[Step]
    findings: list[Finding]
    marked: dict[int, tuple[str, ...]]
    """The rules that the text expects, by frame number."""


def script(text: str, setup: str = "") -> list[Said]:
    """An exchange as what happens, in order."""
    return with_early(wrapped(happenings(SETUPS[setup] + "\n" + text)))


def wrapped(script: list[Said]) -> list[Said]:
    """The same as it is on the wire, with TLS and WebSocket around it where these were begun."""
    beneath = Beneath()
    found = []
    for each in script:
        if each.end[:4] in {"TLS ", "HTTP"}:
            found.append(each._replace(raw=beneath.begin(each.sender, each.end), end=""))
        else:
            found.append(each._replace(raw=beneath.wrap(each.sender, each.raw)))
    return found


def play(text: str, setup: str = "", *, complete: bool = True, port: int = 0) -> Played:
    """Run an exchange; findings come in the order in which they were made."""
    port = port or PORTS.get(setup, 5672)
    analyzer = Analyzer({port: "amqp-1.0"}, RuleSet(list(load().values())))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", port), complete)
    analyzer.speakers.add(connection.server)  # as if it had spoken AMQP before
    pieces, unwrapper = Pieces(connection), Unwrapper(Opened())
    played = Played([], [], {})
    said = script(text, setup)
    connection.opened = said[0].time if complete else 0
    for each in said:
        for inner in unwrapper.feed(pieces.piece(each)):
            for step in analyzer.feed(inner):
                played.steps.append(step)
                played.findings.extend(step.findings)
        if each.marks:
            played.marked[analyzer.frames] = each.marks
    played.findings.extend(analyzer.late)
    return played
