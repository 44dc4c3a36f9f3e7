"""What peers refused in a capture: where, how often, and of which link, channel or consumer."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Final

from amqpscope.analysis import Step
from amqpscope.model.refusal import COUNTED, Refusal
from amqpscope.protocols.ending_words import LONGEST
from amqpscope.protocols.stuck import Held, Refused
from amqpscope.protocols.words import printable, shortened

STOLEN: Final = "amqp:link:stolen"

Key = tuple[int, str, str, int]
"""A connection, what it is of it, its name, and who sends."""


class Refusals:
    """The frames in which a peer refuses something, by their numbers."""

    def __init__(self) -> None:
        self.frames: array[int] = array("I")

    def __len__(self) -> int:
        return len(self.frames)

    def __contains__(self, number: int) -> bool:
        place = bisect_left(self.frames, number)
        return place < len(self.frames) and self.frames[place] == number

    def after(self, number: int) -> int:
        """The next one behind a frame; 0 if there is none."""
        place = bisect_right(self.frames, number)
        return self.frames[place] if place < len(self.frames) else 0

    def before(self, number: int) -> int:
        """The last one before a frame; 0 if there is none."""
        place = bisect_left(self.frames, number)
        return self.frames[place - 1] if place else 0


def refusal(step: Step) -> Refusal | None:
    """What a unit refuses, in words that may be shown; mostly nothing."""
    found = step.event.refuses
    return None if found is None else printable_refusal(found)


def printable_refusal(refusal: Refusal) -> Refusal:
    """A refusal in words that may be shown: they were chosen by the peer.

    Some brokers send a whole stack trace, of many indented lines: it is shown as one text, and cut,
    so that what comes after it stays in view. The frame has all of it.
    """
    text = shortened(printable(" ".join(refusal.text.split())), LONGEST)
    if refusal.text.startswith('"') and not text.endswith('"'):
        text += '"'
    return refusal._replace(reason=printable(refusal.reason), text=text)


class RefusedMessages:
    """Counts refused messages, and transactions that are rolled back, as they pass."""

    def __init__(self) -> None:
        self.known: dict[Key, Refused] = {}
        """The newest of each."""
        self.times: Counter[tuple[Key, str]] = Counter()
        """By what was done to them: messages are not counted with transactions."""

    def take(self, step: Step) -> None:
        """Note what a frame refuses."""
        found = refusal(step)
        if found is None or found.what not in COUNTED:
            return
        frame = step.frame
        for key in places(step):
            self.times[key, found.what] += 1
            count = self.times[key, found.what]
            self.known[key] = Refused(found, frame.number, frame.time, frame.sender, count)

    def add_refusal(self, held: Held) -> Held:
        """With what was refused, unless there is something graver."""
        found = self.known.get((held.connection, held.what, held.name, held.sender))
        return held if found is None or held.refused is not None else held._replace(refused=found)


def places(step: Step) -> Iterator[Key]:
    """Where the messages of a unit belong, one for each."""
    number, event = step.conversation.number, step.event
    carried = event.carries
    own = event.lane if carried is None else carried.lane
    lanes = [delivery.lane for delivery in event.covers] or [own]
    for lane in lanes:
        if lane is not None:
            yield number, lane.kind, lane.name, lane.sender


def with_thieves(held: list[Held]) -> list[Held]:
    """Links that were stolen, with the attach that took them away."""
    return [
        one
        if one.refused is None or one.refused.refusal.reason != STOLEN
        else one._replace(refused=one.refused._replace(thief=thief(one, one.refused, held)))
        for one in held
    ]


def thief(one: Held, refused: Refused, held: list[Held]) -> int:
    """The newest attach of the same name elsewhere, before the link was given up; 0: unseen."""
    same = (one.name, one.sender)
    frames = [
        other.attached
        for other in held
        if (other.name, other.sender) == same and one.attached < other.attached < refused.frame
    ]
    return max(frames, default=0)
