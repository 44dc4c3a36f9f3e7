"""Plays an exchange of 1.0 in notation through the real analysis, as the rules' examples are.

`conversation` says how it is written. An exchange may begin after a scene.
"""

from __future__ import annotations

from typing import NamedTuple

from amqpscope.analysis import Analyzer, Step
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.findings import Finding
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.v1_0.scenes import SCENES
from amqpscope.stream.types import Connection
from kit.beneath import Beneath, Opened
from kit.conversation import Pieces, Said, happenings, with_early


class Played(NamedTuple):
    """What came of an exchange."""

    steps: list[Step]
    findings: list[Finding]
    marked: dict[int, tuple[str, ...]]
    """The rules that the text expects, by frame number."""


def script(text: str, scene: str = "") -> list[Said]:
    """An exchange as what happens, in order."""
    return with_early(wrapped(happenings(SCENES.opening(scene).units + text)))


def wrapped(script: list[Said]) -> list[Said]:
    """The same as it is on the wire, with TLS and WebSocket around it where these were begun."""
    beneath = Beneath()
    found = []
    for each in script:
        if each.end[:4] in {"TLS ", "HTTP"}:
            found.append(each._replace(raw=beneath.begin(each.sender, each.end), end=""))
        else:
            found.append(each._replace(raw=beneath.wrap(each.sender, each.raw)))
    return found


def play(
    text: str, scene: str = "", *, complete: bool = True, port: int = 0,
    rules: RuleSet | None = None,
) -> Played:  # fmt: skip
    """Run an exchange; findings come in the order in which they were made."""
    port = port or SCENES.opening(scene).scene.port
    analyzer = Analyzer({port: "amqp-1.0"}, rules or RuleSet(list(load().values())))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", port), complete)
    analyzer.speakers.add(connection.server)  # as if it had spoken AMQP before
    pieces, unwrapper = Pieces(connection), Unwrapper(Opened())
    played = Played([], [], {})
    said = script(text, scene)
    connection.opened = said[0].time if complete else 0
    for each in said:
        for inner in unwrapper.feed(pieces.piece(each)):
            for step in analyzer.feed(inner):
                played.steps.append(step)
                played.findings.extend(step.findings)
        if each.marks:
            played.marked[analyzer.frames] = each.marks
    played.findings.extend(analyzer.late_findings())
    return played
