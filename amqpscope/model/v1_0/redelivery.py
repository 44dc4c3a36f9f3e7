"""Messages that should not come again: what a sender's later messages are compared with.

A message is known again by its bare octets, from the properties to the footer: what is before them
may change on the way. Only a message that is the only one of its kind on a link is remembered.
"""

from __future__ import annotations

from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.expectations import MAX_WATCHED, Watch
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.message import PROPERTIES
from amqpscope.model.v1_0.transaction import ending, seen_whole, txn_id
from dissectors.v1_0.bodies import (
    Accepted,
    Disposition,
    Modified,
    Rejected,
    Source,
    TransactionalState,
)
from dissectors.v1_0.message import walk


def note_outcome(event: Event, body: Disposition) -> None:
    """A receiver states an outcome that is not plainly accepted."""
    state = body.state
    if isinstance(state, Modified) and state.undeliverable_here and not event.damaged:
        for delivery in event.covered[:MAX_WATCHED]:
            note_unwanted(event, delivery)


def note_rollback(event: Event, body: Disposition) -> None:
    """A resource answers a discharge, before that takes effect."""
    if not seen_whole(event):
        return
    for transaction in ending(event):
        rolled_back = transaction.fail and isinstance(body.state, Accepted)
        if rolled_back or (not transaction.fail and isinstance(body.state, Rejected)):
            note_held(event, transaction.id)


def bare(message: bytes) -> bytes:
    """The part of a message that nobody on the way may change; empty if it is not known."""
    sections, fault = walk(message)
    if fault is None:
        for section in sections:
            if section.code >= PROPERTIES:
                return message[section.start :]
    return b""


def alike(delivery: Delivery, content: bytes) -> int:
    """How many deliveries of a link that are remembered have this bare content."""
    session = delivery.link.session
    return sum(
        each.link is delivery.link and each.content.endswith(content)
        for each in (*session.deliveries.live.values(), *session.deliveries.done.values())
    )


def watch_of(link: LinkEnd) -> Watch:
    """What a link's messages are compared with."""
    if link.sending.watch is None:
        link.sending.watch = Watch()
    return link.sending.watch


def note_unwanted(event: Event, delivery: Delivery) -> None:
    """Remember a message that a receiver does not want again."""
    content = bare(delivery.content)
    if not content or delivery.rcv_terminal is not None:
        return
    unwanted = watch_of(delivery.link).unwanted
    if len(unwanted) < MAX_WATCHED and alike(delivery, content) == 1:
        unwanted[content] = event.mark


def note_held(event: Event, id: bytes) -> None:
    """Remember what a controller holds after a rollback, on the links that may bring it again."""
    for session in event.own.channels.values():
        for delivery in session.deliveries.live.values():
            state = delivery.rcv_state
            if not isinstance(state, TransactionalState) or txn_id(state.txn_id) != id:
                continue
            acquired = delivery.work is not None and delivery.work.transaction is not None
            content = bare(delivery.content)
            if delivery.settled is not None or acquired or not content:
                continue
            if alike(delivery, content) == 1:
                for link in moving(event, delivery.link):
                    watch_of(link).held[content] = delivery


def moving(event: Event, link: LinkEnd) -> list[LinkEnd]:
    """A peer's senders that take messages from the same node for good."""
    found = []
    for session in event.own.channels.values():
        for other in session.handles.values():
            if other.role is False and other.node() == link.node() and not copies(other):
                found.append(other)
    return found


def copies(link: LinkEnd) -> bool:
    """Whether a sender's source only shows messages to its receiver."""
    for end in (link, link.pair):
        source = None if end is None or end.attach is None else end.attach.source
        if isinstance(source, Source) and source.distribution_mode == "copy":
            return True
    return False
