"""Captures that declare much and use little cost what they use."""

import gzip
import struct
import tracemalloc
from time import perf_counter

import pytest

from amqpscope.capture.formats import MAX_INTERFACES, MAX_KINDS, MAX_SECRETS
from amqpscope.capture.fragments import MAX_OCTETS, Fragments
from amqpscope.capture.handshake import ALERT, HANDSHAKE, MAX_ALERTS, MAX_HANDSHAKE, Handshake
from amqpscope.capture.keylog import Keys
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.reader import open_capture
from amqpscope.stream.types import Tls

MB = 1 << 20
ETHERNET = 1
PACKET = bytes.fromhex(
    "020000000002" "020000000001" "0800"
    "4500002c000100004006" "0000" "0a000001" "0a000002"
    "9c401628" "00000001" "00000001" "50100100" "00000000"
) + b"AMQP"  # fmt: skip


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def interface(snaplen=0):
    return block(1, struct.pack("<HHI", ETHERNET, 0, snaplen))


def packet(number=0):
    head = struct.pack("<IIIII", number, 0, 0, len(PACKET), len(PACKET))
    return block(6, head + PACKET)


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def key_log(text):
    return block(10, struct.pack("<II", 0x544C534B, len(text)) + text)


@pytest.fixture
def capture(tmp_path):
    def write(*parts):
        path = tmp_path / "made.pcapng"
        with path.open("wb") as file:
            for part in (SECTION, *parts):
                file.write(part)
        return path

    return write


def cost(path):
    """The segments of a capture, and how many octets it took at most to read it."""
    tracemalloc.start()
    try:
        with open_capture(str(path)) as opened:
            segments = [segment for batch in opened for segment in batch]
        return segments, opened, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_interfaces_that_are_alike_take_next_to_nothing(capture):
    count = 60_000
    segments, opened, peak = cost(capture(interface() * count, packet(count - 1)))
    assert [segment.payload for segment in segments] == [b"AMQP"]
    assert opened.notes == []
    assert peak < 12 * MB


def test_interfaces_that_differ_are_remembered_up_to_a_limit(capture):
    differing = b"".join(interface(snaplen) for snaplen in range(1, MAX_KINDS + 1000))
    path = capture(differing, packet(0), packet(MAX_KINDS - 1), packet(MAX_KINDS + 5), interface(7),
                   packet(MAX_KINDS + 999))  # fmt: skip
    segments, opened, peak = cost(path)
    assert len(segments) == 3
    assert opened.packets == 4
    assert opened.notes == ["packets were left out: interface beyond the most that are remembered"]
    assert peak < 64 * MB


def test_interfaces_are_counted_up_to_a_limit(capture, tmp_path):
    path = capture(interface() * (MAX_INTERFACES + 2), packet(0), packet(MAX_INTERFACES + 1),
                   packet(MAX_INTERFACES + 2))  # fmt: skip
    with open_capture(str(path)) as opened:
        assert len([segment for batch in opened for segment in batch]) == 1
    assert opened.packets == 3
    assert opened.notes == [
        "packets were left out: interface beyond the most that are remembered",
        "packets were left out: interface without a description",
    ]


def test_each_section_has_interfaces_of_its_own(capture):
    path = capture(interface(), packet(0), SECTION, packet(0), interface(), packet(0))
    segments, opened, _ = cost(path)
    assert len(segments) == 2
    assert opened.notes == ["packets were left out: interface without a description"]


def test_a_note_about_packets_reaches_the_user(capture, show):
    told = show(capture(interface(), packet(3))).told
    assert any("interface without a description" in line for line in told)


