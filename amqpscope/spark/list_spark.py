"""Inputs listed by Spark, on any file system that it reads: directories, globs and files.

Where Spark does not know the file system, Arrow lists (see `list_arrow`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from errno import ENOENT
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import pyarrow as pa

from amqpscope.capture.ring import is_capture, natural
from amqpscope.capture.ring import walk as entries_below
from amqpscope.spark.files import (
    LONGEST,
    absolute,
    local_path,
    open_octets,
    reason_of,
    system_of,
)
from amqpscope.spark.list_arrow import WILD, base_of, walk
from amqpscope.spark.listing import SCHEMA, Listing, columns_of, each_once
from amqpscope.spark.plan import File, Ring, is_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNKNOWN: Final = ("No FileSystem for scheme", "ClassNotFoundException")
"""What Hadoop says of a file system that it has no code for."""
NONE: Final = SCHEMA.empty_table()
COLON: Final = "Relative path in absolute URI"
"""What it says of a glob, where a name with a colon is among those that it looks at."""


class ListingError(Exception):
    """An input that is not there, in one line."""


def list_rings(spark: SparkSession, inputs: tuple[str, ...], *, each: bool) -> Listing:
    """The rings of all inputs; one that ends in `.json` names rings and says what they consist of.

    `{"edge-1": ["/captures/edge-1/2026-11-*", "/captures/edge-1/today"]}`
    """
    plain = [given for given in inputs if not given.endswith(".json")]
    tables = [columns_of(_list(spark, given)) for given in plain]
    files = tables[0] if len(tables) == 1 else each_once(pa.concat_tables([NONE, *tables]))
    named = []
    for given in (given for given in inputs if given.endswith(".json")):
        for name, paths in _read_manifest(given).items():
            ring = Ring(name)
            for path in paths:
                listed = sorted(_list(spark, path), key=lambda file: natural(file.path))
                ring.files += [file for file in listed if file not in ring.files]
            named.append(ring)
    return Listing(files, each=each, named=named)


def _read_manifest(path: str) -> dict[str, list[str]]:
    try:
        with open_octets(path) as file:
            found = json.loads(file.read())
    except OSError as error:
        raise ListingError(f"{path}: {reason_of(error)}") from error
    except ValueError as error:
        raise ListingError(f"{path}: not JSON: {error}") from error
    if not isinstance(found, dict) or not all(
        isinstance(paths, list) and all(isinstance(each, str) for each in paths)
        for paths in found.values()
    ):
        raise ListingError(f'{path}: expected {{"ring": ["path or glob", ...], ...}}')
    return found


def _list(spark: SparkSession, given: str) -> Iterator[File]:
    """All captures in a directory, matched by a glob, or named."""
    path = absolute(given)
    local = local_path(path)
    try:
        if local is not None and os.path.isdir(local):
            files: Iterable[File] = walk_local(local)
        else:
            found = _listed_by_spark(spark, path)
            files = walk(path) if found is None else found
            if len(files) == 1 and files[0].path == (local or path):
                yield from files
                return
    except OSError as error:
        raise ListingError(f"{given}: {reason_of(error)}") from error
    empty = True
    for file in files:
        if is_capture(file.path) or is_folder(file):
            empty = False
            yield file
    if empty:
        raise ListingError(f"{given}: no captures here")


def walk_local(folder: str) -> Iterator[File]:
    """The files below a local directory, also links that lead nowhere, which have no size.

    A directory that cannot be listed is there like a file, with a slash behind its name.
    """
    for found in entries_below(folder):
        if isinstance(found, str):
            yield File(f"{found}/", 0, os.stat(found or "/").st_mtime_ns // 1000)
        else:
            yield _file_of(found)


def _file_of(entry: os.DirEntry[str]) -> File:
    try:
        known = entry.stat()
    except OSError:  # whoever reads it says why
        return File(entry.path, 0, entry.stat(follow_symlinks=False).st_mtime_ns // 1000)
    return File(entry.path, known.st_size, known.st_mtime_ns // 1000)


def _listed_by_spark(spark: SparkSession, path: str) -> list[File] | None:
    """The files that Spark finds, None when it does not know the file system."""
    # A name may have brackets, so it is a pattern only where nothing has that very name.
    for globs in (False, True):
        spelling = as_glob(path) if globs else path
        try:
            files = _load(binary_files(spark, spelling, globs=globs))
            # Of a name with brackets that is not there, Spark says nothing unless it is a glob.
            if files or globs or not WILD.search(path):
                return files
        except Exception as error:
            if is_unknown(error):
                return None
            if COLON in str(error):
                return _listed_with_colons(path, error)
            if "PATH_NOT_FOUND" not in str(error):
                raise OSError(java_reason(error)) from error
    raise FileNotFoundError(ENOENT, "no such file or directory", path)


def as_glob(path: str) -> str:
    """A glob as Hadoop must be told it; brackets in the names of local directories are none."""
    local = local_path(path)
    if local is None:
        return path
    base = base_of(local, os.path.isdir)
    return path.removesuffix(local) + WILD.sub(r"\\\g<0>", base) + local.removeprefix(base)


def _listed_with_colons(path: str, error: Exception) -> list[File]:
    """What Arrow finds where Hadoop stumbles over a name with a colon."""
    try:
        return walk(local_path(path) or path)
    except FileNotFoundError:
        raise
    except OSError:
        raise OSError(f"{java_reason(error)}, as Hadoop takes no colon in a name here") from error


def binary_files(spark: SparkSession, *paths: str, globs: bool = False) -> DataFrame:
    """Files as Spark reads them, a row each; directories with all that is below them."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    # Escaping would not do: Hadoop fails at a colon in what it takes for a glob.
    return reader.option("__globPaths__", str(globs).lower()).load(list(paths))


def _load(listed: DataFrame) -> list[File]:
    # Only names and sizes are asked for, so Spark opens none of the files.
    rows = listed.select("path", "length", "modificationTime").collect()
    files = [
        File(
            local_path(row.path) or row.path,
            row.length,
            int(row.modificationTime.timestamp() * 1_000_000),
        )
        for row in rows
    ]
    # Spark gives no row for a file without a single octet.
    names = {local_path(unquote(name)) or unquote(name) for name in listed.inputFiles()}
    known = {file.path for file in files}
    return files + [File(name, 0, 0) for name in sorted(names - known)]


def require_known(spark: SparkSession, out: str) -> None:
    """ListingError when Spark has no code for the file system that tables are to be on."""
    if local_path(out) is not None:
        return
    try:
        binary_files(spark, f"{out}/_nothing")
    except Exception as error:
        if is_unknown(error):
            scheme = system_of(out).partition(":")[0]
            raise ListingError(
                f"{out}: tables are written by Spark too, which has no code for {scheme}:// here;"
                " name its package by --conf spark.jars.packages=..., or give another --out"
            ) from error


def is_unknown(error: Exception) -> bool:
    """Whether Spark has no code for a file system."""
    return any(words in str(error) for words in UNKNOWN)


def java_reason(error: Exception) -> str:
    """What went wrong in the JVM, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # py4j says which call failed, then the exception, then what caused it, which says most.
    causes = [line for line in lines if line.startswith((": ", "Caused by: "))]
    told = (causes or lines[:1] or [type(error).__name__])[-1]
    return re.sub(r"^(Caused by)?: |([a-z]\w*\.)+[\w$]+: ", "", told)[:LONGEST]
