"""Silences, by the idle-time-out of the other side."""

from __future__ import annotations

import pytest

from kit.exchange import play


def told(text: str, setup: str = "opened", **how: bool) -> list[tuple[str, int, str]]:
    return [(each.rule, each.frame, each.peer) for each in play(text, setup, **how).findings]


def opened(idle: str) -> str:
    return f"""
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0
        client: open container-id="c"
        server: open container-id="s" {idle}
    """


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ("1.0 2.0 3.0", []),
        ("2.05", []),
        ("3.0", ["info"]),
        ("5.0", ["warning"]),
        ("3.0 6.0 11.0", ["info", "warning"]),
    ],
)
def test_a_silence_is_measured_by_the_partners_idle_time_out(times, expected):
    text = opened("idle-time-out=2000")
    text += "".join(f"@{time}s client: empty\n" for time in times.split())
    found = play(text).findings
    assert [(each.rule, each.severity) for each in found] == [
        ("CON-016", each) for each in expected
    ]


@pytest.mark.parametrize("idle", ["", "idle-time-out=0", "idle-time-out=60000"])
def test_silence_is_legal_where_nobody_minds(idle):
    assert told(opened(idle) + "@30s client: empty", "") == []


def test_no_silence_across_a_gap():
    assert told(opened("idle-time-out=2000") + "client: GAP\n@9s client: empty", "") == []


def test_a_peer_that_was_given_up_for_its_silence_is_named():
    text = opened("idle-time-out=2000")
    text += (
        '@5s server: close error=error(condition=:amqp:resource-limit-exceeded description="x")\n'
    )
    text += "@5.1s client: close"
    assert told(text, "") == [("CON-016", 3, "client")]
