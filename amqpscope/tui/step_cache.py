"""The rows and Steps of one capture, made again from a `Spool` when somebody looks at them.

A frame with a clue is decoded alone and made into an event by its family's `Sketcher`. Of a frame
without one the line was written when it was read, and its Step comes from a replay.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.analysis import Conversation, Step
from amqpscope.findings import Finding
from amqpscope.insight.ladder_steps import fault_words
from amqpscope.insight.link_words import link_words
from amqpscope.protocols.registry import PROTOCOLS, find_protocol, of_voice
from amqpscope.protocols.sketch import LINE, REDELIVERED, FrameRecord, Sketcher
from amqpscope.protocols.voice import Voice
from amqpscope.protocols.words import printable
from amqpscope.tui.finding_index import FindingIndex
from amqpscope.tui.refusal_index import RefusalIndex
from amqpscope.tui.replay import connection_of
from amqpscope.tui.spool import Spool, SpooledLine, SpooledLines

if TYPE_CHECKING:
    from amqpscope.tui.replayed_steps import ReplayedSteps

CACHED: Final = 512
"""Steps that are kept: a few screens full."""
BUDGET: Final = 0.03
"""Seconds for which facts are taken at a time: drawing must not wait longer."""


class Row(NamedTuple):
    """What a list says of a frame."""

    number: int
    time: int
    """Nanoseconds since the Unix epoch."""
    connection: int
    sender: int
    channel: int | None
    place: str
    """Its link, exchange or queue."""
    name: str
    kind: str
    """What it is coloured by: a performative, `malformed`, `sasl`, `header` or `empty`."""
    text: str
    findings: list[Finding]
    redelivered: bool = False
    """It hands out a message again, as its sender says."""
    faults: str = ""
    """The faults of a proxy that acted here, and what they did."""


class TalkSpan(NamedTuple):
    """How far a connection is."""

    frames: int
    first: int
    """When its first frame passed, in nanoseconds."""
    last: int
    over_at: int
    """When it was over, or else the capture; 0 while it goes on."""
    state: str
    """How it ended, or that it goes on, in a few words."""


class StepCache:
    """Makes the Steps of one capture."""

    def __init__(
        self, files: Spool, decode_as: dict[int, str] | None = None, *, show_secrets: bool = False
    ) -> None:
        self.files = files
        self.decode_as = decode_as or {}
        self.show_secrets = show_secrets
        self.facts = SpooledLines(files.facts)
        self.count = 0
        """Frames whose facts are known."""
        self.covered = 0
        """Frames that the facts so far are enough for."""
        self.conversations: dict[int, Conversation] = {}
        self.name_width = 0
        """Columns for the names of frames, in the families that there are."""
        self.spans: dict[int, TalkSpan] = {}
        """How far each connection is."""
        self.sketchers: dict[Voice, Sketcher | None] = {}
        """What makes single events again, by their family; None: they are replayed."""
        self.findings = FindingIndex(files.facts)
        self.faults: dict[int, list[tuple[str, str]]] = {}
        """The faults of a proxy that acted, by frame."""
        self.refusals = RefusalIndex(files.facts)
        self.comments: list[tuple[int, str]] = []
        """What the capture itself notes about frames."""
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
        self.count = min(self.covered, self.files.count)
        return found or self.count != before

    def learn(self, line: SpooledLine) -> None:
        """One line of `facts`."""
        fact = line.value
        if "finding" in fact:
            frame = self.findings.add(fact["finding"], line.place, line.size)
            self.cache.pop(frame, None)
        elif "faults" in fact:
            self.faults[fact["frame"]] = [(name, action) for name, action in fact["faults"]]
        elif "comment" in fact:
            self.comments.append((fact["comment"], fact["text"]))
        elif "refusal" in fact:
            self.refusals.add(line)
        elif "note" in fact:
            self.learn_note(fact["family"], fact["note"])
        elif "span" in fact:
            span = TalkSpan(
                fact["frames"], fact["first"], fact["last"], fact["over_at"], fact["state"]
            )
            self.spans[fact["span"]] = span
        elif "frames" in fact:
            self.covered = fact["frames"]
        else:
            talk = conversation_of(fact)
            self.conversations[talk.number] = talk
            self.name_width = max(self.name_width, talk.talk.voice.name_width)

    def learn_note(self, family: str, note: Any) -> None:
        """One of a family's own notes."""
        protocol = find_protocol(family)
        sketcher = None if protocol is None else self.sketcher(protocol.voice)
        if sketcher is not None:
            sketcher.learn(note)

    def sketcher(self, voice: Voice) -> Sketcher | None:
        """What makes single events of a family again; None: they are replayed."""
        if voice not in self.sketchers:
            self.sketchers[voice] = of_voice(voice).sketcher(self.files)
        return self.sketchers[voice]

    @cached_property
    def replayed(self) -> ReplayedSteps:
        """The Steps of frames that have no clue."""
        from amqpscope.tui.replayed_steps import ReplayedSteps

        return ReplayedSteps(self.files, self.decode_as)

    def is_replayed(self, number: int) -> bool:
        """Whether the Step of a frame comes from a replay, which may take a while."""
        return bool(self.files.record(number).flags & LINE)

    def step(self, number: int) -> Step:
        """One frame with what it belongs to."""
        found = self.cache.get(number)
        if found is not None:
            self.cache.move_to_end(number)
            return found
        step = self.make_step(number, self.files.record(number))
        self.cache[number] = step
        if len(self.cache) > CACHED:
            self.cache.popitem(last=False)
        return step

    def make_step(self, number: int, record: FrameRecord) -> Step:
        """The Step of a record."""
        if record.flags & LINE:
            step = self.replayed.step(number, record.connection)
            step.findings = self.findings.at(number)
            return step
        conversation = self.conversations[record.connection]
        talk = conversation.talk
        sketcher = self.sketcher(talk.voice)
        assert sketcher is not None, "a record without a line has a clue"
        event = sketcher.event(talk, number, record)
        return Step(conversation, talk, event, self.findings.at(number))

    def row(self, number: int) -> Row:
        """The line of a frame."""
        record = self.files.record(number)
        channel: int | None = record.channel
        if record.flags & LINE:
            name, kind, place, text = self.files.line(record)
            channel = None if name == "header" else channel
            findings = self.findings.at(number)
        else:
            step = self.step(number)
            unit, event, voice = step.frame.unit, step.event, step.talk.voice
            channel = None if unit.header is not None else unit.channel
            name, kind = voice.name(event), "malformed" if unit.faults else voice.colour(event)
            place, text = link_words(step), voice.summary(event, self.show_secrets)
            if not place and record.delivery and not record.previous:
                place = link_words(self.step(record.delivery))
            findings = step.findings
        return Row(number, record.time, record.connection, record.sender, channel,
                   printable(place), name, kind, text, findings,
                   bool(record.flags & REDELIVERED),
                   fault_words(self.faults.get(number, [])))  # fmt: skip


def conversation_of(fact: dict[str, Any]) -> Conversation:
    """An AMQP connection as its fact has it; its model knows nothing of its frames."""
    connection, name = connection_of(fact), fact["protocol"]
    # A header may name another family than the one that reads the connection.
    protocol = find_protocol(fact["family"]) or PROTOCOLS[0]
    return Conversation(protocol.talk(fact["connection"], connection, name, b"", [False, False]))
