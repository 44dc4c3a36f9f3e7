"""Opens and empty frames."""

from __future__ import annotations

from kit.exchange import play


def told(text: str, setup: str = "opened", **how: bool) -> list[tuple[str, int, str]]:
    return [(each.rule, each.frame, each.peer) for each in play(text, setup, **how).findings]


def test_a_frame_before_the_peers_open_is_judged_only_from_the_start():
    text = "client: begin[0] next-outgoing-id=0 incoming-window=1 outgoing-window=1"
    assert [each for each in told(text, "", complete=False) if each[0].startswith("CON")] == []


def test_an_empty_frame_may_cross_the_partners_open():
    text = 'client: header AMQP 1.0.0\nserver: header AMQP 1.0.0\nclient: open container-id="c"\n'
    text += 'server: open container-id="s"\n'
    assert told(f"{text}client~1: empty[1]", "") == [("CON-022", 5, "client")]
    assert told(f"{text}client: empty[1]", "") == [("CON-021", 5, "client")]
    assert told(f"{text}client~1: empty[0]", "") == []


def test_an_open_after_a_second_header_is_told_as_the_header():
    text = 'client: header AMQP 1.0.0\nclient: open container-id="c"'
    assert told(text) == [("VER-013", 5, "client")]


def test_a_close_after_the_partner_is_gone_is_not_about_its_last_empty_frame():
    close = 'server: close error=error(condition=:amqp:connection:framing-error description="no")'
    for end in ("FIN", "RST"):
        found = told(f"client: empty\nclient: {end}\n{close}", "session")
        assert "CON-025" not in [rule for rule, _, _ in found]
    assert ("CON-025", 8, "server") in told(f"client: empty\n{close}", "session")
