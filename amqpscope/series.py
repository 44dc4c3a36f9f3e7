"""How credit, window, unsettled deliveries, rate and settle latency went over time, by link.

A `Series` takes values as they come and keeps a bounded number of slices of time, each with its
lowest, highest and last value: when there are too many, slices grow to twice their width. So a
moment without credit stays visible in a day of traffic, and memory does not grow with it.

plots = Plots()
for step in steps:
    plots.take(step)
for link in plots.links:
    link.credit.points(), link.unsettled.points(), link.deliveries.rates(), ...
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.analysis import Step
from amqpscope.model.link import LinkEnd
from amqpscope.model.session import SessionEnd
from amqpscope.model.stall import credit_left, window_left
from amqpscope.stream import PEERS
from dissectors.v1_0.bodies import (
    Attach,
    Begin,
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Transfer,
)

SLICES: Final = 240
"""Slices of time that a series keeps at most: a plot is not much wider."""
FINEST: Final = 1_000
"""Nanoseconds of a slice at the beginning."""
MAX_LINKS: Final = 256
"""Links that are followed; of others it is only counted how many there are."""


class Point(NamedTuple):
    """What happened in one slice of time."""

    time: int
    """When it begins, nanoseconds since the Unix epoch."""
    until: int
    low: int
    high: int
    last: int | None
    """The value at its end; None: not known any more, or there is none."""
    events: int
    """How many values came in it."""
    total: int
    """All of them added up."""


class _Slice:
    __slots__ = ("count", "high", "last", "low", "place", "total")

    def __init__(self, place: int, value: int | None) -> None:
        self.place = place
        self.low = self.high = 0 if value is None else value
        self.last = value
        self.count = 0 if value is None else 1
        self.total = 0 if value is None else value

    def merge(self, later: _Slice) -> None:
        if later.count:
            self.low = min(self.low, later.low) if self.count else later.low
            self.high = max(self.high, later.high) if self.count else later.high
        self.last = later.last
        self.count += later.count
        self.total += later.total


class Series:
    """One quantity over time; times never go back by much."""

    def __init__(self, slices: int = SLICES) -> None:
        self.start = 0
        """When the first value came."""
        self.width = FINEST
        """Nanoseconds of a slice."""
        self.most = slices
        self.count = 0
        self.low = 0
        self.high = 0
        self._slices: list[_Slice] = []

    def add(self, time: int, value: int | None) -> None:
        """The value from now on, or of one event; None where it is not known."""
        if not self._slices:
            self.start = time
        place = max(time - self.start, 0) // self.width
        while place >= self.most:
            self._widen()
            place = max(time - self.start, 0) // self.width
        if value is not None:
            self.low = min(self.low, value) if self.count else value
            self.high = max(self.high, value) if self.count else value
            self.count += 1
        new = _Slice(place, value)
        last = self._slices[-1] if self._slices else None
        if last is None or last.place < place:
            self._slices.append(new)
        else:
            last.merge(new)

    def _widen(self) -> None:
        """Join slices two by two."""
        self.width *= 2
        kept: list[_Slice] = []
        for each in self._slices:
            each.place //= 2
            if kept and kept[-1].place == each.place:
                kept[-1].merge(each)
            else:
                kept.append(each)
        self._slices = kept

    @property
    def last(self) -> int | None:
        """The newest value."""
        return self._slices[-1].last if self._slices else None

    def points(self) -> list[Point]:
        """The slices in which something happened, in order."""
        return [
            Point(
                self.start + each.place * self.width,
                self.start + (each.place + 1) * self.width,
                each.low, each.high, each.last, each.count, each.total,
            )
            for each in self._slices
        ]  # fmt: skip

    def rates(self, slices: int = 60, over: int = 0) -> list[tuple[int, float]]:
        """Events per second in equal stretches of time, also those without an event.

        Stretches are no shorter than that part of `over`, which a plot may show in all: a few
        events in a row are no high rate.
        """
        if not self._slices:
            return []
        together = max(-(-(self._slices[-1].place + 1) // slices), over // (slices * self.width), 1)
        width = self.width * together
        counts = [0] * (self._slices[-1].place // together + 1)
        for each in self._slices:
            counts[each.place // together] += each.count
        return [
            (self.start + place * width, count * 1e9 / width) for place, count in enumerate(counts)
        ]


class SessionSeries:
    """One peer's sending on a session."""

    def __init__(self, connection: int, peer: str, channel: int) -> None:
        self.connection = connection
        self.peer = peer
        self.channel = channel
        self.window = Series()
        """Transfers that the peer may still send."""


