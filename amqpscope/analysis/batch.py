"""What comes next of a capture, and who takes Steps the moment they come."""

from __future__ import annotations

from amqpscope.analysis.step import NO_FAULTS, Conversation, Step
from amqpscope.findings import Finding
from amqpscope.stream.types import End, Window
from dissectors.native import mypyc_attr


class StreamEnd:
    """One direction of a connection that uses AMQP is over, or nothing more of it is read."""

    def __init__(self, conversation: Conversation, end: End) -> None:
        self.conversation = conversation
        self.sender = end.sender
        self.reason = end.reason
        """How TCP ended, as in `stream.types.End`."""
        marks = conversation.connection.marks
        self.faults = NO_FAULTS if marks is None else marks.take(end.packet)
        """The faults of a proxy that acted behind the last frame."""
        self.time = end.time


class StreamWindow:
    """A peer of a connection that uses AMQP has closed or opened its TCP window."""

    def __init__(self, conversation: Conversation, window: Window) -> None:
        self.conversation = conversation
        self.sender = window.sender
        self.zero = window.zero
        self.time = window.time


class Batch:
    """What comes next of a capture: Steps, then late findings, then what happened to TCP.

    The model behind the Steps is as of the last of them.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.findings: list[Finding] = []
        """Those about units that were handed over before: an answer that did not come."""
        self.end: StreamEnd | None = None
        self.window: StreamWindow | None = None
        self.pieces = 0
        """How many pieces it was made of; 0: there is nothing new, or nothing more is wanted."""
        self.pause = True
        """What follows has to be read first: a good time to write what was kept for a while."""


@mypyc_attr(allow_interpreted_subclasses=True)
class StepSink:
    """Takes Steps the moment they come: compiled, for those who want every frame of a capture."""

    def take(self, steps: list[Step]) -> None:
        """Take the Steps of the next piece."""
        raise NotImplementedError

    def is_due(self) -> bool:
        """Whether something was found that is to be handed over before the next piece."""
        return False


class FaultySteps(StepSink):
    """Keeps the Steps of the units that break a rule."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def take(self, steps: list[Step]) -> None:
        """Keep some of the Steps of the next piece."""
        for step in steps:
            if step.findings:
                self.steps.append(step)

    def drain(self) -> list[Step]:
        """Hand over what was kept since the last call."""
        steps = self.steps
        if steps:
            self.steps = []
        return steps
