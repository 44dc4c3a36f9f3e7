"""A conversation without what belongs to its users: what `scrub` does.

Octets are replaced where they are, by as many others, so that sizes and places stay and the rules
find the same. What was written is read again: its findings are compared, and what was replaced is
looked for in it.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from amqpscope.analysis import Step
from amqpscope.capture.rewrite import Rewriter
from amqpscope.check.selection import Selection
from amqpscope.findings import Finding
from amqpscope.protocols.prose import WORDS
from amqpscope.protocols.scrub import Manner, ScrubMark, Secret
from amqpscope.runs.exchanges import Octets
from amqpscope.runs.input import Input
from amqpscope.runs.leaks import find_leaks, is_telling
from amqpscope.runs.pseudonyms import Pseudonyms
from amqpscope.runs.run import Run
from amqpscope.stream.marks import Marks
from amqpscope.stream.types import Certificate, Chunk, Connection, End, Gap, Piece, Tls, Window

NAMES: Final = frozenset(
    (Secret.ADDRESS, Secret.NAME, Secret.HOST, Secret.CREDENTIAL, Secret.PROPERTY)
)
"""Kinds whose words are not left in sentences either."""
BODIES: Final = frozenset((Secret.BODY, Secret.NUMBER))
ROUNDS: Final = 4
"""How often other pseudonyms are tried, where those at hand mean something to a rule."""

Found = tuple[str, int, str]
"""A finding, as it has to be the same: its rule, frame and peer."""
Direction = tuple[Connection, int]


@dataclass
class MessagePart:
    """A part of a message, and where it is."""

    direction: Direction
    offset: int
    octets: bytes


@dataclass
class ScrubbedMessage:
    """A message with all of its parts that were captured."""

    step: Step
    """Its first frame."""
    identity: object
    """What its parts share; kept, so that nothing else takes its identity."""
    parts: list[MessagePart] = field(default_factory=list)
    whole_until: int = -1
    """Where octets are missing first; -1: nowhere."""
    octets: bytes = b""
    marks: list[ScrubMark] = field(default_factory=list)

    def note_loss(self) -> None:
        """Octets are missing behind those that are known."""
        if self.whole_until < 0:
            self.whole_until = sum(len(part.octets) for part in self.parts)


@dataclass
class Scrubbed:
    """What was written, and what can be said about it."""

    octets: bytes
    packets: int
    frames: int
    replaced: Counter[str]
    """Different values, by what they are."""
    kept: list[str]
    """Words that stay."""
    short: int
    """Values that are too short to be looked for."""
    shared: list[str]
    """Words of users that are the protocol's own too."""
    hosts: int
    """IP addresses that were replaced."""
    missing: list[Found] = field(default_factory=list)
    """Findings that are not there any more, and those that are new."""
    extra: list[Found] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    """What was found that should not be there."""


