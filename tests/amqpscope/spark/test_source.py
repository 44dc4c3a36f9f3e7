"""`spark.read.format("amqp")`."""

import json
from collections import Counter

import pytest

from amqpscope.spark.plan import rings_of
from amqpscope.spark.source import (
    SHARE,
    AmqpDataSource,
    FramesReader,
    RingPartition,
    list_captures,
)
from amqpscope.spark.source_options import parse_options

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def frames(spark, root):
    """Read captures as a data frame."""
    spark.dataSource.register(AmqpDataSource)

    def read(name, **options):
        return spark.read.format("amqp").options(**options).load(str(root / "captures" / name))

    return read


@pytest.fixture
def units(amqpscope, root):
    """The frames that `read` shows of the demo."""

    def read(*arguments):
        shown = amqpscope("read", root / "captures/demo.pcapng", "--format", "jsonl", *arguments)
        lines = [json.loads(line) for line in shown.stdout.splitlines()]
        return [unit for unit in lines if unit["kind"] != "finding"]

    return read


def test_a_row_for_each_frame_that_read_shows(frames, units):
    rows = frames("demo.pcapng").orderBy("frame").collect()
    assert [(row.frame, row.packet, row.sender, row.name, row.octets) for row in rows] == [
        (unit["frame"], unit["packet"], unit["from"], unit["name"], unit["size"])
        for unit in units()
    ]


def test_a_query_does_not_change_the_next_one(frames):
    everything = frames("")
    count = everything.count()
    names = [row.capture for row in everything.select("capture").distinct().collect()]
    alone = everything.where(everything.capture == names[0]).count()
    assert everything.count() == count
    first, second = (everything.where(f"name = '{name}'") for name in ("transfer", "flow"))
    assert first.union(second).count() == first.count() + second.count()
    assert 0 < alone <= count


def test_shares_of_a_ring_have_its_frames_with_the_same_numbers(root):
    options = parse_options({"path": str(root / "captures"), "ring": "directory"})
    ring = rings_of(list_captures(options.path))[0]
    ring.files = [file for file in ring.files if "labbroker" in file.path][:12]
    reader = FramesReader(options, ["frame", "connection", "name", "findings"])

    def rows(count):
        found = []
        for place in range(count):
            for batch in reader.read(RingPartition(ring, place, count)):
                found += batch.to_pylist()
        return sorted(found, key=lambda row: row["frame"])

    whole = rows(1)
    assert len({row["connection"] for row in whole}) > 5
    assert rows(3) == whole


def test_a_ring_has_the_more_partitions_the_larger_it_is(tmp_path):
    for name, size in (("small.pcap", 1000), ("large.pcap", 5 * SHARE), ("huge.pcap", 100 * SHARE)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    reader = FramesReader(parse_options({"path": str(tmp_path)}), ["frame"])
    counts = Counter(each.ring.name.rpartition("/")[2] for each in reader.partitions())
    assert counts == {"small.pcap": 1, "large.pcap": 5, "huge.pcap": 8}


def test_a_session_of_somebody_else_reads_it(frames, spark):
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "false"
    assert frames("demo.pcapng").where("frame > 3 and capture is not null").count() > 0


def test_a_time_range_leaves_out_frames_and_keeps_the_numbers_of_the_others(frames):
    rows = frames("demo.pcapng").orderBy("time").collect()
    middle, last = rows[len(rows) // 2].time, rows[-1].time
    chosen = frames("demo.pcapng", since=f"{middle.isoformat()}Z", until=f"{last.isoformat()}Z")
    wanted = {(row.frame, row.time) for row in rows if middle <= row.time < last}
    assert {(row.frame, row.time) for row in chosen.collect()} == wanted
    assert frames("demo.pcapng", until="1999-01-01").count() == 0


def test_a_filter_chooses_the_frames_that_read_chooses(frames, units):
    where = "transfer && !settled"
    assert [
        row.frame for row in frames("demo.pcapng", filter=where).orderBy("frame").collect()
    ] == [unit["frame"] for unit in units("-Y", where)]


def test_captures_are_chosen_by_name(frames):
    assert (
        frames("", ring="file", captures="*/demo.pcapng").count() == frames("demo.pcapng").count()
    )
    assert frames("", captures="elsewhere").count() == 0


def test_only_the_columns_that_are_wanted(frames):
    found = frames("demo.pcapng", columns="time,name")
    assert found.columns == ["time", "name"]
    assert found.count() == frames("demo.pcapng").count()
