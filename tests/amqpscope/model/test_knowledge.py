"""Grants, and which of them their user may have gone by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqpscope.model.knowledge import EVERYTHING, MAX_GRANTS, Grants
from amqpscope.model.mark import Mark


def grants(*pairs: tuple[int, int]) -> Grants:
    """Grants of (limit, end in the stream)."""
    made = Grants()
    for limit, end in pairs:
        made.add(limit, Mark(end, end, 0, end))
    return made


def limit(found: Grants, known: int = EVERYTHING, proved: int = 0) -> int | None:
    best = found.best(known, proved)
    return None if best is None else best.limit


def test_the_best_grant_is_the_most_generous_one_not_the_latest():
    assert limit(grants((5, 10), (9, 20), (7, 30))) == 9


def test_a_grant_that_cannot_have_arrived_does_not_count():
    assert limit(grants((5, 10), (9, 20)), known=15) == 5
    assert limit(grants((5, 10)), known=9) is None


def test_a_grant_is_gone_when_a_newer_one_was_provably_read():
    assert limit(grants((9, 10), (5, 20)), proved=15) == 9
    assert limit(grants((9, 10), (5, 20)), proved=20) == 5


def test_what_a_newer_grant_outdoes_is_not_kept():
    found = grants(*((number, number) for number in range(20)))
    assert limit(found) == 19
    assert len(found.entries) == 1


def test_a_merged_grant_is_known_from_where_its_oldest_part_was():
    found = grants((5, 10), (9, 20))
    assert limit(found) == 9
    assert limit(found, known=10) == 9


def test_after_a_loss_nothing_is_sure_until_a_newer_grant_is_proved():
    found = grants((5, 10))
    found.lose()
    found.add(3, Mark(1, 1, 0, 30))
    limit(found, proved=29)
    assert found.unsure
    assert limit(found, proved=30) == 3
    assert not found.unsure


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(0, 200), st.integers(0, 200))
def test_the_best_is_never_below_any_grant_that_may_be_in_use(limits, known, proved):
    proved = min(proved, known)
    pairs = [(each, place * 3 + 1) for place, each in enumerate(limits)]
    read = [place for place, (_, end) in enumerate(pairs) if end <= proved]
    usable = [each for each, end in pairs[read[-1] if read else 0 :] if end <= known]
    found = grants(*pairs)
    if usable:
        assert (limit(found, known, proved) or 0) >= max(usable)
    assert len(found.entries) <= MAX_GRANTS
