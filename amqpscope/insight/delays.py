"""How long messages take through a broker: from their publish to their first delivery."""

from __future__ import annotations

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.counters import Histogram
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.journeys.observer import Observer
from amqpscope.model.broker.journey import Journey, Leg
from amqpscope.rules.dispatch import RuleSet


class Delays(Observer):
    """Takes Steps; counts the messages of which both the publish and the delivery were captured."""

    def __init__(self) -> None:
        self.journeys = Journeys(RuleSet([]), wanted=[self])
        self.by_address: dict[str, Histogram] = {}
        """By where messages were delivered from, as it is on the wire."""

    def take(self, step: Step) -> None:
        """Follow the messages of a frame."""
        self.journeys.take(step)

    def end(self, conversation: Conversation) -> None:
        """A direction of a connection is over."""
        self.journeys.end(conversation)

    def look(self, journey: Journey, leg: Leg) -> None:
        """Count a message that is delivered for the first time from where it comes from."""
        publish = None if leg.is_publish else journey.publish
        if publish is None or leg.mark.time < publish.last.time or journey.before(leg):
            return
        address = leg.lane.route.address or leg.node.name
        found = self.by_address.get(address)
        if found is None:
            found = self.by_address[address] = Histogram()
        found.add(leg.mark.time - publish.last.time)
