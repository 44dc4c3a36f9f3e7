import io
import os
import threading

import pytest

from amqpscope.capture.pieces import Pieces
from amqpscope.capture.reader import CaptureError
from amqpscope.stream.types import CLIENT, SERVER, Chunk, End

TLS_HEADER = bytes.fromhex("41 4d 51 50 02 01 00 00")
CLIENT_SAYS = bytes.fromhex(
    "41 4d 51 50 00 01 00 00"  # AMQP 1.0.0
    "00 00 00 11 02 00 00 00 00 53 10 c0 04 01 a1 01 63"  # open(container-id="c")
    "00 00 00 0c 02 00 00 00 00 53 18 45"  # close()
)
SERVER_SAYS = CLIENT_SAYS.replace(b"\xa1\x01c", b"\xa1\x01s")


def read(path, **options):
    with Pieces(str(path), **options) as pieces:
        out = [piece for batch in pieces for piece in batch]
        return out, pieces


def units(stream):
    """How many AMQP 1.0 or 0-9-1 units the octets are, if they chain to the end."""
    place = count = 0
    while place < len(stream):
        if stream.startswith(b"AMQP", place):
            place += 8
        elif stream.startswith(b"AMQP\0\0\x09\1") or stream[0] == 1:
            place += 8 + int.from_bytes(stream[place + 3 : place + 7], "big")
            assert stream[place - 1] == 0xCE
        else:
            place += int.from_bytes(stream[place : place + 4], "big")
        count += 1
    assert place == len(stream)
    return count


@pytest.mark.parametrize(
    ("name", "keys", "counts"),
    [
        ("v10_tls-proton-rabbitmq.pcap", "v10_tls-proton-rabbitmq.keys", [17, 20]),
        ("v10_tls-proton-rabbitmq_dsb.pcapng", None, [17, 20]),
        ("v091_tls-TLSv1_2-pika-rabbitmq.pcap", "v091_tls-TLSv1_2-pika-rabbitmq.keys", [13, 11]),
    ],
)
def test_real_tls_chains_as_frames_to_the_end(root, inside, name, keys, counts):
    captures = root / "captures"
    keylogs = [(captures / keys).read_bytes()] if keys else []
    out, pieces = read(captures / name, keylogs=keylogs)
    assert [units(stream) for stream in inside(out)] == counts
    assert not pieces.notes
    assert pieces.capture.problem is None


def test_tls_without_a_key_leaves_a_note(root):
    out, pieces = read(root / "captures/v10_tls-proton-rabbitmq.pcap")
    assert [type(piece) for piece in out] == [End, End]
    (note,) = pieces.notes
    assert note == (
        "connection 127.0.0.1:50072 -> 127.0.0.1:5671 is TLS and no key for it is known: "
        "give --keylog FILE (or set SSLKEYLOGFILE)"
    )


@pytest.mark.parametrize("cut", [None, 1, 100])
def test_tls_started_in_band(talk, tls_talk, pcap, inside, cut):
    tls = tls_talk(clear=[(CLIENT, TLS_HEADER), (SERVER, TLS_HEADER)])
    tls.say(CLIENT, CLIENT_SAYS)
    tls.say(SERVER, SERVER_SAYS)
    path = pcap(talk(server=("10.0.0.2", 5672)).chunks(tls.messages, cut))
    out, pieces = read(path, keylogs=[tls.keylog])
    assert inside(out) == [TLS_HEADER + CLIENT_SAYS, TLS_HEADER + SERVER_SAYS]
    assert not pieces.notes
    last = [piece for piece in out if isinstance(piece, Chunk)][-1]
    assert (last.sender, last.ack) == (SERVER, len(TLS_HEADER + CLIENT_SAYS))


def test_tls_and_plain_connections_interleave_in_packet_order(talk, tls_talk, pcap, inside):
    streams = []
    for number in range(3):
        tls = tls_talk()
        tls.say(CLIENT, CLIENT_SAYS)
        tls.say(SERVER, SERVER_SAYS)
        conversation = talk(server=("10.0.0.2", 9000 + number))
        streams.append((list(conversation.chunks(tls.messages)), tls.keylog))
    plain = talk(server=("10.0.0.2", 5672))
    streams.append((list(plain.chunks([(CLIENT, CLIENT_SAYS), (SERVER, SERVER_SAYS)], 5)), b""))
    chunks = [
        chunk for row in zip(*(chunks for chunks, _ in streams), strict=False) for chunk in row
    ]
    chunks += [c for chunks_, _ in streams for c in chunks_ if c not in chunks]
    out, pieces = read(pcap(chunks), keylogs=[keylog for _, keylog in streams])
    assert not pieces.notes
    for port in (9000, 9001, 9002, 5672):
        of_port = [piece for piece in out if piece.connection.server[1] == port]
        assert inside(of_port) == [CLIENT_SAYS, SERVER_SAYS]
    packets = [piece.packet for piece in out if isinstance(piece, Chunk)]
    assert packets == sorted(packets)


def test_a_pipe_is_decrypted_too(talk, tls_talk, pcap, inside, tmp_path):
    tls = tls_talk()
    tls.say(CLIENT, CLIENT_SAYS)
    path = pcap(talk().chunks(tls.messages))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open(path, "rb") as file:
        octets = file.read()
    writer = threading.Thread(target=pipe.write_bytes, args=(octets,))
    writer.start()
    out, pieces = read(pipe, keylogs=[tls.keylog])
    writer.join()
    assert inside(out)[CLIENT] == CLIENT_SAYS
    assert pieces.capture.path == str(pipe)


def test_standard_input_is_decrypted_too(talk, tls_talk, pcap, inside, monkeypatch):
    tls = tls_talk()
    tls.say(CLIENT, CLIENT_SAYS)
    with open(pcap(talk().chunks(tls.messages)), "rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        out, _ = read("-", keylogs=[tls.keylog])
    assert inside(out)[CLIENT] == CLIENT_SAYS


def test_a_damaged_pipe_is_named_as_the_user_did(tls_talk, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"not a capture at all",))
    writer.start()
    with pytest.raises(CaptureError, match="pipe: not a capture"):
        read(pipe, keylogs=[tls_talk().keylog])
    writer.join()


def test_while_following_tls_is_not_decrypted(talk, tls_talk, pcap):
    tls = tls_talk()
    tls.say(CLIENT, CLIENT_SAYS)
    path = pcap(talk().chunks(tls.messages))
    with Pieces(path, follow=True, keylogs=[tls.keylog]) as pieces:
        for batch in pieces:
            if not batch:
                break
        (note,) = pieces.notes
    assert note.endswith("it can be decrypted only from a file that is complete: read that")


@pytest.mark.parametrize("path", ["/nowhere/at/all.pcap", "."])
def test_what_is_no_file_is_a_capture_error(path, tls_talk):
    with pytest.raises(CaptureError):
        read(path, keylogs=[tls_talk().keylog])


def test_nothing_stays_behind(root, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    read(root / "captures/v10_tls-proton-rabbitmq_dsb.pcapng")
    assert not list(tmp_path.iterdir())
