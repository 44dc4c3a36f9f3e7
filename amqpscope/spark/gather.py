"""Steps turned into rows of the tables.

A `Gatherer` takes the Steps of one replay and keeps rows until `blocks` hands them out, grouped
by table and by the slice that their frame lies in. Frames and connections carry whatever
numbers the replay gave them; `numbering` makes the final ones.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from amqpscope.analysis import Conversation, Step
from amqpscope.check.selection import Selection
from amqpscope.filter import Filter
from amqpscope.findings import Finding
from amqpscope.insight.counters import (
    ConnectionNumbers,
    Counts,
    Histogram,
    LinkNumbers,
    SessionNumbers,
)
from amqpscope.insight.statistics import Statistics
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.place import Place
from amqpscope.spark.deliveries import ABORTED, COMPLETE, LARGEST, NOTHING, PRESETTLED, Deliveries
from amqpscope.stream.types import PEERS
from dissectors.secrets import clean_name

MINUTE: Final = 60_000_000_000
ROWS: Final = 20_000
"""Rows kept before they are handed on."""
ORDER: Final = "_order"
"""Blocks of all frames' numbers, 8 octets each."""
ACCEPTED: Final = "_accepted"
"""Blocks of all connections' numbers."""
REFERRED: Final = "_referred"
"""Blocks of the numbers of frames that rows speak of."""

Row = tuple[Any, ...]


class Block(NamedTuple):
    """Some rows of one table whose frames lie in one slice."""

    table: str
    slice: int
    rows: list[Row] | array[int] | Deliveries


class Minute:
    """What passed to or from an address in one minute of a connection."""

    def __init__(self) -> None:
        self.transfers = 0
        self.deliveries = 0
        self.octets = 0
        self.ended = Counts()
        """Deliveries by their outcome."""
        self.latency = Histogram()


class Person:
    """What is remembered of a connection."""

    def __init__(self, conversation: Conversation, frame: int, packet: int) -> None:
        self.conversation = conversation
        self.statistics = Statistics()
        self.pending: dict[Delivery, bool] = {}
        """Deliveries that are not over, in order."""
        self.products: list[str | None] = [None, None]
        self.first_frame = frame
        self.first_packet = packet
        self.last_packet = packet


