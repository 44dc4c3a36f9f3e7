"""What the controller does under a transaction: posting and acquiring (TXN; spec 4.4).

A controller knows its own transactions: it has declared them and has discharged them. So most of
what it may not do is proved by its own frames; only the end of a control link by the resource may
cross what the controller sends. What it states of deliveries is in `states`.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import KIND, Event
from amqpscope.model.v1_0.transaction import (
    GONE,
    LIVE,
    Transaction,
    capabilities,
    seen_whole,
    txn_id,
)
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import control_message, state_of
from amqpscope.rules.v1_0.transactions.controller import call
from dissectors.v1_0.bodies import Discharge, Disposition, Flow, TransactionalState, Transfer

MULTI_SESSIONS: Final = "amqp:multi-ssns-per-txn"
CONTINUATION: Final = KIND["continuation"]
FIRST: Final = KIND["first"]


def owner(transaction: Transaction) -> int:
    """The peer that controls a transaction."""
    return transaction.control.session.owner.peer


def controls(event: Event, transaction: Transaction | None) -> bool:
    """Whether the sender of a frame speaks as the controller of a transaction."""
    if transaction is not None:
        return owner(transaction) == event.peer
    links = event.connection.transactions.links
    return bool(links[event.peer]) or not links[1 - event.peer]


@rule(
    "TXN-017",
    "4.5.8",
    IMPLIED,
    ERROR,
    on="state transactional | flow transactional | message coordinator",
)
def txn_id_not_live(event: Event, report: Reporter) -> None:
    """Work and discharges name only transactions that are live.

    That is: declared on this connection and not yet discharged. A resource answers others with
    amqp:transaction:unknown-id. Transactions also end with their control link; work that was on its
    way when the resource ended that is no fault.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(discharge(txn-id=b"x" fail=false))   # <- TXN-017

    Bad (discharging):
        client: transfer[0] handle=1 delivery-id=2 delivery-tag=b"2" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"2")   # <- TXN-017

    Bad (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))   # <- TXN-017

    Good (transaction):
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                state=transactional-state(txn-id=b"t") | data(b"1")
        server: detach[0] handle=0 closed=true
                error=error(condition=:amqp:transaction:timeout description="too slow")
        client~1: transfer[0] handle=1 delivery-id=2 delivery-tag=b"2" message-format=0
                settled=true state=transactional-state(txn-id=b"t") | data(b"2")
    """
    id, path = used_id(event)
    if id is None:
        return
    transaction = event.connection.transactions.known.get(id)
    if not controls(event, transaction) or event.discarded:
        return
    if transaction is None:
        if seen_whole(event) and not echoes(event, id):
            report.sure(event, f"transaction {call(id)} was never declared", path)
    elif transaction.discharge is not None:
        # A discharge that was refused, or is not answered yet, may be tried again: TXN-043.
        again = path == "discharge.txn-id"
        if (transaction.accepted or not again) and new_work(event, id) and seen_whole(event):
            how = "discharged a second time" if again else "used after its discharge"
            report.sure(
                event,
                f"transaction {call(id)} is {how}",
                path,
                ((transaction.discharge, "the discharge"), (transaction.answer, "its answer"),
                 (transaction.declared, "declared")),
            )  # fmt: skip
    elif transaction.state == GONE and new_work(event, id) and seen_whole(event):
        after_control_link(event, report, transaction, path)


def used_id(event: Event) -> tuple[bytes | None, str]:
    """The transaction that a frame names, and where."""
    body = event.body
    if isinstance(body, Flow):
        said = None if body.properties is None else body.properties.get("txn-id")
        return txn_id(said), "flow.properties.txn-id"
    state = state_of(event)
    if isinstance(state, TransactionalState):
        # A sender that settles its own delivery repeats a state; it asks for no work.
        if isinstance(body, Disposition) and not body.role:
            return None, ""
        return txn_id(state.txn_id), f"{event.frame.unit.name}.state.txn-id"
    if isinstance(body, Transfer):
        found = control_message(event)
        if found is not None and isinstance(found.value, Discharge):
            return txn_id(found.value.txn_id), "discharge.txn-id"
    return None, ""


def new_work(event: Event, id: bytes) -> bool:
    """Whether a frame asks for more than it did before, rather than repeating it."""
    if event.kinds & CONTINUATION:
        return False
    if not isinstance(event.body, Disposition):
        return True
    for delivery in event.covered:
        state = delivery.rcv_state
        if not isinstance(state, TransactionalState) or txn_id(state.txn_id) != id:
            return delivery.settled is None
    return False


def echoes(event: Event, id: bytes) -> bool:
    """Whether a disposition only repeats what the deliveries of the other peer have named."""
    return any(each.work is not None and each.work.id == id for each in event.covered)


def after_control_link(event: Event, report: Reporter, transaction: Transaction, path: str) -> None:
    """Work for a transaction that has ended with its control link."""
    text = f"transaction {call(transaction.id)} is used after its control link has ended"
    evidence = ((transaction.answer, "the end of the control link"),)
    if transaction.ender == event.peer and transaction.closed:
        report.sure(event, text, path, evidence)
    elif transaction.ender == event.peer or (
        event.knew(transaction.answer) and event.since(transaction.answer) > GRACE
    ):
        report.suspect(event, text, path, evidence)


@rule("TXN-019", "4.5.7", IMPLIED, WARNING, on="state transactional")
def txn_used_across_sessions(event: Event, report: Reporter) -> None:
    """A transaction is used on the session of its control link, unless more is offered.

    The capability is amqp:multi-ssns-per-txn. Many brokers allow it and announce nothing: then it
    is only noted, once.

    Bad (transaction):
        client: begin[1] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        server: begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=100
                outgoing-window=100
        client: attach[1] name="s2" handle=0 role=sender source=source()
                target=target(address="q") initial-delivery-count=0
        server: attach[1] name="s2" handle=0 role=receiver source=source()
                target=target(address="q")
        server: flow[1] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=1
        client: transfer[1] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")   # <- TXN-019

    Good (posting):
        server: disposition[0] role=receiver first=1
                state=transactional-state(txn-id=b"t" outcome=accepted())
    """
    state = state_of(event)
    id = txn_id(state.txn_id) if isinstance(state, TransactionalState) else None
    transaction = None if id is None else event.connection.transactions.known.get(id)
    if id is None or transaction is None or transaction.state != LIVE:
        return
    if owner(transaction) != event.peer or event.session is transaction.control.session:
        return
    if event.discarded or not event.own.anchored:
        return
    offered = capabilities(transaction.control)
    if offered is not None and MULTI_SESSIONS in offered:
        return
    if not report.once(transaction):
        return
    listed = "lists no capabilities" if offered is None else f"offers {', '.join(offered)}"
    text = f"transaction {call(id)} is used on another session; its coordinator {listed}"
    path = f"{event.frame.unit.name}.state.txn-id"
    evidence = ((transaction.declared, "declared"), (transaction.control.mark, "its control link"))
    if offered is None:
        report.suspect(event, text, path, evidence, severity=INFO)
    else:
        report.sure(event, text, path, evidence)


@rule(
    "TXN-025", "4.4.1", MUST, WARNING, on="continuation transactional", needs="!discarded anchored"
)
def posting_frames_differ_in_txn(
    event: Event, report: Reporter, body: Transfer, delivery: Delivery
) -> None:
    """All transfers of a message that is posted under a transaction name that transaction.

    Another one is an error. A transfer that names none is a warning: some stacks name it on the
    first only, and elsewhere the standard calls the state one of the whole delivery.

    Bad (posting more=true):
        client: transfer[0] handle=1 | data(b"2")   # <- TXN-025

    Good (posting more=true):
        client: transfer[0] handle=1 state=transactional-state(txn-id=b"t") | data(b"2")
    """
    if body.aborted:
        return
    work = delivery.work
    first = None if work is None else work.id
    said = txn_id(body.state.txn_id) if isinstance(body.state, TransactionalState) else None
    if said == first or (said is None and body.state is not None):
        return
    transaction = event.connection.transactions.known.get(first or said or b"")
    if not controls(event, transaction):
        return
    if work is not None and not report.once(work):
        return
    evidence = ((delivery.mark, "the first transfer"),)
    if first is not None and said is not None:
        text = f"a transfer names transaction {call(said)}, the first one {call(first)}"
        report.sure(event, text, "transfer.state.txn-id", evidence, severity=ERROR)
    elif first is not None:
        text = f"a transfer of a delivery under transaction {call(first)} does not name it"
        report.sure(event, text, "transfer.state", evidence)
    elif said is not None:
        text = f"a transfer names transaction {call(said)}, which the first one did not"
        report.sure(event, text, "transfer.state", evidence)
