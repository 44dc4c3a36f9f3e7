"""Plays an exchange over several connections to one broker through the real analysis.

    A.client: ...      a unit of connection A; `conversation` tells how it is written

Times count for all connections: a line without one has that of the line before. Each connection
begins after its part of a scene, in the order of the letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from amqpscope.analysis import Analyzer
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.findings import Finding
from amqpscope.insight.journeys import Journeys
from amqpscope.rules.all import load
from amqpscope.rules.broker.scenes import SCENES
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream.types import Connection, End
from kit.conversation import Pieces, Said, happenings, with_early

_LINE: Final = re.compile(r"^(\s*)(?:@(\d+(?:\.\d+)?)s\s+)?([A-Z])\.((?:client|server)[~^\d]*:)")


class Played(NamedTuple):
    """What came of an exchange."""

    journeys: Journeys
    findings: list[Finding]
    """Of the rules about brokers."""
    others: list[Finding]
    """Of the rules about single connections."""
    marked: dict[int, tuple[str, ...]]


class Talk:
    """One of the connections."""

    def __init__(self, letter: str, complete: bool, host: str) -> None:
        port = 50000 + ord(letter)
        self.connection = Connection(("127.0.0.1", port), (host, 5672), complete)
        self.pieces = Pieces(self.connection)
        self.said: list[Said] = []


def split(text: str) -> list[tuple[str, str]]:
    """The lines with the letter of the connection, each with its time and what continues it."""
    found: list[tuple[str, str]] = []
    time = "0"
    for line in text.split("\n"):
        start = _LINE.match(line)
        if start:
            time = start[2] or time
            found.append((start[3], f"@{time}s {start[4]}{line[start.end() :]}"))
        elif line.strip() and found:
            letter, before = found[-1]
            found[-1] = letter, f"{before}\n            {line.strip()}"
    return found


def play(
    text: str,
    scene: str = "",
    *,
    closed_world: bool = False,
    complete: str = "ABCDEFG",
    second: str = "",
    prepare: Callable[[Connection], None] = lambda connection: None,
) -> Played:
    """Run an exchange.

    `complete` names the connections whose beginning was captured, `second` those to another broker;
    `prepare` is called with each before it begins.
    """
    before, lines = split(SCENES.opening(scene).units), split(text)
    letters = sorted({letter for letter, _ in before + lines})
    rules = RuleSet(list(load().values()))
    analyzer = Analyzer({5672: "amqp-1.0"}, rules)
    journeys = Journeys(rules, closed_world=closed_world)
    played = Played(journeys, [], [], {})
    talks = {}
    for letter in letters:
        host = "127.0.0.2" if letter in second else "127.0.0.1"
        talk = talks[letter] = Talk(letter, letter in complete, host)
        prepare(talk.connection)
        own = "\n".join(line for each, line in before + lines if each == letter)
        talk.said = with_early(happenings(own))
    for letter, _ in before + lines:
        feed(talks[letter], talks[letter].said.pop(0), analyzer, played)
    played.findings.extend(journeys.finish())
    played.others.extend(analyzer.late_findings())
    return played


def write(text: str, scene: str, path: Path, letters: str) -> None:
    """Write some of the connections of an exchange as a capture, in the order of time."""
    before, lines = split(SCENES.opening(scene).units), split(text)
    said = {}
    for letter in letters:
        own = "\n".join(line for each, line in before + lines if each == letter)
        said[letter] = with_early(happenings(own))
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        talks = {}
        for letter in letters:
            address = ("127.0.0.1", 50000 + ord(letter))
            talks[letter] = ConnectionWriter(writer, address, ("127.0.0.1", 5672))
            talks[letter].open(said[letter][0].time)
        for letter, _ in before + lines:
            if letter in letters:
                each = said[letter].pop(0)
                talks[letter].data(each.sender, each.time, each.raw)


def feed(talk: Talk, said: Said, analyzer: Analyzer, played: Played) -> None:
    """Let one thing happen."""
    piece = talk.pieces.piece(said)
    for step in analyzer.feed(piece):
        played.others.extend(step.findings)
        played.findings.extend(played.journeys.take(step))
    conversation = analyzer.conversation_of(talk.connection)
    if isinstance(piece, End) and conversation is not None:
        played.journeys.end(conversation)
    if said.marks:
        played.marked[analyzer.frames] = said.marks
