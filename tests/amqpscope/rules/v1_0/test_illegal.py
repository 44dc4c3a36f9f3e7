"""Conversations that break the protocol in one place: who is guilty gets an error, nobody else.

Each file in `illegal` walks through one part of 1.0: what each peer may not send in each state. A
conversation is headed by what is wrong in it, who does it, and the setup that it begins after.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from kit.exchange import play

ILLEGAL = Path(__file__).parent / "illegal"
HEADING = re.compile(r"# (?P<name>.+): (?P<guilty>client|server)(?:, after (?P<setup>\w+))?")


class Illegal(NamedTuple):
    """A conversation and who is guilty in it."""

    name: str
    guilty: str
    setup: str
    text: str


def conversations() -> list[Illegal]:
    """All conversations, in the order of the files."""
    found = []
    for path in sorted(ILLEGAL.glob("*.txt")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            heading, _, text = block.strip().partition("\n")
            said = HEADING.fullmatch(heading)
            assert said is not None, heading
            found.append(Illegal(said["name"], said["guilty"], said["setup"] or "", text))
    return found


CASES = [pytest.param(each, id=each.name) for each in conversations()]


@pytest.mark.parametrize("illegal", CASES)
def test_the_guilty_peer_gets_an_error_and_nobody_else(illegal: Illegal) -> None:
    findings = play(illegal.text, illegal.setup).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert {finding.peer for finding in errors} == {illegal.guilty}, findings
    assert all(finding.certainty == "sure" for finding in errors)


def test_no_two_conversations_have_the_same_name() -> None:
    names = [each.name for each in conversations()]
    assert len(names) == len(set(names))
    assert len(names) > 250
