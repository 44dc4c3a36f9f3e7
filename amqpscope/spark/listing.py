"""Inputs listed by Spark, on any file system that it reads: directories, globs and files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from urllib.parse import unquote

from amqpscope.capture.ring import is_capture, natural
from amqpscope.spark.files import local_path, open_octets
from amqpscope.spark.plan import File, Ring, rings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        raise ListingError(f"{path}: {(error.strerror or str(error)).lower()}") from error
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
    path = os.path.abspath(given) if ":" not in given.partition("/")[0] else given
    # Only names and sizes are asked for, so Spark opens none of the files.
    try:
        listed = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
        rows = listed.select("path", "length", "modificationTime").collect()
        names = listed.inputFiles()
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            raise ListingError(f"{given}: no such file or directory") from error
        raise
    files = [
        File(
            local_path(row.path) or row.path,
            row.length,
            int(row.modificationTime.timestamp() * 1_000_000),
        )
        for row in rows
    ]
    # Spark gives no row for a file without a single octet.
    empty = {local_path(unquote(name)) or unquote(name) for name in names}
    files += [File(name, 0, 0) for name in sorted(empty.difference(file.path for file in files))]
    if len(files) == 1 and files[0].path.rstrip("/") == path.rstrip("/"):
        return files
    chosen = [file for file in files if is_capture(file.path)]
    if not chosen:
        raise ListingError(f"{given}: no captures here")
    return chosen
