"""Transactions and their control links (spec part 4).

The controller declares and discharges a transaction on a link to a coordinator; the resource, at
the other end, answers with its id. A delivery that has to do with transactions has a `Work`, which
says what: a control message, a posting or an acquisition under a transaction, a provisional
outcome. Only frames of kind `transactional` come here: others are not even looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model import transactions
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.model.refusal import ROLLED_BACK as UNDONE_WORD
from amqpscope.model.refusal import UNDONE, Refusal
from amqpscope.model.transactions import TransactionCounts
from dissectors.v1_0.bodies import (
    Accepted,
    Attach,
    Coordinator,
    Declare,
    Declared,
    Detach,
    Discharge,
    Disposition,
    End,
    Flow,
    Rejected,
    TransactionalState,
    Transfer,
)
from dissectors.v1_0.message import AMQP_SEQUENCE, AMQP_VALUE, DATA, read_section, walk
from dissectors.v1_0.values import Array, Symbol, Value

if TYPE_CHECKING:
    from amqpscope.model.v1_0.delivery import Delivery
    from amqpscope.model.v1_0.event import Event
    from amqpscope.model.v1_0.link import LinkEnd
    from amqpscope.model.v1_0.session import SessionEnd

LIVE: Final = 0
DISCHARGING: Final = 1
COMMITTED: Final = 2
ROLLED_BACK: Final = 3
GONE: Final = 4
"""Its control link ended, or its discharge was refused: what became of it is unknown."""

MAX_ENDED: Final = 256
"""Ended transactions that are remembered, to recognise a late use of their ids."""
MAX_CONTROL: Final = 4096
"""Octets of a control message that are looked at; real ones have some tens."""

BODIES: Final = (DATA, AMQP_SEQUENCE, AMQP_VALUE)


class Transaction(Subject):
    """One transaction, from its declared outcome on."""

    def __init__(self, id: bytes, control: LinkEnd, declare: Mark, declared: Mark) -> None:
        super().__init__()
        self.id = id
        self.control = control
        """The controller's end of the control link."""
        self.declare = declare
        self.declared = declared
        self.state = LIVE
        self.discharge: Mark | None = None
        """The controller's discharge."""
        self.fail = False
        """It asked to roll back."""
        self.answer: Mark | None = None
        """What ended it: the answer to the discharge, or the end of its control link."""
        self.accepted = False
        """The resource has accepted the discharge."""
        self.ender = -1
        """The peer that ended the control link under it."""
        self.closed = False
        """That end was for good: a closing detach, or the end of the session."""
        self.postings: dict[int, Delivery] = {}
        """Deliveries of the controller under it whose outcome or end is still to come, by frame."""
        self.acquired: dict[int, Delivery] = {}
        """Deliveries of the resource under it whose end is still to come."""
        self.links: list[LinkEnd] = []
        """The controller's receiving links whose flows named it."""
        self.partial = False
        """It was discharged with a posting half sent."""
        self.mixed: Mark | None = None
        """The disposition that bound a delivery of it to another transaction, or the reverse."""

    def end(self, state: int, mark: Mark) -> None:
        """It is over; what it held is let go."""
        self.state = state
        self.answer = mark
        self.postings = {}
        self.acquired = {}
        self.links = []


class Work(Subject):
    """What one delivery has to do with transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.control: Declare | Discharge | None = None
        """What it says to the coordinator."""
        self.transaction: Transaction | None = None
        """Under which it was posted or acquired; of a discharge, the one that it ends."""
        self.id: bytes | None = None
        """As its first transfer named it."""
        self.dead = False
        """The id was of no live transaction, for sure."""
        self.outcome: Value = None
        """The provisional outcome that the receiver gave it."""
        self.outcome_mark: Mark | None = None
        self.outcome_transaction: Transaction | None = None
        """The one under which the receiver gave it; None where that was not declared in view."""


class ControlMessage:
    """What a message to a coordinator holds."""

    def __init__(self, bodies: list[int], value: Value, readable: bool) -> None:
        self.bodies = bodies
        """The codes of its body sections."""
        self.value = value
        """What its amqp-value holds."""
        self.readable = readable


def read_control(message: bytes) -> ControlMessage:
    """Look into a message on a control link."""
    if len(message) > MAX_CONTROL:
        return ControlMessage([], None, False)
    sections, fault = walk(message)
    bodies = [section for section in sections if section.code in BODIES]
    value: Value = None
    readable = fault is None and all(section.code >= 0 for section in sections)
    if bodies and bodies[0].code == AMQP_VALUE:
        value, faults = read_section(message, bodies[0])
        readable = readable and not faults
    return ControlMessage([section.code for section in bodies], value, readable)


def coordinator_link(link: LinkEnd) -> bool:
    """Whether a link goes to a coordinator, as its sender says."""
    return link.terms.coordinator and link.role is False


def capabilities(link: LinkEnd) -> list[str] | None:
    """What the resource's attach lists for the coordinator; None when it lists nothing."""
    attach = None if link.pair is None else link.pair.attach
    target = None if attach is None else attach.target
    said = target.capabilities if isinstance(target, Coordinator) else None
    if isinstance(said, Symbol):
        return [said]
    return [str(each) for each in said] if isinstance(said, Array) and said else None


