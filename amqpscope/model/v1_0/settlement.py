"""Dispositions and delivery states (spec 2.6.12, 2.7.6, 3.4)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.serial import distance, unwrap
from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0 import fast_paths
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import SECOND
from dissectors.v1_0.bodies import Accepted, Disposition, TransactionalState
from dissectors.v1_0.values import Value

"""The states that are terminal."""


ODD_STATE: Final[int] = kinds.KIND["odd-state"]
_ODD_LINK: Final = kinds.KIND["odd-link"]


def odd_state(state: Value, deliveries: list[Delivery]) -> bool:
    """Anything but a plain accepted for deliveries of links that list no outcomes."""
    if not isinstance(state, Accepted) or len(state) > 0:
        return True
    for delivery in deliveries:  # noqa: SIM110 - a generator costs more than the rest
        if delivery.link.terms.outcomes:
            return True
    return False


def provisional(state: Value) -> bool:
    """The state is bound to a transaction that is not discharged yet."""
    return isinstance(state, TransactionalState)


def delivering_end(session: SessionEnd, body: Disposition) -> SessionEnd | None:
    """The session end that sent the deliveries of a disposition."""
    return session.pair if body.role else session


def place(event: Event, session: SessionEnd, body: Disposition) -> None:
    """Find the deliveries that a disposition is about."""
    event.kinds |= kinds.RECEIVER_DISPOSITION if body.role else kinds.SENDER_DISPOSITION
    if body.state is not None:
        event.kinds |= kinds.STATE
    sender = delivering_end(session, body)
    near = None if sender is None else sender.deliveries.next_delivery_id
    if sender is None or body.first is None or near is None:
        event.kinds |= kinds.ODD_DISPOSITION
        if body.state is not None:
            event.kinds |= ODD_STATE
        return
    first = unwrap(body.first, near)
    more = 0 if body.last is None else distance(body.last, body.first)
    if more < 0:
        event.kinds |= kinds.ODD_DISPOSITION
        more = 0
    last = first + more
    event.first, event.last = first, last
    event.covered = sender.deliveries.find_range(first, last)
    if event.covered and event.covered[0].link.odd:
        event.kinds |= _ODD_LINK
    event.kinds |= fast_paths.of_disposition(event, body)
    if body.state is not None and odd_state(body.state, event.covered):
        event.kinds |= ODD_STATE


def apply(event: Event, body: Disposition) -> None:
    """Let a disposition take effect on all its deliveries."""
    session, mark = event.session, event.mark
    if session is None:
        return
    sender = delivering_end(session, body)
    unsettled = bool(body.role) and not body.settled and outcome(body.state) != ""
    if sender is not None and len(event.covered) <= event.last - event.first and event.ahead:
        sender.deliveries.settled_ahead = True
    deliveries = None if sender is None else sender.deliveries
    for delivery in event.covered:
        if body.role:
            if delivery.mark.end <= event.known:
                event.own.prove(delivery.mark.end)
            if body.state is not None:
                state_by_receiver(delivery, body.state, mark)
            if body.settled:
                settle_by_receiver(delivery, mark)
        else:
            if body.state is not None:
                state_by_sender(delivery, body.state, mark)
            if body.settled:
                settle_by_sender(delivery, mark)
        if deliveries is not None:
            if over(delivery):
                deliveries.finish(delivery)
            elif unsettled and delivery.number in deliveries.live:
                deliveries.half_settled[delivery.number] = delivery


def over(delivery: Delivery) -> bool:
    """Nothing more has to be said about a delivery."""
    if not delivery.complete:
        return False
    if delivery.snd_settled is not None:
        return True
    return delivery.rcv_settled is not None and mode_of(delivery) != SECOND


def mode_of(delivery: Delivery) -> int | None:
    """The receiver-settle-mode in force for a delivery; None while it is not known."""
    if delivery.rcv_settle_mode is not None:
        return delivery.rcv_settle_mode
    receiver = delivery.link.pair
    if receiver is None or receiver.attach is None:
        return None
    return receiver.terms.rcv_settle_mode


def state_by_sender(delivery: Delivery, state: Value, mark: Mark) -> None:
    """The sender states what became of a delivery."""
    delivery.snd_state = state
    if delivery.snd_terminal is None and outcome(state):
        delivery.snd_terminal = state
        delivery.snd_terminal_mark = mark


def state_by_receiver(delivery: Delivery, state: Value, mark: Mark) -> None:
    """The receiver states what became of a delivery."""
    delivery.rcv_state = state
    delivery.rcv_state_mark = mark
    if delivery.rcv_terminal is None and outcome(state):
        delivery.rcv_terminal = state
        delivery.rcv_terminal_mark = mark


def settle_by_sender(delivery: Delivery, mark: Mark) -> None:
    """The sender has forgotten the delivery: its tag is free."""
    if delivery.snd_settled is None:
        delivery.snd_settled = mark
    if delivery.settled is None:
        delivery.settled = mark
    free_tag(delivery)


def settle_by_receiver(delivery: Delivery, mark: Mark) -> None:
    """The receiver has forgotten the delivery."""
    if delivery.rcv_settled is None:
        delivery.rcv_settled = mark
    if delivery.settled is None:
        delivery.settled = mark
    if mode_of(delivery) != SECOND and delivery.complete:
        free_tag(delivery)
        if delivery.snd_settled is None and delivery.tag is not None:
            delivery.link.sending.free(delivery.tag, delivery)


def free_tag(delivery: Delivery) -> None:
    """Take a delivery out of its link's unsettled map."""
    tag = delivery.tag
    unsettled = delivery.link.sending.unsettled
    if tag is not None and unsettled.get(tag) is delivery:
        del unsettled[tag]
