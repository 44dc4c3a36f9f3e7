"""Ladders for the screen: laid out by a thread that replays connections, drawn as it goes on.

What the screen gets is a `Drawing`: rows with all that is needed to paint any line of them. A new
one is made twice a second while rows are added.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import monotonic
from typing import Final, NamedTuple

from amqpscope.analysis import Conversation, Step
from amqpscope.findings import Finding
from amqpscope.insight.ladder import Arrow, Bracket, Ladder, Lanes, Row, together
from amqpscope.insight.ladder_steps import endpoints, entry
from amqpscope.report.ladder_text import LadderText, Picture
from amqpscope.stream import types as stream
from amqpscope.tui.finding_index import FindingIndex, made_finding
from amqpscope.tui.replay import ALL, PieceIndex, Replay
from amqpscope.tui.spool import PieceHead

MOST: Final = 20_000
"""Rows of a ladder after which only findings are drawn."""
PAUSE: Final = 0.5
"""Seconds between two drawings."""
POLL: Final = 0.2
QUIET: Final = 2.0
"""Seconds without anything new after which repetitions that are held back are drawn."""
GLANCE: Final = 256


class LadderRequest(NamedTuple):
    """What is to be laid out."""

    connections: tuple[int, ...]
    """Side by side, if there are several."""
    collapse: bool
    unfolded: tuple[tuple[int, int], ...]
    """First and last frames of what was opened."""
    width: int


class Ranges:
    """Frames that are drawn whatever they are."""

    def __init__(self, ranges: tuple[tuple[int, int], ...]) -> None:
        self.ranges = ranges

    def __contains__(self, frame: object) -> bool:
        return isinstance(frame, int) and any(first <= frame <= last for first, last in self.ranges)


class Spot(NamedTuple):
    """One line: a row, or a part of a finding below it."""

    place: int
    text: str
    """Empty for the row itself."""
    severity: str


@dataclass
class Drawing:
    """A ladder as far as it is laid out."""

    request: LadderRequest
    frame: int
    """The newest frame in it."""
    ladders: list[Ladder]
    rows: list[Row]
    picture: Picture | None
    spots: list[Spot]
    beside: list[list[Bracket]]
    """The brackets that go past each row, or end there."""
    lines: dict[int, int]
    """The line of each frame that is drawn."""
    final: bool
    """All that was read is in it."""


class EndNotingReplay(Replay):
    """A replay that remembers how directions ended."""

    def __init__(self, places: PieceIndex, connection: int) -> None:
        super().__init__(places, connection)
        self.ends: list[tuple[int, stream.End]] = []

    def make_piece(self, head: PieceHead, data: bytes) -> stream.Piece:
        """A piece; an end is noted with its connection."""
        piece = super().make_piece(head, data)
        if isinstance(piece, stream.End):
            self.ends.append((head.connection, piece))
        return piece


class LadderWorker:
    """Lays out one ladder in a thread, until `closed` is set."""

    def __init__(
        self,
        places: PieceIndex,
        findings: FindingIndex,
        faults: dict[int, list[tuple[str, str]]],
        request: LadderRequest,
        *,
        secrets: bool,
        live: bool,
    ) -> None:
        self.findings = findings
        self.faults = faults
        self.known = len(findings)
        """Findings when it began: if there are more at the end, it is worth another run."""
        self.request = request
        self.secrets = secrets
        self.live = live
        several = len(request.connections) > 1
        self.run = EndNotingReplay(places, ALL if several else request.connections[0])
        self.ladders: dict[int, Ladder] = {}
        self.talks: dict[int, Conversation] = {}
        self.latest: Drawing | None = None
        self.closed = threading.Event()
        self.wanted = threading.Event()
        """The screen is in sight; while it is not, others need the processor more."""
        self.wanted.set()
        self.thread = threading.Thread(target=self.work, name="ladder", daemon=True)
        self.thread.start()

    def work(self) -> None:
        """Take Steps as they come."""
        drawn = news = monotonic()
        first, open_ended = True, False
        while not self.closed.is_set():
            self.run.places.update()
            fresh = False
            for at, step in enumerate(self.run.steps()):
                fresh = open_ended = True
                self.take(step)
                if at % GLANCE == 0:
                    while not self.wanted.is_set() and not self.closed.is_set():
                        self.wanted.wait(POLL)
                    if self.closed.is_set():
                        return
                    if monotonic() - drawn > (PAUSE if not first else POLL / 4):
                        self.draw(final=False)
                        drawn, first = monotonic(), False
            now = monotonic()
            news = now if fresh else news
            if open_ended and (not self.live or now - news > QUIET):
                self.finish()
                open_ended = False
                self.draw(final=True)
            elif fresh:
                self.draw(final=False)
            self.closed.wait(POLL)

    def take(self, step: Step) -> None:
        """Add a frame to the ladder."""
        talk = step.conversation
        if talk.number not in self.request.connections:
            return
        self.end(step.frame.time)
        self.talks[talk.number] = talk
        step.findings = self.findings_at(step.frame.number)
        step.faults = self.faults.get(step.frame.number, [])
        describe = partial(step.talk.voice.summary, step.event, self.secrets)
        self.ladder(talk).add(entry(step), describe)

    def findings_at(self, number: int) -> list[Finding]:
        """The findings of a frame, read without the store's memory, which is the screen's."""
        places = self.findings.of_frame.get(number)
        if places is None:
            return []
        found = [places] if isinstance(places, int) else [*places]
        source = self.findings
        lines = [os.pread(source.file, source.sizes[at], source.places[at]) for at in found]
        return [made_finding(json.loads(each)["finding"]) for each in lines]

    def ladder(self, talk: Conversation) -> Ladder:
        """The ladder of a connection."""
        ladder = self.ladders.get(talk.number)
        if ladder is None:
            client, server = endpoints(talk)
            ladder = self.ladders[talk.number] = Ladder(
                talk.number, client, server, talk.protocol, collapse=self.request.collapse,
                unfolded=Ranges(self.request.unfolded), most=MOST,
                start=self.run.places.files.record(1).time,
            )  # fmt: skip
        return ladder

    def end(self, time: int | None = None) -> None:
        """Draw the ends of directions up to a time; None: all."""
        while self.run.ends and (time is None or self.run.ends[0][1].time < time):
            number, piece = self.run.ends.pop(0)
            talk = self.talks.get(number)
            if talk is not None:
                last = talk.last[piece.sender]
                frame = 0 if last is None else last.number
                self.ladders[number].end(frame, piece.time, piece.sender, piece.reason)

    def finish(self) -> None:
        """Nothing more is there for now."""
        self.end()
        for ladder in self.ladders.values():
            ladder.finish()

    # -- drawing ------------------------------------------------------------------------------

    def draw(self, *, final: bool) -> None:
        """Make what the screen paints."""
        ladders = sorted(self.ladders.values(), key=lambda ladder: ladder.number)
        self.latest = drawing(self.request, ladders, self.run.frame, final)


def drawing(request: LadderRequest, ladders: list[Ladder], frame: int, final: bool) -> Drawing:
    """Ladders as lines of a width."""
    rows = together(ladders) if len(ladders) > 1 else [*ladders[0].rows] if ladders else []
    if not rows:
        return Drawing(request, frame, ladders, [], None, [], [], {}, final)
    start = min(ladder.start for ladder in ladders)
    picture = Picture(LadderText(request.width), Lanes(ladders), rows, start)
    beside: list[list[Bracket]] = [[] for _ in rows]
    for bracket in picture.brackets:
        for place in range(bracket.top, bracket.bottom + 1):
            beside[place].append(bracket)
    spots: list[Spot] = []
    lines: dict[int, int] = {}
    for place, row in enumerate(rows):
        lines.setdefault(row.frame, len(spots))
        if isinstance(row, Arrow):
            lines[row.frame] = len(spots)
        spots.append(Spot(place, "", ""))
        if isinstance(row, Arrow) and row.entry.notes:
            passing = [bracket for bracket in beside[place] if bracket.bottom > place]
            for note in row.entry.notes:
                for cells in picture.note(note, row):
                    picture.pass_by(cells, passing)
                    spots.append(Spot(place, "".join(cells).rstrip(), note.severity))
    return Drawing(request, frame, ladders, rows, picture, spots, beside, lines, final)


def neighbours(own: int, connections: dict[int, Conversation], most: int) -> tuple[int, ...]:
    """A connection and those that come next, for a picture of several."""
    after = [number for number in connections if number >= own]
    before = [number for number in connections if number < own]
    return tuple(sorted(islice((*after, *reversed(before)), most)))


def file_text(kind: str, drawn: Drawing) -> str:
    """A ladder as a file of a kind: `txt`, `mmd` or `svg`."""
    several = len(drawn.ladders) > 1
    if kind == "mmd":
        from amqpscope.report.ladder_mermaid import mermaid_text

        return mermaid_text(drawn.ladders)
    if kind == "svg":
        from amqpscope.report.ladder_svg import svg_text

        return svg_text(drawn.ladders, side_by_side=several)
    lines = LadderText().lines(drawn.ladders, side_by_side=several)
    return "".join(f"{line}\n" for line in lines)
