"""Captures as users have them: in every format, cut, damaged, growing, or no captures at all."""

import gzip
import struct
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP

from amqpscope.capture import source
from amqpscope.capture.reader import CaptureError, open_capture
from amqpscope.stream.reassembly import Reassembler
from amqpscope.stream.types import End, Gap

SAME = "v10_proton-rabbitmq_manylinks"
PACKET = bytes(IP() / TCP() / b"hello")
HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
RECORD = struct.pack("<IIII", 1, 2, len(PACKET), len(PACKET)) + PACKET


@pytest.fixture(scope="session")
def captures(root):
    return root / "captures"


def segments(path):
    with open_capture(str(path)) as capture:
        batches = list(capture)
    assert capture.problem is None
    return [
        (s.packet, s.time, s.key, s.seq, s.ack, s.flags, s.window, s.payload, s.missing)
        for batch in batches
        for s in batch
    ]


def pieces(path):
    reassembler = Reassembler()
    out = []
    with open_capture(str(path)) as capture:
        for batch in capture:
            out += reassembler.feed_all(batch)
    return out + reassembler.finish()


@pytest.mark.parametrize(
    "name", [f"fmt_null-{SAME}.pcap", f"fmt_vlan-{SAME}.pcap", f"fmt_pcapng-{SAME}.pcapng"]
)
def test_each_format_of_a_capture_gives_the_same_segments(captures, name):
    assert segments(captures / name) == segments(captures / f"fmt_bigendian-{SAME}.pcap")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_compressed_capture_gives_the_same_segments(captures, tmp_path, pack):
    plain = captures / f"fmt_pcapng-{SAME}.pcapng"
    (tmp_path / "c").write_bytes(pack(plain.read_bytes()))
    assert segments(tmp_path / "c") == segments(plain)


@pytest.mark.parametrize(
    ("name", "packets"),
    [
        ("v10_ipv6-proton-rabbitmq_simple.pcap", 35),
        ("v10_sll-y-proton-labbroker_simple.pcap", 21),
        ("v10_tls-proton-rabbitmq_dsb.pcapng", 38),
    ],
)
def test_every_packet_of_a_real_capture_is_a_segment(captures, name, packets):
    assert len(segments(captures / name)) == packets


def test_disorder_in_a_real_capture_changes_nothing_but_the_order(captures):
    def streams(path):
        octets = {0: b"", 1: b""}
        for piece in pieces(path):
            assert not isinstance(piece, Gap)
            if not isinstance(piece, End):
                octets[piece.sender] += piece.data
        return octets

    disordered = streams(captures / f"dmg_outoforder-{SAME}.pcap")
    assert disordered == streams(captures / f"fmt_bigendian-{SAME}.pcap")


def test_packets_lost_from_a_real_capture_are_gaps(captures):
    gaps = [p for p in pieces(captures / f"dmg_dropped4-{SAME}.pcap") if isinstance(p, Gap)]
    assert [(gap.sender, gap.offset, gap.size) for gap in gaps] == [
        (0, 6850, 37),
        (1, 4955, 113),
        (1, 5699, 113),
        (1, 8923, 113),
    ]


def test_snap_length_of_a_real_capture_leaves_gaps(captures):
    found = pieces(captures / "dmg_snap128-v10_proton-labbroker_large512.pcap")
    assert sum(isinstance(piece, Gap) for piece in found) == 24


def test_secrets_of_a_pcapng_are_there_after_reading(captures):
    with open_capture(str(captures / "v10_tls-proton-rabbitmq_dsb.pcapng")) as capture:
        for _ in capture:
            assert capture.secrets
    assert b"CLIENT_TRAFFIC_SECRET_0 " in capture.secrets[0]


def test_capture_cut_in_a_packet_gives_all_before_it(captures):
    with open_capture(str(captures / f"dmg_filecut-{SAME}.pcap")) as capture:
        assert sum(map(len, capture)) == capture.packets == 168
    expected = "cut short: the record at byte 37376 needs 82 octets, 45 remain"
    assert capture.problem == expected


