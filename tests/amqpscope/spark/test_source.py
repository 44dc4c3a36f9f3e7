"""`spark.read.format("amqp")`."""

import json

import pytest

from amqpscope.spark.source import AmqpDataSource

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def frames(spark, root):
    """Read captures as a data frame."""
    spark.dataSource.register(AmqpDataSource)

    def read(name, **options):
        return spark.read.format("amqp").options(**options).load(str(root / "captures" / name))

    return read


def test_a_row_for_each_frame_that_read_shows(frames, amqpscope, root):
    shown = amqpscope("read", root / "captures" / "demo.pcapng", "--format", "jsonl").stdout
    units = [json.loads(line) for line in shown.splitlines()]
    units = [unit for unit in units if unit["kind"] != "finding"]
    rows = frames("demo.pcapng").orderBy("frame").collect()
    assert [(row.frame, row.packet, row.sender, row.name, row.octets) for row in rows] == [
        (unit["frame"], unit["packet"], unit["from"], unit["name"], unit["size"]) for unit in units
    ]


def test_filters_on_time_and_capture_are_done_by_the_source(frames):
    everything = frames("demo.pcapng")
    times = sorted(row.time for row in everything.select("time").collect())
    middle = times[len(times) // 2]
    chosen = everything.where(everything.time >= middle)
    assert chosen.count() == sum(time >= middle for time in times)
    assert everything.where("capture = 'elsewhere'").count() == 0
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan, plan


def test_only_the_columns_that_are_wanted(frames):
    found = frames("demo.pcapng", columns="time,name")
    assert found.columns == ["time", "name"]
    assert found.count() == frames("demo.pcapng").count()
