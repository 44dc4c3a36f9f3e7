"""The tables of a directory, as Spark reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqpscope.spark.manifest import Directory
from amqpscope.spark.schema import TABLES, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, directory: Directory, table: str) -> DataFrame:
    """One table; without rows when nothing was written to it yet."""
    if table not in TABLES:
        raise ValueError(f"{table!r} is no table, expected one of {', '.join(TABLES)}")
    if not directory.days(table):
        return spark.createDataFrame([], ddl(table))
    return spark.read.schema(ddl(table)).parquet(f"{directory.path}/{table}")
