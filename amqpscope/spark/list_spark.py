"""Inputs listed by Spark, on any file system that it reads: directories, globs and files.

Where Spark does not know the file system, Arrow lists (see `list_arrow`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from errno import ENOENT
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from amqpscope.capture.ring import is_capture, natural
from amqpscope.spark.files import (
    LONGEST,
    absolute,
    local_path,
    open_octets,
    reason_of,
    system_of,
)
from amqpscope.spark.list_arrow import WILD, base_of, hidden, walk
from amqpscope.spark.plan import File, Ring, rings_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNKNOWN: Final = ("No FileSystem for scheme", "ClassNotFoundException")
"""What Hadoop says of a file system that it has no code for."""
COLON: Final = "Relative path in absolute URI"
"""What it says of a glob, where a name with a colon is among those that it looks at."""


class ListingError(Exception):
    """An input that is not there, in one line."""


def list_rings(spark: SparkSession, inputs: tuple[str, ...], *, each: bool) -> list[Ring]:
    """The rings of all inputs; one that ends in `.json` names rings and says what they consist of.

    `{"edge-1": ["/captures/edge-1/2026-11-*", "/captures/edge-1/today"]}`
    """
    plain = tuple(given for given in inputs if not given.endswith(".json"))
    rings = rings_of(list_inputs(spark, plain), each=each)
    for given in inputs:
        if given.endswith(".json"):
            for name, paths in _read_manifest(given).items():
                ring = Ring(name)
                for path in paths:
                    listed = list_inputs(spark, (path,))
                    listed.sort(key=lambda file: natural(file.path))
                    ring.files += [file for file in listed if file not in ring.files]
                rings.append(ring)
    return rings


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


def list_inputs(spark: SparkSession, inputs: tuple[str, ...]) -> list[File]:
    """All captures in directories, matched by globs, or named, each once."""
    found: dict[str, File] = {}
    for given in inputs:
        for file in _listed(spark, given):
            found[file.path] = file
    return list(found.values())


def _listed(spark: SparkSession, given: str) -> list[File]:
    path = absolute(given)
    try:
        files = _listed_by_spark(spark, path)
        if files is None:
            files = walk(path)
    except OSError as error:
        raise ListingError(f"{given}: {reason_of(error)}") from error
    if len(files) == 1 and files[0].path == (local_path(path) or path):
        return files
    chosen = [file for file in files if is_capture(file.path)]
    if not chosen:
        raise ListingError(f"{given}: no captures here")
    return chosen


def _listed_by_spark(spark: SparkSession, path: str) -> list[File] | None:
    """The files that Spark finds, None when it does not know the file system."""
    # A name may have brackets, so it is a pattern only where nothing has that very name.
    for globs in (False, True):
        spelling = as_glob(path) if globs else path
        try:
            files = _loaded(binary_files(spark, spelling, globs=globs)) + list(broken_links(path))
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


def _loaded(listed: DataFrame) -> list[File]:
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


def broken_links(folder: str) -> Iterator[File]:
    """Links below a local directory that lead nowhere: whoever reads them will say so."""
    for base, inner, names in os.walk(local_path(folder) or ""):
        inner[:] = [name for name in inner if not hidden(name)]
        for name in names:
            path = f"{base}/{name}"
            if is_capture(name) and os.path.islink(path) and not os.path.exists(path):
                yield File(path, 0, 0)


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
