"""Plays an exchange of AMQP 0-9 through the real model and rules.

`conversation` says how it is written; besides, `0x00*4089` is an octet, so many times. An exchange
may begin after a scene.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from amqpscope.findings import Finding
from amqpscope.model.v0_9.event import Event
from amqpscope.protocols.talk import Talk
from amqpscope.protocols.v0_9.protocol import PROTOCOL
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.v0_9.scenes import SCENES
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import Connection, End, Gap
from kit.conversation import Pieces, Said, happenings, with_early

_REPEATED: Final = re.compile(r"0x([0-9a-f]{2})\*(\d+)")


class Played(NamedTuple):
    """What came of an exchange."""

    events: list[Event]
    findings: list[Finding]
    marked: dict[int, tuple[str, ...]]
    """The rules that the text expects, by frame number."""


def script(text: str, scene: str = "") -> list[Said]:
    """An exchange as what happens, in order."""
    whole = SCENES.opening(scene).units + text
    return with_early(happenings(_REPEATED.sub(lambda m: "0x" + m[1] * int(m[2]), whole)))


def play(
    text: str, scene: str = "", *, complete: bool = True, rules: RuleSet | None = None
) -> Played:
    """Run an exchange; findings come in the order in which they were made.

    Peers are on one machine, unless the scene says otherwise: a login in clear is worth a note.
    """
    address = "10.0.0.2" if SCENES.opening(scene).scene.remote else "127.0.0.1"
    connection = Connection(("127.0.0.1", 50000), (address, 5672), complete)
    said = script(text, scene)
    player = Player(connection, said, rules)
    for each in said:
        player.take(each)
    return player.played


@cache
def every_rule() -> RuleSet:
    """All rules, also those that run only when they are asked for."""
    return RuleSet(list(load().values()))


def talk_of(connection: Connection, first: bytes) -> Talk:
    """A connection whose first octets may be a header."""
    version = first[4:8] if first[:4] == b"AMQP" else b""
    return PROTOCOL.talk(1, connection, PROTOCOL.name, version, [False, False])


class Player(Pieces):
    """Feeds what happens to a connection, as the analyzer does."""

    def __init__(
        self, connection: Connection, said: list[Said], rules: RuleSet | None = None
    ) -> None:
        first = next((each.raw for each in said if each.raw), b"")
        super().__init__(connection)
        self.talk = talk_of(connection, first)
        self.rules = rules or every_rule()
        self.frames = 0
        self.played = Played([], [], {})

    def take(self, said: Said) -> None:
        sender, piece = said.sender, self.piece(said)
        if isinstance(piece, Gap):
            self.gap(piece)
        elif isinstance(piece, End):
            self.end(piece)
        else:
            for frame in self.talk.chunk(piece):
                self.step(frame)
        if said.marks:
            # What is wrong with the end of a direction is told at its last frame.
            last = self.talk.last_frame(sender) if said.end else None
            self.played.marked[self.frames if last is None else last.number] = said.marks

    def step(self, frame: Frame) -> None:
        self.frames += 1
        frame.number = self.frames
        self.played.events.append(self.talk.take(frame, self.rules))
        self.played.findings.extend(self.talk.findings())

    def gap(self, gap: Gap) -> None:
        frame = self.talk.gap(gap)
        if frame is not None:
            self.step(frame)
        self.talk.lose(gap)

    def end(self, end: End) -> None:
        frame = self.talk.end(end)
        if frame is not None:
            self.step(frame)
        self.talk.finish(end, self.rules)
        self.played.findings.extend(self.talk.findings())
