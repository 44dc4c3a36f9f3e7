"""A Spark session for the tests that need one, and what the tables should hold."""

import importlib.util
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]

# `expected` and others beside this file, `cutting` and `older_talks` above it, and `traffic`
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent / "benchmarks")]


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory):
    """The file that has what Spark says."""
    return tmp_path_factory.mktemp("spark") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log):
    """A session on two cores, started by the first test that asks."""
    from amqpscope.spark import Where, start

    settings = {"spark.sql.shuffle.partitions": "2"}
    session = start(Where("local[2]", log=str(spark_log), settings=settings))
    yield session
    session.stop()
