"""What holds every link, channel and consumer now: the answer to "why is it stuck?".

Of what is over, also what held it until then: most captures end with a close. A TCP window that a
peer has closed comes before all else, since nothing reaches that peer.
"""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope.analysis import Conversation
from amqpscope.insight.endings import talk_ending
from amqpscope.insight.refusals import shown
from amqpscope.model.constraint import CLOSED, OVER
from amqpscope.protocols.stuck import ZERO_WINDOW, Bound, Held
from amqpscope.protocols.words import endpoint
from amqpscope.stream.types import CLIENT

Windows = dict[tuple[int, int], int]
"""By connection and peer: since when a peer takes no octets."""


def held_by(conversation: Conversation, closed_windows: Windows) -> Iterator[Held]:
    """All that a connection carries, and what holds it."""
    for held in conversation.current.held() or [unlinked(conversation)]:
        receiver = 1 - held.sender
        zero = closed_windows.get((conversation.number, receiver))
        if zero is not None and held.bound.rank != OVER:
            bound = Bound(ZERO_WINDOW, 0, zero, receiver, held.bound.kind)
            held = held._replace(bound=bound)
        refused = held.refused
        if refused is not None:
            refused = refused._replace(refusal=shown(refused.refusal))
        yield held._replace(refused=refused)


def unlinked(conversation: Conversation) -> Held:
    """A connection that carries nothing: how far it came, and what was refused."""
    bound, refused = conversation.current.opening()
    ending = talk_ending(conversation)
    if ending is not None:
        bound = Bound(CLOSED, ending.mark.frame, ending.mark.time, ending.peer, "", ending)
    sender = max(bound.peer, CLIENT)  # of what another connection ended, nobody is known
    number, server = conversation.number, endpoint(conversation.connection.server)
    return Held(number, "connection", f"connection {number}", server, sender, 0, bound, None,
                refused)  # fmt: skip
