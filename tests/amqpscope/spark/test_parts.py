"""Files that workers write, and which of them count."""

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from amqpscope.spark import parts
from amqpscope.spark.numbering import Numbers, renumber_rows, table_of, with_day
from amqpscope.spark.parts import Writer
from amqpscope.spark.replay import SHIFT
from amqpscope.spark.schema import arrow_schema
from amqpscope.spark.stored import Target

DAY = 86_400_000_000


def quarantine(*days):
    """Rows of a small table, one for each day after 1970 began."""
    rows = [("ring", f"file{day}", day * DAY, day, "broken", True) for day in days]
    return with_day(table_of("quarantine", rows))


def test_each_day_has_its_file(tmp_path):
    writer = Writer(Target(str(tmp_path), 1))
    writer.add("quarantine", quarantine(0, 1, 0))
    writer.add("quarantine", quarantine(1))
    written = {each.file.day: each for each in writer.close()}
    assert {day: each.rows for day, each in written.items()} == {"1970-01-01": 2, "1970-01-02": 2}
    path = tmp_path / "quarantine" / written["1970-01-02"].file.path
    rows = pq.read_table(path, partitioning=None).to_pylist()
    assert path.stat().st_size == written["1970-01-02"].file.size
    assert [row["path"] for row in rows] == ["file1", "file1"]


def test_few_files_are_open_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "OPEN", 3)
    writer = Writer(Target(str(tmp_path), 1))
    for day in (*range(8), 0):
        writer.add("quarantine", quarantine(day))
        assert len(writer.files) <= 3
    written = writer.close()
    assert sum(each.rows for each in written) == 9
    assert len({each.file.path for each in written}) == len(written)


def test_a_number_in_a_text_is_that_of_its_own_frame_also_where_keys_begin_alike():
    keys = [4 << SHIFT | 1, 40 << SHIFT | 12]
    assert str(keys[1]).startswith(str(keys[0]))
    row = dict.fromkeys(arrow_schema("findings").names)
    row |= {"ring": "r", "connection": 1, "frame": keys[0], "packet": 4, "time": 0, "time_ns": 0,
            "message": f"after frame {keys[1]}, in frame {keys[0]}",
            "related": [{"frame": keys[1], "why": "", "connection": None}]}  # fmt: skip
    rows = pa.Table.from_pylist([row], arrow_schema("findings"))
    numbers = Numbers(whole=False)
    numbers.referred, numbers.referred_numbers = np.array(keys[1:]), np.array([77])
    found = renumber_rows("findings", rows, np.array([1]), np.array([5]), numbers).to_pylist()
    assert found[0]["message"] == "after frame 77, in frame 5"
