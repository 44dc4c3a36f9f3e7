"""What a recorded message of a server may follow from: the one it passes on or answers.

Where nothing moves, a message need not wait for all that came before it when recorded. It surely
waits for the message of the client that it passes on, or answers by its id, and for a refusal
that made the server send it once more. Of other messages nobody knows what they follow from.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from amqpscope.protocols.replay_acts import Act, Cue, Lane


class Passed(NamedTuple):
    """What tells a message from others, whoever sends it."""

    content: Hashable
    """What a broker passes on as it is."""
    ids: tuple[Hashable, ...] = ()
    """The ids by which others refer to it, or by which it does."""
    refusals: tuple[Cue, ...] = ()
    """Answers to it other than that all went well."""


class Origins:
    """Finds what messages follow from, in the order in which all was recorded."""

    def __init__(self) -> None:
        self._came: dict[Hashable, list[Cue]] = {}
        self._refused: dict[Hashable, tuple[Cue, ...]] = {}
        self._times: dict[tuple[Lane, Hashable], int] = {}
        self.found: dict[int, tuple[Cue, ...]] = {}
        """By the index of the act; without an entry it is not known."""

    def receive(self, cue: Cue, message: Passed) -> None:
        """A message that the other peer sends."""
        for key in {message.content, *message.ids}:
            self._came.setdefault(key, []).append(cue)

    def send(self, act: Act, message: Passed) -> None:
        """A message that our own peer sends."""
        turn = self._times.get((act.lane, message.content), 0)
        self._times[act.lane, message.content] = turn + 1
        refusals = self._refused.get(message.content, ())
        if message.refusals:
            self._refused[message.content] = (*refusals, *message.refusals)
        passed_on = self._came.get(message.content, [])
        if turn < len(passed_on):
            self.found[act.index] = (passed_on[turn], *refusals)
            return
        answered = [self._came[key][-1] for key in message.ids if key in self._came]
        if refusals or (answered and not passed_on):
            self.found[act.index] = (*answered, *refusals)


def first_pending(cues: Iterable[Cue]) -> Cue | None:
    """The first of some cues that has not come."""
    return next((cue for cue in cues if cue.left > 0), None)
