"""Single Steps made again from a `Spool`: what a list row, a tree or a filter looks at.

Only what is shown is decoded, by the same code that read it first. The model behind such a Step is
as large as one frame needs it: its link with both attaches, its delivery with its first transfer,
and the message put together from the transfers that carried it.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.analysis import Conversation, Step
from amqpscope.findings import Finding
from amqpscope.insight.refusals import Refusals
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.v1_0.connection import ConnectionEnd
from amqpscope.model.v1_0.delivery import MAX_MESSAGE, Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.protocols.registry import PROTOCOLS, named
from amqpscope.protocols.v1_0.framer import frame_of
from amqpscope.protocols.v1_0.talk import Talk
from amqpscope.protocols.words import printable
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import Connection
from amqpscope.tui import spool
from amqpscope.tui.finding_index import Findings
from amqpscope.tui.spool import Line, Lines, Record, Spool
from dissectors.v1_0.bodies import Attach, Body, Transfer
from dissectors.v1_0.framing import Unit

if TYPE_CHECKING:
    from amqpscope.tui.step_cache_v0_9 import OlderSteps

CACHED: Final = 512
"""Steps that are kept: a few screens full."""
BUDGET: Final = 0.03
"""Seconds for which facts are taken at a time: whoever draws must not wait longer."""


class Row(NamedTuple):
    """What a list says of a frame."""

    number: int
    time: int
    """Nanoseconds since the Unix epoch."""
    connection: int
    sender: int
    channel: int | None
    place: str
    """Its link; in the older protocols the exchange or queue."""
    name: str
    kind: str
    """What it is coloured by: a performative, `malformed`, `sasl`, `header` or `empty`."""
    text: str
    findings: list[Finding]


class Span(NamedTuple):
    """How far a connection is."""

    frames: int
    first: int
    """When its first frame passed, in nanoseconds."""
    last: int
    over_at: int
    """When it was over, or else the capture; 0 while it goes on."""
    state: str
    """How it ended, or that it goes on, in a few words."""


class Steps:
    """Makes the Steps of one capture."""

    def __init__(
        self, files: Spool, decode_as: dict[int, str] | None = None, *, show_secrets: bool = False
    ) -> None:
        self.files = files
        self.decode_as = decode_as or {}
        self.show_secrets = show_secrets
        self.facts = Lines(files.facts)
        self.count = 0
        """Frames whose facts are known."""
        self.told = 0
        """Frames that the facts so far are enough for."""
        self.conversations: dict[int, Conversation] = {}
        self.spans: dict[int, Span] = {}
        """How far each connection is."""
        self.ends: dict[int, tuple[list[int], list[int] | None]] = {}
        """Both ends of links, by the number of their fact."""
        self.links: dict[int, LinkEnd] = {}
        self.findings = Findings(files.facts)
        self.refusals = Refusals()
        self.cache: OrderedDict[int, Step] = OrderedDict()

    def update(self, budget: float = BUDGET) -> bool:
        """Take what the reader has written since, for some time; whether there was anything."""
        end = monotonic() + budget
        before = self.count
        found = False
        while lines := self.facts.read():
            found = True
            for line in lines:
                self.learn(line)
            if monotonic() > end:
                break
        self.count = min(self.told, self.files.count)
        return found or self.count != before

    def learn(self, line: Line) -> None:
        """One line of `facts`."""
        fact = line.value
        if "finding" in fact:
            frame = self.findings.add(fact["finding"], line.place, line.size)
            self.cache.pop(frame, None)
        elif "refusal" in fact:
            self.refusals.frames.append(fact["refusal"])
        elif "link" in fact:
            self.ends[fact["link"]] = (fact["end"], fact["pair"])
        elif "span" in fact:
            span = Span(fact["frames"], fact["first"], fact["last"], fact["over_at"], fact["state"])
            self.spans[fact["span"]] = span
        elif "frames" in fact:
            self.told = fact["frames"]
        else:
            self.conversations[fact["connection"]] = made_conversation(fact)

    def frame(self, number: int) -> Frame:
        """One frame, decoded."""
        return self.made_frame(number, self.files.record(number))

    def made_frame(self, number: int, record: Record) -> Frame:
        """The frame of a record."""
        frame = frame_of(
            record.sender, record.offset, self.files.octets(record), record.missing,
            record.packet, record.time, -1,
        )  # fmt: skip
        frame.number = number
        frame.lost_before = bool(record.flags & spool.LOST_BEFORE)
        frame.cut = bool(record.flags & spool.CUT)
        frame.unsent = bool(record.flags & spool.UNSENT)
        return frame

    def step(self, number: int) -> Step:
        """One frame with what it belongs to."""
        found = self.cache.get(number)
        if found is not None:
            self.cache.move_to_end(number)
            return found
        step = self.made_step(number, self.files.record(number))
        self.cache[number] = step
        if len(self.cache) > CACHED:
            self.cache.popitem(last=False)
        return step

    @cached_property
    def older(self) -> OlderSteps:
        """Those of the older protocols."""
        from amqpscope.tui.step_cache_v0_9 import OlderSteps

        return OlderSteps(self.files, self.decode_as)

    def row(self, number: int) -> Row:
        """The line of a frame."""
        record = self.files.record(number)
        if record.flags & spool.OLDER:
            return self.older_row(number, record)
        step = self.step(number)
        unit, event, voice = step.frame.unit, step.event, step.talk.voice
        kind = "malformed" if unit.faults else voice.colour(event)
        return Row(
            number, record.time, record.connection, record.sender,
            None if unit.header is not None else unit.channel, printable(voice.place(event)),
            voice.name(event), kind, voice.summary(event, self.show_secrets), step.findings,
        )  # fmt: skip

    def older_row(self, number: int, record: Record) -> Row:
        """The line of a frame as it was written when it was read."""
        line = os.pread(self.files.pieces, record.previous, record.octets)
        name, kind, place, text = json.loads(line)
        return Row(
            number, record.time, record.connection, record.sender,
            None if name == "header" else record.channel, printable(place), name, kind,
            text, self.findings.at(number),
        )  # fmt: skip

    def made_step(self, number: int, record: Record) -> Step:
        """The Step of a record."""
        if record.flags & spool.OLDER:
            step = self.older.step(number, record.connection)
            step.findings = self.findings.at(number)
            return step
        frame = self.made_frame(number, record)
        conversation = self.conversations[record.connection]
        talk = conversation.talk
        assert isinstance(talk, Talk)
        event = Event(talk.tracker.connection, frame, record.sender, 0, record.time)
        if record.link:
            event.link = self.link(record.link)
            event.session = event.link.session
        if record.transfers and isinstance(body_of(frame), Transfer) and record.delivery:
            event.delivery = self.delivery(number, record, frame, event.link)
            if record.flags & spool.MESSAGE:
                event.message = self.message(record, frame)
        delivery = event.delivery
        if delivery is not None:
            event.transfers, event.octets = delivery.transfers, delivery.size
            event.earlier = delivery.parts
        return Step(conversation, talk, event, self.findings.at(number))

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
        self, number: int, record: Record, frame: Frame, link: LinkEnd | None
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
            parts = [first] if record.previous in (0, record.delivery) else [
                first, self.frame(record.previous),
            ]  # fmt: skip
            delivery.parts = [part.raw[part.unit.payload :] for part in parts]
        return delivery

    def message(self, record: Record, frame: Frame) -> bytes | None:
        """The whole message that a transfer completes."""
        parts = [frame.raw[frame.unit.payload :]]
        size = len(parts[0])
        while record.previous and size <= MAX_MESSAGE:
            record, number = self.files.record(record.previous), record.previous
            frame = self.made_frame(number, record)
            parts.append(frame.raw[frame.unit.payload :])
            size += len(parts[-1])
        return b"".join(reversed(parts))


def body_of(frame: Frame) -> Body | None:
    """The performative of a frame of 1.0."""
    return frame.unit.body if isinstance(frame.unit, Unit) else None


def made_conversation(fact: dict[str, Any]) -> Conversation:
    """A connection that speaks AMQP, as its fact tells it."""
    connection, name = made_connection(fact), fact["protocol"]
    protocol = named(name) or PROTOCOLS[0]
    return Conversation(protocol.talk(fact["connection"], connection, name, b"", [False, False]))


def made_connection(fact: dict[str, Any]) -> Connection:
    """A TCP connection as its fact tells it."""
    client, server = fact["client"], fact["server"]
    tcp = Connection((client[0], client[1]), (server[0], server[1]), False)
    tcp.anchored = fact["anchored"]
    tcp.encrypted = fact["encrypted"]
    return tcp
