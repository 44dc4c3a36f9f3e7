"""What SASL mechanisms say inside their frames (SAS; RFC 4616, 5802, 7677).

Names, passwords, nonces, proofs and tokens never get into a message: only their shape is reported.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.sasl import CLIENT, SERVER, Sasl
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from dissectors.v1_0.bodies import SaslChallenge, SaslInit, SaslOutcome, SaslResponse

LEAST_ITERATIONS: Final = 4096
TLS: Final = 2
REVEALING: Final = frozenset(("PLAIN", "LOGIN", "XOAUTH2", "OAUTHBEARER"))
"""Mechanisms whose responses hold the credentials themselves."""


def client_message(event: Event) -> tuple[bytes | None, str]:
    """What the mechanism's client says in this frame, and where."""
    body = event.body
    if event.peer != CLIENT or event.frame.unit.faults or event.frame.missing:
        return None, ""
    if isinstance(body, SaslInit):
        # An empty initial response is how some stacks write that there is none.
        return body.initial_response or None, "sasl-init.initial-response"
    if isinstance(body, SaslResponse):
        return body.response, "sasl-response.response"
    return None, ""


def mechanism_of(event: Event) -> str:
    """The mechanism in use, counting the sasl-init that may be this frame."""
    body = event.body
    sasl = event.connection.sasl
    if sasl.nested:
        return ""
    if isinstance(body, SaslInit):
        return body.mechanism or "" if sasl.init is None else ""
    return sasl.mechanism


@rule("SAS-029", "RFC 4616", MUST, ERROR, on="sasl")
def sasl_plain_malformed(event: Event, report: Reporter) -> None:
    """A PLAIN response is [authorization name] NUL user name NUL password, in UTF-8.

    The user name is never empty. Without an initial response the server asks with an empty
    challenge, and the response to that is judged.

    Bad (sasl):
        client: sasl-init mechanism=:PLAIN initial-response=b"guest\\0guest"   # <- SAS-029

    Good (tls):
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN]
        client: sasl-init mechanism=:PLAIN
        server: sasl-challenge challenge=b""
        client: sasl-response response=b"admin\\0guest\\0guest"
        server: sasl-outcome code=ok
    """
    said, path = client_message(event)
    if said is None or mechanism_of(event) != "PLAIN" or event.connection.sasl.client_messages:
        return
    parts = said.split(b"\0")
    if len(parts) != 3:
        found = f"has {len(parts) - 1} NUL octets, it must have 2"
    elif not parts[1]:
        found = "has an empty user name"
    elif not is_utf8(said):
        found = "is not UTF-8"
    else:
        return
    report.sure(event, f"the client's PLAIN response {found}", path)


def is_utf8(octets: bytes) -> bool:
    """Whether octets are UTF-8."""
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True


@rule("SAS-031", "RFC 5802", MUST, ERROR, on="sasl", needs="anchored partner-anchored")
def sasl_scram_malformed(event: Event, report: Reporter, sasl: Sasl) -> None:
    """SCRAM messages follow the grammar, and every nonce goes on with the one before it.

    The client begins with its flags, name and nonce; the server answers with a nonce that begins
    with the client's, a salt and a count; the client repeats that nonce and adds its proof; the
    server ends with its signature. A nonce that does not match is the mark of a replay or of a
    broken stack. A count below 4096 is legal and weak: a warning. The client's first message may
    also come as the response to an empty challenge.

    Bad (sasl sasl-server-mechanisms=[:SCRAM-SHA-256]):
        client: sasl-init mechanism=:SCRAM-SHA-256 initial-response=b"n,,n=user,r=abc"
        server: sasl-challenge challenge=b"r=xyz,s=c2FsdA==,i=4096"   # <- SAS-031

    Good (sasl_init sasl-server-mechanisms=[:SCRAM-SHA-256] mechanism=:SCRAM-SHA-256):
        server: sasl-challenge challenge=b""
        client: sasl-response response=b"n,,n=user,r=abc"
        server: sasl-challenge challenge=b"r=abcxyz,s=c2FsdA==,i=4096"
        client: sasl-response response=b"c=biws,r=abcxyz,p=cHJvb2Y="
        server: sasl-outcome code=ok additional-data=b"v=c2lnbmF0dXJl"
    """
    if not mechanism_of(event).startswith("SCRAM-"):
        return
    fault, path = "", ""
    if event.peer == CLIENT:
        said, path = client_message(event)
        if said is not None:
            fault = scram_client(sasl, said)
    elif event.peer == SERVER and not event.frame.unit.faults and not event.frame.missing:
        body = event.body
        open_one = sasl.challenges > sasl.responses
        if isinstance(body, SaslChallenge) and body.challenge and not open_one:
            path = "sasl-challenge.challenge"
            fault = scram_server(sasl, body.challenge)
        elif isinstance(body, SaslOutcome) and body.code == 0 and body.additional_data:
            path = "sasl-outcome.additional-data"
            fault = scram_server(sasl, body.additional_data)
    if fault:
        report.sure(event, fault, path, severity=WARNING if fault.startswith("the salt") else "")


