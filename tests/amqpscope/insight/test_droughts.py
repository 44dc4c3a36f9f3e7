"""The longest time without credit or window."""

from amqpscope.insight.series import Series

SECOND = 1_000_000_000


def series(*values):
    """A series of seconds and values, with a frame for each."""
    made = Series()
    for frame, (time, value) in enumerate(values, 1):
        made.add(int(time * SECOND), value, frame)
    return made


def test_the_longest_drought_is_found_though_it_is_over():
    found = series((1, 10), (2, 0), (5, 10), (6, 0), (7, 3)).drought(9 * SECOND)
    assert found == (2 * SECOND, 3 * SECOND, 2)


def test_a_drought_that_goes_on_lasts_until_now():
    assert series((1, 10), (4, 0)).drought(9 * SECOND) == (4 * SECOND, 5 * SECOND, 2)


def test_what_never_had_any_has_no_drought():
    assert series((1, 0), (4, 0)).drought(9 * SECOND) is None


def test_what_is_not_known_any_more_is_no_drought():
    assert series((1, 10), (4, 0), (6, None)).drought(9 * SECOND) == (4 * SECOND, 2 * SECOND, 2)


def test_a_drought_begins_with_the_frame_that_took_the_last():
    """Frames of one packet have one time, and others at 0 may follow it."""
    found = series((1, 2), (2, 1), (2, 0), (2, 0), (3, 0), (5, 4)).drought(9 * SECOND)
    assert found == (2 * SECOND, 3 * SECOND, 3)


def test_a_drought_is_exact_in_a_day_of_values():
    day = [(second, 0 if 40_000 <= second < 40_007 else 50) for second in range(86_400)]
    assert series(*day).drought(86_400 * SECOND) == (40_000 * SECOND, 7 * SECOND, 40_001)
