"""Logins by challenge and response, with the examples of their specifications."""

import pytest

from amqpscope.protocols.sasl_login import (
    HASHES,
    CramMd5,
    LoginError,
    Scram,
    choose_login,
    client_login,
    no_login,
    server_login,
)


@pytest.fixture
def scram():
    """The client of RFC 7677, section 3."""
    login = Scram("SCRAM-SHA-256", "user", "pencil")
    login.nonce = "rOprNGfwEbeRWgbNEkqO"
    login.bare = f"n=user,r={login.nonce}"
    return login


ASKED = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def test_scram_proves_the_password_and_wants_the_server_to(scram):
    answer = scram.respond(ASKED)
    assert answer.endswith(b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert scram.respond(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") == b""
    with pytest.raises(LoginError, match="does not prove"):
        scram.respond(b"v=AAAA")


@pytest.mark.parametrize("said", [b"", b"r=other,s=AA==,i=1", ASKED.replace(b"4096", b"9" * 12)])
def test_a_challenge_that_is_none_is_refused(scram, said):
    with pytest.raises(LoginError):
        scram.respond(said)


def test_cram_md5_answers_as_its_example_has_it():
    login = CramMd5("tim", "tanstaaftanstaaf")
    answer = login.respond(b"<1896.697170952@postoffice.reston.mci.net>")
    assert answer == b"tim b913a602c7eda7a495b4e6e7334d3890"


@pytest.mark.parametrize("mechanism", [*HASHES, "CRAM-MD5"])
@pytest.mark.parametrize("password", ["pass, word=", "wrong"])
def test_a_server_lets_in_who_knows_the_password(mechanism, password):
    client = client_login(mechanism, "a,b=c", password)
    server = server_login(mechanism, "a,b=c", "pass, word=")
    server.respond(client.respond(server.respond(client.first or b"")))
    assert server.known == (password != "wrong")


class WithOtherNonce(Scram):
    """A client that proves the password, but in another conversation."""

    def respond(self, said):
        return super().respond(said.replace(b",s=", b"x,s="))


@pytest.mark.parametrize(
    "client",
    [Scram("SCRAM-SHA-1", "other", "word"), WithOtherNonce("SCRAM-SHA-1", "user", "word")],
)
def test_a_server_wants_the_user_and_its_own_nonce_too(client):
    server = server_login("SCRAM-SHA-1", "user", "word")
    challenge = server.respond(client.first)
    assert server.respond(client.respond(challenge)) is None
    assert not server.known


@pytest.mark.parametrize(
    ("offered", "recorded", "user", "chosen"),
    [
        (["PLAIN", "SCRAM-SHA-1"], "PLAIN", "u", "PLAIN"),
        (["PLAIN", "SCRAM-SHA-1"], "ANONYMOUS", "u", "SCRAM-SHA-1"),
        (["PLAIN", "ANONYMOUS"], "PLAIN", None, "ANONYMOUS"),
        (["EXTERNAL", "ANONYMOUS"], "EXTERNAL", None, "EXTERNAL"),
        (["GSSAPI"], "GSSAPI", "u", None),
    ],
)
def test_the_recorded_mechanism_comes_first(offered, recorded, user, chosen):
    login = choose_login(offered, recorded, user, "p")
    assert (None if login is None else login.mechanism) == chosen


@pytest.mark.parametrize(
    ("offered", "user", "advice"),
    [
        (["PLAIN"], None, "put user:password@ into the URL"),
        (["ANONYMOUS"], "u", "leave it out of the URL"),
        (["GSSAPI"], "u", "a password is for SCRAM-SHA-512"),
    ],
)
def test_who_cannot_log_in_reads_what_to_do(offered, user, advice):
    assert advice in no_login(offered, user)
