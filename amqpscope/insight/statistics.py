"""Counts and times of connections, links and addresses, gathered from Steps.

What messages move over is a place of any family: a link, an exchange, a queue. Memory is that of
the places that were not seen to end, and a few numbers for each other one: latencies are kept as a
histogram whose classes are about four percent wide.
"""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.counters import (
    PERCENTILES,
    ConnectionNumbers,
    Histogram,
    LinkNumbers,
    SessionNumbers,
    Stall,
)
from amqpscope.insight.endings import talk_ending, talk_over_at
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.mark import Mark
from amqpscope.model.place import LINK, SESSION, UNCHANGED, Ended, Level, Place
from amqpscope.model.refusal import RETURNED
from amqpscope.protocols.words import endpoint
from amqpscope.stream.types import CLIENT, PEERS

__all__ = [
    "PERCENTILES", "ConnectionNumbers", "Histogram", "LinkNumbers", "SessionNumbers", "Stall",
    "Statistics", "addresses", "finish_stalls",
]  # fmt: skip

OTHERS: Final = "(others)"
MAX_PLACES: Final = 10_000
"""Exchanges and queues of a capture that are counted by name: some make a queue for each reply."""


class PlaceNumbers:
    """The numbers of what a connection's messages move over, by the places' keys."""

    def __init__(self) -> None:
        self.links: dict[str, LinkNumbers] = {}
        """What is there; what is gone stays in the connection's numbers alone."""
        self.sessions: dict[str, SessionNumbers] = {}
        self.last_place: Place | None = None
        """The place of the delivery before, which mostly is the next one's too; its numbers."""
        self.last_numbers = LinkNumbers("", "", "", 0)


