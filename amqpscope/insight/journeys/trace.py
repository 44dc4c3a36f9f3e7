"""One message's life: found by its message-id, or by a frame that has to do with it."""

from __future__ import annotations

from amqpscope.insight.journeys.observer import Observer
from amqpscope.model.broker.envelope import Envelope
from amqpscope.model.broker.journey import Journey, Leg


class Wanted(Observer):
    """Recognises the journeys that are asked for, also after they are forgotten."""

    def __init__(self, text: str, frame: int = 0) -> None:
        self.text = text
        """A message-id, as people write it."""
        self.frame = frame
        """The number of a frame; 0: it is an id that is looked for."""
        self.keys: set[bytes] = set()
        self.found: list[Journey] = []

    def look(self, journey: Journey, leg: Leg) -> None:
        """Keep a journey if a leg of it shows that it is wanted."""
        envelope = leg.envelope
        if self.frame:
            fits = leg.lane.capture == 0 and leg.mark.frame <= self.frame <= leg.last.frame
        else:
            fits = self.text == envelope.id_text
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