def txn_id(value: Value) -> bytes | None:
    """An id, if it is binary; other specifications may know other kinds."""
    return bytes(value) if type(value) is bytes else None


class Transactions:
    """The transactions of one connection."""

    def __init__(self) -> None:
        self.active = False
        """A coordinator link or a transactional state was seen."""
        self.links: list[list[LinkEnd]] = [[], []]
        """Each peer's coordinator links, of which it is the controller."""
        self.known: dict[bytes, Transaction] = {}
        """By id: live ones, and the last that ended."""
        self.lost = False
        """Ids may have been declared out of sight, or forgotten here."""
        self.frame = 0
        self.message: ControlMessage | None = None
        self.totals = [0, 0, 0]
        """How many were committed, rolled back, and ended in doubt."""

    def finish(self, transaction: Transaction, state: int, mark: Mark) -> None:
        """A transaction is over, and counted."""
        doubtful = state == GONE and transaction.discharge is not None
        self.totals[0 if state == COMMITTED else 2 if doubtful else 1] += 1
        transaction.end(state, mark)

    def counts(self, over: bool) -> TransactionCounts:
        """What became of all of them; what was open is rolled back when the connection is over."""
        committed, rolled_back, in_doubt = self.totals
        states = [each.state for each in self.known.values()]
        live, discharging = states.count(LIVE), states.count(DISCHARGING)
        if over:
            return TransactionCounts(committed, rolled_back + live, in_doubt + discharging)
        return TransactionCounts(committed, rolled_back, in_doubt, live + discharging)

    def control(self, event: Event) -> ControlMessage | None:
        """The control message that a transfer completes, read once."""
        link = event.link
        if event.message is None or link is None or not coordinator_link(link):
            return None
        if self.frame != event.mark.frame:
            self.frame = event.mark.frame
            self.message = read_control(event.message)
        return self.message

    def apply(self, event: Event) -> None:
        """Take a frame that may declare, use or discharge a transaction."""
        body = event.body
        if not isinstance(body, Flow):
            self.active = True
        if isinstance(body, Transfer):
            self.transfer(event, body)
        elif isinstance(body, Disposition):
            self.disposition(event, body)
        elif isinstance(body, Flow):
            if body.properties is not None:
                self.flow(event, body)
        elif isinstance(body, Attach):
            self.attach(event, body)
        elif isinstance(body, Detach):
            if event.link is not None:
                self.lose_link(event, event.link, bool(body.closed) or body.error is not None)
        elif isinstance(body, End) and event.session is not None:
            self.lose_session(event, event.session)

    def attach(self, event: Event, body: Attach) -> None:
        """Note a link to the coordinator."""
        link = event.link
        if isinstance(body.target, Coordinator) and link is not None and link.role is False:
            self.active = True
            still = [other for other in self.links[event.peer] if not other.is_detached]
            self.links[event.peer] = [*still, link]

    def transfer(self, event: Event, body: Transfer) -> None:
        """A control message, or work."""
        link, delivery = event.link, event.delivery
        if link is None or delivery is None:
            return
        if coordinator_link(link):
            self.control_message(event, delivery)
            return
        state = body.state
        if isinstance(state, TransactionalState):
            self.bind(event, work_of(delivery), txn_id(state.txn_id))
        work = delivery.work
        transaction = None if work is None else work.transaction
        if transaction is not None and transaction.state <= DISCHARGING:
            note_progress(event, transaction, delivery)

    def bind(self, event: Event, work: Work, id: bytes | None) -> None:
        """A delivery names the transaction that it belongs to."""
        if id is None or work.id is not None:
            return
        work.id = id
        work.transaction = transaction = self.known.get(id)
        if transaction is None:
            work.dead = not self.lost and event.own.anchored and event.partner.anchored
        else:
            work.dead = transaction.state != LIVE

    def control_message(self, event: Event, delivery: Delivery) -> None:
        """A declare or discharge."""
        found = self.control(event)
        if found is None or not isinstance(found.value, (Declare, Discharge)):
            if not delivery.whole and not delivery.aborted:
                self.lost = True
            return
        work = work_of(delivery)
        work.control = found.value
        if delivery.snd_settled is not None:
            delivery.link.sending.presettled = event.mark
        if not isinstance(found.value, Discharge):
            return
        id = txn_id(found.value.txn_id)
        transaction = None if id is None else self.known.get(id)
        if transaction is None:
            seen = not self.lost and event.own.anchored and event.partner.anchored
            work.dead = seen and id is not None
            return
        work.transaction = transaction
        if transaction.state == LIVE:
            transaction.state = DISCHARGING
            transaction.discharge = event.mark
            transaction.fail = bool(found.value.fail)
            transaction.partial = half_sent(transaction.postings) is not None

    def disposition(self, event: Event, body: Disposition) -> None:
        """An answer to a control message, or an outcome under a transaction."""
        state = body.state
        if state is None:
            return
        if isinstance(state, Declared) and not event.covered:
            # It answers a declare that was not seen, or on a session that is unknown.
            self.lost = True
        for delivery in event.covered:
            link = delivery.link
            if body.role and coordinator_link(link):
                self.answer(event, delivery, state)
            elif isinstance(state, TransactionalState):
                self.outcome(event, delivery, state, bool(body.role))

    def answer(self, event: Event, delivery: Delivery, state: Value) -> None:
        """What the resource says to a declare or discharge."""
        work = delivery.work
        if work is None or work.control is None:
            if isinstance(state, Declared):
                self.lost = True
            return
        if isinstance(work.control, Declare):
            id = txn_id(state.txn_id) if isinstance(state, Declared) else None
            if id is not None and work.transaction is None:
                work.transaction = Transaction(id, delivery.link, delivery.mark, event.mark)
                self.declare(work.transaction)
            elif id is None and isinstance(state, Declared):
                self.lost = True
            return
        transaction = work.transaction
        if transaction is None or transaction.state != DISCHARGING:
            return
        name = state.row.name if hasattr(state, "row") else ""
        if name == "accepted":
            transaction.accepted = True
            self.finish(transaction, ROLLED_BACK if transaction.fail else COMMITTED, event.mark)
        elif name == "rejected":
            self.finish(transaction, ROLLED_BACK, event.mark)
        elif name != "received":
            self.finish(transaction, GONE, event.mark)

    def declare(self, transaction: Transaction) -> None:
        """A new one; of too many that ended the oldest are forgotten."""
        known = self.known
        old = known.pop(transaction.id, None)
        if old is not None and old.state <= DISCHARGING and old.control is not transaction.control:
            # Perhaps ids are unique for each control link only: then they say nothing here.
            self.lost = True
        known[transaction.id] = transaction
        if len(known) > MAX_ENDED:
            for id, old in known.items():
                if old.state >= COMMITTED:
                    del known[id]
                    self.lost = True
                    break

    def outcome(
        self, event: Event, delivery: Delivery, state: TransactionalState, receiver: bool
    ) -> None:
        """An outcome under a transaction, from either side."""
        id = txn_id(state.txn_id)
        if not receiver or id is None:
            return
        work = work_of(delivery)
        work.outcome, work.outcome_mark = state.outcome, event.mark
        transaction = work.outcome_transaction = self.known.get(id)
        bound = work.transaction
        if bound is not None and delivery.complete:
            bound.postings.pop(delivery.mark.frame, None)
        if transaction is None or bound is None or bound is transaction or bound.state != LIVE:
            return
        if transaction.control.session.owner.peer == event.peer:
            bound.mixed = transaction.mixed = event.mark

    def flow(self, event: Event, body: Flow) -> None:
        """A receiving link of the controller is bound to a transaction."""
        link = event.link
        if link is None or body.properties is None or link.role is not True:
            return
        id = txn_id(body.properties.get("txn-id"))
        if id is None:
            return
        if id not in link.receiving.txn_ids:
            link.receiving.txn_ids.append(id)
            link.receiving.txn_mark = event.mark
        transaction = self.known.get(id)
        if transaction is not None and transaction.state == LIVE and link not in transaction.links:
            transaction.links.append(link)

    def lose_link(self, event: Event, link: LinkEnd, closed: bool) -> None:
        """A link ends; if it is a control link, its transactions end with it."""
        own = link if coordinator_link(link) else link.pair
        if own is None or not coordinator_link(own):
            return
        for transaction in self.known.values():
            if transaction.control is own and transaction.state < COMMITTED:
                transaction.ender, transaction.closed = event.peer, closed
                self.finish(transaction, GONE, event.mark)

    def lose_session(self, event: Event, session: SessionEnd) -> None:
        """A session ends, and all control links in it."""
        for transaction in self.known.values():
            place = transaction.control.session
            if (place is session or place is session.pair) and transaction.state < COMMITTED:
                transaction.ender, transaction.closed = event.peer, True
                self.finish(transaction, GONE, event.mark)


