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
from amqpscope.insight.counters import ConnectionNumbers, LinkNumbers, SessionNumbers
from amqpscope.insight.statistics import Statistics
from amqpscope.model.broker.journey import Leg
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.place import Place
from amqpscope.spark.cells import Cells
from amqpscope.spark.deliveries import (
    ABORTED,
    COMPLETE,
    LARGEST,
    NOTHING,
    PRESETTLED,
    REDELIVERED,
    Deliveries,
)
from amqpscope.spark.minutes import Minutes
from amqpscope.stream.types import PEERS, SERVER
from dissectors.secrets import clean_name

ROWS: Final = 20_000
"""Rows kept before they are handed on."""
ORDER: Final = "_order"
"""Blocks of all frames' numbers, 8 octets each."""
ACCEPTED: Final = "_accepted"
"""Blocks of all connections' numbers."""
REFERRED: Final = "_referred"
"""Blocks of the numbers of frames that rows speak of."""

LIVE: Final = "~"
"""Put before the table of rows of connections that go on; it sorts behind all names of tables."""

Row = tuple[Any, ...]


class Block(NamedTuple):
    """Some rows of one table whose frames lie in one slice."""

    table: str
    slice: int
    rows: list[Row] | array[int] | Deliveries | Cells


class ConnectionRows:
    """What is remembered of a connection."""

    def __init__(self, conversation: Conversation, frame: int, packet: int) -> None:
        self.conversation = conversation
        self.statistics = Statistics(by_minute=True)
        self.minutes = Minutes()
        self.pending: dict[Delivery, bool] = {}
        """Deliveries that are not over, in order; and whether they are redeliveries."""
        self.links: dict[Place, LinkNumbers] = {}
        """The numbers of what deliveries were sent over."""
        self.products: list[str | None] = [None, None]
        self.versions: list[str | None] = [None, None]
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
        self.broken: dict[int, list[Finding]] = {}
        """What frames show by themselves, where more is known of them than that."""
        self.persons: dict[int, ConnectionRows] = {}
        self.last_person: ConnectionRows | None = None
        """That of the unit before, which mostly is the next one's too."""
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
            self.carry(step, carried, person)
        else:
            for delivery in event.settles:
                self.settle(delivery, frame.time, person)
            returned = event.returns
            if returned is not None:
                link = self.link_at(returned.place, person)
                if link is not None:
                    person.minutes.of(link, frame.time).ended.add("returned")
            identity = event.identifies
            if identity is not None:
                person.products[frame.sender] = cleaned_name(identity.product)
                person.versions[frame.sender] = cleaned_name(identity.version)
        if self.slice_of is not None:
            self.number(ORDER, frame.number)
        if step.findings:
            for finding in step.findings:
                self.finding(finding, step)
        if self.frames_wanted:
            if self.where is None or self.where.matches(step):
                self.frame(step)
            else:
                self.broken.pop(frame.number, None)

    def person(self, step: Step) -> ConnectionRows:
        """What is remembered of the connection of a unit."""
        number = step.conversation.number
        found = self.persons.get(number)
        if found is None:
            found = ConnectionRows(step.conversation, step.frame.number, step.frame.packet)
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

    def refer_to(self, frame: int) -> int | None:
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

    def carry(self, step: Step, delivery: Delivery, person: ConnectionRows) -> None:
        """Follow a delivery, and count it in its minute."""
        event, link = step.event, person.statistics.newest_link()
        minute = person.minutes.of(link, event.time)
        minute.transfers += event.carried_frames
        minute.octets += event.carried_octets
        if event.begins is not None:
            minute.deliveries += 1
            person.links[delivery.place] = link
            person.pending[delivery] = False
        if event.peer == SERVER and step.talk.voice.redelivers(event):
            minute.redelivered += 1
            if delivery in person.pending:
                person.pending[delivery] = True
        over = delivery.unanswered or delivery.settled is not None
        if event.aborts or (event.completes and over):
            self.over(delivery, person)

    def settle(self, delivery: Delivery, time: int, person: ConnectionRows) -> None:
        """A delivery has its outcome."""
        mark = delivery.settled
        if mark is None or delivery not in person.pending:
            return
        minute = person.minutes.of(person.links[delivery.place], time)
        minute.ended.add(delivery.result)
        minute.latency.add(mark.time - delivery.mark.time)
        if delivery.complete:
            self.over(delivery, person)

    def link_at(self, place: Place, person: ConnectionRows) -> LinkNumbers | None:
        """The numbers of a place that something was sent over, or that is open."""
        known = person.links.get(place)
        return known or person.statistics.last_places.links.get(place.key)

    def over(self, delivery: Delivery, person: ConnectionRows) -> None:
        """Nothing more is expected of a delivery."""
        again = person.pending.pop(delivery, None)
        if again is None:
            return
        mark, settled = delivery.mark, delivery.settled
        flags = (COMPLETE if delivery.complete else 0) | (ABORTED if delivery.aborted else 0)
        if delivery.unanswered and delivery.complete:
            flags |= PRESETTLED
        if again:
            flags |= REDELIVERED
        into, number = self.delivery_rows(mark.frame), delivery.delivery_id
        row = into.place(person.conversation.number, person.links[delivery.place])
        into.add(
            row, mark.frame, mark.packet, mark.time,
            NOTHING if number is None else min(number, LARGEST),
            min(max(delivery.size, 0), LARGEST), delivery.transfers, flags,
            "" if delivery.aborted else delivery.result,
            NOTHING if settled is None else settled.packet,
            0 if settled is None else settled.time - mark.time,
            delivery.delivery_tag,
        )  # fmt: skip

    def delivery_rows(self, frame: int) -> Deliveries:
        """Where to keep the row of a delivery that this frame began."""
        place = 0 if self.slice_of is None else self.slice_of(frame)
        found = self.deliveries.get(place)
        if found is None:
            found = Deliveries(self.ring)
            self.deliveries[place] = found
        self.count += 1
        return found

    def finding(self, finding: Finding, step: Step | None = None) -> None:
        """Keep a finding, unless the user does not want it; with the unit, where it is at hand."""
        adjusted = self.choice.adjust(finding, self.ring)
        if adjusted is None:
            return
        finding = adjusted
        person = self.persons.get(finding.connection)
        peer = PEERS.index(finding.peer)
        event = None if step is None or step.frame.number != finding.frame else step.event
        delivery, place, address = None, None, ""
        if step is not None and event is not None:
            delivery, place = delivery_of(event), step.talk.voice.counted_at(event)
            address = step.talk.voice.address(event)
            if place is None and delivery is not None:
                place = delivery.place
        links = [] if person is None else self.links_of(finding, place, person)
        link = links[0] if len(links) == 1 else None
        if links and all(each.address == links[0].address for each in links):
            address = links[0].address
        session = None if link is None else link.session
        row = (
            self.ring, finding.connection, finding.frame, finding.packet, finding.time // 1000,
            finding.time, finding.rule, finding.name, finding.severity, finding.certainty,
            finding.peer, None if person is None else person.products[peer],
            None if person is None else person.versions[peer], finding.message,
            finding.channel, None if session is None else session.ordinal,
            None if link is None else link.ordinal, finding.link or None,
            clean_name(address) or None,
            None if delivery is None else self.refer_to(delivery.mark.frame),
            finding.path or None, finding.section, related_rows(finding), None, None,
        )  # fmt: skip
        self.add("findings", finding.frame, row)
        for frame, _ in finding.related:
            self.refer_to(frame)

    def links_of(
        self, finding: Finding, place: Place | None, person: ConnectionRows
    ) -> list[LinkNumbers]:
        """What a finding may be about: links of the same name, where its frame has passed."""
        if place is not None and (not finding.link or clean_name(place.name) == finding.link):
            link = self.link_at(place, person)
            return [] if link is None else [link]
        if not finding.link:
            return []
        numbers = person.statistics.connections.get(finding.connection)
        known = [] if numbers is None else numbers.links
        return [link for link in known if clean_name(link.name) == finding.link]

    def frame(self, step: Step) -> None:
        """Keep a frame itself."""
        frame, event, voice = step.frame, step.event, step.talk.voice
        unit = frame.unit
        about = voice.about(event)
        link, address = voice.link(event), voice.address(event)
        if link is None and about is not None:
            link, address = about.place.name, about.place.address
        place, person = voice.counted_at(event), self.last_person
        if place is not None and person is not None:
            numbers = self.link_at(place, person)
            address = address if numbers is None else numbers.address or address
        row = (
            self.ring, step.conversation.number, frame.number, frame.packet, frame.time // 1000,
            frame.time, PEERS[frame.sender], step.conversation.protocol, unit.kind,
            None if unit.header is not None else unit.channel, voice.full_name(event),
            len(frame.raw) + frame.missing, None if link is None else clean_name(link),
            None if link is None else clean_name(address) or None,
            None if about is None else about.delivery_id,
            [finding.rule for finding in self.broken.pop(frame.number, step.findings)],
        )  # fmt: skip
        self.add("frames", frame.number, row)

    def link_of_leg(self, leg: Leg) -> LinkNumbers | None:
        """What a passage of a message is counted by."""
        person, place = self.persons.get(leg.lane.connection), leg.place
        return None if person is None or place is None else person.links.get(place)

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
        """Hand out the minutes of a connection that are over: those before `until`, or all."""
        person = self.persons[number]
        numbers = person.statistics.connections.get(number)
        if numbers is not None:
            for row in person.minutes.rows(self.ring, numbers, until):
                self.add("statistics", number, row)

    def provisional(self) -> Iterator[Block]:
        """Rows of connections that go on, as they are now; nothing may be taken after that."""
        self.rows = {}
        for person in self.persons.values():
            for numbers in person.statistics.finish():
                self.connection(numbers, person, provisional=True)
        for (table, place), rows in self.rows.items():
            yield Block(table, place, rows)

    def connection(
        self, numbers: ConnectionNumbers, person: ConnectionRows, *, provisional: bool = False
    ) -> None:
        """Keep a connection with its sessions and links."""
        containers = [cleaned_name(name) for name in numbers.containers]
        tcp, login = person.conversation.connection, person.conversation.talk.login()
        row = (
            self.ring, numbers.number, numbers.first // 1000, numbers.first, numbers.last,
            numbers.client, numbers.server, *tcp.client, *tcp.server, numbers.protocol, *containers,
            *person.products, *person.versions, cleaned_name(login.host), cleaned_name(login.user),
            *numbers.frames, *numbers.bytes, list(numbers.names.items()),
            person.conversation.gaps, person.first_packet, person.last_packet,
            self.refer_to(person.first_frame), provisional,
        )  # fmt: skip
        self.add("connections", numbers.number, row)
        for session in numbers.sessions:
            own = self.session(session, numbers)
            self.add("sessions", numbers.number, (*own, provisional))
        for link in numbers.links:
            self.add("links", numbers.number, (*self.link(link, numbers), provisional))

    def session(self, session: SessionNumbers, numbers: ConnectionNumbers) -> Row:
        """A row of one end of a session."""
        window = session.window
        return (
            self.ring, numbers.number, session.ordinal, numbers.first // 1000, session.peer,
            session.channel, session.transfers, window.count, window.total, window.longest,
            self.refer_to(window.frame), window.packet or None,
        )  # fmt: skip

    def link(self, link: LinkNumbers, numbers: ConnectionNumbers) -> Row:
        """A row of a link."""
        credit, latency, session = link.credit, link.latency, link.session
        return (
            self.ring, numbers.number, link.ordinal, None if session is None else session.ordinal,
            numbers.first // 1000, clean_name(link.name),
            clean_name(link.address), link.sender, link.channel, link.transfers, link.deliveries,
            link.bytes, link.aborted, link.presettled, list(link.outcomes.items()),
            sorted(latency.classes.items()), latency.count, latency.smallest, latency.largest,
            credit.count,
            credit.total, credit.longest,
            link.kind, link.redelivered, self.refer_to(link.first_frame),
            link.first_packet or None, self.refer_to(credit.frame), credit.packet or None,
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


def cleaned_name(name: str | None) -> str | None:
    """A name without secrets."""
    return None if name is None else clean_name(name)


def delivery_of(event: Event) -> Delivery | None:
    """The delivery that a frame is about, if it is one."""
    carried = event.carries
    if carried is not None:
        return carried
    answered = event.covers
    return answered[0] if len(answered) == 1 else event.returns


def related_rows(finding: Finding) -> list[dict[str, Any]]:
    """The other frames that a finding refers to, and their connections where these are others."""
    connections = finding.related_connections
    return [
        {"frame": frame, "why": why, "connection": connections[at] if connections else None}
        for at, (frame, why) in enumerate(finding.related)
    ]