def test_capture_damaged_in_the_middle_gives_all_before_it(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(HEADER + RECORD * 3 + b"\xff" * 40)
    with open_capture(str(path)) as capture:
        assert sum(map(len, capture)) == 3
    at = 24 + 3 * len(RECORD)
    assert capture.problem == (
        f"damaged at byte {at}: a packet of 4294967295 octets, expected at most 16777216"
    )


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"", "empty file, expected pcap"),
        (b"\xa1", "not a capture: begins with a1, expected pcap"),
        (b"hello, I am no capture", r"begins with 68 65 6c 6c \('hello, I am no c'\), expected"),
        (bytes(100), "not a capture: begins with 00 00 00 00, expected pcap"),
        (gzip.compress(b"text", mtime=0), "not a capture: begins with 74 65 78 74"),
        (gzip.compress(HEADER, mtime=0)[:5], "cut short: the gzip data ends at byte 5"),
    ],
)
def test_file_that_is_no_capture_is_told(tmp_path, stored, message):
    (tmp_path / "c").write_bytes(stored)
    with pytest.raises(CaptureError, match=message) as caught:
        open_capture(str(tmp_path / "c"))
    assert caught.value.path == str(tmp_path / "c")


def test_missing_file_is_told(tmp_path):
    with pytest.raises(CaptureError, match="no such file"):
        open_capture(str(tmp_path / "c"))


def test_capture_with_a_header_only_is_empty_but_right(tmp_path):
    (tmp_path / "c").write_bytes(HEADER)
    assert segments(tmp_path / "c") == []


def test_file_header_cut_short_is_a_problem(tmp_path):
    (tmp_path / "c").write_bytes(HEADER[:20])
    with open_capture(str(tmp_path / "c")) as capture:
        assert list(capture) == []
    assert capture.problem == "cut short: the record at byte 0 needs 24 octets, 20 remain"


def test_record_larger_than_a_block_is_read(tmp_path):
    large = PACKET + bytes(3 * source.BLOCK)
    head = struct.pack("<IIII", 1, 2, len(large), len(large))
    (tmp_path / "c").write_bytes(HEADER + RECORD + head + large + RECORD)
    assert [s[0] for s in segments(tmp_path / "c")] == [1, 2, 3]


def test_growing_capture_is_followed_record_by_record(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(b"")
    with open_capture(str(path), follow=True) as capture, path.open("ab") as file:

        def grow(data):
            file.write(data)
            file.flush()
            return [s.packet for s in capture.read() or []]

        assert grow(b"") == []
        assert grow(HEADER[:3]) == []
        assert grow(HEADER[3:] + RECORD[:20]) == []
        assert grow(RECORD[20:] + RECORD + RECORD[:5]) == [1, 2]
        assert grow(RECORD[5:]) == [3]
        assert capture.problem is None


def test_interrupt_while_following_ends_the_capture_without_a_problem(tmp_path, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    (tmp_path / "c").write_bytes(HEADER + RECORD + RECORD[:5])
    monkeypatch.setattr(source.time, "sleep", interrupt)
    with open_capture(str(tmp_path / "c"), follow=True) as capture:
        assert sum(map(len, capture)) == 1
    assert capture.problem is None


def test_progress_is_known_for_files(tmp_path):
    (tmp_path / "c").write_bytes(HEADER + RECORD)
    with open_capture(str(tmp_path / "c")) as capture:
        list(capture)
        assert capture.position == capture.size == len(HEADER + RECORD)


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak_of(count):
        with (tmp_path / "c").open("wb") as file:
            file.write(HEADER)
            for _ in range(count):
                file.write(RECORD * 1000)
        tracemalloc.start()
        with open_capture(str(tmp_path / "c")) as capture:
            assert sum(map(len, capture)) == count * 1000
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_of(100) < 1.5 * peak_of(20)


@st.composite
def mutations(draw):
    """What to do to a file: where, how many octets to remove, what to put there."""
    place = st.floats(0, 1, exclude_max=True)
    return draw(
        st.lists(st.tuples(place, st.integers(0, 30), st.binary(max_size=8)), max_size=6)
    ), draw(st.floats(0.02, 1))


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("mutated")


@given(
    name=st.sampled_from(
        [
            f"fmt_bigendian-{SAME}.pcap",
            f"fmt_pcapng-{SAME}.pcapng",
            "v10_tls-proton-rabbitmq_dsb.pcapng",
        ]
    ),
    mutation=mutations(),
    pack=st.sampled_from([None, gzip.compress]),
)
def test_mutated_captures_are_read_or_refused_in_one_line(captures, scratch, name, mutation, pack):
    edits, kept = mutation
    stored = bytearray((captures / name).read_bytes())
    if pack:
        stored = bytearray(pack(bytes(stored)))
    for place, size, octets in edits:
        at = int(place * len(stored))
        stored[at : at + size] = octets
    path = scratch / "c"
    path.write_bytes(stored[: int(kept * len(stored))])
    reassembler = Reassembler()
    try:
        with open_capture(str(path)) as capture:
            for batch in capture:
                reassembler.feed_all(batch)
        said = capture.problem or ""
    except CaptureError as error:
        said = str(error)
    reassembler.finish()
    assert "\n" not in said