class LinkSeries:
    """One link, from attach to detach."""

    def __init__(
        self, connection: int, name: str, address: str, sender: str, session: SessionSeries
    ) -> None:
        self.connection = connection
        self.name = name
        self.address = address
        self.sender = sender
        """`client` or `server`."""
        self.session = session
        """The sender's end of the session: its window binds all its links."""
        self.credit = Series()
        """Deliveries that the sender may still begin."""
        self.unsettled = Series()
        """Deliveries that are not settled."""
        self.deliveries = Series()
        """One event for each: see `rates`. Its values are the octets of the first transfer."""
        self.latency = Series()
        """Nanoseconds from a delivery's first transfer to the frame that settled it."""

    @property
    def window(self) -> Series:
        """Transfers that the sender may still send on the session."""
        return self.session.window


class Plots:
    """Gathers the series of one capture."""

    def __init__(self, most_links: int = MAX_LINKS) -> None:
        self.links: list[LinkSeries] = []
        """In the order in which they were attached."""
        self.left_out = 0
        """Links beyond the most that are followed."""
        self.most_links = most_links
        self._links: dict[LinkEnd, LinkSeries] = {}
        """Those that are attached, by their sender's end."""
        self._sessions: dict[SessionEnd, SessionSeries] = {}
        self._counted: set[LinkEnd] = set()
        """Attached links that are left out."""

    def take(self, step: Step) -> None:
        """One more unit."""
        unit = step.frame.unit
        body = unit.body
        session = step.session
        if body is None or unit.type != 0:
            return
        time = step.frame.time
        if isinstance(body, Disposition):
            self._disposition(step, time)
        elif step.link is not None and isinstance(body, Attach | Flow | Transfer | Detach):
            sender = sending(step.link)
            if sender is not None:
                self._link(step, sender, body, time)
        if session is not None and isinstance(body, Begin | Flow | Transfer):
            self._windows(session, time)
        if isinstance(body, End | Close):
            self._over(step, body)

    def find(self, link: LinkEnd) -> LinkSeries | None:
        """The series of a link that is attached, by either of its ends."""
        sender = sending(link)
        return None if sender is None else self._links.get(sender)

    def _link(self, step: Step, sender: LinkEnd, body: Body, time: int) -> None:
        found = self._links.get(sender)
        if found is None:
            found = self._attach(step, sender)
            if found is None:
                return
        if isinstance(body, Detach):
            found.credit.add(time, None)
            if sender.pair is None or sender.pair.detach is not None:
                self._forget(sender)
            return
        if isinstance(body, Transfer) and step.delivery is not None:
            if step.delivery.mark.frame == step.frame.number:
                found.deliveries.add(time, step.octets)
            found.unsettled.add(time, len(sender.unsettled))
        found.credit.add(time, credit_left(sender))

    def _attach(self, step: Step, sender: LinkEnd) -> LinkSeries | None:
        if sender in self._counted or not sender.live:
            return None
        if len(self.links) >= self.most_links:
            self.left_out += 1
            self._counted.add(sender)
            return None
        number = step.conversation.number
        peer = PEERS[sender.session.owner.peer]
        session = self._session(sender.session, number)
        found = LinkSeries(number, sender.name, sender.node(), peer, session)
        self._links[sender] = found
        self.links.append(found)
        return found

    def _session(self, session: SessionEnd, connection: int) -> SessionSeries:
        found = self._sessions.get(session)
        if found is None:
            found = SessionSeries(connection, PEERS[session.owner.peer], session.channel)
            self._sessions[session] = found
        return found

    def _windows(self, session: SessionEnd, time: int) -> None:
        for end in (session, session.pair):
            found = None if end is None else self._sessions.get(end)
            if end is not None and found is not None:
                found.window.add(time, window_left(end))

    def _disposition(self, step: Step, time: int) -> None:
        for link in {delivery.link for delivery in step.covered}:
            found = self._links.get(link)
            if found is not None:
                found.unsettled.add(time, len(link.unsettled))
        for delivery in step.covered:
            mark = delivery.settled
            found = self._links.get(delivery.link)
            if found is not None and mark is not None and mark.frame == step.frame.number:
                found.latency.add(time, max(mark.time - delivery.mark.time, 0))

    def _over(self, step: Step, body: Body) -> None:
        """Both peers have ended a session, or closed: its links are over with it."""
        if isinstance(body, End):
            session = step.session
            if session is not None and (session.pair is None or session.pair.ended is not None):
                self._end(session, step.frame.time)
            return
        client, server = step.conversation.tracker.connection.ends
        if client.close is not None and server.close is not None:
            for end in (client, server):
                for session in (*end.channels.values(), *end.ended.values()):
                    self._end(session, step.frame.time)

    def _end(self, session: SessionEnd, time: int) -> None:
        for end in (session, session.pair):
            if end is None:
                continue
            for link in (*end.handles.values(), *end.detached.values()):
                found = self._links.get(link)
                if found is not None:
                    found.credit.add(time, None)
                self._forget(link)
            self._sessions.pop(end, None)

    def _forget(self, link: LinkEnd) -> None:
        self._links.pop(link, None)
        self._counted.discard(link)


def sending(link: LinkEnd) -> LinkEnd | None:
    """The sender's end of a link, by either end; None while it has not attached."""
    return link.pair if link.role else link
