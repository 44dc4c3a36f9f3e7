"""How far the analysis is behind the traffic, and when that is worth a word."""

import pytest

from amqpscope.proxy.relay import Status
from amqpscope.runs import live

MB = 1_000_000


class Watched:
    """A relay that has written so much."""

    def __init__(self):
        self.latest = None
        self.asked = 0

    def ask(self):
        self.asked += 1

    def wrote(self, octets):
        self.latest = Status(["127.0.0.1:1"], "u:1", "a", "a", octets, 0, 0, 0, 0, None)


@pytest.fixture
def lag(monkeypatch):
    """A clock that the test moves, and what was said."""
    said, watch, now = [], Watched(), [1000.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    lag = live.Lag(watch, said.append)

    def at(seconds, written, analysed):
        now[0] = 1000.0 + seconds
        watch.wrote(written)
        lag.look(analysed)
        return said

    return at


def test_nothing_is_said_while_it_keeps_up(lag):
    for second in range(100):
        assert lag(second, second * MB, second * MB - 1000) == []


def test_a_short_delay_is_no_lag(lag):
    lag(0, 50 * MB, 0)
    assert lag(1, 50 * MB, 50 * MB) == []


def test_a_lag_is_told_now_and_then_and_its_end_once(lag):
    for second in range(15):
        said = lag(second, (50 + second) * MB, 0)
    assert said == [
        "the analysis is 52 MB behind the traffic",
        "the analysis is 62 MB behind the traffic",
    ]
    lag(15, 60 * MB, 60 * MB)
    assert lag(16, 60 * MB, 60 * MB)[2:] == ["the analysis has caught up with the traffic"]
