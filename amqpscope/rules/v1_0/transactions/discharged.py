"""What the resource answers to a discharge (TXN; spec 4.2, 4.3).

An answer is a disposition for a control message. Whether it fits depends only on what the resource
has read, so the order in which frames passed is proof enough.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.transaction import answered_controls, coordinator_link, ending
from amqpscope.rules.v1_0 import IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import state_of
from amqpscope.rules.v1_0.transactions.controller import call
from dissectors.v1_0.bodies import (
    Accepted,
    Declared,
    Detach,
    Discharge,
    Error,
    Rejected,
    TransactionalState,
)

TRANSACTION_ERROR: Final = "amqp:transaction:"
ILLEGAL_STATE: Final = "amqp:illegal-state"

ANSWER: Final = "receiver-disposition state transactional"


def condition(state: Rejected) -> str:
    """Why something was rejected."""
    error = state.error
    return "" if not isinstance(error, Error) or error.condition is None else str(error.condition)


@rule(
    "TXN-009",
    "4.2",
    SHOULD,
    WARNING,
    on="receiver-disposition state transactional | detach transactional",
)
def settled_control_message_reaction(event: Event, report: Reporter) -> None:
    """A coordinator answers a control message that was sent settled by detaching the link.

    It should do so with amqp:illegal-state: the controller has thrown away the outcome, so any
    disposition for it goes nowhere.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-value(declare())   # <- TXN-007
        server: disposition[0] role=receiver first=0 settled=true
                state=declared(txn-id=b"t")   # <- TXN-009

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
    """
    body, link = event.body, event.link
    if isinstance(body, Detach):
        if link is None or link.pair is None or not coordinator_link(link.pair):
            return
        error = body.error
        mark = link.pair.sending.presettled
        if mark is None or not isinstance(error, Error) or error.condition is None:
            return
        if error.condition != ILLEGAL_STATE and not event.discarded:
            report.sure(
                event,
                f"a settled control message is answered by a detach with {error.condition},"
                f" not {ILLEGAL_STATE}",
                "detach.error.condition",
                ((mark, "the control message"),),
            )
        return
    for delivery in answered_controls(event):
        sent = delivery.snd_settled
        if sent is not None and sent.frame <= delivery.last_mark.frame:
            report.sure(
                event,
                "a control message that was sent settled is answered by a disposition",
                "disposition.state",
                ((delivery.mark, "the control message"),),
            )
            return


@rule("TXN-027", "4.4.1", MUST, WARNING, on=ANSWER)
def partial_posting_discharge_accepted(event: Event, report: Reporter) -> None:
    """A resource ends the control link when a discharge comes with a message half sent.

    It does so with amqp:transaction:rollback. To accept such a discharge leaves it open what became
    of the rest of the message.

    Bad (transaction):
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0 more=true
                state=transactional-state(txn-id=b"t") | data(b"1")
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))   # <- TXN-026
        server: disposition[0] role=receiver first=2 settled=true state=accepted()   # <- TXN-027

    Good (posting):
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()
    """
    if not isinstance(state_of(event), Accepted):
        return
    for transaction in ending(event):
        if transaction.partial:
            report.sure(
                event,
                f"the discharge of {call(transaction.id)} is accepted although a message was"
                " half sent under it",
                "disposition.state",
                ((transaction.discharge, "the discharge"),),
            )


@rule("TXN-032", "4.4.2", MUST, WARNING, on=ANSWER)
def mixed_txn_not_rolled_back(event: Event, report: Reporter) -> None:
    """A resource ends the control link when an outcome is bound to another live transaction.

    It does so with amqp:transaction:rollback. If it commits one of the two instead, the message
    belongs to both.

    Bad (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(declare())   # <- TXN-020
        server: disposition[0] role=receiver first=1 settled=true state=declared(txn-id=b"u")
        client: disposition[0] role=receiver first=0
                state=transactional-state(txn-id=b"u" outcome=accepted())   # <- TXN-031
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()   # <- TXN-032

    Good (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: disposition[0] role=receiver first=0
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    if not isinstance(state_of(event), Accepted):
        return
    for transaction in ending(event):
        if transaction.mixed is not None and not transaction.fail:
            report.sure(
                event,
                f"the commit of {call(transaction.id)} is accepted although a delivery was bound"
                " to it and to another transaction",
                "disposition.state",
                ((transaction.mixed, "the disposition that bound it to the other"),),
            )


@rule("TXN-040", "4.3", MUST, WARNING, on=ANSWER)
def discharge_failure_without_transaction_error(
    event: Event, report: Reporter, state: Rejected
) -> None:
    """A discharge that fails is rejected with a transaction error.

    Bad (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=rejected()   # <- TXN-040

    Good (discharging):
        server: disposition[0] role=receiver first=1 settled=true
                state=rejected(error=error(condition=:amqp:transaction:rollback))
    """
    if condition(state).startswith(TRANSACTION_ERROR):
        return
    for delivery in answered_controls(event):
        control = None if delivery.work is None else delivery.work.control
        if isinstance(control, Discharge) and not control.fail:
            report.sure(
                event,
                f"a discharge is rejected with {condition(state) or 'no error'},"
                " not with a transaction error",
                "disposition.state.error",
                ((delivery.mark, "the discharge"),),
            )
            return


@rule("TXN-041", "4.3", MUST, WARNING, on=ANSWER)
def rollback_refused(event: Event, report: Reporter, state: Rejected) -> None:
    """A discharge that asks to roll back always succeeds.

    Failure means rollback anyway. A transaction error is only noted: the resource may have ended
    the transaction by itself before.

    Bad (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=1 settled=true state=rejected()   # <- TXN-041

    Good (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    for delivery in answered_controls(event):
        work = delivery.work
        if work is None or not isinstance(work.control, Discharge) or not work.control.fail:
            continue
        transaction = work.transaction
        if work.dead or transaction is None or transaction.answer is not None:
            continue
        told = condition(state)
        report.sure(
            event,
            f"the rollback of {call(transaction.id)} is rejected with {told or 'no error'}",
            "disposition.state",
            ((delivery.mark, "the discharge"),),
            severity=INFO if told.startswith(TRANSACTION_ERROR) else "",
        )
        return


@rule("TXN-056", "4.3", IMPLIED, WARNING, on=ANSWER)
def discharge_answered_wrongly(event: Event, report: Reporter) -> None:
    """A discharge that succeeds is accepted.

    Only a figure of the standard says so, but nothing else tells a controller that it has worked.

    Bad (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=released()   # <- TXN-056

    Good (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    state = state_of(event)
    if isinstance(state, (Accepted, Rejected, Declared)) or not (
        outcome(state) or isinstance(state, TransactionalState)
    ):
        return
    for delivery in answered_controls(event):
        if delivery.work is not None and isinstance(delivery.work.control, Discharge):
            report.sure(
                event,
                f"a discharge is answered with {state.row.name}, not accepted or rejected",
                "disposition.state",
                ((delivery.mark, "the discharge"),),
            )
            return