def work_of(delivery: Delivery) -> Work:
    """A delivery's part in transactions."""
    if delivery.work is None:
        delivery.work = Work()
    return delivery.work


def note_progress(event: Event, transaction: Transaction, delivery: Delivery) -> None:
    """One more transfer of a delivery under a transaction: keep it while it matters."""
    frame = delivery.mark.frame
    over = delivery.complete or delivery.aborted
    if transaction.control.session.owner.peer != event.peer:
        waiting = transaction.acquired
    else:
        waiting = transaction.postings
        over = delivery.aborted or (delivery.complete and delivery.snd_settled is not None)
    if over:
        waiting.pop(frame, None)
    else:
        waiting[frame] = delivery


def half_sent(deliveries: dict[int, Delivery]) -> Delivery | None:
    """A delivery whose last transfer is still to come, on a link that is still there."""
    for delivery in deliveries.values():
        link = delivery.link
        if delivery.complete or delivery.aborted or link.is_detached:
            continue
        if not link.session.is_ended and link.sending.open_delivery is delivery:
            return delivery
    return None


def seen_whole(event: Event) -> bool:
    """Nothing that could declare or end a transaction was missed."""
    own, partner = event.own, event.partner
    if not own.anchored or not partner.anchored or own.damaged or partner.damaged:
        return False
    return not event.connection.transactions.lost and not event.discarded and not event.ahead


