"""Rows of the tables `messages` and `hops`, from the journeys of messages through brokers.

A journey becomes rows when its broker drops it, or in the end. So rows say exactly what `trace` and
the Messages screen know, and memory stays that of the journeys that are followed.
"""

from __future__ import annotations

from collections.abc import Callable

from amqpscope.analysis import Conversation
from amqpscope.insight.counters import LinkNumbers
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.journeys.whereabouts import Whereabouts, last_outcome, publish_before
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import PRESETTLED
from amqpscope.model.broker.journey import LEVELS, Journey, Leg, Node
from amqpscope.model.mark import Mark
from amqpscope.spark.cells import NONE, Cells
from dissectors.secrets import clean_name, cleaned

Links = Callable[[Leg], "LinkNumbers | None"]
"""Finds the link, exchange or queue that a passage is counted by."""


class MessageRows:
    """Makes rows of the messages of one ring."""

    def __init__(self, ring: str, journeys: Journeys, links: Links) -> None:
        self.ring = ring
        self.journeys = journeys
        self.links = links
        self.whereabouts = Whereabouts()
        self.messages = Cells(ring)
        self.hops = Cells(ring)

    def end(self, conversation: Conversation) -> None:
        """The capture ends before a connection does: who has a message then may still have it."""
        self.whereabouts.unended.update(self.journeys.lanes_of(conversation))

    def take_gone(self) -> None:
        """Make rows of the messages that are not followed any more."""
        for broker in self.journeys.brokers.values():
            gone = broker.gone
            if gone:
                broker.gone = []
                for journey in gone:
                    self.whereabouts.note(journey)
                    self.add(broker, journey, 0)

    def finish(self, now: int) -> None:
        """All has passed, the last frame at this time: make rows of what is left."""
        self.take_gone()
        brokers = dict.fromkeys(self.journeys.brokers.values())
        for broker in brokers:
            for journey in broker.exact.values():
                self.whereabouts.note(journey)
        for broker in brokers:
            for journey in broker.exact.values():
                self.add(broker, journey, now)

    def take(self) -> list[tuple[str, Cells]]:
        """Hand out the rows so far, by table."""
        found = [("messages", self.messages), ("hops", self.hops)]
        self.messages, self.hops = Cells(self.ring), Cells(self.ring)
        return [each for each in found if len(each[1])]

    def add(self, broker: Broker, journey: Journey, now: int) -> None:
        """Make the rows of one message."""
        legs = in_order(journey)
        if not legs:
            return
        number = legs[0].mark.frame
        nodes: list[Node] = []
        for place, leg in enumerate(legs):
            if not leg.is_publish:
                nodes.append(leg.node)
            self.add_hop(journey, leg, number, place, nodes.count(leg.node))
        self.add_message(broker, journey, legs[0], len(set(nodes)), now)

    def add_hop(self, journey: Journey, leg: Leg, number: int, place: int, attempt: int) -> None:
        """A row of one passage."""
        mark, lane, link, into = leg.mark, leg.lane, self.links(leg), self.hops
        said = outcome_mark(leg)
        attempt = 0 if leg.is_publish else attempt
        lost = None if leg.outcome or lane in self.whereabouts.unended else leg.lost
        again = leg.redelivered or (attempt > 0 and leg.envelope.attempts() > 0)
        into.add((
            number, place, mark.time // 1000, mark.time,
            into.word("delivery" if attempt else "publish"), lane.connection, mark.frame,
            NONE if link is None else link.ordinal,
            NONE if link is None else into.word(clean_name(link.name)),
            into.word(address_of(leg, link)), into.word(clean_name(leg.node.name)), lane.channel,
            mark.frame, mark.packet, leg.last.frame,
            into.word(LEVELS[leg.level]) if attempt else NONE, attempt or NONE,
            int(again), int(lane.route.copy), latency_of(journey, leg), into.word(leg.outcome),
            NONE if said is None else said.frame, NONE if said is None else said.time,
            NONE if said is None else said.time - leg.last.time,
            NONE if lost is None else lost.frame or NONE,
        ))  # fmt: skip

    def add_message(
        self, broker: Broker, journey: Journey, first: Leg, nodes: int, now: int
    ) -> None:
        """A row of one message."""
        envelope, into = journey.envelope, self.messages
        publish, delivery = journey.first_publish, journey.first_delivery
        newest = delivery
        if journey.later and delivery is not None:
            newest = journey.deliveries[-1]
        confirmed = None if publish is None else outcome_mark(publish)
        settled = None if newest is None else outcome_mark(newest)
        said = last_outcome(journey) or ("" if newest is None else newest.outcome)
        id = envelope.id_text
        into.add((
            first.mark.frame, first.mark.time // 1000, first.mark.time, into.word(broker.name),
            into.word(clean_name(first.node.name)), into.word(address_of(first, self.links(first))),
            into.word(envelope.family), into.word(cleaned(id) if ":" in id else id), envelope.size,
            into.word(self.whereabouts.state(journey, now)),
            NONE if delivery is None else into.word(LEVELS[delivery.level]),
            into.word(journey.doubtful), journey.published, journey.delivered,
            max(journey.delivered - max(nodes, journey.published, 1), 0), journey.accepted,
            into.word(said),
            NONE if publish is None else publish.lane.connection,
            NONE if publish is None else publish.mark.frame,
            NONE if publish is None else publish.last.time,
            NONE if publish is None else into.word(publish.outcome),
            NONE if confirmed is None or publish is None else confirmed.time - publish.last.time,
            NONE if delivery is None else delivery.lane.connection,
            NONE if delivery is None else delivery.mark.frame,
            NONE if delivery is None else delivery.mark.time,
            NONE if newest is None else newest.mark.time,
            NONE if delivery is None else latency_of(journey, delivery),
            NONE if settled is None or newest is None else settled.time - newest.last.time,
        ))  # fmt: skip


def in_order(journey: Journey) -> list[Leg]:
    """All passages of a message that are kept, in the order in which they began."""
    publish, delivery = journey.first_publish, journey.first_delivery
    if not journey.later and publish is not None and delivery is not None:
        begins = publish.mark.frame < delivery.mark.frame
        return [publish, delivery] if begins else [delivery, publish]
    return sorted([*journey.publishes, *journey.deliveries], key=_first_frame)


def _first_frame(leg: Leg) -> int:
    return leg.mark.frame


def outcome_mark(leg: Leg) -> Mark | None:
    """The frame that gives a passage its outcome; None where none was wanted or seen."""
    mark = leg.verdict.mark
    return None if mark is None or not mark.frame or leg.outcome == PRESETTLED else mark


def latency_of(journey: Journey, leg: Leg) -> int:
    """Nanoseconds from the publish of a message to a delivery of it, where both are known."""
    publish = None if leg.is_publish else publish_before(journey, leg)
    if publish is None or leg.mark.time < publish.last.time:
        return NONE
    return leg.mark.time - publish.last.time


def address_of(leg: Leg, link: LinkNumbers | None) -> str:
    """Where a passage goes to or comes from, as the link says."""
    return clean_name(leg.lane.route.address if link is None else link.address)
