"""What the resource makes of transactional work (TXN; spec 4.4).

It states provisional outcomes while a transaction is live, and their fate when it ends. All
of it is in the resource's own stream, so the order there is proof; what the controller had sent
counts only when it passed before.
"""

from __future__ import annotations

from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.transaction import (
    COMMITTED,
    LIVE,
    ROLLED_BACK,
    answered_controls,
    ending,
    half_sent,
    seen_whole,
    txn_id,
)
from amqpscope.rules.v1_0 import ERROR, IMPLIED, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import state_of
from amqpscope.rules.v1_0.transactions.controller import call
from amqpscope.rules.v1_0.transactions.discharged import ANSWER, TRANSACTION_ERROR, condition
from amqpscope.rules.v1_0.transactions.work import owner
from amqpscope.wording import plural
from dissectors.v1_0.bodies import Accepted, Rejected, TransactionalState
from dissectors.v1_0.values import Value


def postings(event: Event) -> list[Delivery]:
    """The controller's deliveries under transactions that a disposition of the resource covers."""
    if event.discarded or event.frame.unit.faults or event.frame.missing:
        return []
    return [
        delivery
        for delivery in event.covered
        if delivery.work is not None
        and delivery.work.id is not None
        and delivery.settled is None
        and delivery.link.session.owner.peer != event.peer
    ]


def positive(state: Value) -> bool:
    """Accepted, plainly or under a transaction."""
    if isinstance(state, TransactionalState):
        return isinstance(state.outcome, Accepted)
    return isinstance(state, Accepted)


@rule("TXN-018", "4.5.8", IMPLIED, WARNING, on=ANSWER)
def dead_txn_id_accepted(event: Event, report: Reporter) -> None:
    """A resource refuses work and discharges for transactions that are not live.

    Its word for it is amqp:transaction:unknown-id. To accept them makes the controller believe that
    the work is part of something.

    Bad (control):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
                | amqp-value(discharge(txn-id=b"x" fail=false))   # <- TXN-017
        server: disposition[0] role=receiver first=0 settled=true state=accepted()   # <- TXN-018

    Good (discharging):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    state = state_of(event)
    refused = isinstance(state, Rejected) and not condition(state).startswith(TRANSACTION_ERROR)
    if not positive(state) and not refused:
        return
    for delivery in (*postings(event), *answered_controls(event)):
        work = delivery.work
        if work is None or not work.dead or delivery.rcv_state is not None:
            continue
        what = "discharge" if work.control is not None else "posting"
        if not refused:
            text = f"a {what} is accepted although its transaction is not live"
        elif work.control is None and isinstance(state, Rejected):
            told = condition(state) or "no error"
            text = f"a {what} whose transaction is not live is rejected with {told}"
        else:
            continue
        report.sure(event, text, "disposition.state", ((delivery.mark, f"the {what}"),))
        return


@rule("TXN-028", "4.4.1", MUST, ERROR, on=ANSWER)
def commit_before_posting_outcome(event: Event, report: Reporter) -> None:
    """Before it accepts a commit, the resource has told the outcome of every unsettled posting.

    It does so by a disposition with a transactional state of the same id and a terminal outcome.
    Otherwise the controller has committed without knowing to what.

    Bad (posting):
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()   # <- TXN-028

    Good (posting):
        client: transfer[0] handle=1 delivery-id=2 delivery-tag=b"2" message-format=0 settled=true
                state=transactional-state(txn-id=b"t") | data(b"2")
        client: transfer[0] handle=0 delivery-id=3 delivery-tag=b"3" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=1 settled=true
                state=transactional-state(txn-id=b"t" outcome=accepted())
        server: disposition[0] role=receiver first=3 settled=true state=accepted()
    """
    if not isinstance(state_of(event), Accepted):
        return
    for transaction in ending(event):
        if transaction.fail or not seen_whole(event):
            continue
        silent = [posting for posting in transaction.postings.values() if unspoken(posting)]
        # The same disposition may cover a posting too: that one has its (plain) outcome.
        silent = [posting for posting in silent if posting not in event.covered]
        # What comes after the discharge is no part of what it commits (TXN-017 reports it).
        end = transaction.discharge
        silent = [posting for posting in silent if end is None or posting.mark.frame < end.frame]
        if silent:
            first = silent[0]
            report.sure(
                event,
                f"the commit of {call(transaction.id)} is accepted before the outcome of"
                f" {plural(len(silent), 'posting')} was reported, the first of them delivery"
                f" {first.delivery_id} on {first.link.label()}",
                "disposition.state",
                ((first.mark, "the posting"), (transaction.discharge, "the discharge")),
            )


def unspoken(posting: Delivery) -> bool:
    """Whether the resource still owes the outcome of a posting."""
    if posting.snd_settled is not None or posting.aborted or not posting.complete:
        return False
    link = posting.link
    if link.detach is not None or (link.pair is not None and link.pair.detach is not None):
        return False
    session = link.session
    if session.ended is not None or session.pair is None or session.pair.ended is not None:
        return False
    if session.deliveries.settled_ahead:
        # The capture has the two directions out of order: the outcome may have been the early one.
        return False
    work = posting.work
    told = work is not None and work.outcome is not None
    return not told and posting.rcv_terminal is None


@rule("TXN-029", "4.4", MUST, ERROR, on=ANSWER)
def posting_outcome_outside_txn(event: Event, report: Reporter) -> None:
    """What the resource tells of a posting names the transaction of that, as long as it is live.

    A plain accepted says that the message is there for good, whatever becomes of the transaction. A
    plain refusal does no harm and is a warning. Once the discharge has passed, plain outcomes are
    right.

    Bad (posting):
        server: disposition[0] role=receiver first=1 settled=true state=accepted()   # <- TXN-029

    Good (posting):
        server: disposition[0] role=receiver first=1
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    state = state_of(event)
    plain = outcome(state)
    said = txn_id(state.txn_id) if isinstance(state, TransactionalState) else None
    if (not plain and said is None) or plain == "declared" or not seen_whole(event):
        return
    for delivery in postings(event):
        transaction = None if delivery.work is None else delivery.work.transaction
        if transaction is None or transaction.state != LIVE or owner(transaction) == event.peer:
            continue
        if said == transaction.id or delivery.aborted:
            continue
        told = f"is {plain} outside of it" if plain else f"is reported under {call(said or b'')}"
        report.sure(
            event,
            f"delivery {delivery.delivery_id} was posted under transaction"
            f" {call(transaction.id)} and {told}",
            "disposition.state",
            ((delivery.mark, "the posting"), (transaction.declared, "its transaction")),
            severity="" if not plain or plain == "accepted" else WARNING,
        )
        return


