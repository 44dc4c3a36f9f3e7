"""What Delta is told of a file."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from amqpscope.spark.stored import LONGEST, stats_of


def test_bounds_and_rows_of_plain_columns():
    moment = datetime(2026, 11, 18, 9, 30, 1, 2500, tzinfo=UTC)
    rows = pa.table(
        {
            "ring": ["b", "a", None],
            "frame": [3, 7, 5],
            "time": pa.array([moment] * 3, pa.timestamp("us", "UTC")),
            "long": ["x" * (LONGEST + 1), "a", "b"],
            "nothing": pa.nulls(3, pa.int64()),
            "related": [[1], [2], []],
        }
    )
    known = []
    pq.write_table(rows, pa.BufferOutputStream(), row_group_size=2, metadata_collector=known)
    assert json.loads(stats_of(known)) == {
        "numRecords": 3,
        "minValues": {"ring": "a", "frame": 3, "time": "2026-11-18T09:30:01.002Z"},
        "maxValues": {"ring": "b", "frame": 7, "time": "2026-11-18T09:30:01.003Z"},
        "nullCount": {"ring": 1, "frame": 0, "time": 0, "long": 0, "nothing": 3},
    }


def test_times_past_all_dates_have_no_bounds():
    rows = pa.table({"time": pa.array([1 << 62], pa.timestamp("us", "UTC"))})
    known = []
    pq.write_table(rows, pa.BufferOutputStream(), metadata_collector=known)
    assert json.loads(stats_of(known))["minValues"] == {}
