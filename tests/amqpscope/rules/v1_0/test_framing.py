"""Limits by direction, in flight, and around gaps."""

from __future__ import annotations

from kit.exchange import play

BIG = "properties={" + " ".join(f':k{n}="{"x" * 80}"' for n in range(8)) + "}"
START = "client: header AMQP 1.0.0\nserver: header AMQP 1.0.0\n"


def told(text: str, setup: str = "", **how: bool) -> list[tuple[str, int, str]]:
    return [(each.rule, each.frame, each.peer) for each in play(text, setup, **how).findings]


def test_a_pipelined_frame_is_judged_by_the_open_that_comes_later():
    text = f'{START}client: open container-id="c" {BIG}\n'
    text += 'server: open container-id="s" max-frame-size='
    assert told(text + "600") == [("FRM-006", 3, "client")]
    assert told(text + "4096") == [("FRM-007", 3, "client")]


def test_a_peers_own_limit_does_not_bind_it():
    text = f'{START}server: open container-id="s"\n'
    text += f'client: open container-id="c" max-frame-size=512 {BIG}'
    assert told(text) == []


def test_512_octets_are_allowed_whatever_was_announced():
    text = f'{START}server: open container-id="s" max-frame-size=100\nclient: open container-id="'
    text += "x" * 300 + '"'
    assert [rule for rule, _, _ in told(text)] == ["CON-005"]


def test_an_early_channel_is_judged_by_the_open_that_comes_later():
    text = f'{START}client: open container-id="c"\n'
    text += "client: begin[7] next-outgoing-id=0 incoming-window=1 outgoing-window=1\n"
    assert told(text + 'server: open container-id="s" channel-max=6') == [("FRM-011", 4, "client")]
    assert told(text + 'server: open container-id="s" channel-max=7') == []


def test_channel_max_of_zero_is_a_number():
    text = f'{START}client: open container-id="c"\nserver: open container-id="s" channel-max=0\n'
    text += "client: begin[1] next-outgoing-id=0 incoming-window=1 outgoing-window=1\n"
    assert told(text) == [("FRM-011", 5, "client")]


def test_a_session_above_channel_max_is_told_once():
    text = "client: begin[101] next-outgoing-id=0 incoming-window=9 outgoing-window=9\n"
    text += "client: end[101]"
    assert [rule for rule, _, _ in told(text, "opened")] == ["FRM-011"]


def test_limits_are_unknown_where_the_open_was_not_seen():
    frames = "client: empty\nserver: empty\n" * 3
    text = frames + f"client: begin[9] next-outgoing-id=0 incoming-window=1 outgoing-window=1 {BIG}"
    assert told(text, complete=False) == []


def test_nothing_is_said_of_octets_behind_a_gap():
    assert told("client: GAP\nclient: octets 0x0000000702000000", "opened") == []


def test_a_size_that_no_frame_can_have_exceeds_the_limit():
    assert told("client: octets 0x7000ff0102000000", "opened") == [("FRM-006", 5, "client")]


def test_a_frame_cut_by_the_end_of_the_capture_is_nobodys_fault():
    assert told("client: octets 0x000000200200\nclient: END", "opened") == []
