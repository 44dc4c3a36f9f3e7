"""The tables of a directory as of one run, for Arrow and for Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow.dataset as ds

from amqpscope.spark.delta import dataset
from amqpscope.spark.directory import Directory
from amqpscope.spark.schema import TABLES, ddl, table_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS: Final = 100_000
"""Rows that are in memory at a time."""


class Snapshot:
    """All tables as they are after a run, the newest by default, whatever later runs do."""

    def __init__(self, path: str, run: int | None = None) -> None:
        self.directory = Directory(path)
        self.state = self.directory.read(run)
        self.opened: dict[str, ds.Dataset] = {}

    def dataset(self, table: str) -> ds.Dataset:
        """One table; without rows when nothing was written to it yet."""
        if table not in TABLES:
            raise ValueError(f"{table!r} is no table, expected one of {', '.join(TABLES)}")
        if table not in self.opened:
            schema = table_schema(table)
            found = self.directory.version(table, self.state)
            place = f"{self.directory.path}/{table}"
            self.opened[table] = (
                ds.dataset(schema.empty_table()) if found is None else dataset(found, place, schema)
            )
        return self.opened[table]

    def rows(
        self, table: str, columns: tuple[str, ...], chosen: ds.Expression | None = None
    ) -> Iterator[dict[str, Any]]:
        """Some columns of all rows, or of those that are chosen."""
        found = self.dataset(table)
        for batch in found.to_batches(columns=list(columns), filter=chosen, batch_size=ROWS):
            yield from batch.to_pylist()


def read_table(spark: SparkSession, path: str, table: str, run: int | None = None) -> DataFrame:
    """One table as of a run, in a Spark that has no code for Delta."""
    snapshot = Snapshot(path, run)
    files = getattr(snapshot.dataset(table), "files", [])
    if not files:
        return spark.createDataFrame([], ddl(table))
    base = f"{snapshot.directory.path}/{table}"
    paths = [f"{base}/{name}" for name in files]
    return spark.read.schema(ddl(table)).option("basePath", base).parquet(*paths)