class Gatherer:
    """Rows of one replay."""

    def __init__(
        self, ring: str, choice: Selection, slice_of: Callable[[int], int] | None, frames: bool,
        where: Filter | None = None,
    ) -> None:  # fmt: skip
        self.ring = ring
        self.choice = choice
        self.slice_of = slice_of
        """The slice of a frame's number; None: numbers are final."""
        self.frames_wanted = frames
        self.where = where
        """Which frames are wanted; None: all."""
        self.persons: dict[int, Person] = {}
        self.last_person: Person | None = None
        """That of the unit before, which mostly is the next one's too."""
        self.minutes: dict[tuple[int, int, str, str], Minute] = {}
        self.last: Minute | None = None
        """The minute that was counted in last, and of what it is: mostly the next one's too."""
        self.last_place: Place | None = None
        self.last_when = 0
        self.last_address = ""
        self.deliveries: dict[int, Deliveries] = {}
        """By the slice that they belong to."""
        self.rows: dict[tuple[str, int], list[Row]] = {}
        self.numbers: dict[tuple[str, int], array[int]] = {}
        self.count = 0

    def take(self, step: Step) -> None:
        """One more unit."""
        frame = step.frame
        person = self.last_person
        if person is None or person.conversation is not step.conversation:
            person = self.last_person = self.person(step)
        person.last_packet = frame.packet
        event = step.event
        person.statistics.take(step)
        carried = event.carries
        if carried is not None:
            self.carry(event, carried, person)
        else:
            for delivery in event.settles:
                self.settle(delivery, frame.time, person)
            returned = event.returns
            if returned is not None:
                self.minute(returned.place, person, frame.time).ended.add("returned")
            identity = event.identifies
            if identity is not None:
                product = identity.product
                person.products[frame.sender] = None if product is None else clean_name(product)
        if self.slice_of is not None:
            self.number(ORDER, frame.number)
        if step.findings:
            for finding in step.findings:
                self.finding(finding)
        if self.frames_wanted and (self.where is None or self.where.matches(step)):
            self.frame(step)

    def person(self, step: Step) -> Person:
        """What is remembered of the connection of a unit."""
        number = step.conversation.number
        found = self.persons.get(number)
        if found is None:
            found = Person(step.conversation, step.frame.number, step.frame.packet)
            self.persons[number] = found
            if self.slice_of is not None:
                self.number(ACCEPTED, number)
        return found

    def number(self, table: str, number: int) -> None:
        """Keep a number that stands for a place, to be counted later."""
        place = 0 if self.slice_of is None else self.slice_of(number)
        found = self.numbers.get((table, place))
        if found is None:
            found = array("q")
            self.numbers[table, place] = found
        found.append(number)

    def referred(self, frame: int) -> int | None:
        """The number of a frame that a row speaks of, whose place has to be known then."""
        if frame and self.slice_of is not None:
            self.number(REFERRED, frame)
        return frame or None

    def add(self, table: str, number: int, row: Row) -> None:
        """Keep a row whose frame has this number."""
        place = 0 if self.slice_of is None else self.slice_of(number)
        found = self.rows.get((table, place))
        if found is None:
            found = []
            self.rows[table, place] = found
        found.append(row)
        self.count += 1

    def carry(self, event: Event, delivery: Delivery, person: Person) -> None:
        """Follow a delivery, and count it in its minute."""
        minute = self.minute(delivery.place, person, event.time)
        minute.transfers += event.carried_frames
        minute.octets += event.carried_octets
        if event.begins is not None:
            minute.deliveries += 1
            person.pending[delivery] = True
        over = delivery.unanswered or delivery.settled is not None
        if event.aborts or (event.completes and over):
            self.over(delivery, person)

    def settle(self, delivery: Delivery, time: int, person: Person) -> None:
        """A delivery has its outcome."""
        mark = delivery.settled
        if mark is None or delivery not in person.pending:
            return
        minute = self.minute(delivery.place, person, time)
        minute.ended.add(delivery.result)
        minute.latency.add(mark.time - delivery.mark.time)
        if delivery.complete:
            self.over(delivery, person)

    def minute(self, place: Place, person: Person, time: int) -> Minute:
        """Where to count what happens now at a place."""
        when, address = time // MINUTE, place.address
        last = self.last
        if (
            last is None
            or place is not self.last_place
            or when != self.last_when
            or address != self.last_address
        ):
            last = self.minute_of(person.conversation.number, time, address, PEERS[place.sender])
            self.last, self.last_place = last, place
            self.last_when, self.last_address = when, address
        return last

    def minute_of(self, connection: int, time: int, address: str, sender: str) -> Minute:
        """Where to count what is sent to or from an address."""
        key = (connection, time // MINUTE, address, sender)
        found = self.minutes.get(key)
        if found is None:
            found = Minute()
            self.minutes[key] = found
        return found

    def over(self, delivery: Delivery, person: Person) -> None:
        """Nothing more is expected of a delivery."""
        if person.pending.pop(delivery, None) is None:
            return
        place, mark, settled = delivery.place, delivery.mark, delivery.settled
        flags = (COMPLETE if delivery.complete else 0) | (ABORTED if delivery.aborted else 0)
        if delivery.unanswered and delivery.complete:
            flags |= PRESETTLED
        into, number = self.delivered(mark.frame), delivery.delivery_id
        row = into.place(
            person.conversation.number, clean_name(place.name), clean_name(place.address),
            PEERS[place.sender],
        )  # fmt: skip
        into.add(
            row, mark.frame, mark.packet, mark.time,
            NOTHING if number is None else min(number, LARGEST),
            min(max(delivery.size, 0), LARGEST), delivery.transfers, flags,
            "" if delivery.aborted else delivery.result,
            NOTHING if settled is None else settled.packet,
            0 if settled is None else settled.time - mark.time,
            delivery.delivery_tag,
        )  # fmt: skip

    def delivered(self, frame: int) -> Deliveries:
        """Where to keep the row of a delivery that this frame began."""
        place = 0 if self.slice_of is None else self.slice_of(frame)
        found = self.deliveries.get(place)
        if found is None:
            found = Deliveries(self.ring)
            self.deliveries[place] = found
        self.count += 1
        return found

    def finding(self, finding: Finding) -> None:
        """Keep a finding, unless the user does not want it."""
        adjusted = self.choice.adjust(finding, self.ring)
        if adjusted is None:
            return
        finding = adjusted
        person = self.persons.get(finding.connection)
        peer = PEERS.index(finding.peer)
        row = (
            self.ring, finding.connection, finding.frame, finding.packet, finding.time // 1000,
            finding.time, finding.rule, finding.name, finding.severity, finding.certainty,
            finding.peer, None if person is None else person.products[peer], finding.message,
            finding.channel, finding.link or None, finding.path or None, finding.section,
            related_rows(finding), None, None,
        )  # fmt: skip
        self.add("findings", finding.frame, row)
        for frame, _ in finding.related:
            self.referred(frame)

    def frame(self, step: Step) -> None:
        """Keep a frame itself."""
        frame, event, voice = step.frame, step.event, step.talk.voice
        unit = frame.unit
        about = voice.about(event)
        link, address = voice.link(event), voice.address(event)
        if link is None and about is not None:
            link, address = about.place.name, about.place.address
        row = (
            self.ring, step.conversation.number, frame.number, frame.packet, frame.time // 1000,
            frame.time, PEERS[frame.sender], step.conversation.protocol, unit.kind,
            None if unit.header is not None else unit.channel, voice.full_name(event),
            len(frame.raw) + frame.missing, None if link is None else clean_name(link),
            None if link is None else clean_name(address) or None,
            None if about is None else about.delivery_id,
            [finding.rule for finding in step.findings],
        )  # fmt: skip
        self.add("frames", frame.number, row)

    def finish(self) -> None:
        """The replay is over: what is left becomes rows too."""
        for number in list(self.persons):
            self.close(number)

    def close(self, number: int) -> None:
        """A connection is over."""
        person = self.persons[number]
        for delivery in list(person.pending):
            self.over(delivery, person)
        for numbers in person.statistics.finish():
            self.connection(numbers, person)
        self.pass_minutes(number, -1)
        del self.persons[number]
        self.last_person = None

    def pass_minutes(self, number: int, until: int) -> None:
        """Give out the minutes of a connection that are over: those before `until`, or all."""
        self.last = self.last_place = None
        for key in [key for key in self.minutes if key[0] == number]:
            connection, when, address, sender = key
            address = clean_name(address)
            if 0 <= until <= when:
                continue
            minute = self.minutes.pop(key)
            row = (
                self.ring, connection, when * 60_000_000, address or None, sender,
                minute.transfers, minute.deliveries, minute.octets, minute.latency.count,
                list(minute.ended.counter().items()), sorted(minute.latency.classes.items()),
                minute.latency.smallest, minute.latency.largest,
            )  # fmt: skip
            self.add("statistics", connection, row)

    def connection(self, numbers: ConnectionNumbers, person: Person) -> None:
        """Keep a connection with its sessions and links."""
        containers = [None if name is None else clean_name(name) for name in numbers.containers]
        row = (
            self.ring, numbers.number, numbers.first // 1000, numbers.first, numbers.last,
            numbers.client, numbers.server, numbers.protocol, *containers,
            *person.products, *numbers.frames, *numbers.bytes, list(numbers.names.items()),
            person.conversation.gaps, person.first_packet, person.last_packet,
            self.referred(person.first_frame),
        )  # fmt: skip
        self.add("connections", numbers.number, row)
        for ordinal, session in enumerate(numbers.sessions):
            self.add("sessions", numbers.number, self.session(ordinal, session, numbers))
        for ordinal, link in enumerate(numbers.links):
            self.add("links", numbers.number, self.link(ordinal, link, numbers))

    def session(self, ordinal: int, session: SessionNumbers, numbers: ConnectionNumbers) -> Row:
        """A row of one end of a session."""
        window = session.window
        return (
            self.ring, numbers.number, ordinal, numbers.first // 1000, session.peer,
            session.channel, session.transfers, window.count, window.total, window.longest,
            self.referred(window.frame), window.packet or None,
        )  # fmt: skip

    def link(self, ordinal: int, link: LinkNumbers, numbers: ConnectionNumbers) -> Row:
        """A row of a link."""
        credit, latency = link.credit, link.latency
        return (
            self.ring, numbers.number, ordinal, numbers.first // 1000, clean_name(link.name),
            clean_name(link.address), link.sender, link.channel, link.transfers, link.deliveries,
            link.bytes, link.aborted, link.presettled, list(link.outcomes.items()),
            sorted(latency.classes.items()), latency.count, latency.smallest, latency.largest,
            credit.count,
            credit.total, credit.longest,
            link.kind, link.redelivered, self.referred(link.first_frame),
            link.first_packet or None, self.referred(credit.frame), credit.packet or None,
        )  # fmt: skip

    def blocks(self) -> Iterator[Block]:
        """Hand out what is kept."""
        for place, deliveries in self.deliveries.items():
            yield Block("deliveries", place, deliveries)
        for (table, place), rows in self.rows.items():
            yield Block(table, place, rows)
        for (table, place), numbers in self.numbers.items():
            yield Block(table, place, numbers)
        self.deliveries = {}
        self.rows = {}
        self.numbers = {}
        self.count = 0


def related_rows(finding: Finding) -> list[dict[str, Any]]:
    """The other frames that a finding refers to, and their connections where these are others."""
    connections = finding.related_connections
    return [
        {"frame": frame, "why": why, "connection": connections[at] if connections else None}
        for at, (frame, why) in enumerate(finding.related)
    ]
