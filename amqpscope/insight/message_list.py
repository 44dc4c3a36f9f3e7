"""The messages of a capture as a list, those that deserve a look first, and each in words."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge, nlargest
from itertools import chain, islice
from typing import Final, NamedTuple

from amqpscope.insight.message_states import (
    DISCARDED,
    DONE,
    EXPIRED,
    HELD,
    LOST,
    REFUSED,
    STATES,
    UNANSWERED,
    UNKNOWN,
    UNSETTLED,
    WAITING,
)
from amqpscope.insight.messages import Followed, Message
from amqpscope.protocols.words import seconds

MAX_LISTED: Final = 5_000
"""Messages that a list has; of the others it has the number."""
SUSPICIOUS, REDELIVERED, SLOWEST, NEWEST = ORDERS = (
    "the suspicious first", "the most often redelivered first", "the slowest first",
    "the newest first",
)  # fmt: skip


GROUPS: Final = ((LOST,), (REFUSED,), (EXPIRED,), UNSETTLED, (DISCARDED,), (UNKNOWN,), (DONE,))
"""What comes first in a list; of the unsettled those that are so for the longest time."""
SUSPECTED: Final = (LOST, EXPIRED, UNKNOWN)
"""What only the frames of others show."""


class Listed(NamedTuple):
    """A message, and where it was when the list was made."""

    message: Message
    made: str

    @property
    def state(self) -> str:
        """Where it is now: messages go on while others look at a list of them."""
        state = self.message.state
        return self.made if state in UNSETTLED and self.made in SUSPECTED else state


class MessageList(NamedTuple):
    """The messages up to a frame."""

    frame: int = 0
    time: int = 0
    """When that frame passed, in nanoseconds."""
    order: str = SUSPICIOUS
    rows: tuple[Listed, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    """How many are in each state; `redelivered` counts those of any state that are kept."""
    total: int = 0
    """Messages that there were so far, also those that are not kept."""


def list_messages(
    followed: Followed, frame: int, now: int, order: str = SUSPICIOUS, *, final: bool = True
) -> MessageList:
    """What is known of messages now; `final` where nothing more is to come."""
    followed.look_for_ends()
    by_state: dict[str, list[Message]] = {state: [] for state in STATES}
    for state, messages in followed.by_state.items():
        if state in UNSETTLED:
            for message in messages:
                by_state[followed.suspicion(message, now, final=final)].append(message)
        else:
            by_state[state] = list(messages)
    by_state[DONE] = redelivered_first(by_state[DONE])
    pairs = chain.from_iterable(
        merge(*(messages_with_state(by_state[state], state) for state in group), key=by_patience)
        for group in GROUPS
    )
    if order == SUSPICIOUS:
        rows = tuple(islice(pairs, MAX_LISTED))
    else:
        rows = tuple(nlargest(MAX_LISTED, pairs, key=KEYS[order]))
    totals = ((state, len(found) + followed.forgotten[state]) for state, found in by_state.items())
    counts = [(state, number) for state, number in totals if number]
    again = sum(1 for message in followed.messages.values() if message.redelivered)
    if again:
        counts.append(("redelivered", again))
    total = len(followed.messages) + followed.forgotten.total()
    return MessageList(frame, now, order, rows, tuple(counts), total)


def messages_with_state(messages: list[Message], state: str) -> Iterator[Listed]:
    """Messages with their state."""
    return (Listed(message, state) for message in messages)


def by_patience(each: Listed) -> int:
    """The place among messages that somebody waits for: since when."""
    return each.message.since if each.made in UNSETTLED else 0


def redelivered_first(messages: list[Message]) -> list[Message]:
    """Settled messages: those that took several attempts, the most first, then the newest."""
    again = [message for message in messages if message.redelivered]
    again.sort(key=times_redelivered, reverse=True)
    once = [message for message in reversed(messages) if not message.redelivered]
    return again + once


def times_redelivered(message: Message) -> int:
    """How often a message was redelivered."""
    return message.redelivered


def by_attempts(listed: Listed) -> tuple[int, int]:
    """The place in a list of those that were redelivered."""
    return listed.message.redelivered, -listed.message.frame


def by_slowness(listed: Listed) -> tuple[int, int]:
    """The place in a list of those that took long to a consumer."""
    return listed.message.latency or -1, -listed.message.frame


def by_age(listed: Listed) -> tuple[int, int]:
    """The place in a list of those that came last."""
    return listed.message.frame, 0


KEYS: Final = {REDELIVERED: by_attempts, SLOWEST: by_slowness, NEWEST: by_age}

EXPLANATIONS: Final = {
    LOST: "The broker accepted it, and has since delivered later messages of the same publisher, "
    "but not this one. It may be lost, or a consumer outside the capture has it.",
    REFUSED: "The broker refused it.",
    EXPIRED: "It expired before it was delivered to a consumer in the capture.",
    UNANSWERED: "The broker has not confirmed it yet.",
    WAITING: "It is waiting at the broker: no consumer in the capture has it.",
    HELD: "A consumer has received it, and has not settled it yet.",
    DISCARDED: "Its consumer rejected it: the broker drops or dead-letters it.",
    UNKNOWN: "There were too many messages at once to follow it further.",
    DONE: "A consumer received it and settled it.",
}  # fmt: skip


def explain(listed: Listed, now: int) -> Iterator[str]:
    """Where a message is and how it came there, in sentences."""
    message, state = listed.message, listed.state
    lasted = seconds(max(now - message.since, 0))
    since = (
        f" In this state for {lasted}." if state not in (DONE, REFUSED, DISCARDED, UNKNOWN) else ""
    )
    yield EXPLANATIONS[state] + since
    if message.published > 1:
        yield (f"{message.published:,} messages with the same octets were published, and "
               f"{message.delivered:,} delivered: they cannot be told apart.")  # fmt: skip
    elif not message.published:
        yield "It was published before the capture, or on a connection that is not in it."
    if message.redelivered:
        times = "once" if message.redelivered == 1 else f"{message.redelivered:,} times"
        yield f"It was redelivered {times}."
    if message.latency is not None:
        yield f"From publishing to its newest delivery: {seconds(message.latency)}."
    if message.settle is not None:
        yield f"From a delivery to its settlement: {seconds(message.settle)}."
