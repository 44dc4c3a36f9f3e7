"""Which files of a directory a stream takes, and when."""

import json
import random

import pytest

from amqpscope.spark.arrivals import FILE, LATE, ArrivalsReader
from amqpscope.spark.plan import File
from amqpscope.spark.stream_numbering import Running, folder_of
from amqpscope.spark.unpickling import loads
from amqpscope.spark.worker import FileNumbers, Scan
from kit.cutting import cut


@pytest.fixture
def ring(root, tmp_path):
    """A rotated capture, and a reader of the directory that it arrives in."""
    cut(root / "captures" / "demo.pcapng", tmp_path / "all", random.Random(3), 5)
    live = tmp_path / "live"
    live.mkdir()
    options = {"rings": json.dumps([str(live)]), "patience": "0", "limit": str(1 << 20),
               "out": str(tmp_path / "out")}  # fmt: skip
    return sorted((tmp_path / "all").iterdir()), live, ArrivalsReader(options)


def names(arrivals):
    return [taken.path.rpartition("/")[2] for each in arrivals for taken in each.taken]


def scans(reader, arrival):
    """File, packets before it and Scan of each file of a batch."""
    rows = [row for batch in reader.read(arrival) for row in batch.to_pylist()]
    return [
        loads(row["data"], File, Scan, FileNumbers) for row in rows if row["connection"] == FILE
    ]


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


def test_packets_and_files_are_numbered_through_also_in_a_batch_that_is_repeated(ring):
    parts, live, reader = ring
    start, total, batches = reader.initialOffset(), 0, []
    for run, names_of_batch in enumerate((parts[:1], parts[1:3], parts[3:]), 1):
        for part in names_of_batch:
            part.rename(live / part.name)
        end = reader.latestOffset(start, None)
        (arrival,) = reader.partitions(start, end)
        batches.append((arrival, total))
        for file, base, scan in scans(reader, arrival):
            assert (base, file.path) == (total, str(live / parts[scan.slice].name))
            total += scan.packets
        folder = folder_of(reader.out, str(live))
        files = [(taken.path, 0) for taken in arrival.taken]
        Running(folder, run - 1).next(run, [], [], total, files, 0)
        start = end
    assert reader.latestOffset(start, None) == start
    for arrival, before in batches:
        assert scans(reader, arrival)[0][1] == before


def test_a_file_that_comes_too_late_for_its_place_is_reported_once(ring):
    parts, live, reader = ring
    parts[1].rename(live / parts[1].name)
    start = reader.latestOffset(reader.initialOffset(), None)
    parts[0].rename(live / parts[0].name)
    parts[2].rename(live / parts[2].name)
    end = reader.latestOffset(start, None)
    (arrival,) = reader.partitions(start, end)
    assert [taken.late for taken in arrival.taken] == [True, False]
    (_, _, late), (_, _, good) = scans(reader, arrival)
    assert (late.files[0].problem, late.packets) == (LATE, 0)
    assert (good.files[0].problem, good.slice, good.packets > 0) == (None, 2, True)
    assert reader.latestOffset(end, None) == end


def test_the_last_file_read_counts_when_it_is_gone(ring):
    parts, live, reader = ring
    for part in parts[1:3]:
        part.rename(live / part.name)
    start = reader.latestOffset(reader.initialOffset(), None)
    (live / parts[2].name).unlink()
    parts[0].rename(live / parts[0].name)
    (arrival,) = reader.partitions(start, reader.latestOffset(start, None))
    assert [taken.late for taken in arrival.taken] == [True]