@rule("TXN-034", "4.4.3", MUST, WARNING, on="first transactional")
def transactional_acquisition_ignored(event: Event, report: Reporter, link: LinkEnd) -> None:
    """A sender that cannot acquire under a transaction ends the link with amqp:not-implemented.

    Sending the messages as if nothing had been asked for makes the controller believe that it can
    roll them back. Told, once for a link, when a message goes by credit that only came with the
    transaction; many brokers never heard of this, so it is a suspicion.

    Bad (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                | data(b"0")   # <- TXN-034

    Good (granting):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=2 delivery-count=0 link-credit=2
                properties={:txn-id=b"t"}
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
    """
    pair = link.pair
    if pair is None or pair.receiving.txn_mark is None:
        return
    if isinstance(state_of(event), TransactionalState) or not seen_whole(event):
        return
    transaction = event.connection.transactions.known.get(pair.receiving.txn_ids[-1])
    count = link.sending.count_high
    if transaction is None or transaction.state != LIVE:
        return
    if count is None or pair.receiving.credit.unsure:
        return
    if len(pair.receiving.txn_ids) > 1 or owner(transaction) == event.peer:
        return
    for grant in pair.receiving.credit.entries:
        if grant.mark.frame < pair.receiving.txn_mark.frame and grant.limit > count:
            return
    if not report.once(link):
        return
    report.suspect(
        event,
        f"link {link.label()} was to acquire under transaction {call(transaction.id)}, yet a"
        " message comes outside of it",
        "transfer.state",
        ((pair.receiving.txn_mark, "the flow that named the transaction"),),
    )


@rule("TXN-035", "4.4.3", MUST, ERROR, on="first state transactional")
def acquired_under_wrong_txn(event: Event, report: Reporter) -> None:
    """The resource acquires a message under a transaction that a flow of the link has named.

    One that an earlier flow named is right as long as transfers are on their way.

    Bad (granting):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")   # <- TXN-035

    Good (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
    """
    state, link = state_of(event), event.link
    id = txn_id(state.txn_id) if isinstance(state, TransactionalState) else None
    if id is None or link is None or link.pair is None or link.pair.attach is None:
        return
    transactions = event.connection.transactions
    if transactions.links[event.peer] or not transactions.links[1 - event.peer]:
        return
    if link.again or id in link.pair.receiving.txn_ids or not seen_whole(event):
        return
    report.sure(
        event,
        f"a message comes under transaction {call(id)}, which no flow on link {link.label()} named",
        "transfer.state.txn-id",
        ((link.pair.flow_mark, "the last flow of the link"),),
    )


