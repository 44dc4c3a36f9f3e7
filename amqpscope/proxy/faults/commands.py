"""What can be asked of the faults of a running proxy: a table in, a table out.

    {"do": "list"}                      {"faults": [...]}
    {"do": "add", "rule": "..."}        {"added": {...}}
    {"do": "remove", "name": "..."}     {"removed": {...}}
    {"do": "held"}                      {"held": [...]}
    {"do": "decide", "connection": 3, "from": "client", "verdict": "pass"}

A verdict is pass, drop, disconnect or edit, with the frame in our notation. What is wrong with a
question is the answer: {"error": "..."}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from amqpscope.proxy.faults import FaultSet, parse_fault
from amqpscope.proxy.layered_connection import LayeredConnection
from amqpscope.stream.types import PEERS

if TYPE_CHECKING:
    from amqpscope.proxy.faults.layer import FaultLayer
    from amqpscope.proxy.relay import Relay

Table = dict[str, Any]


def answer(relay: Relay, question: Any) -> Table:
    """Do what is asked for."""
    command = COMMANDS.get(str(question.get("do"))) if isinstance(question, dict) else None
    if command is None:
        return {"error": f"expected one of {', '.join(COMMANDS)}"}
    try:
        return command(relay, question)
    except ValueError as error:
        return {"error": str(error)}


def list_faults(relay: Relay, _: Table) -> Table:
    """All faults, and how often they have matched and acted."""
    return {"faults": [] if relay.faults is None else relay.faults.describe()}


def add_fault(relay: Relay, question: Table) -> Table:
    """A fault more, for the connections to come and those on which faults act already."""
    fault = parse_fault(str(question.get("rule", "")), str(question.get("name", "")))
    if relay.faults is None:
        relay.faults = FaultSet()
    return {"added": relay.faults.add(fault).describe()}


def remove_fault(relay: Relay, question: Table) -> Table:
    """A fault less."""
    name = str(question.get("name", ""))
    if relay.faults is None:
        raise ValueError(f"there is no fault {name}")
    return {"removed": relay.faults.remove(name).describe()}


def layers(relay: Relay) -> Iterator[tuple[LayeredConnection, FaultLayer]]:
    """The connections on which faults may act."""
    for connection in list(relay.open):
        if isinstance(connection, LayeredConnection) and connection.faults is not None:
            yield connection, connection.faults


def list_held(relay: Relay, _: Table) -> Table:
    """The frames that wait for a decision."""
    held = []
    for connection, layer in layers(relay):
        for side, name in enumerate(PEERS):
            frame = layer.describe_held(side)
            if frame:
                held.append({"connection": connection.number, "from": name, "frame": frame})
    return {"held": held}


def decide(relay: Relay, question: Table) -> Table:
    """Decide on a frame that waits."""
    side = question.get("from")
    if side not in PEERS:
        raise ValueError("expected from: client or server")
    for connection, layer in layers(relay):
        if connection.number == question.get("connection"):
            verdict, notation = str(question.get("verdict")), str(question.get("frame", ""))
            layer.decide(PEERS.index(side), verdict, notation)
            connection.pump()
            return {"decided": verdict}
    raise ValueError(f"no frame waits on connection {question.get('connection')}")


COMMANDS: Final[dict[str, Callable[[Relay, Table], Table]]] = {
    "list": list_faults,
    "add": add_fault,
    "remove": remove_fault,
    "held": list_held,
    "decide": decide,
}
