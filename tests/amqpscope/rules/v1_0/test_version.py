"""Refusals are legal; going on is not."""

from __future__ import annotations

import pytest

from kit.exchange import play


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


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        ("414d515100010000", ["VER-001"]),
        ("48454c4f20776f726c640d0a", ["VER-001"]),
        ("474554202f20485454502f312e310d0a", []),  # an HTTP client, at the wrong door
        ("160301020001000001fc0303", []),
    ],
)
def test_octets_that_a_header_answers_should_have_been_one(octets, expected):
    text = f"client: octets 0x{octets}\nserver: header AMQP 1.0.0\nserver: FIN\nclient: FIN"
    found = [each for each in play(text).findings if each.rule == "VER-001"]
    assert [each.rule for each in found] == expected
    assert all(each.peer == "client" for each in found)


def test_a_banner_is_of_another_protocol():
    text = "server: octets 0x5353482d322e302d\nclient: header AMQP 1.0.0\nclient: FIN"
    assert "VER-001" not in rules(text)


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
    text = f"client: octets 0x414d5150{header}\nclient: octets 0x08000000000000ce\n"
    text += "server: header AMQP 1.0.0\n"
    about_1_0 = [rule for rule in rules(text + "server: FIN\nclient: FIN") if rule[:3] != "A09"]
    assert about_1_0 == []
    assert "VER-006" in rules(text + '@3s server: open container-id="s"')


def test_a_conversation_of_an_older_version_is_left_alone():
    text = "client: octets 0x414d515000000901\nserver: octets 0x0100000000000400000000ce\n"
    text += "client: octets 0x0100000000000400000000ce\nserver: FIN\nclient: FIN"
    assert rules(text) == []


def test_a_server_that_closes_after_garbage_is_not_suspected():
    text = """
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0
        client: open container-id="c"
        client: octets 0xdeadbeefdeadbeefdeadbeef
        server: FIN
    """
    assert "VER-005" not in rules(text)


def test_a_server_whose_client_opens_nothing_may_close():
    text = "client: header AMQP 1.0.0\nserver: header AMQP 1.0.0\n@20s server: FIN\nclient: FIN"
    assert rules(text) == []


def test_a_doubled_sasl_header_is_the_clients_fault_alone():
    text = """
        client: header SASL 1.0.0
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0
        @5s server: open container-id="s"
    """
    assert {each.peer for each in play(text).findings} == {"client"}


def test_a_header_is_counted_from_the_end_of_the_tls_handshake():
    text = """
        client: TLS client-hello
        @20s server: TLS server-hello
        @21s client: TLS client-hello
        @22s client: header AMQP 1.0.0
    """
    assert rules(text) == []
    assert rules(text.replace("@22s", "@28s")) == ["VER-003"]


@pytest.mark.parametrize("octets", ["0x41", "0x414d51", "0x414d515000000901"])
def test_less_than_a_header_of_this_version_is_no_connection(octets):
    played = play(f"client: octets {octets}\nclient: FIN\nserver: FIN")
    assert "VER-014" not in [each.rule for each in played.findings]


@pytest.mark.parametrize(
    "answer",
    ["server: octets 0x485454502f312e31\nserver: FIN", "server: RST", "client: FIN\nserver: FIN"],
)
def test_what_is_not_amqp_is_none_of_our_business(answer):
    assert play(f"client: octets 0x48454c4f20776f726c64\n{answer}").steps == []
