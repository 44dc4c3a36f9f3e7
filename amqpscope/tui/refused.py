"""Messages that were refused, counted by link, channel and consumer; and links that were stolen."""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope.analysis import Step
from amqpscope.model.older.event import OlderEvent
from amqpscope.report.refusals import MESSAGES, refusal
from amqpscope.stream import CLIENT, SERVER
from amqpscope.tui.bounds import Held, Refused

STOLEN = "amqp:link:stolen"

Key = tuple[int, str, str, int]
"""A connection, what it is of it, its name, and who sends."""


class RefusedMessages:
    """Counts them as they pass."""

    def __init__(self) -> None:
        self.known: dict[Key, Refused] = {}

    def take(self, step: Step) -> None:
        """One more unit."""
        found = refusal(step)
        if found is None or found.what not in MESSAGES:
            return
        frame = step.frame
        for key in places(step):
            before = self.known.get(key)
            count = 1 if before is None else before.times + 1
            self.known[key] = Refused(found, frame.number, frame.time, frame.sender, count)

    def told(self, held: Held) -> Held:
        """With what was refused, unless there is something graver."""
        found = self.known.get((held.connection, held.what, held.name, held.sender))
        return held if found is None or held.refused is not None else held._replace(refused=found)


def places(step: Step) -> Iterator[Key]:
    """Where the messages of a unit belong, one for each."""
    number = step.conversation.number
    for delivery in step.covered:
        link = delivery.link
        yield number, "link", link.name, link.session.owner.peer
    if step.older is not None:
        yield from older_places(number, step.older)


def older_places(number: int, event: OlderEvent) -> Iterator[Key]:
    """The same in the older protocols."""
    for delivery in event.covered:
        if delivery.consumer is not None:
            yield number, "consumer", delivery.consumer.tag, SERVER
    channel = event.channel
    if channel is not None and event.peer == SERVER:
        for _ in event.confirmed or (None,):
            yield number, "channel", f"channel {channel.number}", CLIENT


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
