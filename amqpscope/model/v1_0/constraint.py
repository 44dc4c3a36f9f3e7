"""What holds a link now: why its sender does not send, since when, and who is waited for."""

from __future__ import annotations

from typing import Final

from amqpscope.model.constraint import CLOSED, FILTERED, IDLE, UNKNOWN, Constraint
from amqpscope.model.ending import CONNECTION, SESSION
from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.ending import link_ending
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from dissectors.v1_0.bodies import Source

# fmt: off
WAITING_BEGIN:  Final = "waiting for begin"
WAITING_ATTACH: Final = "waiting for attach"
DETACHED:       Final = "detached"
ENDED:          Final = "session ended"
NO_CREDIT:      Final = "no credit"
CLOSED_WINDOW:  Final = "session window closed"
DRAINING:       Final = "draining"
UNSETTLED:      Final = "waiting for settlement"
# fmt: on
ENDED_BY: Final = {CONNECTION: CLOSED, SESSION: ENDED}
"""What it is called that a link ended with what carried it."""


def constraint(sender: LinkEnd) -> Constraint:
    """What holds the sending end of a link, the strongest first."""
    session = sender.session
    own = session.owner
    partner = 1 - own.peer
    receiver = sender.pair
    ending = link_ending(sender)
    if ending is not None:
        return Constraint(ENDED_BY.get(ending.what, DETACHED), ending.mark, ending.peer, "", ending)
    if session.pair is None:
        return Constraint(WAITING_BEGIN, session.mark, partner, f"on channel {session.channel}")
    if receiver is None:
        return Constraint(WAITING_ATTACH, sender.mark, partner, f"of {sender.label()}")
    found = flow_constraint(sender, receiver, session.pair)
    return Constraint(IDLE, sender.mark, own.peer, "") if found is None else found


def flow_constraint(
    sender: LinkEnd, receiver: LinkEnd, other: SessionEnd, *, over: bool = False
) -> Constraint | None:
    """What holds a link that is up, by credit, window and deliveries.

    Of a link that is `over`, what held it until then; None where that is not known.
    """
    session, partner = sender.session, other.owner.peer
    left = credit_left(sender)
    if left is None and over:
        return None
    if left is None:
        grant = receiver.receiving.credit.latest()
        if grant is None and receiver.attach is not None:
            detail = f"none was granted yet{waiting(sender)}"
            return Constraint(NO_CREDIT, receiver.mark, partner, detail)
        return Constraint(UNKNOWN, sender.mark, partner, "the capture does not show the credit")
    if left <= 0:
        since = later(receiver.flow_mark or receiver.mark, sender.sending.last_mark)
        total = sender.sending.delivery_total
        detail = f"after {total} {'delivery' if total == 1 else 'deliveries'}{waiting(sender)}"
        return Constraint(NO_CREDIT, since, partner, detail)
    room = window_left(session)
    if room is not None and room <= 0:
        since = later(other.flow_mark or other.mark, session.sending.last_mark)
        return Constraint(CLOSED_WINDOW, since, partner, f"credit {left}")
    if receiver.receiving.drain and receiver.receiving.drain_mark is not None and not over:
        return Constraint(DRAINING, receiver.receiving.drain_mark, 1 - partner, f"credit {left}")
    since = later(receiver.flow_mark or receiver.mark, sender.sending.last_mark)
    if sender.sending.unsettled:
        oldest = next(iter(sender.sending.unsettled.values()))
        detail = f"{len(sender.sending.unsettled)} unsettled, credit {left}"
        return Constraint(UNSETTLED, oldest.mark, partner, detail)
    kind = IDLE if sender.sending.delivery_total or not is_filtered(sender) else FILTERED
    return Constraint(kind, since, 1 - partner, f"credit {left}")


def is_filtered(sender: LinkEnd) -> bool:
    """Whether a sender says that a filter chooses what it sends."""
    source = None if sender.attach is None else sender.attach.source
    return isinstance(source, Source) and bool(source.filter)


def waiting(sender: LinkEnd) -> str:
    """How many messages the sender said to have that it has not sent since; empty: none known."""
    sending = sender.sending
    left = (sending.available or 0) - (sending.delivery_total - sending.available_from)
    return f", {left} available" if left > 0 else ""


def later(one: Mark, other: Mark | None) -> Mark:
    """The later of two places."""
    return other if other is not None and other.frame > one.frame else one


def credit_left(sender: LinkEnd) -> int | None:
    """The sender's link-credit by the last grant that passed; None: unknown."""
    receiver = sender.pair
    if receiver is None or sender.sending.count_high is None or receiver.receiving.credit.unsure:
        return None
    grant = receiver.receiving.credit.latest()
    return None if grant is None else grant.limit - sender.sending.count_high


def window_left(session: SessionEnd) -> int | None:
    """The transfers that a peer may still send by the last window that passed; None: unknown."""
    other = session.pair
    if other is None or session.sending.next_outgoing_id is None or other.receiving.window.unsure:
        return None
    grant = other.receiving.window.latest()
    return None if grant is None else grant.limit - session.sending.next_outgoing_id
