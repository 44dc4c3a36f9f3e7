"""Rotated captures: which files belong to one, and in what order."""

import pytest

from amqpscope.capture.ring import in_order, is_capture, natural, ring_in, ring_of


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
