"""Frame logs of libraries as captures: what a log says, put together as TCP connections.

A log has the frames of one program as that program saw them: it had read what it received before it
sent something, but what its partners had read when they sent something is not known, and so not
claimed. Neither are octets that a log leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from amqpscope.capture.synthetic import FIN, UNKNOWN, Exchange, Sent, write_exchanges
from amqpscope.protocols.hex_log import HexLog
from amqpscope.protocols.logs import LogEntry, LogFormat
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.stream.types import CLIENT, SERVER
from amqpscope.wording import plural
from dissectors.wire import HEADER_SIZE, MAGIC

LOOKED_AT: Final = 1 << 20
"""Characters in which a log must show that it is one."""
STEP: Final = 1000
"""Nanoseconds between two lines that have no time."""
CLIENT_HOST: Final = "192.0.2.1"
SERVER_HOST: Final = "192.0.2.2"
SERVER_PORT: Final = 5672
FIRST_PORT: Final = 49152
HEADER: Final = re.compile("\\b41:? ?4d:? ?51:? ?50", re.IGNORECASE)
"""A protocol header in hexadecimal."""
COLOURS: Final = re.compile("\x1b\\[[0-9;]*m")
"""What makes a terminal write in colours."""
LONGEST: Final = 80
"""Characters of a line that are quoted."""

Line = tuple[LogFormat, re.Match[str]]


@dataclass
class LoggedConnection:
    """One connection of a log."""

    entries: list[tuple[int, LogEntry]] = field(default_factory=list)
    """Each with its place among all lines."""
    headed: set[bool] = field(default_factory=set)
    """Directions in which the protocol itself has begun."""
    over: set[bool] = field(default_factory=set)
    """Directions that have ended."""

    def continues(self, entry: LogEntry) -> bool:
        """Whether an entry can belong here, and not to the next connection of the same name."""
        is_header = entry.octets[:4] == MAGIC and len(entry.octets) == HEADER_SIZE
        return not is_header or entry.outgoing not in self.headed | self.over

    def take(self, place: int, entry: LogEntry) -> None:
        """Add an entry of the log to its connection."""
        self.entries.append((place, entry))
        if entry.octets[:5] == MAGIC + b"\0":
            self.headed.add(entry.outgoing)
        if entry.ends:
            self.over.add(entry.outgoing)


class Log:
    """A log that was read."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.talks: list[LoggedConnection] = []
        self.formats: set[LogFormat] = set()
        self.unreadable: list[str] = []
        """What is wrong with lines that look like frames."""
        self.timed = False
        current: dict[str, LoggedConnection] = {}
        for place, (form, found) in enumerate(chosen_lines(lines, all_formats()), 1):
            self.formats.add(form)
            try:
                entries = list(form.read(found))
            except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
                line = found.string.strip()[:LONGEST]
                self.unreadable.append(f"{error}: {line}")
                entries = [form.unread(found)]
            for entry in entries:
                talk = current.get(entry.connection)
                if talk is None or not talk.continues(entry):
                    talk = current[entry.connection] = LoggedConnection()
                    self.talks.append(talk)
                talk.take(place, entry)
                self.timed = self.timed or bool(entry.time)

    def notes(self) -> Iterator[str]:
        """What users should know about it."""
        names = " and ".join(sorted(form.name for form in self.formats))
        yield f"read as {names}: TCP around the frames is made up, with ports {FIRST_PORT} and up"
        if not self.timed:
            yield "the log has no times, so that frames are a microsecond apart"
        if all(form.note for form in self.formats):
            yield from sorted(form.note for form in self.formats)
        if self.unreadable:
            count = plural(len(self.unreadable), "line")
            yield f"{count} could not be understood, taken as missing: {self.unreadable[0]}"

    def exchanges(self) -> list[Exchange]:
        """The connections of the log, as what was sent on each."""
        return [exchange_of(talk, number) for number, talk in enumerate(self.talks)]


def exchange_of(talk: LoggedConnection, number: int) -> Exchange:
    """One connection; who sends the first protocol header is the client, else who has the log."""
    logger, whole = CLIENT, False
    for _, entry in talk.entries:
        if entry.octets[:4] == MAGIC:
            whole = entry is talk.entries[0][1]
            logger = CLIENT if entry.outgoing else SERVER
            break
    sent, last = [], 0
    for place, entry in talk.entries:
        last = max(last, entry.time or place * STEP)
        sent.append(
            Sent(
                logger if entry.outgoing else 1 - logger, last, entry.octets,
                -1 if entry.outgoing else UNKNOWN, entry.lost, FIN if entry.ends else "", place,
            )
        )  # fmt: skip
    client = (CLIENT_HOST, FIRST_PORT + number % (65536 - FIRST_PORT))
    return Exchange(client, (SERVER_HOST, SERVER_PORT), tuple(sent), whole, cut=True)


def all_formats() -> list[LogFormat]:
    """A reader of each format, for one log."""
    return [*(form() for family in PROTOCOLS for form in family.log_formats()), HexLog()]


def chosen_lines(lines: Iterable[str], formats: list[LogFormat]) -> Iterator[Line]:
    """The lines that have frames; where some formats say the same, of the one that says most."""
    found = [line for each in lines if (line := find_format(each, formats)) is not None]
    exact = {line[0] for line in found if not line[0].note}
    if len({line[0] for line in found}) < 2 or not exact:
        return iter(found)
    # What is exact has the frames too, but some formats leave out protocol headers.
    known = any(form in exact and HEADER.search(line.string) for form, line in found)
    return (
        (form, line) for form, line in found
        if form in exact or (form.is_header(line) and not known)
    )  # fmt: skip


def find_format(line: str, formats: list[LogFormat]) -> Line | None:
    """The format of a line; None where it is something else."""
    text = COLOURS.sub("", line.rstrip("\r\n"))
    for form in formats:
        found = form.sign.match(text)
        if found is not None:
            return form, found
    return None


def has_frames(path: str) -> bool:
    """Whether a text has lines with frames near its beginning."""
    formats = all_formats()
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return any(find_format(line, formats) for line in lines.readlines(LOOKED_AT))
    except OSError:
        return False


def write_log(path: str, file: IO[bytes]) -> list[str]:
    """Write a log as a capture; what users should know about it."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        log = Log(lines)
    write_exchanges(log.exchanges(), file)
    return list(log.notes())
