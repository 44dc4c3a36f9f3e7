"""Refusals are legal; going on is not."""

from __future__ import annotations

import pytest
from exchange import play


def rules(text: str, **how: bool) -> list[str]:
    return [each.rule for each in play(text, **how).findings]


@pytest.mark.parametrize("header", ["00000901", "01010800", "0101000a", "03010000"])
def test_an_answer_with_another_published_header_is_a_refusal(header):
    text = f"client: header AMQP 1.0.0\nserver: octets 0x414d5150{header}\nserver: FIN\nclient: FIN"
    assert rules(text) == []


def test_frames_pipelined_before_a_refusal_was_read_are_lost_and_legal():
    text = """
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: header SASL 1.0.0
        client~1: begin[0] next-outgoing-id=0 incoming-window=1 outgoing-window=1
        server: FIN
        client: FIN
    """
    assert rules(text) == []


def test_a_server_that_goes_on_at_once_is_only_suspected():
    text = """
        client: header AMQP 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN]
    """
    found = [each for each in play(text).findings if each.rule == "VER-011"]
    assert [(each.certainty, each.severity, each.peer) for each in found] == [
        ("suspect", "warning", "server")
    ]


def test_layers_are_compared_in_their_order():
    text = """
        client: header SASL 1.0.0
        client: sasl-init mechanism=:ANONYMOUS
        client: header AMQP 1.0.0
        client: open container-id="c"
        @3s server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        server: sasl-outcome code=ok
        server: header AMQP 1.0.0
        server: open container-id="s"
    """
    assert [rule for rule in rules(text) if rule.startswith("VER")] == []


def test_no_header_is_missed_in_the_middle_of_a_connection():
    text = "server: empty\nclient: empty\n" * 3
    assert rules(text, complete=False) == []


def test_a_client_without_a_header_is_found():
    text = 'client: open container-id="c"\nserver: header AMQP 1.0.0\nserver: FIN\nclient: FIN'
    assert rules(text)[:1] == ["VER-001"]


def test_a_later_revision_is_a_warning():
    found = play("client: header AMQP 1.1.0").findings
    assert [(each.rule, each.severity) for each in found] == [("VER-002", "warning")]


@pytest.mark.parametrize("header", ["00000901", "01010800", "0101000a"])
def test_a_server_that_goes_on_with_a_client_of_an_older_version_is_found(header):
    text = f"client: octets 0x414d5150{header}\nclient: octets 0x0100000000000400000000ce\n"
    text += "server: header AMQP 1.0.0\n"
    assert rules(text + "server: FIN\nclient: FIN") == []
    assert rules(text + '@3s server: open container-id="s"') == ["VER-006"]


def test_a_conversation_of_an_older_version_is_left_alone():
    text = "client: octets 0x414d515000000901\nserver: octets 0x0100000000000400000000ce\n"
    text += "client: octets 0x0100000000000400000000ce\nserver: FIN\nclient: FIN"
    assert rules(text) == []
