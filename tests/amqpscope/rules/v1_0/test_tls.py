"""In-band TLS: what follows the header."""

from __future__ import annotations

import pytest

from kit.exchange import play


def test_layers_inside_tls_are_fine():
    text = """
        client: header TLS 1.0.0
        server: header TLS 1.0.0
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:EXTERNAL]
        client: sasl-init mechanism=:EXTERNAL
        server: sasl-outcome code=ok
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: header AMQP 1.0.0
        server: open container-id="s"
        """
    assert play(text).findings == []


def test_plain_frames_after_a_tls_header_are_told_once():
    text = """
        client: header TLS 1.0.0
        server: header TLS 1.0.0
        client: open container-id="c"
        client: begin[0] next-outgoing-id=0 incoming-window=1 outgoing-window=1
        """
    found = [(f.frame, f.rule) for f in play(text).findings if f.severity == "error"]
    assert found == [(3, "TLS-001")]


def found(text, setup=""):
    return [(f.rule, f.peer, f.severity) for f in play(text, setup).findings]


def test_a_server_that_answers_plain_amqp_by_an_alert_is_not_blamed_for_its_octets():
    text = "client: header SASL 1.0.0\nserver: TLS alert 10\nserver: FIN\nclient: FIN"
    assert found(text) == [("TLS-010", "client", "warning")]


def test_tls_answered_by_a_header_is_told_once():
    text = "client: TLS client-hello a.example\nserver: header SASL 1.0.0\nserver: FIN"
    assert found(text) == [("TLS-010", "client", "warning")]


def test_the_name_of_a_certificate_is_compared_label_by_label():
    text = """
        client: TLS client-hello {}
        server: TLS server-hello
        server: TLS certificate {} until 2099
        client: header AMQP 1.0.0
        """
    assert found(text.format("a.example", "*.example")) == []
    assert found(text.format("A.Example", "a.example")) == []
    assert found(text.format("b.a.example", "*.example")) == [("TLS-006", "client", "warning")]
    assert found(text.format("example", "*.example")) == [("TLS-006", "client", "warning")]


def test_a_certificate_without_a_name_asked_for_is_judged_by_its_time_alone():
    text = """
        client: TLS client-hello
        server: TLS server-hello
        server: TLS certificate other.example until 2099
        client: header AMQP 1.0.0
        """
    assert found(text) == []


@pytest.mark.parametrize("name", ["AMQPWSB10", "binary", "amqp other"])
def test_other_names_of_amqp_over_websocket_pass(name):
    agreed = name.split()[0]
    text = f"client: HTTP upgrade {name}\nserver: HTTP switching {agreed}\n"
    assert found(text + "client: header AMQP 1.0.0\nserver: header AMQP 1.0.0") == []


def test_a_server_repeats_the_subprotocol():
    text = "client: HTTP upgrade amqp\nserver: HTTP switching\n"
    text += "client: header AMQP 1.0.0\nserver: header AMQP 1.0.0"
    assert found(text) == [("TLS-015", "server", "warning")]


def test_a_websocket_inside_tls_is_looked_at_too():
    text = """
        client: TLS client-hello
        server: TLS server-hello
        client: HTTP upgrade
        server: HTTP switching
        client: header AMQP 1.0.0
        """
    assert found(text) == [("TLS-015", "client", "warning")]
