import pytest

from amqpscope.capture.decrypt import MAX_NOTES, Decryptor
from amqpscope.capture.keylog import Keys
from amqpscope.capture.tls import TlsStream
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.stream.types import CLIENT, SERVER, Connection

HEADER = b"AMQP\0\1\0\0"
NAMED = "connection 10.0.0.1:40000 -> 10.0.0.2:5671 is TLS and "


def read(pieces, keys, twice=True):
    """The pieces inside, and the notes."""

    def collect(writer):
        Unwrapper(writer).feed_all(pieces)

    decryptor = Decryptor(keys, collect if twice else None)
    out = Unwrapper(decryptor).feed_all(pieces)
    decryptor.close()
    return out, decryptor.notes


@pytest.fixture
def conversation(talk, tls_talk):
    """Pieces of a TLS connection, and its key log."""
    tls = tls_talk()
    tls.say(CLIENT, HEADER)
    tls.say(SERVER, HEADER + b"x" * 40_000)
    made = talk()
    return [*made.chunks(tls.messages, 1460), *made.ends()], tls.keylog


def test_with_the_key_the_plaintext_is_put_in_place(conversation, inside):
    pieces, keylog = conversation
    out, notes = read(pieces, Keys(keylog))
    assert inside(out) == [HEADER, HEADER + b"x" * 40_000]
    assert not notes
    assert [piece.packet for piece in out] == sorted(piece.packet for piece in out)


def test_without_a_key_there_is_one_note(conversation):
    pieces, _ = conversation
    out, notes = read(pieces, Keys())
    assert out == pieces[-2:]
    assert notes == [NAMED + "no key for it is known: give --keylog FILE (or set SSLKEYLOGFILE)"]


def test_a_key_log_of_other_connections_does_not_help(conversation, tls_talk):
    pieces, _ = conversation
    _, notes = read(pieces, Keys(tls_talk().keylog))
    assert notes == [NAMED + "no key for it is known: give --keylog FILE (or set SSLKEYLOGFILE)"]


def test_a_capture_that_begins_after_the_handshake_says_so(conversation):
    pieces, keylog = conversation
    data = [piece for piece in pieces[:-2] if piece.data[0] == 23][:1] + pieces[-2:]
    _, notes = read(data, Keys(keylog))
    assert notes == [NAMED + "its handshake is not in the capture, so it cannot be decrypted"]


def test_what_can_be_read_only_once_is_not_decrypted(conversation):
    pieces, keylog = conversation
    _, notes = read(pieces, Keys(keylog), twice=False)
    assert notes == [NAMED + "it can be decrypted only from a file that is complete: read that"]


def test_a_wrong_secret_is_noted(conversation):
    pieces, keylog = conversation
    label, random, secret = keylog.split()[-3:]
    wrong = b" ".join((label, random, b"0" * len(secret)))
    _, notes = read(pieces, Keys(wrong))
    assert notes == [NAMED + "its key is known, but no data was found in it"]


def test_without_tshark_the_rest_is_read(conversation, talk, monkeypatch):
    pieces, keylog = conversation
    plain = talk(client=("10.0.0.3", 50000)).say(CLIENT, HEADER)
    monkeypatch.setenv("PATH", "/nowhere")
    out, notes = read([*pieces, plain], Keys(keylog))
    assert plain in out
    (note,) = notes
    assert "tshark" in note
    assert "apt install tshark" in note


def test_many_connections_without_a_key_are_counted(talk, tls_talk):
    tls = tls_talk()
    tls.say(CLIENT, HEADER)
    pieces = [piece for _ in range(MAX_NOTES + 5) for piece in talk().chunks(tls.messages)]
    _, notes = read(pieces, Keys())
    assert len(notes) == MAX_NOTES + 1
    assert notes[-1] == "5 more TLS connections could not be decrypted"


def test_secrets_that_the_capture_gives_during_the_handshake(conversation, inside):
    pieces, keylog = conversation
    keys = Keys()
    secrets = [b"# nothing yet"]
    keys.watch(secrets)
    keys.add(b"CLIENT_RANDOM " + b"00" * 32 + b" " + b"00" * 48)

    def collect(writer):
        unwrapper = Unwrapper(writer)
        unwrapper.feed(pieces[0])
        secrets.append(keylog)
        unwrapper.feed_all(pieces[1:])

    decryptor = Decryptor(keys, collect)
    out = Unwrapper(decryptor).feed_all(pieces)
    decryptor.close()
    assert inside(out) == [HEADER, HEADER + b"x" * 40_000]


def test_secrets_that_the_capture_has_after_all_records(conversation, inside):
    pieces, keylog = conversation
    keys, secrets, readings = Keys(), [], []
    keys.watch(secrets)

    def collect(writer):
        Unwrapper(writer).feed_all(pieces)
        readings.append(writer)
        secrets.append(keylog)

    decryptor = Decryptor(keys, collect)
    out = Unwrapper(decryptor).feed_all(pieces)
    decryptor.close()
    assert inside(out) == [HEADER, HEADER + b"x" * 40_000]
    assert len(readings) == 2


@pytest.mark.parametrize(
    ("sender", "alert", "words"),
    [
        (0, b"\x15\x03\x03\x00\x02\x02\x30", "the client refused it: alert unknown_ca (it"),
        (1, b"\x15\x03\x03\x00\x02\x02\x28", "the server refused it: alert handshake_failure"),
        (1, b"\x15\x03\x03\x00\x02\x02\xfe", "the server refused it: alert 254"),
        (0, b"\x15\x03\x03\x00\x02\x01\x00", ""),  # close_notify is no fault
        (0, b"\x15\x03\x03\x00\x1a" + bytes(26), ""),  # encrypted
    ],
)
def test_who_ends_a_handshake_says_why(sender, alert, words):
    decryptor = Decryptor(Keys(b""), None)
    stream = TlsStream(Connection(("10.0.0.1", 40000), ("10.0.0.2", 5671), False), False)
    assert decryptor.record(stream, sender, alert) == b""
    notes = decryptor.notes
    assert len(notes) == bool(words)
    assert not notes or notes[0].startswith(
        f"connection 10.0.0.1:40000 -> 10.0.0.2:5671 is TLS and {words}"
    )


def test_a_refused_handshake_explains_more_than_a_missing_key():
    decryptor = Decryptor(Keys(b""), None)
    stream = TlsStream(Connection(("10.0.0.1", 40000), ("10.0.0.2", 5671), False), False)
    decryptor.record(stream, 1, b"\x17\x03\x03\x00\x01x")
    decryptor.record(stream, 0, b"\x15\x03\x03\x00\x02\x02\x30")
    (note,) = decryptor.notes
    assert "the client refused it: alert unknown_ca" in note
