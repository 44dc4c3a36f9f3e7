"""Endings: who is blamed, and who is excused."""

from __future__ import annotations

import pytest

from kit.exchange import play


def told(text: str, setup: str = "opened", **how: bool) -> list[tuple[str, int, str]]:
    return [(each.rule, each.frame, each.peer) for each in play(text, setup, **how).findings]


@pytest.mark.parametrize(
    "text",
    [
        "client: close\nserver~1: close\nclient: FIN\nserver: FIN",
        "client: close\nserver: close\nclient: RST",
        "client: END\nserver: END",
        "client: close\nclient: FIN\nserver: close\nserver: FIN",
        "server: octets 0x0000000702000000\nclient: FIN",
    ],
)
def test_endings_that_nobody_is_blamed_for(text):
    assert [each for each in told(text) if each[0].startswith("CON")] == []


def test_only_who_closes_the_socket_first_is_blamed():
    assert told("server: FIN\nclient: FIN") == [("CON-008", 4, "server")]


def test_a_reset_is_only_noted():
    found = play("server: RST\nclient: RST", "opened").findings
    assert [(each.rule, each.severity, each.peer) for each in found] == [
        ("CON-008", "info", "server")
    ]


def test_a_close_left_unanswered_is_told_where_it_waits():
    assert told("client: close\n@12s server: empty") == [("CON-010", 5, "server")]
    assert told("client: close\n@9s server: empty\nserver: close") == []


def test_writing_on_after_a_close_is_told_once():
    text = "client: close\nclient: empty\nclient: empty\nclient: close"
    assert told(text) == [("CON-024", 6, "client")]


def test_a_failed_login_excuses_a_client_that_leaves():
    text = """
        client: sasl-init mechanism=:ANONYMOUS
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: sasl-outcome code=auth
        client: FIN
        server: FIN
    """
    assert [each for each in told(text, "sasl") if each[0].startswith("CON")] == []


def test_a_reset_is_put_beside_the_frame_that_was_received_last():
    begin = "begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9"
    (finding,) = play(f"client: {begin}\nserver: RST", "opened").findings
    assert (finding.rule, finding.peer, finding.frame) == ("CON-008", "server", 5)
