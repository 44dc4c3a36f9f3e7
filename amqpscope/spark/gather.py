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
from amqpscope.choice import Choice
from amqpscope.findings import Finding
from amqpscope.model.delivery import Delivery
from amqpscope.model.link import LinkEnd
from amqpscope.numbers import ConnectionNumbers, Counts, Histogram, LinkNumbers, SessionNumbers
from amqpscope.report.jsonl import name_of
from amqpscope.spark.deliveries import ABORTED, COMPLETE, NOTHING, PRESETTLED, Deliveries
from amqpscope.spark.gather_older import OlderMessages, Where, where_of
from amqpscope.statistics import Statistics, outcome_of
from amqpscope.stream import PEERS
from dissectors.secrets import clean_name
from dissectors.v1_0.bodies import Open
from dissectors.v1_0.values import Map

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
        self, ring: str, choice: Choice, slice_of: Callable[[int], int] | None, frames: bool
    ) -> None:
        self.ring = ring
        self.choice = choice
        self.slice_of = slice_of
        """The slice of a frame's number; None: numbers are final."""
        self.frames_wanted = frames
        self.persons: dict[int, Person] = {}
        self.last_person: Person | None = None
        """That of the unit before, which mostly is the next one's too."""
        self.older = OlderMessages()
        self.minutes: dict[tuple[int, int, str, str], Minute] = {}
        self.last: Minute | None = None
        """The minute that was counted in last, and of what it is: mostly the next one's too."""
        self.last_link: LinkEnd | None = None
        self.last_when = 0
        self.last_node = ""
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
        body = frame.unit.body
        if step.older is not None:
            self.older.take(step, step.older, self)
        elif isinstance(body, Open):
            person.products[frame.sender] = product(body)
        person.statistics.take(step)
        if step.delivery is not None:
            self.transfer(step, step.delivery, person)
        elif step.covered:
            for delivery in step.covered:
                self.disposition(delivery, frame.number, frame.time, person)
        if self.slice_of is not None:
            self.number(ORDER, frame.number)
        if step.findings:
            for finding in step.findings:
                self.finding(finding)
        if self.frames_wanted:
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

    def transfer(self, step: Step, delivery: Delivery, person: Person) -> None:
        """Follow a delivery, and count it in its minute."""
        frame = step.frame
        minute = self.minute(delivery, person, frame.time)
        minute.transfers += 1
        minute.octets += len(frame.raw) - frame.unit.payload + frame.missing
        if delivery.mark.frame == frame.number:
            minute.deliveries += 1
            person.pending[delivery] = True
        if delivery.aborted or (delivery.complete and delivery.settled is not None):
            self.over(delivery, person)

    def disposition(self, delivery: Delivery, frame: int, time: int, person: Person) -> None:
        """See whether this frame settles a delivery."""
        mark = delivery.settled
        if mark is None or mark.frame != frame or delivery not in person.pending:
            return
        minute = self.minute(delivery, person, time)
        outcome = outcome_of(delivery)
        minute.ended.add(outcome)
        minute.latency.add(mark.time - delivery.mark.time)
        if delivery.complete:
            self.over(delivery, person, outcome)

    def minute(self, delivery: Delivery, person: Person, time: int) -> Minute:
        """Where to count what happens now on a delivery's link."""
        link = delivery.link
        when, node = time // MINUTE, link.node()
        last = self.last
        if (
            last is None
            or link is not self.last_link
            or when != self.last_when
            or node != self.last_node
        ):
            number = person.conversation.number
            last = self.minute_of(number, time, node, PEERS[link.session.owner.peer])
            self.last, self.last_link, self.last_when, self.last_node = last, link, when, node
        return last

    def minute_of(self, connection: int, time: int, address: str, sender: str) -> Minute:
        """Where to count what is sent to or from an address."""
        key = (connection, time // MINUTE, address, sender)
        found = self.minutes.get(key)
        if found is None:
            found = Minute()
            self.minutes[key] = found
        return found

    def over(self, delivery: Delivery, person: Person, outcome: str = "") -> None:
        """Nothing more is expected of a delivery."""
        if person.pending.pop(delivery, None) is None:
            return
        connection = person.conversation.number
        link, mark, settled = delivery.link, delivery.mark, delivery.settled
        flags = (COMPLETE if delivery.complete else 0) | (ABORTED if delivery.aborted else 0)
        if delivery.complete and delivery.sent_settled:
            flags |= PRESETTLED
        if settled is not None and not outcome:
            outcome = "presettled" if flags & PRESETTLED else outcome_of(delivery)
        number, into = delivery.delivery_id, self.delivered(mark.frame)
        place = into.place(
            connection, clean_name(link.name), clean_name(link.node()),
            PEERS[link.session.owner.peer],
        )  # fmt: skip
        into.add(
            place, mark.frame, mark.packet, mark.time, NOTHING if number is None else number,
            delivery.size, delivery.transfers, flags, "" if delivery.aborted else outcome,
            NOTHING if settled is None else settled.packet,
            0 if settled is None else settled.time - mark.time,
            octets(delivery.tag),
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
        if not self.choice.judge(finding, self.ring):
            return
        person = self.persons.get(finding.connection)
        peer = PEERS.index(finding.peer)
        row = (
            self.ring, finding.connection, finding.frame, finding.packet, finding.time // 1000,
            finding.time, finding.rule, finding.name, finding.severity, finding.certainty,
            finding.peer, None if person is None else person.products[peer], finding.message,
            finding.channel, finding.link or None, finding.path or None, finding.section,
            [{"frame": frame, "why": why} for frame, why in finding.related], None, None,
        )  # fmt: skip
        self.add("findings", finding.frame, row)
        for frame, _ in finding.related:
            self.referred(frame)

    def frame(self, step: Step) -> None:
        """Keep a frame itself."""
        frame, link, delivery = step.frame, step.link, step.delivery
        unit = frame.unit
        where: Where = (
            None if link is None else clean_name(link.name),
            None if link is None else clean_name(link.node()),
            None if delivery is None else delivery.delivery_id,
        )
        if step.older is not None:
            where = where_of(step.older)
        row = (
            self.ring, step.conversation.number, frame.number, frame.packet, frame.time // 1000,
            frame.time, PEERS[frame.sender], step.conversation.protocol, unit.kind,
            None if unit.header is not None else unit.channel,
            unit.name if step.older is not None else name_of(unit),
            len(frame.raw) + frame.missing, *where,
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
        self.older.close(number, self)
        for numbers in person.statistics.finish():
            self.connection(numbers, person)
        self.pass_minutes(number, -1)
        del self.persons[number]
        self.last_person = None

    def pass_minutes(self, number: int, until: int) -> None:
        """Give out the minutes of a connection that are over: those before `until`, or all."""
        self.last = self.last_link = None
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
                minute.latency.largest,
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
            sorted(latency.classes.items()), latency.count, latency.largest, credit.count,
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


def product(body: Open) -> str | None:
    """What a peer says it is."""
    properties = body.properties
    found = properties.get("product") if isinstance(properties, Map) else None
    return clean_name(str(found)) if isinstance(found, str) else None


def octets(value: object) -> bytes | None:
    """A binary as Arrow takes it."""
    if isinstance(value, bytes):
        return value
    return bytes(value) if isinstance(value, bytearray | memoryview) else None
