"""What can be asked of the faults of a running proxy: a table in, a table out.

    {"do": "list"}                      {"faults": [...]}
    {"do": "add", "rule": "..."}        {"added": {...}}
    {"do": "remove", "name": "..."}     {"removed": {...}}
    {"do": "intercept", "filter": "..."}
    {"do": "held"}                      {"held": [...], "count": 3, "intercept": "...", "late": 0}
    {"do": "frame", "number": 3}        {"frame": "...", "dialect": "", "secret": false}
    {"do": "decide", "number": 3, "action": "resume"}

`late` counts connections that were open before a fault came and are still caught up with. To decide
is to resume (number "all": all frames), to edit, with frames in our notation, or to name any action
of a fault. What is wrong with a question is the answer: {"error": "..."}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from amqpscope.protocols.peers import CannotApplyError
from amqpscope.proxy.faults import FaultSet, parse_fault
from amqpscope.proxy.faults.notation import find_error

if TYPE_CHECKING:
    from amqpscope.proxy.faults.held import Held
    from amqpscope.proxy.relay import Relay

Table = dict[str, Any]
MOST_HELD: Final = 100
"""Frames that are listed: an answer must fit into what a socket takes at once."""
ALL: Final = "all"


def answer(relay: Relay, question: Any) -> Table:
    """Do what is asked for."""
    command = COMMANDS.get(str(question.get("do"))) if isinstance(question, dict) else None
    if command is None:
        return {"error": f"expected one of {', '.join(COMMANDS)}"}
    try:
        return command(relay, question)
    except (ValueError, CannotApplyError) as error:
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


def intercept(relay: Relay, question: Table) -> Table:
    """Hold the frames that match a filter; an empty one: none any more."""
    where = str(question.get("filter", "")).strip()
    if relay.faults is None:
        relay.faults = FaultSet()
    relay.faults.intercept(where)
    return {"intercept": where}


def list_held(relay: Relay, _: Table) -> Table:
    """The frames that wait for a decision, the first of them if they are many."""
    faults = FaultSet() if relay.faults is None else relay.faults
    held = list(faults.held.values())
    described = [each.describe() for each in held[:MOST_HELD]]
    return {
        "held": described,
        "count": len(held),
        "intercept": faults.intercepted,
        "late": faults.late,
    }


def show_held(relay: Relay, question: Table) -> Table:
    """A frame that waits, in our notation."""
    held = find_held(relay, question)
    return {"frame": held.notation, "dialect": held.dialect, "secret": held.is_secret}


def find_held(relay: Relay, question: Table) -> Held:
    """The frame that a question names; without a number the only one that waits."""
    held = {} if relay.faults is None else relay.faults.held
    number = question.get("number")
    if number is None:
        if len(held) != 1:
            raise ValueError(f"{len(held)} frames wait: name one" if held else "no frame waits")
        return next(iter(held.values()))
    if not isinstance(number, int) or number not in held:
        raise ValueError(f"no frame {number} waits")
    return held[number]


def decide(relay: Relay, question: Table) -> Table:
    """Decide on a frame that waits, or pass all of them on."""
    action = str(question.get("action", ""))
    if question.get("number") == ALL:
        held = [] if relay.faults is None else list(relay.faults.held)
        if action != "resume":
            raise ValueError("all frames can only be resumed")
        if relay.faults is not None:
            relay.faults.resume_all()
        return {"decided": held}
    one = find_held(relay, question)
    if action == "resume":
        one.resume()
    elif action == "edit":
        text = str(question.get("frame", ""))
        if error := find_error(text, one.dialect):
            raise error
        one.edit(text)
    else:
        one.act(action)
    return {"decided": [one.number]}


COMMANDS: Final[dict[str, Callable[[Relay, Table], Table]]] = {
    "list": list_faults,
    "add": add_fault,
    "remove": remove_fault,
    "intercept": intercept,
    "held": list_held,
    "frame": show_held,
    "decide": decide,
}
