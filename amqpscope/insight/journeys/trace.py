"""One message's life: found by its message-id, or by a frame that has to do with it."""

from __future__ import annotations

from amqpscope.analysis import Step
from amqpscope.insight.journeys.observer import Observer
from amqpscope.model.broker.envelope import Envelope
from amqpscope.model.broker.journey import Journey, Leg


class Wanted(Observer):
    """Recognises the journeys that are asked for, also after they are forgotten."""

    def __init__(self, text: str, frame: int = 0) -> None:
        self.text = text
        """A message-id, as people write it."""
        self.frame = frame
        """The number of a frame of the first capture; 0: it is an id that is looked for."""
        self.begun = 0
        """The frame that began the delivery which that frame is part of; 0: of none so far."""
        self.keys: set[bytes] = set()
        self.found: list[Journey] = []

    def watch(self, step: Step, capture: int) -> None:
        """See which delivery the wanted frame is part of."""
        if step.frame.number == self.frame and not capture:
            carried = step.event.carries
            self.begun = 0 if carried is None else carried.mark.frame

    def look(self, journey: Journey, leg: Leg) -> None:
        """Keep a journey if a leg of it shows that it is wanted."""
        envelope = leg.envelope
        if self.begun:
            fits = leg.lane.capture == 0 and leg.mark.frame == self.begun
        else:
            fits = bool(self.text) and self.text == envelope.id_text
        if fits or self.is_known(envelope, journey):
            self.keys.add(envelope.key)
            self.keys.add(journey.envelope.key)
            if journey not in self.found:
                self.found.append(journey)

    def is_known(self, envelope: Envelope, journey: Journey) -> bool:
        """The same message was found before."""
        return envelope.key in self.keys or journey.envelope.key in self.keys

    def look_at_answer(self, journey: Journey, leg: Leg) -> None:
        """Keep a journey if the frame that is asked for gives a leg of it its outcome."""
        mark = leg.verdict.mark
        if mark is not None and mark.frame == self.frame and leg.lane.capture == 0:
            self.keys.add(journey.envelope.key)
            if journey not in self.found:
                self.found.append(journey)
