"""Captures as they are listed, and put together into what is done at a time."""

import os
import resource
from tempfile import TemporaryDirectory

import pytest

from amqpscope.spark.job import refusal_of
from amqpscope.spark.list_spark import walk_local
from amqpscope.spark.listing import Listing, columns_of, each_once
from amqpscope.spark.manifest import State
from amqpscope.spark.plan import File, is_folder, waves
from amqpscope.spark.terms import Terms

NOBODY = 65534


def listing(*paths, each=False):
    return Listing(columns_of(File(path, 10, 0) for path in paths), each=each)


def test_files_of_a_directory_are_a_ring_in_natural_order():
    rings = list(listing("/b/x.pcap", "/a/2.pcap", "/a/10.pcap", "/a/1.pcap"))
    assert [(ring.name, [file.path for file in ring.files]) for ring in rings] == [
        ("/a", ["/a/1.pcap", "/a/2.pcap", "/a/10.pcap"]), ("/b", ["/b/x.pcap"]),
    ]  # fmt: skip
    alone = listing("/b/x.pcap", "/a/2.pcap", each=True)
    assert [ring.name for ring in alone] == ["/a/2.pcap", "/b/x.pcap"]


def test_a_file_that_was_named_twice_is_there_once():
    files = columns_of([File("/a", 1, 2), File("/b", 1, 2), File("/a", 1, 2)])
    assert sorted(each_once(files)["path"].to_pylist()) == ["/a", "/b"]


def test_waves_have_whole_rings_and_end_at_files_or_octets():
    paths = [f"/{ring}/{file}.pcap" for ring in range(6) for file in range(3)]
    rings = list(listing(*paths))
    assert [len(wave) for wave in waves(rings, files=7)] == [2, 2, 2]
    assert [len(wave) for wave in waves(rings, size=95)] == [3, 3]
    assert [len(wave) for wave in waves(rings, files=1)] == [1] * 6


def test_many_files_are_planned_in_little_memory():
    """What the driver needs grows with a wave, and with 300 octets for each file that is listed."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    files = (File(f"/edge-{at // 1000}/{at % 1000}.pcap", 1 << 26, at) for at in range(200_000))
    found = Listing(columns_of(files), each=False)
    sizes = [
        sum(len(ring.files) for ring in wave)
        for wave in waves(State().todo(found, Terms()), files=20_000)
    ]
    assert sizes == [20_000] * 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120_000


@pytest.fixture
def locked():
    """A directory with one that cannot be listed, by a user who may not list everything."""
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/locked", mode=0)
        before = os.geteuid()
        if before == 0:
            os.seteuid(NOBODY)
        yield folder
        os.seteuid(before)


def test_a_directory_that_cannot_be_listed_is_there_with_a_slash(locked):
    (file,) = walk_local(locked)
    assert (file.path, is_folder(file)) == (f"{locked}/locked/", True)
    assert refusal_of(file.path) == "cannot be listed: permission denied"


def test_links_that_lead_nowhere_and_hidden_names(tmp_path):
    (tmp_path / "in" / ".hidden").mkdir(parents=True)
    (tmp_path / "in" / ".hidden" / "a.pcap").touch()
    (tmp_path / "in" / "_b.pcap").touch()
    (tmp_path / "in" / "broken.pcap").symlink_to("nowhere")
    (tmp_path / "in" / "c.pcap").write_bytes(b"1234")
    found = sorted(walk_local(str(tmp_path / "in")))
    assert [(file.path.rpartition("/")[2], file.size) for file in found] == [
        ("broken.pcap", 0), ("c.pcap", 4),
    ]  # fmt: skip
    assert all(file.changed for file in found)
