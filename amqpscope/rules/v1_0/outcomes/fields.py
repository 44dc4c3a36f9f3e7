"""Delivery states: what they are made of (OUT; spec 3.4).

States inside a transactional-state are looked at too. The state received is in `received`, who may
state which outcome in `offered`, what becomes of deliveries when a link is attached again in
`resume`; whether a state comes at the right time in
`disposition`.
"""

from __future__ import annotations

from amqpscope.model.v1_0.event import Event
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from dissectors.v1_0.bodies import (
    Body,
    Disposition,
    Error,
    Modified,
    Rejected,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.values import Described, Map, Symbol, Value, type_of


def state_of(event: Event) -> Value:
    """The state in a transfer or disposition that was read without faults."""
    body = event.body
    if event.damaged or event.discarded or not event.trusted:
        return None
    if isinstance(body, (Transfer, Disposition)):
        return body.state
    return None


def path_of(event: Event) -> str:
    """Where the state stands."""
    return "transfer.state" if isinstance(event.body, Transfer) else "disposition.state"


def plain(state: Value) -> Value:
    """A state, or the outcome that is bound to a transaction in it."""
    return state.outcome if isinstance(state, TransactionalState) else state


@rule("OUT-002", "2.7.5", MUST, ERROR, on="odd-state")
def delivery_state_type_wrong(event: Event, report: Reporter) -> None:
    """The state of a delivery is one of the described delivery states.

    A symbol that names a state, or an error put there by itself, tells the other side nothing. An
    unknown descriptor may be an extension's state and is only noted.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=error(condition=:amqp:not-allowed)   # <- OUT-002

    Good (sent):
        server: disposition[0] role=receiver first=0 settled=true state=accepted'symbol()
    """
    state = state_of(event)
    if state is None or (isinstance(state, Body) and "delivery-state" in state.row.provides):
        return
    path = path_of(event)
    if isinstance(state, Described):
        text = f"{path} is of the unknown type {descriptor_name(state.descriptor)}"
        report.suspect(event, text, path, severity=INFO)
    else:
        called = state.row.name if isinstance(state, Body) else type_of(state)
        report.sure(event, f"{path} is of type {called}, which is not a delivery state", path)


@rule("OUT-008", "3.4.2", IMPLIED, WARNING, on="odd-state")
def outcome_extra_fields(event: Event, report: Reporter) -> None:
    """A delivery state has no more items than it is defined with: accepted and released have none.

    Nobody reads what is there. Items that are null are only noted.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=accepted(+["ok"])   # <- OUT-008

    Good (sent):
        server: disposition[0] role=receiver first=0 settled=true state=accepted'c0()
    """
    state = plain(state_of(event))
    if not isinstance(state, Body) or "delivery-state" not in state.row.provides:
        return
    surplus = state[len(state.row.fields) :]
    if surplus:
        text = f"{state.row.name} has {len(state)} items, {len(state.row.fields)} are defined"
        idle = all(item is None for item in surplus)
        report.sure(event, text, path_of(event), severity=INFO if idle else "")


@rule("OUT-009", "3.4.3", MUST, ERROR, on="odd-state")
def rejected_error_type_wrong(event: Event, report: Reporter) -> None:
    """The error in rejected is the composite `error`, or null.

    A text put there by itself has made servers detach the link instead of noting the reason.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error="too large")   # <- OUT-009

    Good (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:failed description="too large"))
    """
    state = plain(state_of(event))
    if isinstance(state, Rejected) and 0 in state.wrong:
        path = f"{path_of(event)}.error"
        report.sure(event, f"{path} is of type {type_of(state.wrong[0])}, not error", path)


@rule("OUT-010", "3.4.3", ADVISORY, INFO, on="odd-state")
def rejected_without_error(event: Event, report: Reporter) -> None:
    """A rejection that says why can be acted upon.

    Without an error the sender learns only that the message was not wanted.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true state=rejected()   # <- OUT-010

    Good (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:amqp:not-allowed description="no"))
    """
    state = plain(state_of(event))
    if isinstance(state, Rejected) and state.error is None and not state.wrong:
        path = f"{path_of(event)}.error"
        report.sure(event, "rejected without an error that says why", path)


@rule("OUT-011", "2.8.14", MUST, ERROR, on="odd-state")
def error_fields_malformed(event: Event, report: Reporter) -> None:
    """An error has a condition, which is a symbol; its description is a string, its info a map.

    The condition is what programs decide by. A string of the same letters is not found in their
    tables, and an error without one is as good as none. The keys of info are symbols.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition="amqp:not-allowed"))   # <- OUT-011

    Good (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:com.example:full info={:limit=uint 5}))
    """
    state = plain(state_of(event))
    error = state.error if isinstance(state, Rejected) else None
    if not isinstance(error, Error):
        return
    where = f"{path_of(event)}.error"
    for position, value in error.wrong.items():
        field = error.row.fields[position]
        path = f"{where}.{field.name}"
        report.sure(event, f"{path} is of type {type_of(value)}, not {field.type}", path)
        return
    if error.condition is None:
        path = f"{where}.condition"
        report.sure(event, "the error of a rejection has no condition", path)
    elif isinstance(error.info, Map):
        report_key(event, report, error.info, f"{where}.info")


def report_key(event: Event, report: Reporter, fields: Map, path: str) -> None:
    """Report the first key that is not a symbol."""
    for key, _ in fields:
        if not isinstance(key, Symbol):
            text = f"{path} has the key {key!r} of type {type_of(key)}, not symbol"
            report.sure(event, text, path)
            return


@rule("OUT-012", "3.4.5", MUST, ERROR, on="odd-state")
def modified_fields_malformed(event: Event, report: Reporter) -> None:
    """modified holds two booleans and a map of annotations, whose keys are symbols.

    Keys that are strings end up in the message as keys that nobody looks for, or make the
    broker end the session. Unlike in a message, numbers are no keys here either.

    Bad (received):
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true
                message-annotations={"x-opt-why"="busy"})   # <- OUT-012

    Good (received):
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(delivery-failed=true message-annotations={:x-opt-why="busy"})
    """
    state = plain(state_of(event))
    if not isinstance(state, Modified):
        return
    for position, value in state.wrong.items():
        field = state.row.fields[position]
        path = f"{path_of(event)}.{field.name}"
        report.sure(event, f"{path} is of type {type_of(value)}, not {field.type}", path)
        return
    if isinstance(state.message_annotations, Map):
        report_key(
            event, report, state.message_annotations, f"{path_of(event)}.message-annotations"
        )


@rule("OUT-013", "3.4.5", IMPLIED, INFO, on="odd-state")
def modified_annotation_key_reserved(event: Event, report: Reporter) -> None:
    """Annotations that modified puts into a message follow the message's rule for names: x-.

    Other names are kept for the standard (MSG-021), and the next receiver may refuse the message.

    Bad (received):
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(message-annotations={:reason="busy"})   # <- OUT-013

    Good (received):
        client: disposition[0] role=receiver first=0 settled=true
                state=modified(message-annotations={:x-opt-reason="busy"})
    """
    state = plain(state_of(event))
    if not isinstance(state, Modified) or not isinstance(state.message_annotations, Map):
        return
    for key, _ in state.message_annotations:
        if isinstance(key, Symbol) and not key.startswith("x-"):
            path = f"{path_of(event)}.message-annotations"
            report.suspect(event, f"the annotation key {key} is reserved for the standard", path)
            return
