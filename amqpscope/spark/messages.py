"""Rows of the tables `messages` and `hops`, from the journeys of messages through brokers.

A journey becomes rows when its broker drops it, or in the end. So rows say exactly what `trace` and
the Messages screen know, and memory stays that of the journeys that are followed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amqpscope.analysis import Conversation
from amqpscope.insight.counters import LinkNumbers
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.journeys.whereabouts import Whereabouts, last_outcome, publish_before
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import PRESETTLED
from amqpscope.model.broker.journey import LEVELS, Journey, Leg
from amqpscope.model.mark import Mark
from dissectors.secrets import clean_name

Row = tuple[Any, ...]
Links = Callable[[Leg], "LinkNumbers | None"]
"""Finds the link, exchange or queue that a passage is counted by."""


class MessageRows:
    """Makes rows of the messages of one ring."""

    def __init__(self, ring: str, journeys: Journeys, links: Links) -> None:
        self.ring = ring
        self.journeys = journeys
        self.links = links
        self.whereabouts = Whereabouts()
        self.messages: list[Row] = []
        self.hops: list[Row] = []

    def end(self, conversation: Conversation) -> None:
        """The capture ends before a connection does: who has a message then may still have it."""
        party = self.journeys.parties.get(conversation)
        if party is not None:
            self.whereabouts.unended.update(party.lanes.values())

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

    def add(self, broker: Broker, journey: Journey, now: int) -> None:
        """Make the rows of one message."""
        legs = in_order(journey)
        if not legs:
            return
        number = legs[0].mark.frame
        attempts: dict[str, int] = {}
        for place, leg in enumerate(legs):
            attempt = 0
            if not leg.is_publish:
                attempt = attempts[leg.node.name] = attempts.get(leg.node.name, 0) + 1
            self.hops.append(self.hop(journey, leg, number, place, attempt))
        self.messages.append(self.message(broker, journey, legs, len(attempts), now))

    def hop(self, journey: Journey, leg: Leg, number: int, place: int, attempt: int) -> Row:
        """A row of one passage."""
        mark, lane, link = leg.mark, leg.lane, self.links(leg)
        said = answered(leg)
        lost = None if leg.outcome or lane in self.whereabouts.unended else leg.lost
        return (
            self.ring, number, place, mark.time // 1000, mark.time,
            "publish" if leg.is_publish else "delivery", lane.connection, mark.frame,
            None if link is None else link.ordinal,
            None if link is None else clean_name(link.name), address_of(leg, link),
            clean_name(leg.node.name), lane.channel, mark.frame, mark.packet, leg.last.frame,
            LEVELS[leg.level] if attempt else None, attempt or None,
            leg.redelivered or (attempt > 0 and leg.envelope.attempts() > 0),
            lane.route.copy, latency_of(journey, leg), leg.outcome or None,
            None if said is None else said.frame, None if said is None else said.time,
            None if said is None else said.time - leg.last.time,
            None if lost is None else lost.frame or None,
        )  # fmt: skip

    def message(
        self, broker: Broker, journey: Journey, legs: list[Leg], nodes: int, now: int
    ) -> Row:
        """A row of one message."""
        first, envelope = legs[0], journey.envelope
        publish, delivery = journey.first_publish, journey.first_delivery
        newest = None if delivery is None else journey.deliveries[-1]
        confirmed = None if publish is None else answered(publish)
        settled = None if newest is None else answered(newest)
        again = max(journey.delivered - max(nodes, journey.published, 1), 0)
        return (
            self.ring, first.mark.frame, first.mark.time // 1000, first.mark.time, broker.name,
            clean_name(first.node.name), address_of(first, self.links(first)), envelope.family,
            clean_name(envelope.id_text) or None, envelope.size,
            self.whereabouts.state(journey, now),
            None if delivery is None else LEVELS[delivery.level], journey.doubtful or None,
            journey.published, journey.delivered, again, journey.accepted,
            last_outcome(journey) or (None if newest is None else newest.outcome or None),
            *passage(publish), None if publish is None else publish.last.time,
            None if publish is None else publish.outcome or None,
            None if confirmed is None or publish is None else confirmed.time - publish.last.time,
            *passage(delivery), None if delivery is None else delivery.mark.time,
            None if newest is None else newest.mark.time,
            None if delivery is None else latency_of(journey, delivery),
            None if settled is None or newest is None else settled.time - newest.last.time,
        )  # fmt: skip


def in_order(journey: Journey) -> list[Leg]:
    """All passages of a message that are kept, in the order in which they began."""
    publish, delivery = journey.first_publish, journey.first_delivery
    if not journey.later and publish is not None and delivery is not None:
        begins = publish.mark.frame < delivery.mark.frame
        return [publish, delivery] if begins else [delivery, publish]
    return sorted([*journey.publishes, *journey.deliveries], key=_first_frame)


def _first_frame(leg: Leg) -> int:
    return leg.mark.frame


def passage(leg: Leg | None) -> tuple[int | None, int | None]:
    """Connection and frame of a passage."""
    return (None, None) if leg is None else (leg.lane.connection, leg.mark.frame)


def answered(leg: Leg) -> Mark | None:
    """The frame that gives a passage its outcome; None where none was wanted or seen."""
    mark = leg.verdict.mark
    return None if mark is None or not mark.frame or leg.outcome == PRESETTLED else mark


def latency_of(journey: Journey, leg: Leg) -> int | None:
    """Nanoseconds from the publish of a message to a delivery of it, where both are known."""
    publish = None if leg.is_publish else publish_before(journey, leg)
    if publish is None or leg.mark.time < publish.last.time:
        return None
    return leg.mark.time - publish.last.time


def address_of(leg: Leg, link: LinkNumbers | None) -> str | None:
    """Where a passage goes to or comes from, as the link says."""
    return clean_name(leg.lane.route.address if link is None else link.address) or None
