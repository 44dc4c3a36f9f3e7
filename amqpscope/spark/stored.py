"""Files of tables: where a run puts them, and what Delta wants to know of each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow.parquet as pq

STAGING: Final = "_staging"
PROVISIONAL: Final = "live-"
"""In names of files whose rows a later batch of a stream replaces, before the digest of a ring."""
LONGEST: Final = 200
"""Characters of a text that is stored as the least or greatest of a file."""


class Target(NamedTuple):
    """Where the workers of a run write."""

    path: str
    run: int

    @property
    def staging(self) -> str:
        """For what only this run reads."""
        return f"{self.path}/{STAGING}/{self.run}"


class Stored(NamedTuple):
    """A file of a table."""

    path: str
    """Below the table."""
    size: int
    day: str | None = None
    """Its partition; None where the table has none."""
    stats: str = "{}"

    @property
    def partition(self) -> dict[str, str | None]:
        """As Delta has it."""
        return {} if self.day is None else {"day": self.day}


def prefix(run: int) -> str:
    """How the names of a run's files begin."""
    return f"run-{run:06}-"


class Bounds:
    """The least and the greatest value of a column, as far as they are known."""

    def __init__(self) -> None:
        self.nulls = 0
        self.low: Any = None
        self.high: Any = None
        self.known = True

    def take(self, column: pq.ColumnChunkMetaData) -> None:
        """One more part of the column."""
        stats = column.statistics
        self.nulls += stats.null_count
        if not stats.num_values:
            return
        try:
            low, high = stats.min, stats.max
        except (OverflowError, ValueError):  # a time that Python has no date for
            low = high = None
        self.known = self.known and plain(low) and plain(high)
        if self.known:
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)


def stats_of(metadata: Iterable[pq.FileMetaData]) -> str:
    """What Delta wants to know of a file: rows, and the least and greatest of plain columns."""
    rows = 0
    columns: dict[str, Bounds] = {}
    for each in metadata:
        rows += each.num_rows
        for group in (each.row_group(number) for number in range(each.num_row_groups)):
            for column in (group.column(number) for number in range(each.num_columns)):
                if "." not in column.path_in_schema and column.statistics is not None:
                    columns.setdefault(column.path_in_schema, Bounds()).take(column)
    known = {name: each for name, each in columns.items() if each.known and each.low is not None}
    return json.dumps(
        {
            "numRecords": rows,
            "minValues": {name: json_value(each.low, 0) for name, each in known.items()},
            "maxValues": {name: json_value(each.high, 999) for name, each in known.items()},
            "nullCount": {name: each.nulls for name, each in columns.items()},
        }
    )


def plain(value: object) -> bool:
    """Whether a value can be compared in Delta's log."""
    if isinstance(value, str):
        return len(value) <= LONGEST
    return isinstance(value, (int, datetime)) and not isinstance(value, bool)


def json_value(value: Any, slack: int) -> Any:
    """A value in JSON; of a time only milliseconds are kept, rounded down or up."""
    if not isinstance(value, datetime):
        return value
    with suppress(OverflowError):
        value += timedelta(microseconds=slack)
    return value.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
