"""In-band TLS: what follows the header."""

from __future__ import annotations

from exchange import play


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
