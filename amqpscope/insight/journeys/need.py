"""Whether anything can be found by following messages from one connection to another.

Where a capture shows only how clients publish, there is nothing to compare: no rule about brokers
looks at it, and each connection can be followed by itself.
"""

from __future__ import annotations

from amqpscope.analysis import Step, StepSink
from amqpscope.insight.journeys.declarations import FRAMES
from amqpscope.insight.journeys.judge import MIN_FOR_ANSWERS
from amqpscope.model.broker.declaration import USED
from amqpscope.stream.types import SERVER


class Need(StepSink):
    """Hands Steps on, and notices the first that a rule about brokers may need."""

    def __init__(self, sink: StepSink) -> None:
        self.sink = sink
        self.found = False
        """There is something to follow."""

    def take(self, steps: list[Step]) -> None:
        """Take the Steps of the next piece."""
        if not self.found:
            for step in steps:
                if is_needed(step):
                    self.found = True
                    break
        self.sink.take(steps)

    def is_due(self) -> bool:
        """Whether something was found that is to be handed over before the next piece."""
        return self.sink.is_due()


def is_needed(step: Step) -> bool:
    """Whether a unit is a delivery, a request, or declares something that others may use."""
    event = step.event
    if step.talk is not step.conversation.talk:
        return False
    if event.message is not None:
        if event.carries is None:
            return False
        if event.peer == SERVER:
            return True
        view = step.talk.voice.broker
        if not view.may_ask(event):
            return False
        envelope = view.envelope(event)
        return (
            envelope is not None
            and envelope.properties >= MIN_FOR_ANSWERS
            and bool(envelope.open().reply_to)
        )
    name = event.name
    if name == "attach" or name == "detach":
        said = step.talk.voice.broker.declares(event)
        return said is not None and said.action != USED
    return name in FRAMES
