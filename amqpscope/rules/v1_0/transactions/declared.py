"""What the resource answers to a declare (TXN; spec 4.2, 4.5.5).

Declared with an id, or rejected with a transaction error; whether it answers at all.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.transaction import (
    LIVE,
    Transaction,
    answered_controls,
    capabilities,
    coordinator_link,
    txn_id,
)
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import state_of
from amqpscope.rules.v1_0.topics import CONTROL_LINK
from amqpscope.rules.v1_0.transactions.controller import call
from amqpscope.rules.v1_0.transactions.discharged import ANSWER, TRANSACTION_ERROR, condition
from dissectors.v1_0.bodies import Declare, Declared, Discharge, Rejected, TransactionalState
from dissectors.v1_0.values import type_of

MAX_TXN_ID: Final = 32
MULTI_TXNS: Final = "amqp:multi-txns-per-ssn"
PATIENCE: Final = 10_000_000_000
"""Nanoseconds after which an answer to a declare is missed."""


@rule("TXN-011", "4.2", IMPLIED, ERROR, on=ANSWER)
def declare_answered_wrongly(event: Event, report: Reporter) -> None:
    """A declare ends as declared, or as rejected.

    Only declared carries the id of the new transaction. Peers that know nothing of transactions and
    take the control link for an ordinary one say accepted, and the controller hangs.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true state=accepted()   # <- TXN-011

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:amqp:transaction:timeout))
    """
    state = state_of(event)
    if isinstance(state, (Declared, Rejected)) or not (
        outcome(state) or isinstance(state, TransactionalState)
    ):
        return
    for delivery in answered_controls(event):
        if delivery.work is not None and isinstance(delivery.work.control, Declare):
            report.sure(
                event,
                f"a declare is answered with {state.row.name}, not declared or rejected",
                "disposition.state",
                ((delivery.mark, "the declare"),),
            )
            return


@rule("TXN-012", "4.5.5", MUST, ERROR, on=ANSWER)
def txn_id_malformed(event: Event, report: Reporter, state: Declared) -> None:
    """A declared outcome carries the transaction's id: binary, at most 32 octets.

    An id of another type may come from an extension, and is only suspicious.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true state=declared()   # <- TXN-012

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true
                state=declared(txn-id=b"0123456789abcdef0123456789abcdef")
    """
    if event.frame.unit.faults or event.frame.missing:
        return
    path = "disposition.state.txn-id"
    said = state.wire(0)
    if said is None:
        report.sure(event, "a declared outcome has no txn-id", path)
    elif type(said) is not bytes:
        report.suspect(event, f"the txn-id of a declared outcome is of type {type_of(said)}", path)
    elif len(said) > MAX_TXN_ID:
        report.sure(event, f"a txn-id of {len(said)} octets, the most is {MAX_TXN_ID}", path)


@rule("TXN-013", "4.5.5", IMPLIED, ERROR, on=ANSWER, needs="!discarded")
def declared_out_of_place(event: Event, report: Reporter) -> None:
    """Only a declare ends as declared.

    Bad (sent):
        server: disposition[0] role=receiver first=0 settled=true
                state=declared(txn-id=b"t")   # <- TXN-013

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 state=declared(txn-id=b"t")
        client: disposition[0] role=sender first=0 settled=true
    """
    if not isinstance(state_of(event), Declared) or event.frame.unit.faults:
        return
    for delivery in event.covered:
        if not delivery.complete or delivery.link.attach is None or not delivery.whole:
            continue
        work = delivery.work
        if not coordinator_link(delivery.link):
            what = f"a delivery on {delivery.link.label()}, which is not a control link,"
        elif work is not None and isinstance(work.control, Discharge):
            what = "a discharge"
        else:
            continue
        report.sure(
            event,
            f"{what} is answered with declared",
            "disposition.state",
            ((delivery.mark, "the delivery"), (delivery.link.mark, "the attach of its link")),
        )
        return


@rule("TXN-014", "4.2", MUST, WARNING, on=ANSWER)
def declare_failure_without_transaction_error(
    event: Event, report: Reporter, state: Rejected
) -> None:
    """A declare that fails is rejected with a transaction error.

    The condition tells the controller what to do next; in the field others are common, hence a
    warning.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:amqp:internal-error))   # <- TXN-014

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=0 settled=true
                state=rejected(error=error(condition=:amqp:transaction:rollback))
    """
    if condition(state).startswith(TRANSACTION_ERROR):
        return
    for delivery in answered_controls(event):
        if delivery.work is not None and isinstance(delivery.work.control, Declare):
            report.sure(
                event,
                f"a declare is rejected with {condition(state) or 'no error'},"
                " not with a transaction error",
                "disposition.state.error",
                ((delivery.mark, "the declare"),),
            )
            return


@rule("TXN-016", "4.5.5", IMPLIED, WARNING, on=ANSWER)
def txn_id_not_unique(event: Event, report: Reporter) -> None:
    """A new transaction gets an id that no live one has.

    With two of a name nobody knows which is meant. The resource may have ended the first by itself,
    which it need not tell, so this is a suspicion.

    Bad (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=1 settled=true
                state=declared(txn-id=b"t")   # <- TXN-016

    Good (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=2 settled=true state=declared(txn-id=b"t")
    """
    state = state_of(event)
    id = txn_id(state.txn_id) if isinstance(state, Declared) else None
    old = None if id is None else event.connection.transactions.known.get(id)
    if id is None or old is None or old.state != LIVE:
        return
    for delivery in answered_controls(event):
        work = delivery.work
        if delivery.mark is not old.declare and work is not None and delivery.rcv_state is None:
            report.suspect(
                event,
                f"a new transaction gets the id {call(id)}, which a live one has",
                "disposition.state.txn-id",
                ((old.declared, "the first with that id"),),
            )
            return


@rule("TXN-020", "4.5.7", IMPLIED, WARNING, on=ANSWER)
def several_txns_per_session(event: Event, report: Reporter) -> None:
    """A session has several live transactions only where the coordinator offers that.

    The capability is amqp:multi-txns-per-ssn. A coordinator that lists no capabilities at all may
    well allow it: then it is only noted. A transaction that is being discharged does not count.

    Bad (transaction):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(declare())   # <- TXN-020
        server: disposition[0] role=receiver first=1 settled=true state=declared(txn-id=b"u")

    Good (discharging):
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(declare())
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        server: disposition[0] role=receiver first=2 settled=true state=declared(txn-id=b"u")
    """
    state = state_of(event)
    id = txn_id(state.txn_id) if isinstance(state, Declared) else None
    if id is None:
        return
    for delivery in answered_controls(event):
        link = delivery.link
        if delivery.work is None or not isinstance(delivery.work.control, Declare):
            continue
        other = live_in(event, delivery)
        if other is None or other.id == id or not event.own.anchored or not event.partner.anchored:
            continue
        offered = capabilities(link)
        if offered is not None and MULTI_TXNS in offered:
            continue
        listed = "lists no capabilities" if offered is None else f"offers {', '.join(offered)}"
        text = (
            f"a second transaction is declared while {call(other.id)} is live in the session;"
            f" the coordinator {listed}"
        )
        evidence = ((other.declared, "the live transaction"), (event.mark, "the second one"))
        if offered is not None:
            report.sure(
                event, text, "declare", evidence, peer=event.partner.peer, mark=delivery.mark
            )
        elif report.once(link, topic=CONTROL_LINK):
            report.suspect(
                event,
                text,
                "declare",
                evidence,
                severity=INFO,
                peer=event.partner.peer,
                mark=delivery.mark,
            )
        return


def live_in(event: Event, declare: Delivery) -> Transaction | None:
    """A live transaction of the session in which another was declared."""
    transactions = event.connection.transactions
    if transactions.lost:
        return None  # Its discharge may be in what was not captured.
    for transaction in transactions.known.values():
        if transaction.state == LIVE and transaction.control.session is declare.link.session:
            return transaction
    return None


@rule("TXN-058", "4.1", IMPLIED, INFO, on="finished")
def coordinator_attach_unserved(event: Event, report: Reporter) -> None:
    """A peer that accepts a control link answers the declares on it.

    One that does not serve transactions refuses the attach. Routers that take the link and drop
    what comes make the controller wait for ever.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())   # <- TXN-058
        @20s client: END

    Good (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(declare())
        @0.1s client: END
    """
    transactions = event.connection.transactions
    if not transactions.active or event.partner.finished:
        return
    for peer in (0, 1):
        for link in transactions.links[peer]:
            if link.detach is not None or link.session.ended is not None or link.pair is None:
                continue
            if not event.connection.ends[1 - peer].anchored or link.pair.detach is not None:
                continue
            for delivery in link.sending.unsettled.values():
                work = delivery.work
                if work is None or not isinstance(work.control, Declare):
                    continue
                if delivery.rcv_state is None and event.since(delivery.mark) > PATIENCE:
                    seconds = event.since(delivery.mark) // 1_000_000_000
                    report.suspect(
                        event,
                        f"a declare on control link {link.label()} was not answered in {seconds} s",
                        "declare",
                        ((link.pair.mark, "the coordinator's attach"),),
                        peer=1 - peer,
                        mark=delivery.mark,
                    )
                    return
