import asyncio
import os
import stat

import pytest

from amqpscope.capture import tshark
from amqpscope.capture.keylog import Keys
from amqpscope.capture.tshark import DecryptionError, Plaintexts, decrypt
from amqpscope.capture.unwrap import Unwrapper
from amqpscope.stream.types import CLIENT, SERVER

HTTP = b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n"


def collector(*conversations):
    """Feeds the records of these conversations to the writer, one after the other."""

    def collect(writer):
        unwrapper = Unwrapper(writer)
        for conversation, messages in conversations:
            unwrapper.feed_all([*conversation.chunks(messages), *conversation.ends()])

    return collect


def all_of(plaintexts, count=1000):
    found = [plaintexts.take(number) for number in range(count)]
    plaintexts.close()
    return [data for data in found if data]


def test_application_data_comes_out_octet_for_octet(talk, tls_talk):
    said = [
        HTTP,
        b"AMQP\0\1\0\0",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        bytes(range(256)) * 64,
        b"\0",
    ]
    tls = tls_talk()
    for number, data in enumerate(said):
        tls.say(number % 2, data)
    # tshark looks for HTTP inside TLS by itself; it must not.
    assert all_of(decrypt(collector((talk(), tls.messages)), Keys(tls.keylog))) == said


def test_connections_whose_key_is_unknown_are_not_given_to_tshark(talk, tls_talk):
    known, unknown = tls_talk(), tls_talk()
    known.say(CLIENT, b"one")
    unknown.say(CLIENT, b"two")
    known.say(SERVER, b"three")
    writers = []

    def collect(writer):
        writers.append(writer)
        collector((talk(), unknown.messages), (talk(), known.messages))(writer)

    assert all_of(decrypt(collect, Keys(known.keylog))) == [b"one", b"three"]
    assert 0 < writers[0].written < writers[0].count


def test_many_connections_keep_apart(talk, tls_talk):
    conversations = [tls_talk() for _ in range(5)]
    for number, tls in enumerate(conversations):
        tls.say(CLIENT, b"client %d" % number)
        tls.say(SERVER, b"server %d" % number)
    keys = Keys(*(tls.keylog for tls in conversations))
    found = all_of(decrypt(collector(*((talk(), tls.messages) for tls in conversations)), keys))
    assert found == [b"%s %d" % (who, n) for n in range(5) for who in (b"client", b"server")]


def test_tshark_runs_inside_somebody_elses_event_loop(talk, tls_talk):
    tls = tls_talk()
    tls.say(CLIENT, b"hello")

    async def main():
        return decrypt(collector((talk(), tls.messages)), Keys(tls.keylog))

    assert all_of(asyncio.run(main())) == [b"hello"]


@pytest.fixture
def broken_tshark(tmp_path, monkeypatch):
    """Put a tshark in front that answers questions and then does as it is told."""

    def install(script):
        path = tmp_path / "bin" / "tshark"
        path.parent.mkdir()
        path.write_text(
            "#!/bin/sh\n"
            'case "$1" in -v) echo "TShark (Wireshark) 4.0.17."; exit;; -G) exit;; esac\n' + script
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")

    return install


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exec sleep 60", "tshark did not finish within 1 seconds"),
        # pyshark may notice the end before it has read what was said: it depends on timing.
        ("echo 'tshark: out of luck' >&2; exit 2", "tshark failed: .*(out of luck|crashed)"),
        ("echo nonsense", "tshark failed: "),
        ("kill -9 $$", "tshark was killed by signal 9|tshark failed: .*crashed"),
    ],
)
def test_a_tshark_that_hangs_or_fails(talk, tls_talk, broken_tshark, monkeypatch, script, message):
    tls = tls_talk()
    tls.say(CLIENT, b"hello")
    broken_tshark(script)
    monkeypatch.setattr(tshark, "TIMEOUT", 1.0 if "sleep" in script else 30.0)
    with pytest.raises(DecryptionError, match=message):
        decrypt(collector((talk(), tls.messages)), Keys(tls.keylog))


def test_without_tshark_the_message_says_what_to_install(talk, tls_talk, monkeypatch):
    tls = tls_talk()
    tls.say(CLIENT, b"hello")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DecryptionError, match=r"not found: install it \(apt install tshark\)"):
        decrypt(collector((talk(), tls.messages)), Keys(tls.keylog))


def test_plaintext_is_taken_by_number():
    plaintexts = Plaintexts()
    for number, data in ((3, b"three"), (7, b"seven"), (8, b"eight")):
        plaintexts.add(number, data)
    plaintexts.rewind()
    taken = [plaintexts.take(number) for number in (1, 3, 5, 8, 9)]
    plaintexts.close()
    assert taken == [b"", b"three", b"", b"eight", b""]
