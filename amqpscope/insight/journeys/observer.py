"""What wants to know of every passage of a message that is followed."""

from __future__ import annotations

from amqpscope.model.broker.journey import Journey, Leg


class Observer:
    """Called by `Journeys` as messages pass; what is not overridden does nothing."""

    def look(self, journey: Journey, leg: Leg) -> None:
        """A message was published or delivered."""

    def look_at_answer(self, journey: Journey, leg: Leg) -> None:
        """A publish or a delivery has its outcome."""
