"""The tables with a row for each frame, delivery and minute against what one process prints."""

import pytest

from kit.spark.same import (
    begun_in_rows,
    begun_in_units,
    frames_of_rows,
    frames_of_units,
    latencies,
    replayed,
    sums_of_links,
    sums_of_minutes,
)
from kit.spark.without_spark import tables

pytest.importorskip("pyarrow")

SLICE = 4000
"""Octets of a slice: most captures have several, and connections that span them."""


@pytest.fixture(scope="module")
def both(root):
    """Of each capture its tables, the lines of `read` and the connections of `stats`."""
    paths = sorted(path for path in (root / "captures").iterdir() if ".pcap" in path.suffix)
    assert len(paths) > 50
    return {path.name: (tables([path], SLICE), *replayed(path)) for path in paths}


def test_frames_are_those_that_read_prints(both):
    wrong = [
        name
        for name, (rows, units, _) in both.items()
        if frames_of_rows(rows["frames"]) != frames_of_units(units)
    ]
    assert wrong == []


def test_deliveries_begin_where_read_shows_it(both):
    found = {
        name: (begun_in_rows(rows["deliveries"], units), begun_in_units(units))
        for name, (rows, units, _) in both.items()
    }
    assert sum(len(expected) for _, expected in found.values()) > 500
    assert [name for name, (mine, expected) in found.items() if mine != expected] == []


def test_deliveries_add_up_to_the_latencies_that_stats_gives(both):
    wrong = [
        name
        for name, (rows, _, connections) in both.items()
        if latencies(rows["deliveries"]) != {
            key: each["latency"]
            for key, each in sums_of_links(connections).items()
            if each["latency"]
        }
    ]  # fmt: skip
    assert wrong == []


def test_minutes_add_up_to_what_stats_gives(both):
    found = {
        name: (sums_of_minutes(rows["statistics"]), sums_of_links(connections))
        for name, (rows, _, connections) in both.items()
    }
    assert sum(len(expected) for _, expected in found.values()) > 100
    assert [name for name, (mine, expected) in found.items() if mine != expected] == []