@rule("TXN-037", "4.4.3", IMPLIED, WARNING, on="first state transactional")
def txn_id_used_after_discharge(event: Event, report: Reporter) -> None:
    """When the resource has answered a discharge, it begins no more deliveries under it.

    Later transfers of a delivery that had begun before may still name it.

    Bad (acquiring flow.drain=true):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")   # <- TXN-037

    Good (acquiring flow.drain=true):
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"0")
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    state = state_of(event)
    id = txn_id(state.txn_id) if isinstance(state, TransactionalState) else None
    transaction = None if id is None else event.connection.transactions.known.get(id)
    if id is None or transaction is None or owner(transaction) == event.peer:
        return
    link = event.link
    if transaction.discharge is None or link is None or link.pair is None:
        return
    if transaction.state not in (COMMITTED, ROLLED_BACK) or id not in link.pair.receiving.txn_ids:
        return
    if seen_whole(event):
        report.sure(
            event,
            f"a message is acquired under transaction {call(id)} after its discharge was answered",
            "transfer.state.txn-id",
            ((transaction.answer, "the answer to the discharge"),),
        )


@rule("TXN-038", "4.4.3", MUST, ERROR, on=ANSWER)
def rollback_with_half_sent_delivery(event: Event, report: Reporter) -> None:
    """Before it completes a rollback, the resource ends or aborts what it is sending under it.

    Bad (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=1 settled=true state=accepted()   # <- TXN-038

    Good (acquiring):
        server: transfer[0] handle=2 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                state=transactional-state(txn-id=b"t") | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: transfer[0] handle=2 aborted=true
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    if not isinstance(state_of(event), Accepted):
        return
    for transaction in ending(event):
        if not transaction.fail or not seen_whole(event):
            continue
        open_one = half_sent(transaction.acquired)
        if open_one is not None:
            report.sure(
                event,
                f"the rollback of {call(transaction.id)} is accepted while delivery"
                f" {open_one.delivery_id} on {open_one.link.label()} is half sent under it",
                "disposition.state",
                ((open_one.mark, "the delivery"), (transaction.discharge, "the discharge")),
            )


@rule("TXN-044", "4.4.4.1", MUST, ERROR, on=ANSWER)
def committed_outcome_differs(event: Event, report: Reporter) -> None:
    """After a commit, a posting has the outcome that the resource had announced for it.

    Saying nothing more is fine.

    Bad (posting):
        server: disposition[0] role=receiver first=1
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()
        server: disposition[0] role=receiver first=1 settled=true state=rejected()   # <- TXN-044

    Good (posting):
        server: disposition[0] role=receiver first=1
                state=transactional-state(txn-id=b"t" outcome=accepted())
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=false))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()
        server: disposition[0] role=receiver first=1 settled=true state=accepted()
    """
    state = state_of(event)
    now = outcome(state.outcome if isinstance(state, TransactionalState) else state)
    if not now:
        return
    for delivery in postings(event):
        work = delivery.work
        if work is None or work.transaction is None or work.transaction.state != COMMITTED:
            continue
        announced = outcome(work.outcome)
        if announced and announced != now and seen_whole(event):
            report.sure(
                event,
                f"delivery {delivery.delivery_id} is {now} after the commit; {announced} was"
                " announced",
                "disposition.state",
                (
                    (work.outcome_mark, "what was announced"),
                    (work.transaction.answer, "the commit"),
                ),
            )
            return


@rule("TXN-045", "4.4.4.1", SHOULD, WARNING, on=ANSWER)
def rolled_back_posting_given_outcome(event: Event, report: Reporter) -> None:
    """After a rollback, a posting is given no outcome.

    It was never delivered; some brokers release it all the same to have it settled.

    Bad (posting):
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()
        server: disposition[0] role=receiver first=1 settled=true state=accepted()   # <- TXN-045

    Good (posting):
        client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                | amqp-value(discharge(txn-id=b"t" fail=true))
        server: disposition[0] role=receiver first=2 settled=true state=accepted()
        client: disposition[0] role=sender first=1 settled=true
    """
    plain = outcome(state_of(event))
    if not plain:
        return
    for delivery in postings(event):
        transaction = None if delivery.work is None else delivery.work.transaction
        if transaction is None or transaction.state != ROLLED_BACK or delivery.aborted:
            continue
        if delivery.work is not None and delivery.work.dead:
            continue
        report.sure(
            event,
            f"delivery {delivery.delivery_id} is {plain} although transaction"
            f" {call(transaction.id)} was rolled back",
            "disposition.state",
            ((delivery.mark, "the posting"), (transaction.answer, "the rollback")),
        )
        return
