"""The longest time without credit or window."""

import pytest

from amqpscope.insight.droughts import drought
from amqpscope.insight.series import Series

SECOND = 1_000_000_000


def series(*values):
    made = Series()
    for time, value in values:
        made.add(int(time * SECOND), value)
    return made


def nearly(seconds):
    """As near as the slices of a series let."""
    return pytest.approx(seconds * SECOND, abs=SECOND // 20)


def test_the_longest_drought_is_found_though_it_is_over():
    found = drought(series((1, 10), (2, 0), (5, 10), (6, 0), (7, 3)), 9 * SECOND)
    assert (found.start, found.duration) == (2 * SECOND, nearly(3))


def test_a_drought_that_goes_on_lasts_until_now():
    found = drought(series((1, 10), (4, 0)), 9 * SECOND)
    assert (found.start, found.duration) == (4 * SECOND, 5 * SECOND)


def test_what_never_had_any_has_no_drought():
    assert drought(series((1, 0), (4, 0)), 9 * SECOND) is None


def test_what_is_not_known_any_more_is_no_drought():
    found = drought(series((1, 10), (4, 0), (6, None)), 9 * SECOND)
    assert (found.start, found.duration) == (4 * SECOND, nearly(2))