class Scrubber:
    """Reads a capture, and writes it without what belongs to its users."""

    def __init__(self, given: Input, salt: bytes, *, keep_bodies: bool = False) -> None:
        self.given = given
        self.salt = salt
        self.keep_bodies = keep_bodies
        self.pieces: list[Piece] = []
        self.octets: dict[Direction, Octets] = {}
        self.connections: dict[Connection, Connection] = {}
        """Those with AMQP, and as what they are written."""
        self.marks: dict[Direction, list[ScrubMark]] = defaultdict(list)
        """By places in the stream."""
        self.covered: dict[Direction, list[tuple[int, int]]] = defaultdict(list)
        self.messages: dict[int, ScrubbedMessage] = {}
        self.findings: list[Found] = []
        self.products: set[bytes] = set()
        """What software says of itself, as far as it stays."""
        self.common = WORDS
        """Words that may stay in sentences."""
        self.notes: list[str] = []
        self.frames = 0

    def read(self) -> int:
        """Read the capture; returns the number of its frames."""
        with Run(self.given, Selection(), tap=self._tap) as run:
            for batch in run:
                for step in batch.steps:
                    self._take(step)
                    self._find(step.findings)
                self._find(batch.findings)
            result = run.result()
            self.frames, self.notes = run.frames, result.notes
        others = {piece.connection for piece in self.pieces}.difference(self.connections)
        if others:
            self.notes.append(f"{len(others)} TCP connections without AMQP are left out")
        self._mark_messages()
        self._mark_rest()
        return self.frames

    def scrub(self, path: str) -> Scrubbed:
        """Write the conversation with other words; with others again if a rule minds them."""
        best: Scrubbed | None = None
        for number in range(ROUNDS):
            made = self._scrub(Pseudonyms(self.salt + bytes((number,)), self.common))
            Path(path).write_bytes(made.octets)
            self._compare(made, path)
            if best is None or _trouble(made) < _trouble(best):
                best = made
            if not any(_trouble(best)):
                break
        assert best is not None
        Path(path).write_bytes(best.octets)
        return best

    # reading

    def _tap(self, pieces: list[Piece]) -> None:
        self.pieces.extend(pieces)
        for piece in pieces:
            if isinstance(piece, Chunk | Gap):
                key = (piece.connection, piece.sender)
                if key not in self.octets:
                    self.octets[key] = Octets()
                self.octets[key].take(piece)

    def _find(self, findings: Iterable[Finding]) -> None:
        self.findings.extend((each.rule, each.frame, each.peer) for each in findings)

    def _take(self, step: Step) -> None:
        """Mark what is to be replaced in a frame."""
        frame, connection = step.frame, step.conversation.connection
        if connection not in self.connections:
            self.connections[connection] = connection
            self.common |= step.talk.voice.marker().words()
        direction = (connection, frame.sender)
        self.covered[direction].append((frame.offset, frame.offset + len(frame.raw)))
        marker = step.talk.voice.marker()
        base = frame.offset
        for mark in marker.frame(step.event):
            self._add(direction, mark, base)
        fragment = marker.fragment(step.event)
        if fragment is not None:
            message = self.messages.get(id(fragment.message))
            if message is None:
                message = self.messages[id(fragment.message)] = ScrubbedMessage(
                    step, fragment.message
                )
            octets = frame.raw[fragment.start : fragment.stop]
            if frame.lost_before and message.parts:
                message.note_loss()
            message.parts.append(MessagePart(direction, base + fragment.start, octets))
            if frame.missing:
                message.note_loss()

    def _add(self, direction: Direction, mark: ScrubMark, base: int) -> None:
        if mark.stop > mark.start:
            placed = mark._replace(start=base + mark.start, stop=base + mark.stop)
            self.marks[direction].append(placed)

    def _mark_messages(self) -> None:
        """Mark the messages, now that all of their parts are known."""
        for message in self.messages.values():
            message.octets = b"".join(part.octets for part in message.parts)
            octets, until, step = message.octets, message.whole_until, message.step
            known = octets if until < 0 else octets[:until]
            marks = step.talk.voice.marker().message(known, step.event)
            message.marks = [each for each in marks if each.stop > each.start]
            if len(known) < len(octets):
                # Behind a loss it is not known what is what.
                rest = ScrubMark(len(known), len(octets), Secret.BODY, Manner.OCTETS)
                message.marks.append(rest)

    def _mark_rest(self) -> None:
        """Mark the octets that are in no frame."""
        for direction, octets in self.octets.items():
            if direction[0] not in self.connections or octets.base < 0:
                continue
            at = octets.base
            for start, stop in sorted(self.covered[direction]):
                self._add(direction, ScrubMark(at, start, Secret.DAMAGE, Manner.OCTETS), 0)
                at = max(at, stop)
            self._add(direction, ScrubMark(at, octets.stop, Secret.DAMAGE, Manner.OCTETS), 0)

    # writing

    def _scrub(self, words: Pseudonyms) -> Scrubbed:
        """Write the conversation with these words, and look at it."""
        values = self._values()
        self._choose_products(values)
        kept = {value for mark, value in values if self._stays(mark, value)}
        replaced = [(mark, value) for mark, value in values if not self._stays(mark, value)]
        for mark, value in replaced:
            if mark.kind in NAMES:
                words.note_name(value)
        streams = {key: bytearray(octets.data) for key, octets in self.octets.items()}
        self._replace_fields(words, streams)
        self._replace_messages(words, streams)
        file = io.BytesIO()
        packets = self._write(words, streams, file)
        counts = Counter(str(kind) for kind, _ in {(mark.kind, value) for mark, value in replaced})
        scrubbed = Scrubbed(
            file.getvalue(), packets, self.frames, counts,
            sorted(_text(each) for each in kept), 0, [], len(words.hosts),
        )  # fmt: skip
        originals = {
            each
            for mark, value in replaced
            if mark.kind != Secret.NUMBER
            for each in (words.replaced_words(value) if mark.manner == Manner.PROSE else [value])
        }
        self._look_for_leaks(scrubbed, originals, kept)
        return scrubbed

    def _values(self) -> list[tuple[ScrubMark, bytes]]:
        """All that is marked."""
        found = []
        for direction, marks in self.marks.items():
            octets = self.octets[direction]
            for mark in marks:
                place = slice(mark.start - octets.base, mark.stop - octets.base)
                found.append((mark, bytes(octets.data[place])))
        for message in self.messages.values():
            found += [(mark, message.octets[mark.start : mark.stop]) for mark in message.marks]
        return found

    def _choose_products(self, values: list[tuple[ScrubMark, bytes]]) -> None:
        """Let those names of products stay that nothing of users is in."""
        others = b"\n".join({value for mark, value in values if mark.kind == Secret.KEPT})
        names = {value for mark, value in values if mark.kind in NAMES and is_telling(value)}
        names = {name for name in names if name not in others}
        products = {value for mark, value in values if mark.kind == Secret.PRODUCT}
        self.products = {each for each in products if not any(name in each for name in names)}

    def _stays(self, mark: ScrubMark, value: bytes) -> bool:
        if mark.kind == Secret.PRODUCT:
            return value in self.products
        return mark.kind == Secret.KEPT or (self.keep_bodies and mark.kind in BODIES)

    def _replace_fields(self, words: Pseudonyms, streams: dict[Direction, bytearray]) -> None:
        for direction, marks in self.marks.items():
            stream, base = streams[direction], self.octets[direction].base
            for mark in marks:
                place = slice(mark.start - base, mark.stop - base)
                value = bytes(stream[place])
                if not self._stays(mark, value):
                    stream[place] = words.replace(value, mark.manner)

    def _replace_messages(self, words: Pseudonyms, streams: dict[Direction, bytearray]) -> None:
        for message in self.messages.values():
            after = bytearray(message.octets)
            for mark in message.marks:
                value = message.octets[mark.start : mark.stop]
                if not self._stays(mark, value):
                    after[mark.start : mark.stop] = words.replace(value, mark.manner)
            message.step.talk.voice.marker().mend(message.octets, after)
            at = 0
            for part in message.parts:
                start, size = part.offset - self.octets[part.direction].base, len(part.octets)
                streams[part.direction][start : start + size] = after[at : at + size]
                at += size

    def _write(
        self, words: Pseudonyms, streams: dict[Direction, bytearray], file: io.BytesIO
    ) -> int:
        """Write the pieces; returns the number of packets."""
        self.connections = {each: _rename(each, words) for each in self.connections}
        writer = Rewriter(file)
        for piece in self.pieces:
            connection = self.connections.get(piece.connection)
            if connection is None:
                continue
            if isinstance(piece, Chunk):
                key = (piece.connection, piece.sender)
                start = piece.offset - self.octets[key].base
                data = bytes(streams[key][start : start + len(piece.data)])
                piece = Chunk(
                    connection, piece.sender, piece.offset, data, piece.packet, piece.time,
                    piece.ack,
                )  # fmt: skip
            else:
                piece = _move(piece, connection)
            writer.write(piece)
        return writer.writer.packets

    def _look_for_leaks(self, scrubbed: Scrubbed, originals: set[bytes], kept: set[bytes]) -> None:
        """Look for the originals in what was written, but for those that are in kept words."""
        own = b"\n".join(kept)
        shared = {each for each in originals if is_telling(each) and each in own}
        scrubbed.shared = sorted(map(_text, shared))
        scrubbed.short = sum(not is_telling(each) for each in originals)
        leaks = find_leaks(scrubbed.octets, originals - shared)
        scrubbed.leaks = sorted(map(_text, leaks))

    def _compare(self, scrubbed: Scrubbed, path: str) -> None:
        """Let the rules look at what was written, and note what they find otherwise."""
        found: list[Found] = []
        with Run(replace(self.given, given=path, place=None, keylogs=()), Selection()) as run:
            for batch in run:
                for step in batch.steps:
                    found.extend((each.rule, each.frame, each.peer) for each in step.findings)
                found.extend((each.rule, each.frame, each.peer) for each in batch.findings)
        before, after = Counter(self.findings), Counter(found)
        scrubbed.missing = sorted((before - after).elements())
        scrubbed.extra = sorted((after - before).elements())


