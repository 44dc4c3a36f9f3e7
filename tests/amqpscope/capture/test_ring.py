"""Rotated captures: which files belong to one, and in what order."""

import gzip
import tracemalloc

import pytest
import zstandard

from amqpscope.capture.reader import open_capture
from amqpscope.capture.ring import Ring, in_order, is_capture, natural, ring_in, ring_of
from kit.cutting import joined, records_of

SAME = "v10_proton-rabbitmq_manylinks"
"""The traffic of which there are captures in several formats."""


@pytest.mark.parametrize(
    "names",
    [
        ["t.pcap", "t.pcap1", "t.pcap2", "t.pcap10"],  # plain order has 10 before 2
        ["t.pcap.gz", "t.pcap1.gz", "t.pcap2", "t.pcap10.zst"],  # tcpdump -C 10 -z gzip
        ["t_00001_20261116100000.pcapng", "t_00002_20261116090000.pcapng"],
        ["2026-11-16T09.pcap", "2026-11-16T10.pcap"],
    ],
)
def test_names_that_tools_give_sort_in_the_order_of_capture(names):
    assert sorted(sorted(names), key=natural) == names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.pcap", True), ("a.PCAPNG", True), ("a.pcap.gz", True), ("a.pcap17", True),
        ("a.pcap17.gz", True), ("a.cap.zst", True), ("a.txt", False), ("a.gz", False),
        (".a.pcap", False), ("_tmp.pcap", False),
    ],
)  # fmt: skip
def test_captures_are_known_by_their_names(name, expected):
    assert is_capture(f"/some/where/{name}") is expected


def test_a_directory_is_a_ring_without_what_lies_below_it(tmp_path):
    for name in ("x.pcap10", "x.pcap9", "x.pcap", "notes.txt", "below/y.pcap"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.pcap").mkdir()
    ring = ring_in(f"{tmp_path}/")
    assert ring.path == f"{tmp_path}/"
    assert ring.files == tuple(f"{tmp_path}/{name}" for name in ("x.pcap", "x.pcap9", "x.pcap10"))
    assert ring_in(str(tmp_path / "folder.pcap")) is None


def test_files_are_a_ring_by_the_name_of_the_first():
    files = ("b/x.pcap10", "b/x.pcap9", "a/z.pcap", "b/x.pcap9")
    ring = ring_of(in_order(files))
    assert str(ring) == "a/z.pcap"
    assert ring.files == ("a/z.pcap", "b/x.pcap9", "b/x.pcap10")
    assert ring_of(files).files == ("b/x.pcap10", "b/x.pcap9", "a/z.pcap")


def segments(capture):
    return [
        (s.packet, s.time, s.key, s.seq, s.ack, s.flags, s.window, s.payload, s.missing)
        for batch in capture
        for s in batch
    ]


@pytest.fixture
def whole(root):
    return root / "captures" / f"fmt_bigendian-{SAME}.pcap"


@pytest.fixture
def mixed(root, whole, tmp_path):
    """A ring whose files differ in format, byte order, link layer and packing."""
    names = (whole.name, f"fmt_pcapng-{SAME}.pcapng", f"fmt_null-{SAME}.pcap",
             f"fmt_vlan-{SAME}.pcap", f"fmt_pcapng-{SAME}.pcapng")  # fmt: skip
    packs = (bytes, gzip.compress, bytes, zstandard.ZstdCompressor().compress, bytes)
    count = len(records_of(whole))
    places = [count * at // len(names) for at in range(len(names) + 1)]
    files = []
    for at, (name, pack) in enumerate(zip(names, packs, strict=True)):
        data = joined(records_of(root / "captures" / name)[places[at] : places[at + 1]])
        files.append(tmp_path / f"x.pcap{at or ''}")
        files[-1].write_bytes(pack(data))
    return files


def test_files_of_any_format_are_read_as_one_capture(whole, mixed):
    with open_capture(str(whole)) as capture:
        expected = segments(capture)
    with open_capture(Ring("x", tuple(map(str, mixed)))) as capture:
        assert segments(capture) == expected
        assert capture.problem is None
        assert capture.position == capture.size == sum(file.stat().st_size for file in mixed)


def test_files_that_cannot_be_read_are_told_of_and_the_next_go_on(mixed):
    before = [len(records_of(file)) for file in (mixed[0], mixed[2], mixed[4])]
    mixed[1].write_text("not a capture at all")
    mixed[2].write_bytes(mixed[2].read_bytes()[:-3])
    mixed[3].unlink()
    with open_capture(Ring("x", tuple(map(str, mixed)))) as capture:
        found = segments(capture)
    # The cut file lacks its last packet, and numbers go on behind what is there.
    assert [packet for packet, *_ in found] == list(range(1, sum(before)))
    assert [(path, broken) for path, _, broken in capture.troubles] == [
        (str(mixed[1]), True), (str(mixed[2]), False), (str(mixed[3]), True),
    ]  # fmt: skip
    assert capture.problems[2] == f"{mixed[3]}: no such file or directory"
    assert capture.problem.startswith("x.pcap1: not a capture: begins with 6e 6f 74 20")
    assert "x.pcap2: cut short" in capture.problem
    assert capture.unreadable


def test_damage_in_a_file_ends_that_file_alone(whole, tmp_path):
    files = [tmp_path / "x.pcap", tmp_path / "x.pcap1"]
    data = bytearray(whole.read_bytes())
    data[24 + 8 : 24 + 12] = b"\xff\xff\xff\xff"  # the length of the first record
    files[0].write_bytes(data)
    files[1].write_bytes(whole.read_bytes())
    with open_capture(Ring("x", tuple(map(str, files)))) as capture:
        assert len(segments(capture)) == len(records_of(whole))
    assert [(path, broken) for path, _, broken in capture.troubles] == [(str(files[0]), True)]


def test_a_ring_of_which_nothing_can_be_read_has_no_segments(tmp_path):
    (tmp_path / "x.pcap").touch()
    with open_capture(Ring("x", (str(tmp_path / "x.pcap"), str(tmp_path / "none")))) as capture:
        assert list(capture) == []
    assert len(capture.troubles) == 2
    assert capture.position == 0


def test_memory_does_not_grow_with_the_number_of_files(whole, tmp_path):
    file = tmp_path / "x.pcap"
    file.write_bytes(joined(records_of(whole) * 4))

    def peak_of(count):
        ring = Ring("x", (str(file),) * count)
        tracemalloc.start()
        with open_capture(ring) as capture:
            assert sum(map(len, capture)) == count * 4 * len(records_of(whole))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_of(20) < 1.5 * peak_of(4)