def scram_client(sasl: Sasl, said: bytes) -> str:
    """What is wrong with a message of the client, by the step it is at."""
    step = len(sasl.client_messages)
    if step == 0:
        return client_first(said)[1]
    if step > 1 or len(sasl.server_messages) != 1:
        return ""
    nonce, fault = server_first(sasl.server_messages[0], "")
    return "" if fault else client_final(said, nonce)


def scram_server(sasl: Sasl, said: bytes) -> str:
    """What is wrong with a message of the server, by the step it is at."""
    step = len(sasl.server_messages)
    if not sasl.client_messages or step > 1:
        return ""
    if step == 0:
        if len(sasl.client_messages) > 1:
            return ""  # packets out of order: its answer was seen before it
        nonce, fault = client_first(sasl.client_messages[0])
        return "" if fault or said.startswith(b"e=") else server_first(said, nonce)[1]
    attribute, value = attributes(said)[0]
    if attribute == "e" or (attribute == "v" and is_base64(value)):
        return ""
    return "the server's last SCRAM message is neither a signature (v=) nor an error (e=)"


def attributes(said: bytes) -> list[tuple[str, str]]:
    """A SCRAM message as pairs of a letter and a value; anything else has no letter."""
    text = said.decode("utf-8", "replace")
    return [(p[0], p[2:]) if p[1:2] == "=" else ("", p) for p in text.split(",")]


def client_first(said: bytes) -> tuple[str, str]:
    """The client's nonce and what is wrong with its first message."""
    parts = attributes(said)
    if len(parts) < 4 or not is_utf8(said):
        return "", "the client's first SCRAM message is not gs2-header, n= and r="
    flag, authzid = parts[0], parts[1]
    if flag not in (("", "n"), ("", "y")) and flag[0] != "p":
        return "", "the client's first SCRAM message does not begin with n, y or p="
    if authzid != ("", "") and authzid[0] != "a":
        return "", "the client's first SCRAM message has no a= or nothing in second place"
    rest = parts[3:] if parts[2][0] == "m" else parts[2:]
    if len(rest) < 2 or rest[0][0] != "n" or rest[1][0] != "r" or not rest[1][1]:
        return "", "the client's first SCRAM message lacks its name (n=) or nonce (r=)"
    return rest[1][1], ""


def server_first(said: bytes, begins: str) -> tuple[str, str]:
    """The common nonce and what is wrong with the server's first message."""
    parts = attributes(said)
    rest = parts[1:] if parts[0][0] == "m" else parts
    if [letter for letter, _ in rest[:3]] != ["r", "s", "i"]:
        return "", "the server's first SCRAM message is not r=, s= and i="
    nonce, salt, count = rest[0][1], rest[1][1], rest[2][1]
    if not nonce.startswith(begins) or nonce == begins:
        return "", "the server's SCRAM nonce does not go on with the client's"
    if not is_base64(salt):
        return "", "the server's SCRAM salt is not base64"
    if not count.isdigit() or count.startswith("0"):
        return "", "the server's SCRAM iteration count is not a positive number"
    if begins and int(count) < LEAST_ITERATIONS:
        return nonce, f"the salted password is iterated {count} times, less than {LEAST_ITERATIONS}"
    return nonce, ""


def client_final(said: bytes, nonce: str) -> str:
    """What is wrong with the client's second message."""
    parts = attributes(said)
    if parts[0][0] != "c" or len(parts) < 3 or parts[1][0] != "r" or parts[-1][0] != "p":
        return "the client's last SCRAM message is not c=, r= and p="
    if parts[1][1] != nonce:
        return "the client's SCRAM nonce is not the one that the server sent"
    if not is_base64(parts[0][1]) or not is_base64(parts[-1][1]):
        return "the client's SCRAM binding or proof is not base64"
    return ""


