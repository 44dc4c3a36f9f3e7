"""Files grouped into rings, and rings cut into slices."""

import pytest

from amqpscope.spark.files import local_path
from amqpscope.spark.plan import File, Ring, Share, pack_shares, rings_of, slice_up
from amqpscope.spark.records import Cut


def file(path, size=10):
    return File(path, size, 0)


def test_a_directory_is_a_ring_in_the_natural_order_of_names():
    rings = rings_of(
        [file("/a/x.pcap10"), file("/b/y.pcap"), file("/a/x.pcap9"), file("/a/x.pcap")]
    )
    assert [(ring.name, [each.path for each in ring.files]) for ring in rings] == [
        ("/a", ["/a/x.pcap", "/a/x.pcap9", "/a/x.pcap10"]),
        ("/b", ["/b/y.pcap"]),
    ]


def test_each_file_is_a_ring_when_asked():
    rings = rings_of([file("/a/x.pcap"), file("/a/y.pcap")], each=True)
    assert [ring.name for ring in rings] == ["/a/x.pcap", "/a/y.pcap"]


def test_small_files_share_a_slice_and_large_ones_are_cut():
    ring = Ring("/a", [file("/a/1", 30), file("/a/2", 40), file("/a/3", 250)])
    slice_up(ring, {"/a/3": [Cut(100, b"head"), Cut(200, b"head")]}, 100)
    shown = [[(p.part.path, p.part.start, p.part.stop) for p in each] for each in ring.slices]
    assert shown == [
        [("/a/1", 0, -1), ("/a/2", 0, -1)],
        [("/a/3", 0, 100)],
        [("/a/3", 100, 200)],
        [("/a/3", 200, -1)],
    ]


def test_small_rings_share_a_task():
    rings = [Ring(f"/{n}", [file(f"/{n}/a", 40)]) for n in range(5)]
    for ring in rings:
        slice_up(ring, {}, 100)
    units = pack_shares((Share(ring.name, 0, ring.slices[0]) for ring in rings), 100)
    assert sorted(len(unit) for unit in units) == [2, 3]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/b", "/a/b"), ("file:/a/b", "/a/b"), ("file:///a/b", "/a/b"), ("s3a://b/c", None)],
)
def test_local_paths(path, expected):
    assert local_path(path) == expected
