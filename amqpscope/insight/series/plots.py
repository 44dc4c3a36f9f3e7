"""The series of links, consumers and channels, from the model as it is after each unit.

Levels are looked at only upon frames that may change them.
"""

from __future__ import annotations

from amqpscope.analysis import Step
from amqpscope.insight.series.downsample import Series
from amqpscope.insight.series.store import MAX_LINKS, LinkSeries, SeriesStore
from amqpscope.model.delivery import Delivery
from amqpscope.model.mark import Mark
from amqpscope.model.place import LINK, SESSION, UNCHANGED, Ended, Level, Place
from amqpscope.stream.types import PEERS

Key = tuple[int, str]
"""A connection, and the key of a place on it."""


class Plots(SeriesStore):
    """Gathers the series of one capture."""

    def __init__(self, most_links: int = MAX_LINKS) -> None:
        super().__init__(most_links)
        self._lanes: dict[Key, LinkSeries | None] = {}
        """Those that are there; None: there are too many."""
        self._windows: dict[Key, Series] = {}
        """The windows of sessions that have links."""

    def take(self, step: Step) -> None:
        """Add what a frame changes to the series."""
        event, talk = step.event, step.talk
        number, time = step.conversation.number, event.time
        for level in talk.levels(event):
            self._level(number, event.mark, level)
        begun = event.begins
        if begun is not None:
            self._begin(number, time, begun, event.carried_octets)
        for delivery in event.settles:
            self._settle(number, time, delivery)
        for ended in talk.ended_places(event):
            self._end(number, time, ended)

    def find(self, connection: int, place: Place) -> LinkSeries | None:
        """The series of a place that messages still move over."""
        return self._lanes.get((connection, place.key))

    def _lane(self, number: int, place: Place) -> LinkSeries | None:
        key = (number, place.key)
        if key not in self._lanes:
            window = None
            if place.parent is not None:
                window = self._windows.setdefault((number, place.parent.key), Series())
            sender = PEERS[place.sender]
            made = LinkSeries(place.kind, number, place.name, place.address, sender, window)
            self._lanes[key] = self.add(made)
        return self._lanes[key]

    def _level(self, number: int, mark: Mark, level: Level) -> None:
        """How much may be sent, and how much is not settled."""
        place, left = level.place, level.left
        if place.kind == SESSION:
            window = self._windows.get((number, place.key))
            if window is not None:
                window.add(mark.time, left, mark.frame)
            return
        found = self._lane(number, place)
        if found is None:
            return
        found.limit = level.limit
        if left != UNCHANGED:
            found.credit.add(mark.time, left, mark.frame)
        if level.unsettled != UNCHANGED:
            found.unsettled.add(mark.time, level.unsettled, mark.frame)

    def _begin(self, number: int, time: int, delivery: Delivery, octets: int) -> None:
        """A message begins."""
        place, lane = delivery.place, delivery.lane
        if lane is not None:
            found = self._lane(number, lane)
            if found is not None:
                found.deliveries.add(time, octets)
        if lane is not place:
            series = self.place((number, place.name, PEERS[place.sender]))
            if series is not None:
                series.add(time, 0)

    def _settle(self, number: int, time: int, delivery: Delivery) -> None:
        """A message has its outcome."""
        lane, mark = delivery.lane, delivery.settled
        found = None if lane is None else self._lanes.get((number, lane.key))
        if found is not None and mark is not None:
            found.latency.add(time, max(mark.time - delivery.mark.time, 0))

    def _end(self, number: int, time: int, ended: Ended) -> None:
        """Nothing more is sent over a place."""
        key = (number, ended.place.key)
        found = self._lanes.get(key)
        if found is not None:
            found.credit.add(time, None)
            if ended.place.kind != LINK:  # its messages go back to their queue
                found.unsettled.add(time, None)
        if ended.final:
            self._lanes.pop(key, None)
            self._windows.pop(key, None)
