"""Two peers that keep the rules are never accused, however their frames cross or get lost."""

from __future__ import annotations

from random import Random

import pytest

from kit.conversation import Said
from kit.exchange import play, script
from kit.lossy import play_lossy
from kit.model.two_peers import conversation

PACE = 150_000_000
"""Nanoseconds between two frames."""
BREAK = 2_000_000_000
"""... and after missing ones, so that the doubt that these bring is over soon."""


@pytest.mark.parametrize("seed", range(40))
def test_nobody_is_accused(seed):
    text = conversation(seed)
    found = [one for one in play(text, "opened").findings if one.severity != "info"]
    assert found == [], text


def paced(said: list[Said], lost: set[int]) -> list[Said]:
    """The same with time passing."""
    time, slow = said[0].time, []
    for place, each in enumerate(said):
        time += BREAK if place - 1 in lost and place not in lost else PACE
        slow.append(each._replace(time=time))
    return slow


@pytest.mark.parametrize("seed", range(12))
def test_nobody_is_accused_when_frames_are_missing(seed):
    random, said = Random(seed), script(conversation(seed), "opened")
    for _ in range(6):
        lost = set(random.sample(range(len(said)), random.choice((1, 2, 4))))
        found = play_lossy(paced(said, lost), lost=lost)
        assert [one for one in found if one.severity == "error"] == [], lost


@pytest.mark.parametrize("seed", range(12))
def test_nobody_is_accused_when_the_capture_begins_later(seed):
    said = script(conversation(seed), "opened")
    lost = set(range(Random(seed).randrange(1, len(said))))
    found = play_lossy(paced(said, lost), lost=lost, complete=False)
    assert [one for one in found if one.severity == "error"] == [], len(lost)
