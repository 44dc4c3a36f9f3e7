"""SASL exchanges that are legal and look odd, and faults that must be told once."""

from __future__ import annotations

import pytest

from kit.exchange import play

LAYER = """
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN :ANONYMOUS]
"""
OPENED = """
client: header AMQP 1.0.0
client: open container-id="c"
server: header AMQP 1.0.0
server: open container-id="s"
"""
SCRAM = """
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=[:SCRAM-SHA-256]
"""


def told(text: str, prefix: str = "SAS", *, complete: bool = True) -> list[tuple[int, str, str]]:
    """The findings of a group: frame, rule and severity."""
    found = play(text, complete=complete).findings
    # Passwords are in the clear in most of these, which is not what they are about.
    return [
        (f.frame, f.rule, f.severity)
        for f in found
        if f.rule.startswith(prefix) and f.rule != "SAS-034"
    ]


LEGAL = {
    "all of the client in one go": """
        client: header SASL 1.0.0
        client: sasl-init mechanism=:ANONYMOUS
        client: header AMQP 1.0.0
        client: open container-id="c"
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        server: sasl-outcome code=ok
        server: header AMQP 1.0.0
        server: open container-id="s"
        """,
    "the server speaks first": """
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=:ANONYMOUS
        client: header SASL 1.0.0
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
        server: header AMQP 1.0.0
        server: open container-id="s"
        client: header AMQP 1.0.0
        client: open container-id="c"
        """,
    "symbolic descriptors": """
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms'symbol sasl-server-mechanisms=[:ANONYMOUS]
        client: sasl-init'symbol mechanism=:ANONYMOUS
        server: sasl-outcome'symbol code=ok
        """
    + OPENED,
    "TLS inside SASL": LAYER
    + """
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
        client: header TLS 1.0.0
        server: header TLS 1.0.0
        """
    + OPENED,
    "a refusal, and the pipelined rest of the client": LAYER
    + """
        client: sasl-init mechanism=:PLAIN initial-response=b"\\0u\\0p"
        server: sasl-outcome code=auth
        client~1: header AMQP 1.0.0
        client~1: open container-id="c"
        server: FIN
        """,
    "the lists cross": """
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        client~2: sasl-init mechanism=:ANONYMOUS
        server~1: sasl-outcome code=ok
        """,
    "SCRAM with the signature as a challenge": SCRAM
    + """
        client: sasl-init mechanism=:SCRAM-SHA-256 initial-response=b"n,a=x,n=u=2Cv,r=abc,x=1"
        server: sasl-challenge challenge=b"r=abcxyz,s=c2FsdA==,i=10000,y=2"
        client: sasl-response response=b"c=biws,r=abcxyz,z=3,p=cHJvb2Y="
        server: sasl-challenge challenge=b"v=c2lnbmF0dXJl"
        client: sasl-response response=b""
        server: sasl-outcome code=ok
        """,
    "SCRAM that the server gives up": SCRAM
    + """
        client: sasl-init mechanism=:SCRAM-SHA-256 initial-response=b"n,,n=u,r=abc"
        server: sasl-challenge challenge=b"e=unknown-user"
        client: sasl-response response=b""
        server: sasl-outcome code=auth
        """,
    "a mechanism with a security layer of its own": """
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:GSSAPI]
        client: sasl-init mechanism=:GSSAPI initial-response=b"x"
        server: sasl-outcome code=ok
        client: empty
        """,
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal_exchange(name):
    assert told(LEGAL[name]) == []


def test_nothing_is_said_of_an_exchange_that_began_before_the_capture():
    text = """
        server: sasl-challenge challenge=b"1"
        client: sasl-response response=b"1"
        client: sasl-response response=b"2"
        server: sasl-outcome code=ok
        """
    assert told(text + OPENED, complete=False) == []


def test_nothing_is_said_of_frames_that_may_be_in_a_gap():
    text = LAYER + "client: GAP\nserver: sasl-challenge challenge=b''\n".replace("''", '""')
    assert told(text) == []


def test_roles_are_told_once_for_each_peer():
    text = """
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        client: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        server: sasl-init mechanism=:ANONYMOUS
        client: sasl-outcome code=ok
        """
    assert told(text) == [(3, "SAS-010", "error"), (4, "SAS-010", "error")]


def test_a_client_that_goes_on_long_after_its_refusal_is_suspected():
    text = (
        LAYER
        + """
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=auth
        @5s client: header AMQP 1.0.0
        client: open container-id="c"
        """
    )
    assert told(text) == [(6, "SAS-024", "warning")]


def test_a_server_that_goes_on_after_its_refusal_is_told_once():
    text = (
        LAYER
        + """
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=auth
        server: header AMQP 1.0.0
        server: open container-id="s"
        server: begin[0] next-outgoing-id=0 incoming-window=1 outgoing-window=1
        """
    )
    assert told(text) == [(6, "SAS-024", "error")]


def test_a_second_try_on_the_same_connection():
    text = (
        LAYER
        + """
        client: sasl-init mechanism=:PLAIN initial-response=b"\\0u\\0p"
        server: sasl-outcome code=auth
        client: sasl-init mechanism=:ANONYMOUS
        """
    )
    assert told(text) == [(6, "SAS-020", "error")]


def test_frames_without_a_header_are_told_at_the_first():
    text = """
        client: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:ANONYMOUS]
        client: sasl-init mechanism=:ANONYMOUS
        server: sasl-outcome code=ok
        server: open container-id="s"
        """
    assert told(text) == [(2, "SAS-001", "error"), (5, "SAS-023", "error")]


@pytest.mark.parametrize(
    ("response", "fault"),
    [
        (r"\0u\0p", False),
        (r"z\0u\0", False),
        (r"\0\0p", True),
        (r"u\0p", True),
        (r"\0u\0p\0", True),
        (r"\0\xff\0p", True),
    ],
)
def test_plain_response(response, fault):
    text = LAYER + f'client: sasl-init mechanism=:PLAIN initial-response=b"{response}"'
    assert [rule for _, rule, _ in told(text)] == ["SAS-029"] * fault


@pytest.mark.parametrize(
    ("first", "challenge", "final", "fault"),
    [
        ("n,,n=u,r=abc", "r=abcd,s=c2FsdA==,i=4096", "c=biws,r=abcd,p=cA==", ""),
        ("x,,n=u,r=abc", "r=abcd,s=c2FsdA==,i=4096", "c=biws,r=abcd,p=cA==", "client"),
        ("n,,r=abc", "r=abcd,s=c2FsdA==,i=4096", "c=biws,r=abcd,p=cA==", "client"),
        ("n,,n=u,r=abc", "r=abc,s=c2FsdA==,i=4096", "c=biws,r=abc,p=cA==", "server"),
        ("n,,n=u,r=abc", "r=abcd,s=c2FsdA==,i=0", "c=biws,r=abcd,p=cA==", "server"),
        ("n,,n=u,r=abc", "r=abcd,s=c2FsdA==,i=4096", "c=biws,r=abc,p=cA==", "client"),
    ],
)
def test_scram_is_told_at_the_first_fault(first, challenge, final, fault):
    text = (
        SCRAM
        + f"""
        client: sasl-init mechanism=:SCRAM-SHA-256 initial-response=b"{first}"
        server: sasl-challenge challenge=b"{challenge}"
        client: sasl-response response=b"{final}"
        """
    )
    found = [f for f in play(text).findings if f.rule == "SAS-031"]
    assert [f.peer for f in found] == ([fault] if fault else [])


def test_a_challenge_out_of_step_is_not_judged_as_the_next_step():
    text = (
        SCRAM
        + """
        client: sasl-init mechanism=:SCRAM-SHA-256 initial-response=b"n,,n=u,r=abc"
        server: sasl-challenge challenge=b"r=abcd,s=c2FsdA==,i=4096"
        server: sasl-challenge challenge=b"r=abcd,s=c2FsdA==,i=4096"
        """
    )
    assert told(text) == [(6, "SAS-019", "error")]


def test_a_type_1_frame_in_the_amqp_layer_is_told_once():
    text = """
        client: header AMQP 1.0.0
        server: header AMQP 1.0.0
        client: open[0 type=1] container-id="c"
        """
    assert [f.rule for f in play(text).findings if f.severity == "error"] == ["FRM-005"]


def test_no_message_holds_a_secret():
    text = LAYER + 'client: sasl-init mechanism=:PLAIN initial-response=b"joe\\0hunter2"'
    assert all("hunter2" not in f.message and "joe" not in f.message for f in play(text).findings)
