"""The SASL layer as the model keeps it."""

from __future__ import annotations

from amqpscope.model.v1_0.sasl import Sasl
from kit.exchange import play

LAYER = """
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]
"""


def after(text: str) -> Sasl:
    """The SASL layer after an exchange."""
    return play(text).steps[-1].conversation.talk.tracker.sasl


def test_the_list_and_the_choice():
    sasl = after(LAYER + "client: sasl-init mechanism=:ANONYMOUS")
    assert (sasl.offered, sasl.mechanism) == (["PLAIN", "ANONYMOUS"], "ANONYMOUS")


def test_a_bare_symbol_is_a_list_of_one():
    assert after(LAYER.replace("[:PLAIN :ANONYMOUS]", ":PLAIN")).offered == ["PLAIN"]


def test_challenges_and_responses_are_counted():
    sasl = after(
        LAYER
        + """
        client: sasl-init mechanism=:X initial-response=b"1"
        server: sasl-challenge challenge=b""
        client: sasl-response response=b"2"
        server: sasl-challenge challenge=b"3"
        client: sasl-response response=b"4"
        """
    )
    assert (sasl.challenges, sasl.responses) == (2, 2)
    assert (sasl.client_messages, sasl.server_messages) == ([b"1", b"2"], [b"3"])


def test_what_the_wrong_peer_says_is_left_out():
    sasl = after(LAYER + "client: sasl-outcome code=ok")
    assert sasl.outcome is None
    assert sasl.reversed == [True, False]


def test_a_frame_that_cannot_be_read_makes_its_peer_unclear():
    sasl = after(LAYER + "client: sasl-init mechanism=raw 0xa301ff")
    assert sasl.unclear == [True, False]
    assert sasl.mechanism == ""


def test_layers_follow_the_headers():
    steps = play(LAYER + "client: header AMQP 1.0.0\nclient: header TLS 1.0.0").steps
    ends = steps[-1].conversation.talk.tracker.connection.ends
    assert [end.layer for end in ends] == [2, 3]