def answered_controls(event: Event) -> list[Delivery]:
    """The control messages that a disposition of the resource answers."""
    if event.discarded or event.frame.unit.faults or event.frame.missing:
        return []
    return [
        delivery
        for delivery in event.covered
        if delivery.work is not None
        and delivery.work.control is not None
        and coordinator_link(delivery.link)
    ]


def ending(event: Event) -> list[Transaction]:
    """The transactions whose discharge a disposition answers for the first time."""
    found: list[Transaction] = []
    for delivery in answered_controls(event):
        work = delivery.work
        if work is None or work.transaction is None or work.transaction.answer is not None:
            continue
        if not isinstance(work.control, Discharge):
            continue
        if work.transaction.discharge is not None:
            found.append(work.transaction)
    return found


def step_of(event: Event) -> str:
    """What a frame does to a transaction: asks for it, or answers; empty: nothing."""
    body = event.body
    if isinstance(body, Transfer):
        found = event.connection.transactions.control(event)
        value = None if found is None else found.value
        if isinstance(value, Discharge):
            return transactions.ROLLBACK if value.fail else transactions.COMMIT
        return transactions.DECLARE if isinstance(value, Declare) else ""
    if not isinstance(body, Disposition) or not body.role:
        return ""
    state = body.state
    for delivery in event.covered:
        work = delivery.work
        control = None if work is None else work.control
        if isinstance(control, Declare) and isinstance(state, Declared):
            return transactions.DECLARED
        if isinstance(control, Discharge) and isinstance(state, Accepted):
            return transactions.ROLLED_BACK if control.fail else transactions.COMMITTED
        if isinstance(state, Rejected) and work is not None and work.transaction is not None:
            return transactions.ROLLED_BACK
    return ""


def rolled_back(event: Event) -> Refusal | None:
    """A discharge that rolls its transaction back; None: a transfer that does not."""
    found = event.connection.transactions.control(event)
    value = None if found is None else found.value
    if not isinstance(value, Discharge) or not value.fail:
        return None
    id = txn_id(value.txn_id)
    return Refusal(UNDONE_WORD, "", f"transaction {'?' if id is None else id.hex()}", UNDONE)
