"""The order of what recorded clients do on several connections.

A connection may be the consequence of another one: it steals a link, consumes what was published,
deletes a queue when all was read. What follows from what is not recorded. So a connection begins,
and whatever is not a message, grant or outcome is sent, when all has been played that was recorded
before it on the others. Messages, grants and outcomes wait for what others set up before them, but
not for each other: connections go on side by side. Nothing waits for what is late.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import Act
from amqpscope.replay.recorded import Recorded
from amqpscope.stream.types import SERVER

if TYPE_CHECKING:
    from amqpscope.replay.player import Player


class Place:
    """A conversation among the others."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.first = recorded.frames[0].number
        self.last = recorded.frames[-1].number
        answers = (frame.number for frame in recorded.frames if frame.sender == SERVER)
        self.answered: int | None = next(answers, None)
        """The first frame of its server: nothing can follow from what was before it."""
        self.task: asyncio.Task[None] | None = None
        self.player: Player | None = None
        """Who plays it, once it is connected."""
        self.cleared = 0
        """Up to which frame all has been played on the other connections."""
        self.wanted = 0
        """Up to which frame it has to have been, for what is sent next."""
        self.waiting: set[Place] = set()
        """Those that wait for this one."""

    def has_to_play(self, number: int) -> bool:
        """Whether something recorded before a frame is still to be played."""
        if self.first >= number or self.answered is None or self.answered > number:
            return False
        if self.task is None or self.task.done():
            return self.task is None
        if self.last < number or self.player is None:
            return True
        return not self.player.late and is_pending(self.player.part, number)


class Order:
    """Lets conversations go on one after the other or side by side, as they were recorded."""

    def __init__(self, conversations: Sequence[Recorded], parts: Sequence[Part]) -> None:
        self.places = [Place(each) for each in conversations]
        self.failed = False
        """One of them could not be played at all: the others need not begin."""
        self.setup = sorted(number for part in parts for number in setup_frames(part))
        """The frames that messages wait for."""
        self._moved_at = 0.0
        """When something was played last on any of them."""
        self._moved = asyncio.Event()
        """Something was played since it was last looked at."""

    async def turn_of(self, place: Place) -> None:
        """Wait until all has been played that preceded a conversation."""
        for other in self.places:
            while not self.failed and other is not place and other.has_to_play(place.first):
                self._moved.clear()
                await self._moved.wait()

    def begin(self, place: Place, task: asyncio.Task[None]) -> None:
        """Take a conversation that begins now."""
        place.task = task
        task.add_done_callback(partial(self.take_end, place))

    def take_end(self, place: Place, task: asyncio.Task[None]) -> None:
        """One of them is over."""
        self.failed = self.failed or task.cancelled() or task.exception() is not None
        self.take_turn(place)

    def take_turn(self, place: Place) -> None:
        """Something may have been played: let those go on who wait for nothing more of it."""
        self._moved.set()
        if place.player is not None:
            self._moved_at = max(self._moved_at, place.player.moved_at)
        for other in [each for each in place.waiting if not place.has_to_play(each.wanted)]:
            place.waiting.remove(other)
            if other.player is not None:
                other.player.nudge()

    def connected(self, place: Place, player: Player) -> None:
        """Take the player of a conversation that is connected."""
        place.player = player
        if len(self.places) > 1:
            player.turned = partial(self.take_turn, place)
            player.part.precedent = partial(self.precedent, place)

    def precedent(self, place: Place, act: Act) -> str:
        """What an act waits for on other connections, in words; empty if nothing."""
        number = act.frame.number
        if act.light or act.message:
            at = bisect_left(self.setup, number)
            number = self.setup[at - 1] + 1 if at else 0
        if number <= place.cleared or self.failed:
            return ""
        for other in self.places:
            if other is not place and other.has_to_play(number):
                place.wanted = number
                other.waiting.add(place)
                if place.player is not None:
                    # It has patience as long as any of them goes on.
                    place.player.moved_at = max(place.player.moved_at, self._moved_at)
                return f"what precedes it on connection {other.recorded.number}"
        place.cleared = number
        return ""

    async def end(self) -> None:
        """Wait for the end of all, and pass on why one could not be played."""
        tasks = [each.task for each in self.places if each.task is not None]
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result


def setup_frames(part: Part) -> Iterator[int]:
    """The frames that are no messages, grants or outcomes, by number."""
    for act in part.acts:
        if not (act.light or act.message):
            yield act.frame.number
    for cue in part.cues:
        if not (cue.soft or cue.message):
            yield cue.frame.number


def is_pending(part: Part, number: int) -> bool:
    """Whether something was recorded before a frame, and is still to be sent or to come."""
    if any(acts[0].frame.number < number for acts in part.lanes.values()):
        return True
    first = part.first_missing()
    for turn in range(len(part.cues) if first is None else first.turn, len(part.cues)):
        cue = part.cues[turn]
        if cue.frame.number >= number:
            return False
        if cue.left > 0 and not cue.odd and not part.is_moot(cue):
            return True
    return False
