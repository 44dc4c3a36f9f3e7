"""Dispositions and delivery states (spec 2.6.12, 2.7.6, 3.4)."""

from __future__ import annotations

from typing import Final

from amqpscope.model import event as kinds
from amqpscope.model import oddities
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.link import SECOND
from amqpscope.model.mark import Mark
from amqpscope.model.serial import distance, unwrap
from amqpscope.model.session import SessionEnd
from dissectors.v1_0.bodies import Accepted, Body, Disposition, TransactionalState
from dissectors.v1_0.values import Value

OUTCOMES: Final = frozenset(("accepted", "rejected", "released", "modified", "declared"))
"""The states that are terminal."""


ODD_STATE: Final = kinds.KIND["odd-state"]
_ODD_LINK: Final = kinds.KIND["odd-link"]


def odd_state(state: Value, deliveries: list[Delivery]) -> bool:
    """Anything but a plain accepted for deliveries of links that list no outcomes."""
    if not isinstance(state, Accepted) or len(state) > 0:
        return True
    for delivery in deliveries:  # noqa: SIM110 - a generator costs more than the rest
        if delivery.link.outcomes:
            return True
    return False


def outcome(state: Value) -> str:
    """The name of a terminal state; empty for any other, also one inside a transaction."""
    if isinstance(state, Accepted):
        return "accepted"
    if isinstance(state, Body) and state.row.name in OUTCOMES:
        return state.row.name
    return ""


def provisional(state: Value) -> bool:
    """The state is bound to a transaction that is not discharged yet."""
    return isinstance(state, TransactionalState)


def speaker(event: Event, session: SessionEnd, body: Disposition) -> SessionEnd | None:
    """The session end that sent the deliveries which a disposition speaks of."""
    return session.pair if body.role else session


def place(event: Event, session: SessionEnd, body: Disposition) -> None:
    """Find the deliveries that a disposition speaks of."""
    event.kinds |= kinds.RECEIVER_DISPOSITION if body.role else kinds.SENDER_DISPOSITION
    if body.state is not None:
        event.kinds |= kinds.STATE
    sender = speaker(event, session, body)
    near = None if sender is None else sender.next_delivery_id
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
    event.covered = covered(sender, first, last)
    if event.covered and event.covered[0].link.odd:
        event.kinds |= _ODD_LINK
    event.kinds |= oddities.of_disposition(event, body)
    if body.state is not None and odd_state(body.state, event.covered):
        event.kinds |= ODD_STATE


def covered(sender: SessionEnd, first: int, last: int) -> list[Delivery]:
    """The deliveries of a range, without walking over a range of millions."""
    if first == last:
        one = sender.find(first)
        return [] if one is None else [one]
    if last - first > len(sender.live) + len(sender.done):
        ids = sorted(number for number in (*sender.live, *sender.done) if first <= number <= last)
    else:
        ids = list(range(first, last + 1))
    found = [sender.find(number) for number in ids]
    return [delivery for delivery in found if delivery is not None]


def apply(event: Event, body: Disposition) -> None:
    """Let a disposition take effect on all its deliveries."""
    session, mark = event.session, event.mark
    if session is None:
        return
    sender = speaker(event, session, body)
    unsettled = bool(body.role) and not body.settled and outcome(body.state) != ""
    if sender is not None and len(event.covered) <= event.last - event.first and event.ahead:
        sender.foretold = True
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
        if sender is not None:
            if over(delivery):
                sender.finish(delivery)
            elif unsettled and delivery.number in sender.live:
                sender.half[delivery.number] = delivery


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
    return receiver.rcv_settle_mode


def state_by_sender(delivery: Delivery, state: Value, mark: Mark) -> None:
    """The sender states where a delivery stands."""
    delivery.snd_state = state
    if delivery.snd_terminal is None and outcome(state):
        delivery.snd_terminal = state
        delivery.snd_terminal_mark = mark


def state_by_receiver(delivery: Delivery, state: Value, mark: Mark) -> None:
    """The receiver states where a delivery stands."""
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
            delivery.link.free(delivery.tag, delivery)


def free_tag(delivery: Delivery) -> None:
    """Take a delivery out of its link's unsettled map."""
    tag = delivery.tag
    unsettled = delivery.link.unsettled
    if tag is not None and unsettled.get(tag) is delivery:
        del unsettled[tag]