def _trouble(scrubbed: Scrubbed) -> tuple[int, int]:
    return len(scrubbed.leaks), len(scrubbed.missing) + len(scrubbed.extra)


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "backslashreplace")


def _move(piece: Gap | End | Window, connection: Connection) -> Piece:
    """A piece on another connection; written out, for compiled classes cannot be copied."""
    if isinstance(piece, Gap):
        made = Gap(connection, piece.sender, piece.offset, piece.size, piece.packet, piece.time)
        made.snapped = piece.snapped
        return made
    if isinstance(piece, End):
        return End(connection, piece.sender, piece.reason, piece.packet, piece.time)
    return Window(connection, piece.sender, piece.zero, piece.packet, piece.time)


def _rename(connection: Connection, words: Pseudonyms) -> Connection:
    """A connection of other hosts."""
    (client, port), (server, server_port) = connection.client, connection.server
    made = Connection((words.host(client), port), (words.host(server), server_port), False)
    made.anchored, made.opened = list(connection.anchored), connection.opened
    made.disordered, made.unseen = connection.disordered, list(connection.unseen)
    made.encrypted, made.websocket = connection.encrypted, connection.websocket
    made.marks = _renamed_faults(connection.marks)
    if connection.tls is not None:
        made.tls = _renamed_tls(connection.tls, words)
    return made


def _renamed_faults(marks: Marks | None) -> Marks | None:
    """What a proxy noted, with numbers for the names of faults."""
    if marks is None:
        return None
    made = Marks()
    made.copied, made.proxy, made.shown = marks.copied, marks.proxy, marks.shown
    made.actions = marks.actions
    names = {name: f"fault-{number}" for number, (_, name, _) in enumerate(marks.faults, 1)}
    made.faults = [(packet, names[name], legal) for packet, name, legal in marks.faults]
    return made


def _renamed_tls(tls: Tls, words: Pseudonyms) -> Tls:
    made = Tls()
    made.hello, made.plain, made.alpn = tls.hello, tls.plain, tls.alpn
    made.version, made.alerts, made.quiet = tls.version, tls.alerts, tls.quiet
    made.server_name = words.text(tls.server_name)
    if tls.certificate is not None:
        names = [words.text(each) for each in tls.certificate.names]
        before, after = tls.certificate.not_before, tls.certificate.not_after
        made.certificate = Certificate(names, before, after)
    return made