class Statistics:
    """Gathers the numbers of one capture."""

    def __init__(self, *, by_minute: bool = False) -> None:
        self.by_minute = by_minute
        """Stalls are counted by minute too."""
        self.connections: dict[int, ConnectionNumbers] = {}
        self.places: dict[int, PlaceNumbers] = {}
        """By connection."""
        self.named = 0
        """Exchanges and queues that are counted by name."""
        self.last: Conversation | None = None
        """The connection of the unit before, which mostly is the next one's too; its numbers."""
        self.last_numbers = ConnectionNumbers(0, "", "", "")
        self.last_places = PlaceNumbers()

    def take(self, step: Step) -> None:
        """Count a frame."""
        frame, event, talk = step.frame, step.event, step.talk
        numbers = self.connection(step.conversation, frame.time)
        places = self.last_places
        client, server = numbers.sent
        sent = server if frame.sender else client
        sent.frames += 1
        sent.octets += len(frame.raw) + frame.missing
        numbers.by_name.add(frame.unit.name)
        numbers.last = frame.time
        numbers.protocol = step.conversation.protocol
        carried = event.carries
        if carried is not None:
            self.carry(event, carried, numbers, places)
        else:
            identity = event.identifies
            if identity is not None:
                numbers.containers[frame.sender] = identity.name
            for delivery in event.settles:
                self.settle(delivery, places)
            returned = event.returns
            if returned is not None:
                self.link(returned.place, numbers, places).ended.add(RETURNED)
            halted = talk.halts(event)
            if halted is not None:
                self.halt(halted, event.mark, places)
            for place in talk.opened_places(event):
                self.open(place, numbers, places)
        for level in talk.levels(event):
            self.level(level, event.mark, places)
        for ended in talk.ended_places(event):
            self.drop(ended, frame.time, places)

    def connection(self, conversation: Conversation, time: int) -> ConnectionNumbers:
        """The numbers of a connection."""
        if conversation is self.last:
            return self.last_numbers
        number = conversation.number
        found = self.connections.get(number)
        if found is None:
            tcp = conversation.connection
            found = ConnectionNumbers(
                number, endpoint(tcp.client), endpoint(tcp.server), conversation.protocol,
                first=time,
            )  # fmt: skip
            self.connections[number] = found
            self.places[number] = PlaceNumbers()
        self.last, self.last_numbers = conversation, found
        self.last_places = self.places[number]
        return found

    def link(self, place: Place, numbers: ConnectionNumbers, places: PlaceNumbers) -> LinkNumbers:
        """The numbers of a place that messages move over."""
        if place is places.last_place:
            return places.last_numbers
        found = places.links.get(place.key)
        if found is None:
            if place.kind != LINK:
                if self.named >= MAX_PLACES and place.address != OTHERS:
                    others = Place(place.kind, f"{place.kind} {OTHERS}", OTHERS, place.sender, 0)
                    return self.link(others, numbers, places)
                self.named += 1
            found = LinkNumbers(
                place.name, place.address, PEERS[place.sender], place.channel, kind=place.kind
            )
            found.ordinal = len(numbers.links)
            found.credit.minutes = {} if self.by_minute else None
            places.links[place.key] = found
            numbers.links.append(found)
        places.last_place, places.last_numbers = place, found
        return found

    def newest_link(self) -> LinkNumbers:
        """The numbers of what the newest delivery was counted by."""
        return self.last_places.last_numbers

    def session(
        self, place: Place, numbers: ConnectionNumbers, places: PlaceNumbers
    ) -> SessionNumbers:
        """The numbers of one peer's end of a session."""
        found = places.sessions.get(place.key)
        if found is None:
            found = SessionNumbers(PEERS[place.sender], place.channel)
            found.ordinal = len(numbers.sessions)
            found.window.minutes = {} if self.by_minute else None
            places.sessions[place.key] = found
            numbers.sessions.append(found)
        return found

    def open(self, place: Place, numbers: ConnectionNumbers, places: PlaceNumbers) -> None:
        """Have numbers for a place that may never see a message."""
        if place.kind == SESSION:
            self.session(place, numbers, places)
        else:
            found = self.link(place, numbers, places)
            found.address = found.address or place.address
            if place.parent is not None and found.session is None:
                found.session = places.sessions.get(place.parent.key)

    def carry(
        self, event: Event, delivery: Delivery, numbers: ConnectionNumbers, places: PlaceNumbers
    ) -> None:
        """Count a frame with a part of a message, and the message when it is complete."""
        place = delivery.place
        found = self.link(place, numbers, places)
        frames = event.carried_frames
        found.transfers += frames
        found.bytes += event.carried_octets
        if place.parent is not None:
            session = self.session(place.parent, numbers, places)
            session.transfers += frames
            found.session = session
        if event.begins is not None:
            found.begin(event.mark.frame, event.mark.packet)
            found.redelivered += delivery.redelivered
        if event.aborts:
            found.aborted += 1
        elif event.completes and delivery.presettled:
            found.presettled += 1

    def settle(self, delivery: Delivery, places: PlaceNumbers) -> None:
        """Note the outcome and the latency of a delivery that is settled."""
        found, mark = places.links.get(delivery.place.key), delivery.settled
        if found is not None and mark is not None:
            found.latency.add(mark.time - delivery.mark.time, delivery.mark.frame)
            found.ended.add(delivery.result)

    def level(self, level: Level, mark: Mark, places: PlaceNumbers) -> None:
        """See whether something ran out, or came back: credit, window, prefetch."""
        key, left = level.counted.key, level.left
        if left == UNCHANGED:
            return
        stalled = left is not None and left <= 0
        if level.place.kind == SESSION:
            session = places.sessions.get(key)
            if session is not None and session.transfers:
                session.window.update(stalled, mark.time, mark.frame, mark.packet)
            return
        found = places.links.get(key)
        if found is not None and found.deliveries:
            found.credit.update(stalled, mark.time, mark.frame, mark.packet)

    def halt(self, halted: bool, mark: Mark, places: PlaceNumbers) -> None:
        """The server stops all that the client sends, or lets it go on."""
        for found in places.links.values():
            if found.sender == PEERS[CLIENT]:
                found.credit.update(halted, mark.time, mark.frame, mark.packet)

    def drop(self, ended: Ended, time: int, places: PlaceNumbers) -> None:
        """Nothing more is sent over a place: its stalls end, and its state may go."""
        key = ended.place.key
        session = places.sessions.get(key)
        if session is not None:
            session.window.finish(time)
            session.ending = ended.ending
            del places.sessions[key]
        found = places.links.get(key)
        if found is not None:
            found.credit.finish(time)
            if ended.final:
                found.ending = ended.ending
                del places.links[key]
                places.last_place = None

    def end(self, conversation: Conversation) -> None:
        """A direction of a connection is over, or the capture is."""
        numbers = self.connections.get(conversation.number)
        if numbers is None:
            return
        numbers.ending, numbers.over_at = talk_ending(conversation), talk_over_at(conversation)
        talk = conversation.current
        numbers.transactions = talk.transactions()
        # After a FIN of one peer the other may still send.
        if all(end.finished for end in talk.ends):
            places = self.places[conversation.number]
            for ended in talk.closed_places():
                self.drop(ended, numbers.until, places)

    def finish(self) -> list[ConnectionNumbers]:
        """All connections, when the capture is over."""
        return finish_stalls(list(self.connections.values()))


def finish_stalls(connections: list[ConnectionNumbers]) -> list[ConnectionNumbers]:
    """Let stalls that go on count up to the end of their connection, or of the capture."""
    for numbers in connections:
        for link in numbers.links:
            link.credit.finish(numbers.until)
        for session in numbers.sessions:
            session.window.finish(numbers.until)
    return connections


def addresses(connections: list[ConnectionNumbers]) -> dict[str, LinkNumbers]:
    """The links of all connections, summed up by address and direction."""
    found: dict[str, LinkNumbers] = {}
    for numbers in connections:
        for link in numbers.links:
            key = f"{link.sender}\0{link.kind}\0{link.address}"
            into = found.setdefault(
                key, LinkNumbers("", link.address, link.sender, 0, kind=link.kind)
            )
            into.redelivered += link.redelivered
            into.transfers += link.transfers
            into.deliveries += link.deliveries
            into.bytes += link.bytes
            into.aborted += link.aborted
            into.presettled += link.presettled
            for name, times in link.outcomes.items():
                into.ended.add(name, times)
            into.latency.merge(link.latency)
            into.credit.count += link.credit.count
            into.credit.total += link.credit.total
            into.credit.longest = max(into.credit.longest, link.credit.longest)
    return found