def is_base64(text: str) -> bool:
    """Whether a value is base64, and not empty."""
    try:
        return bool(b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False


@rule("SAS-032", "5.3.3.5", IMPLIED, INFO, on="sasl", needs="server")
def sasl_scram_server_final_missing(
    event: Event, report: Reporter, body: SaslOutcome, sasl: Sasl
) -> None:
    """A server that accepts a SCRAM client sends its signature, so that it is authenticated too.

    It goes as the additional data of the outcome, or as a last challenge that the client answers
    with an empty response. A client that does not get it cannot know whom it talks to.

    Bad (sasl sasl-server-mechanisms=[:SCRAM-SHA-256]):
        client: sasl-init mechanism=:SCRAM-SHA-256 initial-response=b"n,,n=user,r=abc"
        server: sasl-challenge challenge=b"r=abcxyz,s=c2FsdA==,i=4096"
        client: sasl-response response=b"c=biws,r=abcxyz,p=cHJvb2Y="
        server: sasl-outcome code=ok   # <- SAS-032

    Good (sasl sasl-server-mechanisms=[:SCRAM-SHA-256]):
        client: sasl-init mechanism=:SCRAM-SHA-256 initial-response=b"n,,n=user,r=abc"
        server: sasl-challenge challenge=b"r=abcxyz,s=c2FsdA==,i=4096"
        client: sasl-response response=b"c=biws,r=abcxyz,p=cHJvb2Y="
        server: sasl-challenge challenge=b"v=c2lnbmF0dXJl"
        client: sasl-response response=b""
        server: sasl-outcome code=ok
    """
    if body.code != 0 or body.additional_data:
        return
    if sasl.nested or not sasl.mechanism.startswith("SCRAM-"):
        return
    if event.own.anchored and len(sasl.server_messages) < 2:
        report.suspect(
            event,
            f"the server accepts {sasl.mechanism} without sending its signature",
            "sasl-outcome.additional-data",
            ((sasl.init_mark, "the client's choice"),),
        )


@rule("SAS-033", "XOAUTH2", ADVISORY, INFO, on="sasl")
def sasl_xoauth2_malformed(event: Event, report: Reporter) -> None:
    """An XOAUTH2 response is user=... ^A auth=Bearer ... ^A ^A.

    Bad (sasl sasl-server-mechanisms=[:XOAUTH2]):
        client: sasl-init mechanism=:XOAUTH2 initial-response=b"token"   # <- SAS-033

    Good (tls):
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:XOAUTH2]
        client: sasl-init mechanism=:XOAUTH2
                initial-response=b"user=u\\x01auth=Bearer t\\x01\\x01"
        server: sasl-outcome code=ok
    """
    said, path = client_message(event)
    if said is None or mechanism_of(event) != "XOAUTH2" or event.connection.sasl.client_messages:
        return
    parts = said.split(b"\x01")
    if len(parts) == 4 and parts[0].startswith(b"user=") and parts[1].startswith(b"auth=Bearer "):
        return
    report.sure(event, "the client's XOAUTH2 response is not user=, auth=Bearer and two ^A", path)


@rule("SAS-034", "security advice", ADVISORY, INFO, on="sasl")
def sasl_clear_text_credentials(event: Event, report: Reporter) -> None:
    """Passwords and tokens go over the wire only inside TLS.

    PLAIN, LOGIN and the token mechanisms hide nothing: whoever sees the traffic has the
    credentials. On a loopback, or behind something that ends TLS, that may be as intended.

    Bad (sasl):
        client: sasl-init mechanism=:PLAIN initial-response=b"\\0guest\\0guest"   # <- SAS-034

    Good (tls):
        client: header SASL 1.0.0
        server: header SASL 1.0.0
        server: sasl-mechanisms sasl-server-mechanisms=[:PLAIN]
        client: sasl-init mechanism=:PLAIN initial-response=b"\\0guest\\0guest"
        server: sasl-outcome code=ok
    """
    said, path = client_message(event)
    if not said or event.connection.encrypted or not event.own.anchored:
        return
    mechanism = mechanism_of(event)
    if mechanism not in REVEALING or event.connection.sasl.client_messages:
        return
    if any(seen.header.id == TLS for seen in event.own.headers):
        return
    report.sure(event, f"the client sends its {mechanism} credentials in the clear", path)
