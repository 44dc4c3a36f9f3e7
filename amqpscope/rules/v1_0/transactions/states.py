"""What the controller states and grants under a transaction (TXN; spec 4.4.2, 4.4.3)."""

from __future__ import annotations

from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.transaction import (
    LIVE,
    ControlMessage,
    Transaction,
    coordinator_link,
    seen_whole,
    txn_id,
)
from amqpscope.rules.v1_0 import ERROR, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import state_of
from amqpscope.rules.v1_0.transactions.controller import call
from amqpscope.rules.v1_0.transactions.work import owner
from dissectors.v1_0.bodies import Body, Declared, Discharge, Flow, Received, TransactionalState
from dissectors.v1_0.values import Described, type_of


@rule("TXN-030", "4.5.6", MUST, ERROR, on="state transactional")
def transactional_state_malformed(
    event: Event, report: Reporter, state: TransactionalState
) -> None:
    """A transactional state has a txn-id, and its outcome, if any, is a terminal one.

    Accepted, rejected, released or modified; not received, nor another transactional state.
    Declared is an outcome by its type, yet makes no sense here, and an id that is not binary may
    come from an extension: both are suspicious only.

    Bad (transaction):
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0
                state=transactional-state() | data(b"1")   # <- TXN-030

    Good (posting):
        server: disposition[0] role=receiver first=1
                state=transactional-state(txn-id=b"t" outcome=modified(delivery-failed=true))
    """
    if event.frame.unit.faults or event.frame.missing or event.discarded:
        return
    name = event.frame.unit.name
    id = state.wire(0)
    if id is None:
        report.sure(event, "a transactional state has no txn-id", f"{name}.state.txn-id")
    elif type(id) is not bytes:
        text = f"the txn-id of a transactional state is of type {type_of(id)}, not binary"
        report.suspect(event, text, f"{name}.state.txn-id")
    found = state.wire(1)
    path = f"{name}.state.outcome"
    if isinstance(found, Declared):
        report.suspect(event, "the outcome in a transactional state is declared", path)
    elif isinstance(found, (Received, TransactionalState)):
        text = f"the outcome in a transactional state is {found.row.name}, which is none"
        report.sure(event, text, path)
    elif isinstance(found, Body):
        if not outcome(found):
            text = f"the outcome in a transactional state is {found.row.name}, which is none"
            report.sure(event, text, path)
    elif found is not None and not isinstance(found, Described):
        text = f"the outcome in a transactional state is of type {type_of(found)}"
        report.sure(event, text, path)


@rule("TXN-031", "4.4.2", MUST, ERROR, on="disposition state transactional")
def outcome_under_other_txn(event: Event, report: Reporter) -> None:
    """An outcome is not bound to one transaction while its delivery is bound to another live one.

    The resource could not commit one and roll back the other; it ends the control link.

    Bad (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(declare())   # <- TXN-020
        server: disposition[0] role=receiver first=1 settled=true state=declared(txn-id=b"u")
        client: disposition[0] role=receiver first=0
                state=transactional-state(txn-id=b"u" outcome=accepted())   # <- TXN-031

    Good (granting):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
        client: disposition[0] role=receiver first=0
                state=transactional-state(txn-id=b"t" outcome=accepted())
    """
    state = state_of(event)
    id = txn_id(state.txn_id) if isinstance(state, TransactionalState) else None
    if id is None or event.discarded or id not in event.connection.transactions.known:
        return
    for delivery in event.covered:
        bound = bound_to(event, delivery)
        if bound is not None and bound.id != id:
            report.sure(
                event,
                f"the outcome of delivery {delivery.delivery_id} is bound to transaction"
                f" {call(id)}, the delivery itself to {call(bound.id)}",
                "disposition.state.txn-id",
                ((delivery.mark, "the delivery"), (bound.declared, "its transaction")),
            )
            return


def bound_to(event: Event, delivery: Delivery) -> Transaction | None:
    """The live transaction of the sender of a frame to which a delivery is bound."""
    work = delivery.work
    if work is None or work.transaction is None or work.control is not None:
        return None
    transaction = work.transaction
    if transaction.state != LIVE or owner(transaction) != event.peer or not seen_whole(event):
        return None
    return transaction


@rule("TXN-033", "4.4.3", MUST, ERROR, on="flow transactional", needs="!discarded")
def flow_txn_id_malformed(event: Event, report: Reporter, body: Flow) -> None:
    """A flow names a transaction by a binary txn-id in its properties.

    That it has properties only for a link is reported by FLW-009.

    Bad (transaction):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=2 delivery-count=0 link-credit=1
                properties={:txn-id="t"}   # <- TXN-033

    Good (transaction):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=2 delivery-count=0 link-credit=1
                properties={:txn-id=b"t"}
    """
    if body.properties is None:
        return
    said = body.properties.get("txn-id")
    if said is not None and type(said) is not bytes and not event.frame.unit.faults:
        text = f"the txn-id of a flow is of type {type_of(said)}, not binary"
        report.sure(event, text, "flow.properties.txn-id")


@rule("TXN-036", "4.4.3", SHOULD, WARNING, on="message coordinator")
def credit_left_at_discharge(event: Event, report: Reporter, control: ControlMessage) -> None:
    """A controller leaves no credit on links that acquire under a transaction when it ends that.

    The discharge takes the transaction off the link but leaves the credit, so what comes next is
    acquired outside of any transaction. Draining the link, or taking the credit back, prevents it.

    Bad (acquiring link-credit=5):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))   # <- TXN-036

    Good (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    if not isinstance(control.value, Discharge):
        return
    id = txn_id(control.value.txn_id)
    transaction = None if id is None else event.connection.transactions.known.get(id)
    if id is None or transaction is None or transaction.state != LIVE or not seen_whole(event):
        return
    for link in transaction.links:
        pair = link.pair
        receiving = link.receiving
        if link.detach is not None or pair is None or pair.detach is not None or receiving.drain:
            continue
        grant = receiving.credit.latest()
        count = pair.sending.count_high
        if receiving.txn_ids[-1] != id or receiving.credit.unsure or grant is None or count is None:
            continue
        if grant.limit > count:
            report.sure(
                event,
                f"transaction {call(id)} is discharged while link {link.label()}, bound to it,"
                f" has {grant.limit - count} credit left",
                "discharge.txn-id",
                ((grant.mark, "the credit"),),
            )


@rule("TXN-039", "4.4.4.3", MUST, ERROR, on="receiver-disposition state transactional")
def acquired_outcome_outside_txn(event: Event, report: Reporter) -> None:
    """The outcome of a message that was acquired under a transaction is bound to the same one.

    As long as that is not discharged, the acquisition itself may be undone, so a plain outcome for
    it cannot stand.

    Bad (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: disposition[0] role=receiver first=0 settled=true state=accepted()   # <- TXN-039

    Good (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        client: disposition[0] role=receiver first=0 settled=true state=released()
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    state = state_of(event)
    if not outcome(state) or event.discarded:
        return
    for delivery in event.covered:
        bound = bound_to(event, delivery)
        if bound is None or delivery.settled is not None or coordinator_link(delivery.link):
            continue
        if delivery.link.session.owner.peer == event.peer:
            continue
        report.sure(
            event,
            f"delivery {delivery.delivery_id} was acquired under transaction {call(bound.id)}"
            f" and is {state.row.name} outside of it",
            "disposition.state",
            ((delivery.mark, "the delivery"), (bound.declared, "its transaction")),
        )
        return
