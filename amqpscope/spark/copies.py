"""Files that only Spark can read, brought to where workers can read them.

Workers read through Arrow, which does not have all of Hadoop's file systems, nor the credentials
that are in Spark's settings. Whether it can open one is tried once for each file system, in a
worker. Where it cannot, Spark reads the files and workers write copies of them, which go with the
staging area of the run; the tables go on to name the originals.

Spark's reader, `binaryFile`, holds a whole file in the heap of the JVM, more than once. So few
files are read at a time, and those that are too large are not read at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from amqpscope.capture.reader import EXPECTED
from amqpscope.spark import stages
from amqpscope.spark.files import local_path, locate, open_octets, reason_of, system_of
from amqpscope.spark.list_spark import binary_files, is_unknown, java_reason
from amqpscope.spark.plan import File
from amqpscope.spark.records import Part
from amqpscope.spark.session import SparkError
from amqpscope.wording import plural

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from amqpscope.spark.stages import Batches

LIMIT: Final = 100_000_000
"""Octets of files that one JVM reads at a time: a heap of 1 GB stood 134 million, not 168."""
LARGEST: Final = 2_000_000_000
"""Octets that an array of the JVM can hold."""
SMALL: Final = 8
"""Files of less than this part of the limit are copied side by side."""
HADOOPS: Final = ("hdfs", "viewfs")
"""Schemes that Arrow knows where libhdfs is installed."""


class Copies:
    """How files are to be read that workers cannot open."""

    def __init__(self, spark: SparkSession, folder: str, limit: int = LIMIT) -> None:
        self.spark = spark
        self.folder = folder
        self.limit = min(limit, LARGEST)
        self.parts: dict[str, Part] = {}
        """By the path of the original: its copy, or why there is none."""
        self.notes: list[str] = []

    def bring(self, files: list[File]) -> None:
        """Copy those of the files that workers cannot open."""
        for system, reason in unreadable_file_systems(self.spark, files).items():
            own = [file for file in files if system_of(file.path) == system]
            self._refuse(own, reason)
            wanted = [file for file in own if file.path not in self.parts]
            # One large file would keep the small ones from being read side by side.
            few = [file for file in wanted if file.size > self.limit // SMALL]
            many = [file for file in wanted if file.size <= self.limit // SMALL]
            for group in (few, many):
                if group:
                    self.parts.update(self._copy(group, reason))
            copied = [file.size for file in wanted if not self.parts[file.path].problem]
            self.notes.append(
                f"{system}: workers cannot open it ({reason}), so Spark copied"
                f" {plural(len(copied), 'file')}, {sum(copied) / 1e6:,.1f} MB"
            )

    def _refuse(self, files: list[File], reason: str) -> None:
        for file in files:
            if not file.size:
                self.parts[file.path] = Part(file.path, problem=f"empty file, {EXPECTED}")
            elif file.size > self.limit:
                self.parts[file.path] = Part(file.path, problem=self._too_large(file, reason))

    def _too_large(self, file: File, reason: str) -> str:
        scheme = system_of(file.path).partition(":")[0]
        how = "install libhdfs" if scheme in HADOOPS else "use a scheme that Arrow knows"
        return (
            f"{file.size / 1e6:,.1f} MB, too large to be read by Spark, and workers cannot open"
            f" it themselves ({reason}): {how}, rotate into files of at most"
            f" {self.limit / 1e6:g} MB, or raise --copy-limit and Spark's memory"
        )

    def _copy(self, files: list[File], reason: str) -> dict[str, Part]:
        """Let Spark read some files; when one cannot be read, find out which."""
        from pyspark.errors import PythonException

        try:
            with settings(self.spark, self._settings(files)):
                found = binary_files(self.spark, *(file.path for file in files))
                # Another column, or a filter, would make Spark hold two more copies of each.
                found = found.select("path", "content")
                done = stages.task_messages(found.mapInArrow(self._write(), stages.DONE))
        except PythonException:
            raise  # a copy could not be written, which is no fault of the file
        except Exception as error:
            require_alive(self.spark, error)
            why = java_reason(error)
            if is_unknown(error):
                why = f"workers cannot open it ({reason}), and Spark has no code for its scheme"
            elif len(files) > 1:
                middle = len(files) // 2
                parts = self._copy(files[:middle], reason)
                return {**parts, **self._copy(files[middle:], reason)}
            return {file.path: Part(file.path, problem=why) for file in files}
        names = dict(chain.from_iterable(done))
        return {
            file.path: Part(f"{self.folder}/{names[file.path]}")
            if file.path in names
            else Part(file.path, problem="changed while it was to be read")
            for file in files
        }

    def _settings(self, files: list[File]) -> dict[str, str]:
        """What lets Spark put so many files into a task that there are few enough tasks."""
        at_once = max(1, self.limit // max(file.size for file in files)) * jvms(self.spark)
        return {
            "spark.sql.files.maxPartitionBytes": str(1 << 60),
            # It fills them one after the other, which may make twice as many.
            "spark.sql.files.minPartitionNum": str(max(1, at_once // 2)),
            # One that has grown since it was listed is not read.
            "spark.sql.sources.binaryFile.maxLength": str(self.limit),
        }

    def _write(self) -> stages.Stage:
        folder = self.folder

        def run(batches: Batches) -> Batches:
            system, root = locate(folder)
            system.create_dir(root, recursive=True)
            done: list[tuple[str, str]] = []
            for batch in batches:
                for path, content in zip(batch.column(0), batch.column(1), strict=True):
                    # A task that is repeated writes anew.
                    name = uuid4().hex
                    with system.open_output_stream(f"{root}/{name}") as file:
                        file.write(content.as_buffer())
                    done.append((path.as_py(), name))
            yield stages.done_batch(done)

        return run


def require_alive(spark: SparkSession, error: Exception) -> None:
    """SparkError when Spark has died; what it died of, it has told its log at most."""
    try:
        spark.conf.get("spark.sql.session.timeZone")
    except Exception:
        raise SparkError(
            "Spark died while it copied files that workers cannot open, most likely for want of"
            " memory: give it more by --conf spark.driver.memory=4g, or lower --copy-limit"
        ) from error


@contextmanager
def settings(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """Change settings of a session for a while."""
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        # When Spark has died of something, that is what is to be told.
        with suppress(OSError):
            for key, old in before.items():
                if old is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, old)


def unreadable_file_systems(spark: SparkSession, files: list[File]) -> dict[str, str]:
    """File systems that a worker cannot read from, and why; each is tried with one file."""
    samples: dict[str, str] = {}
    for file in files:
        if file.size and local_path(file.path) is None:
            samples.setdefault(system_of(file.path), file.path)
    wanted = list(samples.values())

    def run(batches: Batches) -> Batches:
        for number in stages.numbers_in(batches):
            yield stages.done_batch(trouble(wanted[number]))

    found = stages.results(spark, len(wanted), run)
    return {system_of(path): reason for path, reason in sorted(found) if reason}


def trouble(path: str) -> tuple[str, str]:
    """Why a file cannot be opened here, if so."""
    try:
        with open_octets(path) as file:
            file.read(1)
    except OSError as error:
        return path, reason_of(error)
    return path, ""


def jvms(spark: SparkSession) -> int:
    """How many JVMs run tasks, as far as it can be told."""
    try:
        known: int = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
    except Exception:  # a Connect session has no context
        return 1
    return max(1, known - 1)  # on one machine it is the driver itself
