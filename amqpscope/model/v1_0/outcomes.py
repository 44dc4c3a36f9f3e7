"""The outcomes of deliveries by their names (spec 3.4)."""

from __future__ import annotations

from typing import Final

from dissectors.v1_0.bodies import Accepted, Body, TransactionalState
from dissectors.v1_0.values import Value

OUTCOMES: Final = frozenset(("accepted", "rejected", "released", "modified", "declared"))


def outcome(state: Value) -> str:
    """The name of a terminal state; empty for any other, also one inside a transaction."""
    if isinstance(state, Accepted):
        return "accepted"
    if isinstance(state, Body) and state.row.name in OUTCOMES:
        return state.row.name
    return ""


def result(snd_state: Value, rcv_state: Value) -> str:
    """How a settled delivery ended, by the newest states of its sender and its receiver."""
    if snd_state is None and isinstance(rcv_state, Accepted):
        return "accepted"  # as most are
    states = (snd_state, rcv_state)
    if any(isinstance(state, TransactionalState) for state in states):
        return "transactional"
    found = [outcome(state) for state in states if outcome(state)]
    found += [state.row.name for state in states if isinstance(state, Body)]
    return found[0] if found else "settled without a state"
