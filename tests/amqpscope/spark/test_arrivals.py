"""Which files of a directory a stream takes, and when."""

import json
import random

import pytest

from amqpscope.spark.arrivals import LATE, ArrivalsReader
from kit.cutting import cut


@pytest.fixture
def ring(root, tmp_path):
    """A rotated capture, and a reader of the directory that it arrives in."""
    cut(root / "captures" / "demo.pcapng", tmp_path / "all", random.Random(3), 5)
    live = tmp_path / "live"
    live.mkdir()
    options = {"rings": json.dumps([str(live)]), "patience": "0", "limit": str(1 << 20)}
    return sorted((tmp_path / "all").iterdir()), live, ArrivalsReader(options)


def names(arrivals):
    return [each.file.path.rpartition("/")[2] for each in arrivals]


def test_a_batch_that_is_repeated_has_the_same_files(ring):
    parts, live, reader = ring
    for part in parts[:2]:
        part.rename(live / part.name)
    start = reader.initialOffset()
    end = reader.latestOffset(start, None)
    before = names(reader.partitions(start, end))
    parts[2].rename(live / parts[2].name)
    (live / parts[0].name).unlink()
    assert names(reader.partitions(start, end)) == before == [part.name for part in parts[:2]]


def test_packets_and_files_are_numbered_through(ring):
    parts, live, reader = ring
    start, found = reader.initialOffset(), []
    for part in parts:
        part.rename(live / part.name)
        end = reader.latestOffset(start, None)
        found += reader.partitions(start, end)
        start = end
    assert [each.ordinal for each in found] == list(range(len(parts)))
    assert [each.base for each in found] == sorted({each.base for each in found})
    assert reader.latestOffset(start, None) == start


def test_a_file_that_comes_too_late_for_its_place_is_reported_once(ring):
    parts, live, reader = ring
    parts[1].rename(live / parts[1].name)
    start = reader.latestOffset(reader.initialOffset(), None)
    parts[0].rename(live / parts[0].name)
    parts[2].rename(live / parts[2].name)
    end = reader.latestOffset(start, None)
    late, good = reader.partitions(start, end)
    assert (late.late, good.late, good.ordinal) == (True, False, 2)
    (batch,) = reader.read(late)
    assert LATE.encode() in batch.column("data")[0].as_py()
    assert reader.latestOffset(end, None) == end


def test_the_last_file_read_counts_when_it_is_gone(ring):
    parts, live, reader = ring
    for part in parts[1:3]:
        part.rename(live / part.name)
    start = reader.latestOffset(reader.initialOffset(), None)
    (live / parts[2].name).unlink()
    parts[0].rename(live / parts[0].name)
    (late,) = reader.partitions(start, reader.latestOffset(start, None))
    assert late.late
