"""Files that workers write, and which of them count."""

import pytest

pytest.importorskip("pyarrow")

import pyarrow.parquet as pq

from amqpscope.spark import parts
from amqpscope.spark.manifest import Directory, State
from amqpscope.spark.numbering import table_of, with_day
from amqpscope.spark.parts import Writer

DAY = 86_400_000_000


def quarantine(*days):
    """Rows of a small table, one for each day after 1970 began."""
    rows = [("ring", f"file{day}", day * DAY, day, "broken", True) for day in days]
    return with_day(table_of("quarantine", rows))


def test_each_day_has_its_file(tmp_path):
    writer = Writer(str(tmp_path))
    writer.add("quarantine", quarantine(0, 1, 0))
    writer.add("quarantine", quarantine(1))
    written = {each.day: each for each in writer.close()}
    assert {day: each.rows for day, each in written.items()} == {"1970-01-01": 2, "1970-01-02": 2}
    rows = pq.read_table(tmp_path / written["1970-01-02"].name, partitioning=None).to_pylist()
    assert [row["path"] for row in rows] == ["file1", "file1"]


def test_few_files_are_open_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "OPEN", 3)
    writer = Writer(str(tmp_path))
    for day in (*range(8), 0):
        writer.add("quarantine", quarantine(day))
        assert len(writer.files) <= 3
    written = writer.close()
    assert sum(each.rows for each in written) == 9
    assert len({each.name for each in written}) == len(written)


def test_only_files_that_were_told_of_become_visible(tmp_path):
    directory = Directory(str(tmp_path))
    directory.open()
    for _ in range(2):  # a task that was repeated
        writer = Writer(directory.parts(1))
        writer.add("quarantine", quarantine(5))
        written = writer.close()
    directory.adopt(1, written)
    assert not (tmp_path / "quarantine").exists()
    directory.commit(State(1))
    (found,) = tmp_path.rglob("*.parquet")
    assert found.parent == tmp_path / "quarantine" / "day=1970-01-06"
    assert not (tmp_path / "_staging" / "1").exists()
