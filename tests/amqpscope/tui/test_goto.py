"""What people type to go somewhere."""

import pytest

from amqpscope.tui.goto import place

MIDNIGHT = 1_700_006_400 * 10**9
"""Of 15 November 2023, UTC."""


class Capture:
    """Four frames, one every ten seconds, around midnight."""

    start = MIDNIGHT - 15 * 10**9

    def at_time(self, time):
        times = [self.start + at * 10 * 10**9 for at in range(4)]
        return next((at for at, moment in enumerate(times, 1) if moment >= time), 4)


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("17", 17), ("#17", 17), (" 3 ", 3), ("10s", 2), ("10.5", 3), ("11000ms", 3), ("1m", 4),
        ("23:59:50", 2), ("00:00:04", 3), ("00:00:05.5", 4),
    ],
)  # fmt: skip
def test_a_place_is_a_frame_or_a_time(text, frame):
    assert place(Capture(), text) == frame


@pytest.mark.parametrize("text", ["", "x", "12:", "1.2.3", "-4"])
def test_what_is_no_place_is_told(text):
    with pytest.raises(ValueError, match="is not a frame or a time: expected a frame"):
        place(Capture(), text)
