"""The errors and delivery states of AMQP 1.0 that faults name."""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.peers import Action, CannotApplyError
from dissectors.v1_0.bodies import Accepted, Body, Error, Modified, Rejected, Released
from dissectors.v1_0.values import Symbol

CONDITIONS: Final = {
    "detach": "amqp:link:detach-forced",
    "end": "amqp:internal-error",
    "close": "amqp:connection:forced",
    "reject": "amqp:internal-error",
}
"""The error of an action that names none."""


def outcome(action: Action) -> Body:
    """The delivery state of an action."""
    if action.kind == "accept":
        return Accepted()
    if action.kind == "release":
        return Released()
    if action.kind == "modify":
        values = action.values
        return Modified(
            True if values.get("delivery-failed") == "true" else None,
            True if values.get("undeliverable-here") == "true" else None,
        )
    if action.kind in ("reject", "nack"):
        return Rejected(error_of(action))
    raise CannotApplyError(f"AMQP 1.0 has no {action.kind}")


def error_of(action: Action) -> Error:
    """The error of an action."""
    usual = CONDITIONS.get(action.kind, "amqp:internal-error")
    condition = Symbol(action.values.get("condition", usual))
    return Error(condition, action.values.get("description", "a fault of amqpscope proxy"))
