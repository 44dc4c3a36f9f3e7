"""Events of 1.0 made again one by one: what a list row, a tree or a filter looks at.

The frame is decoded by the same code that read it first. The model behind its event has its link
with both attaches, its delivery with the first transfer, and the message put together from the
transfers that carried it.
"""

from __future__ import annotations

from typing import Any, cast

from amqpscope.model import event as shared
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.delivery import MAX_MESSAGE, Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.protocols import sketch
from amqpscope.protocols import talk as talks
from amqpscope.protocols.sketch import CUT, LOST_BEFORE, MESSAGE, UNSENT, Clue, FrameRecord, Records
from amqpscope.protocols.v1_0.framer import frame_of
from amqpscope.protocols.v1_0.talk import Talk
from amqpscope.stream.framer import Frame
from dissectors.v1_0.bodies import Attach, Body, Transfer
from dissectors.v1_0.framing import Unit


class Notes(sketch.Notes):
    """Writes down links, and which transfers belong together."""

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[LinkEnd, tuple[int, str]] = {}
        """The newest note about each link, and the node that it goes to."""
        self.count = 0
        self.newest: dict[Delivery, int] = {}
        """The newest transfer of each delivery that has more to come."""

    def clue(self, event: shared.Event) -> Clue:
        """The clue of an event that was just applied."""
        event = cast(Event, event)
        first = previous = transfers = 0
        delivery = event.delivery
        if delivery is not None:
            first, transfers = delivery.mark.frame, event.transfers
            previous = self.previous(delivery, event)
        elif event.covered:
            first, transfers = event.covered[0].mark.frame, len(event.covered)
            previous = int(any(each.link is not event.covered[0].link for each in event.covered))
        link = 0 if event.link is None else self.link(event.link)
        return Clue(event.octets, link, first, previous, transfers)

    def previous(self, delivery: Delivery, event: Event) -> int:
        """The transfer before this one of the same delivery; 0: none."""
        # The delivery itself may be further on: one piece can hold many transfers.
        body = event.unit.body
        if isinstance(body, Transfer) and body.more and not body.aborted:
            found = self.newest.get(delivery, 0)
            self.newest[delivery] = event.frame.number
            return found
        return self.newest.pop(delivery, 0) if self.newest else 0

    def link(self, link: LinkEnd) -> int:
        """The number of the note about a link; a new one when it goes elsewhere than noted."""
        node = link.node()
        found = self.links.get(link)
        if found is not None and found[1] == node:
            return found[0]
        self.count += 1
        self.links[link] = (self.count, node)
        pair = link.pair
        self.fresh.append([self.count, end_note(link), None if pair is None else end_note(pair)])
        return self.count


def end_note(link: LinkEnd) -> list[int | None]:
    """One end of a link: its attach, its handle, its channel and its peer."""
    attach = link.mark.frame if link.attach is not None else 0
    return [attach, link.handle, link.session.channel, link.session.owner.peer]


class Sketcher(sketch.Sketcher):
    """Makes events again; links are made once."""

    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self.ends: dict[int, tuple[list[int], list[int] | None]] = {}
        """Both ends of links, by the number of their note."""
        self.links: dict[int, LinkEnd] = {}

    def learn(self, note: Any) -> None:
        """Take the note about a link."""
        number, end, pair = note
        self.ends[number] = (end, pair)

    def event(self, talk: talks.Talk, number: int, record: FrameRecord) -> Event:
        """The event of a frame."""
        frame = self.frame(number, record)
        connection = cast(Talk, talk).tracker.connection
        event = Event(connection, frame, record.sender, 0, record.time)
        if record.link:
            event.link = self.link(record.link)
            event.session = event.link.session
        if record.transfers and record.delivery and isinstance(body_of(frame), Transfer):
            delivery = event.delivery = self.delivery(number, record, frame, event.link)
            if record.flags & MESSAGE:
                event.message = self.message(record, frame)
            if delivery is not None:
                event.transfers, event.octets = delivery.transfers, delivery.size
                event.earlier = delivery.parts
        return event

    def frame(self, number: int, record: FrameRecord | None = None) -> Frame:
        """One frame, decoded."""
        if record is None:
            record = self.records.record(number)
        raw = self.records.octets(record)
        frame = frame_of(
            record.sender, record.offset, raw, record.missing, record.packet, record.time, -1
        )
        frame.number = number
        frame.lost_before = bool(record.flags & LOST_BEFORE)
        frame.cut = bool(record.flags & CUT)
        frame.unsent = bool(record.flags & UNSENT)
        return frame

    def link(self, number: int) -> LinkEnd:
        """A link, with its partner's end."""
        found = self.links.get(number)
        if found is None:
            end, pair = self.ends[number]
            found = self.links[number] = self.link_end(end)
            if pair is not None:
                found.pair = self.link_end(pair)
                found.pair.pair = found
                found.session.pair, found.pair.session.pair = found.pair.session, found.session
        return found

    def link_end(self, end: list[int]) -> LinkEnd:
        """One end of a link."""
        attached, handle, channel, peer = end
        attach, mark = None, NOWHERE
        if attached:
            frame = self.frame(attached)
            body = body_of(frame)
            attach = body if isinstance(body, Attach) else None
            mark = Mark(attached, frame.packet, frame.time, 0)
        session = SessionEnd(ConnectionEnd(peer, True), channel, None, NOWHERE)
        return LinkEnd(session, handle, attach, mark)

    def delivery(
        self, number: int, record: FrameRecord, frame: Frame, link: LinkEnd | None
    ) -> Delivery | None:
        """The delivery of a transfer, as of this one."""
        first = frame if record.delivery == number else self.frame(record.delivery)
        body = body_of(first)
        if link is None or not isinstance(body, Transfer):
            return None
        mark = Mark(record.delivery, first.packet, first.time, 0)
        delivery = Delivery(link, None, body, mark)
        delivery.transfers = record.transfers
        delivery.size = record.octets
        if first is not frame:
            parts = [first]
            if record.previous not in (0, record.delivery):
                parts.append(self.frame(record.previous))
            delivery.parts = [part.raw[part.unit.payload :] for part in parts]
        return delivery

    def message(self, record: FrameRecord, frame: Frame) -> bytes:
        """The whole message that a transfer completes."""
        parts = [frame.raw[frame.unit.payload :]]
        size = len(parts[0])
        while record.previous and size <= MAX_MESSAGE:
            record, number = self.records.record(record.previous), record.previous
            frame = self.frame(number, record)
            parts.append(frame.raw[frame.unit.payload :])
            size += len(parts[-1])
        return b"".join(reversed(parts))


def body_of(frame: Frame) -> Body | None:
    """The performative of a frame."""
    return frame.unit.body if isinstance(frame.unit, Unit) else None