@pytest.mark.parametrize(
    "one",
    [SECTION, block(4, struct.pack("<HH", 1, 9) + b"\x0a\0\0\1host\0" + b"\0" * 7), block(5, b"x"),
     block(0xBAD, b"12345678"), block(10, struct.pack("<II", 1, 4) + b"abcd")],
    ids=["section", "names", "statistics", "custom", "other secrets"],
)  # fmt: skip
def test_other_blocks_cost_nothing(capture, one):
    segments, _, peak = cost(capture(one * 30_000, SECTION, interface(), packet()))
    assert len(segments) == 1
    assert peak < 12 * MB


def test_a_key_log_that_comes_over_and_over_is_kept_once(capture):
    text = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"
    _, opened, peak = cost(capture(interface(), key_log(text) * 20_000, packet()))
    assert opened.secrets == [text]
    assert peak < 12 * MB


def test_key_logs_are_kept_up_to_a_limit(capture):
    logs = [key_log(b"#" + bytes([65 + n % 26]) * (MB - 1)) for n in range((MAX_SECRETS >> 20) + 2)]
    with open_capture(str(capture(interface(), *logs, packet()))) as opened:
        assert len([segment for batch in opened for segment in batch]) == 1
    assert sum(map(len, opened.secrets)) == MAX_SECRETS
    assert opened.notes == ["TLS secrets in the capture beyond the first 64 MB are not used"]


def test_lines_that_name_no_connection_take_no_room():
    keys = Keys(b"".join(b"A %08x 00\n" % number for number in range(1000)))
    assert not keys
    assert Keys(b"CLIENT_RANDOM " + b"ab" * 32 + b" 00").knows(b"\xab" * 32)


def test_a_handshake_in_single_octets_takes_time_in_proportion():
    facts, start = Tls(), perf_counter()
    handshake = Handshake(facts)
    record = bytes([HANDSHAKE, 3, 3, 0, 1, 0xFF])
    for number in range(MAX_HANDSHAKE + 100):
        handshake.record(0, record, number)
    assert perf_counter() - start < 20


def test_alerts_and_names_are_remembered_up_to_a_limit():
    facts = Tls()
    handshake = Handshake(facts)
    for number in range(10_000):
        handshake.record(0, bytes([ALERT, 3, 3, 0, 2, 1, 0]), number)
    names = b"\0" * 60_000
    alpn = struct.pack(">HHH", 16, len(names) + 2, len(names)) + names
    hello = b"\3\3" + b"r" * 32 + b"\0" + b"\0\0" + b"\0" + struct.pack(">H", len(alpn)) + alpn
    message = b"\1" + len(hello).to_bytes(3, "big") + hello
    handshake.record(0, bytes([HANDSHAKE, 3, 3, 0, 0]) + message, 1)
    assert len(facts.alerts) == MAX_ALERTS
    assert len(facts.alpn) <= 64


def test_fragments_that_overlap_are_kept_up_to_a_limit():
    fragments = Fragments()
    for number in range(1000):
        assert fragments.add(b"name", number * 8, b"x" * 57_000, more=True) == b""
    [waiting] = fragments._waiting.values()
    assert sum(map(len, waiting.parts.values())) <= MAX_OCTETS


def test_fragments_come_together_all_the_same():
    fragments = Fragments()
    assert fragments.add(b"n", 0, b"a" * 8, more=True) == b""
    assert fragments.add(b"n", 8, b"b" * 4, more=False) == b"a" * 8 + b"b" * 4


def test_a_packed_capture_is_unpacked_as_it_is_read(tmp_path):
    path = tmp_path / "bomb.pcapng.gz"
    with gzip.open(path, "wb") as file:
        file.write(SECTION + interface() + packet())
        for _ in range(100):
            file.write(block(0xBAD, b"\0" * (MB - 12)))
    assert path.stat().st_size < MB
    segments, _, peak = cost(path)
    assert len(segments) == 1
    assert peak < 16 * MB


def test_pieces_of_a_hostile_capture_can_be_read(capture):
    with Pieces(str(capture(interface() * 1000, packet(999)))) as pieces:
        assert sum(len(batch) for batch in pieces) > 0
