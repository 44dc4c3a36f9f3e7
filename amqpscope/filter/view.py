"""One Step as filters see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amqpscope.analysis import Step
from amqpscope.findings import Finding
from amqpscope.protocols import names
from dissectors.composite import Composite
from dissectors.values import Array, Described, Map, Value

if TYPE_CHECKING:
    from amqpscope.insight.messages import Message


class View(names.FrameView):
    """A Step, and what was already read of its message."""

    def __init__(self, step: Step, start: int, messages: Sequence[Message] = ()) -> None:
        super().__init__(step.event, step.talk.voice)
        self.step = step
        self.findings: list[Finding] = step.findings
        self.start = start
        """The time of the first frame, in nanoseconds."""
        self.messages = messages
        """Those that the frame carries or settles, where the filter asks about them."""


class FindingView(names.FrameView):
    """A finding alone, for tests that ask about findings and nothing else."""

    def __init__(self, finding: Finding) -> None:
        self.findings = [finding]


def leaves(value: Value, found: list[Value]) -> None:
    """Add the values that a comparison looks at: for containers those inside, at any depth.

    A composite stands for itself by its name (`state == rejected`).
    """
    if value is None:
        return
    if isinstance(value, Composite):
        found.append(value.type_name())
    elif isinstance(value, Map):
        for _, item in value:
            leaves(item, found)
    elif isinstance(value, list | Array):
        for item in value:
            leaves(item, found)
    elif isinstance(value, Described):
        leaves(value.value, found)
    else:
        found.append(value)
