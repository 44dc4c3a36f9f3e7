"""What holds every link, channel and consumer now: the answer to "why is it stuck?".

Of what is over, also what held it until then: most captures end with a close. A TCP window that a
peer has closed comes before all else, since nothing reaches that peer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.endings import talk_ending
from amqpscope.insight.refusals import RefusedMessages, printable_refusal, with_thieves
from amqpscope.model.constraint import CLOSED, OVER, RESTS, STUCK, UNSURE, WAITS
from amqpscope.model.refusal import ABORTED, ROLLED_BACK
from amqpscope.protocols.stuck import ZERO_WINDOW, Bound, Held
from amqpscope.protocols.words import endpoint
from amqpscope.stream.types import CLIENT, SERVER

Windows = dict[tuple[int, int], int]
"""By connection and peer: since when a peer takes no octets."""

TLS_RECORDS: Final = (b"\x15", b"\x16")
"""The first octet of an alert and of a handshake, before the version of TLS."""
REFUSED: Final = "refused"
BROKEN: Final = "broken off"
FAILED: Final = "ended with an error"
HALF: Final = "half closed"
GIVEN_UP: Final = "given up"
IRREGULAR: Final = frozenset((REFUSED, GIVEN_UP, BROKEN, FAILED, HALF))
"""What comes next after what is stuck."""
STANDINGS: Final = {
    STUCK: "stuck",
    WAITS: "waiting",
    UNSURE: "unknown",
    RESTS: "idle",
    OVER: "over",
}


class StuckWatch:
    """Follows a capture, and says at any time what holds its connections."""

    def __init__(self) -> None:
        self.refused = RefusedMessages()
        self.closed_windows: Windows = {}
        self.talks: dict[int, Conversation] = {}

    def take(self, step: Step) -> None:
        """Follow what a frame does to links and channels."""
        self.talks[step.conversation.number] = step.conversation
        self.refused.take(step)

    def take_window(self, connection: int, peer: int, time: int, *, zero: bool) -> None:
        """A peer has closed or opened its TCP window."""
        if zero:
            self.closed_windows.setdefault((connection, peer), time)
        else:
            self.closed_windows.pop((connection, peer), None)

    def held_places(self) -> list[Held]:
        """All links, channels, consumers and bare connections, the worst first."""
        windows = self.closed_windows
        found = [
            self.refused.add_refusal(one)
            for talk in list(self.talks.values())
            for one in held_by(talk, windows)
        ]
        return sorted(with_thieves(found), key=gravity)


def gravity(held: Held) -> tuple[int, int, int, int, str]:
    """What is stuck first, then what was refused or broken off; of what is over what was stuck."""
    over = held.bound.ending
    grave = held.bound.rank if held.bound.rank == STUCK else held.bound.rank + 1
    if standing(held) in IRREGULAR:
        grave = STUCK + 1
    before = 0 if over is None else held.worst.rank
    return (grave, before, held.worst.time, held.connection, held.name)


def standing(held: Held) -> str:
    """The state of something, in a word."""
    refused = held.refused
    if refused is not None and held.was_refused:
        return GIVEN_UP if refused.refusal.what in (ABORTED, ROLLED_BACK) else REFUSED
    ending = held.bound.ending
    if ending is not None and not ending.orderly:
        return BROKEN if ending.by_tcp else HALF if ending.half else FAILED
    return STANDINGS[held.bound.rank]


def is_held(held: Held) -> bool:
    """Whether something is held, or was when it ended; or was refused, or ended with a fault."""
    return held.worst.rank in (STUCK, WAITS) or standing(held) in IRREGULAR - {HALF}


def held_by(conversation: Conversation, closed_windows: Windows) -> Iterator[Held]:
    """All that a connection carries, and what holds it."""
    for held in conversation.current.held_places() or [bare_connection(conversation)]:
        receiver = 1 - held.sender
        zero = closed_windows.get((conversation.number, receiver))
        if zero is not None and held.bound.rank != OVER:
            bound = Bound(ZERO_WINDOW, 0, zero, receiver, held.bound.kind)
            held = held._replace(bound=bound)
        refused = held.refused
        if refused is not None:
            refused = refused._replace(refusal=printable_refusal(refused.refusal))
        yield held._replace(refused=refused)


def wants_tls(conversation: Conversation) -> bool:
    """Whether a server's first octets, after a header in the clear, are a TLS record."""
    answer = conversation.last[SERVER]
    if answer is None or answer.offset:
        return False
    return answer.raw[:1] in TLS_RECORDS and answer.raw[1:2] == b"\x03"


def bare_connection(conversation: Conversation) -> Held:
    """A connection that carries nothing: how far it came, and what was refused."""
    bound, refused = conversation.current.opening()
    ending = talk_ending(conversation)
    if ending is not None:
        if not ending.text and wants_tls(conversation):
            ending = ending._replace(text="the server answered with TLS, which it expects here")
        bound = Bound(CLOSED, ending.mark.frame, ending.mark.time, ending.peer, "", ending)
    sender = max(bound.peer, CLIENT)  # of what another connection ended, nobody is known
    number, server = conversation.number, endpoint(conversation.connection.server)
    return Held(number, "connection", f"connection {number}", server, sender, 0, bound, None,
                refused)  # fmt: skip
