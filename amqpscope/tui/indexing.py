"""The process that reads a capture for the TUI: pieces in, the files of a `Spool` out.

It checks all rules on the way. It runs beside the one that draws, because a compiled call keeps
Python's lock until it returns, and painting needs the lock many times.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from amqpscope.analysis import Analyzer, Conversation, Step
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.ring import Readable, Ring
from amqpscope.capture.source import CaptureError
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.insight.endings import standing_words, talk_over_at
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.link_words import link_words
from amqpscope.insight.refusals import refusal
from amqpscope.protocols.registry import of_voice
from amqpscope.protocols.sketch import LINE, REDELIVERED, Clue, Notes, flags_of
from amqpscope.protocols.voice import Voice
from amqpscope.runs.collector import calm_collector
from amqpscope.runs.input import read_keylogs
from amqpscope.stream.types import Chunk, Connection, End, Gap, Piece
from amqpscope.tui import spool
from amqpscope.tui.spool import PIECE, PLACE, REASONS, RECORD, Spool
from amqpscope.wording import reason_of

PAUSE: Final = 0.05
"""Seconds after which what was read is written, also when there is little of it."""
SPANS: Final = 0.5
"""Seconds between two facts on how far connections are."""


class Indexer:
    """Writes what one capture holds."""

    def __init__(
        self,
        files: Spool,
        given: Readable,
        decode_as: dict[int, str],
        *,
        show_secrets: bool = False,
    ) -> None:
        self.files = files
        self.given = given
        self.path = str(given)
        self.show_secrets = show_secrets
        self.choice = Selection()
        rules = self.choice.rules()
        self.analyzer = Analyzer(decode_as, rules)
        self.journeys = Journeys(rules)
        """Follows messages for the rules about brokers, as `lint` does."""
        self.waiting: dict[Connection, list[Piece]] = {}
        """Pieces of connections that may turn out to use AMQP."""
        self.met: set[int] = set()
        """Connections that a fact was written about."""
        self.protocols: dict[int, str] = {}
        """The protocol that it names."""
        self.notes: dict[Voice, Notes | None] = {}
        """What the frames of each family are made again from; None: they are replayed."""
        self.spans: dict[int, list[int]] = {}
        """Frames of each connection, and when the first and the last of them passed."""
        self.talks: dict[int, Conversation] = {}
        """Connections that are not over."""
        self.states: dict[int, tuple[int, str]] = {}
        """When connections were over, and how they ended."""
        self.changed: set[int] = set()
        self.spanned = 0.0
        self.comments: deque[tuple[int, str]] = deque()
        """What people have noted about packets whose frames are to come."""
        self.commented = 0
        """Comments of the capture that were taken."""
        self.position = 0
        """The end of `pieces`."""
        self.pieces: list[bytes] = []
        self.places: list[bytes] = []
        self.index: list[bytes] = []
        self.facts: list[dict[str, Any]] = []
        self.flushed = time.monotonic()

    def take(self, piece: Piece) -> None:
        """One more piece of the capture."""
        connection = piece.connection
        before = self.analyzer.frames
        steps = self.analyzer.feed(piece)
        self.journeys.follow(steps)
        if self.analyzer.is_dismissed(connection) and not steps:
            self.waiting.pop(connection, None)
            return
        conversation = self.analyzer.conversation_of(connection)
        if conversation is None:
            self.waiting.setdefault(connection, []).append(piece)
            return
        number = conversation.number
        if number not in self.met:
            self.meet(conversation)
            for held in self.waiting.pop(connection, []):
                self.keep(held, number, before)
        at = self.keep(piece, number, before)
        for step in steps:
            self.add(step, piece, at)
        if isinstance(piece, End):
            self.end(conversation, piece)

    def meet(self, conversation: Conversation) -> None:
        """A connection turned out to use AMQP."""
        tcp = conversation.connection
        self.met.add(conversation.number)
        self.talks[conversation.number] = conversation
        self.protocols[conversation.number] = conversation.protocol
        self.facts.append(
            {
                "connection": conversation.number,
                "client": tcp.client,
                "server": tcp.server,
                "protocol": conversation.protocol,
                "family": of_voice(conversation.talk.voice).name,
                "anchored": tcp.anchored,
                "encrypted": tcp.encrypted,
            }
        )

    def keep(self, piece: Piece, connection: int, before: int) -> int:
        """Write a piece; returns where the octets of a chunk begin."""
        kind, detail, offset, ack, size, data = spool.CHUNK, 0, 0, -1, 0, b""
        if isinstance(piece, Chunk):
            offset, ack, data = piece.offset, piece.ack, piece.data
            size = len(data)
        elif isinstance(piece, Gap):
            kind, offset, size = spool.GAP, piece.offset, piece.size
            detail = int(piece.snapped)
        elif isinstance(piece, End):
            kind, detail = spool.END, REASONS.index(piece.reason)
        else:
            kind, detail = spool.WINDOW, int(piece.zero)
        head = PIECE.pack(
            kind,
            piece.sender,
            detail,
            connection,
            before,
            piece.packet,
            piece.time,
            offset,
            ack,
            size,
        )
        self.places.append(PLACE.pack(connection, before, self.position))
        self.pieces.append(head)
        self.pieces.append(data)
        at = self.position + PIECE.size
        self.position = at + len(data)
        return at

    def add(self, step: Step, piece: Piece, at: int) -> None:
        """Write the record of a frame, and what it refers to."""
        frame, event = step.frame, step.event
        number = step.conversation.number
        data = self.place_of(frame.raw, frame.offset, piece, at)
        flags = flags_of(frame, event)
        if step.talk.voice.redelivers(event):
            flags |= REDELIVERED
        clue = None if step.event.transacts else self.clue(step)
        if clue is None:
            flags |= LINE
            clue = self.write_line(step)
        self.index.append(
            RECORD.pack(
                frame.time, data, frame.offset, *clue, len(frame.raw), frame.missing, number,
                frame.packet, frame.unit.channel, frame.sender, flags,
            )
        )  # fmt: skip
        while self.comments and self.comments[0][0] <= frame.packet:
            packet, text = self.comments.popleft()
            said = text if packet == frame.packet else f"(packet {packet}) {text}"
            self.facts.append({"comment": frame.number, "text": said})
        refused = refusal(step)
        if refused is not None:
            words, meaning = refused.full, refused.meaning
            self.facts.append({"refusal": frame.number, "words": words, "meaning": meaning})
        for finding in step.findings:
            self.find(finding)
        if step.faults:
            self.facts.append({"frame": step.frame.number, "faults": step.faults})
        span = self.spans.get(number)
        if span is None:
            self.spans[number] = [1, frame.time, frame.time]
        else:
            span[0] += 1
            span[2] = frame.time
        self.changed.add(number)

    def clue(self, step: Step) -> Clue | None:
        """What a frame is made again from; None where its connection has to be replayed."""
        conversation = step.conversation
        if step.talk is not conversation.talk:
            return None  # a server that answers in another family than it was asked in
        voice = step.talk.voice
        if voice not in self.notes:
            self.notes[voice] = of_voice(voice).notes()
        notes = self.notes[voice]
        if notes is None:
            return None
        clue = notes.clue(step.event)
        if notes.fresh:
            family = of_voice(voice).name
            self.facts += [{"note": note, "family": family} for note in notes.fresh]
            notes.fresh.clear()
        return clue

    def write_line(self, step: Step) -> Clue:
        """Write the line of a frame that cannot be made again alone; where it is, and its size."""
        event, voice = step.event, step.talk.voice
        number, protocol = step.conversation.number, step.conversation.protocol
        if self.protocols.get(number) != protocol:
            # The server may say later which of them it is.
            self.meet(step.conversation)
        unit = step.frame.unit
        colour = "malformed" if unit.faults else voice.colour(event)
        text = voice.summary(event, self.show_secrets)
        if event.transacts:  # which is behind what a narrow list can show
            text = f"{event.transacts}: {text}" if text else event.transacts
        line = json.dumps([voice.name(event), colour, link_words(step), text]).encode()
        found = self.position
        self.pieces.append(line)
        self.position += len(line)
        return Clue(octets=found, previous=len(line))

    def end(self, talk: Conversation, piece: End) -> None:
        """A direction of a connection is over."""
        self.journeys.end(talk)
        number = talk.number
        self.changed.add(number)
        self.states[number] = (talk_over_at(talk), standing_words(talk, piece.reason))
        if all(end.finished for end in talk.current.ends):
            self.talks.pop(number, None)

    def write_spans(self) -> None:
        """Write how far connections are of which there is something new."""
        self.spanned = time.monotonic()
        for number in sorted(self.changed):
            frames, first, last = self.spans.get(number, (0, 0, 0))
            talk = self.talks.get(number)
            if talk is not None and number not in self.states:
                over, words = talk_over_at(talk), standing_words(talk, "")
            else:
                over, words = self.states.get(number, (0, ""))
            self.facts.append({
                "span": number, "frames": frames, "first": first, "last": last,
                "over_at": over, "state": words,
            })  # fmt: skip
        self.changed.clear()

    def place_of(self, raw: bytes, offset: int, piece: Piece, at: int) -> int:
        """Where the octets of a frame lie; those of one that spans pieces are written once more."""
        if isinstance(piece, Chunk):
            begin = offset - piece.offset
            if begin >= 0 and piece.data[begin : begin + len(raw)] == raw:
                return at + begin
        found = self.position
        self.pieces.append(raw)
        self.position += len(raw)
        return found

    def find(self, finding: Finding) -> None:
        """Write what was found as a fact."""
        adjusted = self.choice.adjust(finding, self.path)
        if adjusted is not None:
            self.facts.append({"finding": asdict(adjusted)})

    def flush(self, pieces: Pieces, *, done: bool = False) -> None:
        """Write what was gathered, what is referred to first."""
        late = self.analyzer.late_findings() + self.journeys.late_findings()
        for finding in late + self.journeys.finish() if done else late:
            self.find(finding)
        if done or time.monotonic() - self.spanned > SPANS:
            self.write_spans()
        if self.index:
            self.facts.append({"frames": self.analyzer.frames})
        files = self.files
        for file, parts in (
            (files.pieces, self.pieces),
            (files.places, self.places),
            (files.facts, [json.dumps(fact).encode() + b"\n" for fact in self.facts]),
            (files.index, self.index),
        ):
            write_all(file, b"".join(parts))
        self.pieces, self.places, self.index, self.facts = [], [], [], []
        files.write_status(self.status(pieces, done=done))
        self.flushed = time.monotonic()

    def status(self, pieces: Pieces, *, done: bool) -> dict[str, Any]:
        """How far the reader is."""
        capture, analyzer = pieces.capture, self.analyzer
        return {
            "done": done,
            "position": capture.position,
            "size": capture.size,
            "packets": capture.packets,
            "frames": analyzer.frames,
            "gaps": analyzer.gaps,
            "protocols": analyzer.protocols,
            "problem": capture.problem,
            "unreadable": capture.unreadable,
            "notes": pieces.notes[:20],
            "file": capture.number,
        }

    def run(self, *, follow: bool, keylogs: Iterable[bytes], ports: dict[int, str]) -> None:
        """Read the capture to its end."""
        parent = os.getppid()
        with Pieces(self.given, follow=follow, keylogs=keylogs, server_ports=ports) as pieces:
            for batch in pieces:
                self.comments.extend(pieces.capture.comments[self.commented :])
                self.commented = len(pieces.capture.comments)
                for piece in batch:
                    self.take(piece)
                    if time.monotonic() - self.flushed > PAUSE:
                        self.flush(pieces)
                if follow:
                    self.flush(pieces)
                if os.getppid() != parent:
                    return
            self.flush(pieces, done=True)


def write_all(file: int, data: bytes) -> None:
    """Append octets, however often that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def main() -> None:
    """Do what the first argument says."""
    calm_collector()
    request = json.loads(sys.argv[1])
    files = Spool(request["files"])
    ports = {int(port): name for port, name in request["decode_as"].items()}
    path, ring = request["path"], tuple(request["ring"])
    given = Ring(path, ring) if ring else path

    def refuse(line: str) -> None:
        raise CaptureError(path, line)

    try:
        indexer = Indexer(files, given, ports, show_secrets=request["show_secrets"])
        keylogs = read_keylogs(request["keylogs"], refuse)
        indexer.run(follow=request["follow"], keylogs=keylogs, ports=ports)
    except KeyboardInterrupt:
        return
    except CaptureError as error:
        files.write_status({"done": True, "error": error.message})
    except OSError as error:
        what = reason_of(error)
        files.write_status({"done": True, "error": f"reading broke off: {what}"})


if __name__ == "__main__":
    main()
