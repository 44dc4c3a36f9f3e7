"""The two sides of a comparison: tables of a directory as of a run, or some days of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from typing import Any, Final

import duckdb

from amqpscope.spark.query import reason_of
from amqpscope.spark.schema import TABLES
from amqpscope.spark.tables import Snapshot

CHOICE: Final = re.compile(
    r"(?P<path>.+)@(?P<run>\d{1,7}|(?P<since>[\d-]{10})(\.\.(?P<until>[\d-]{10}))?)"
)
"""A directory with `@` and a run, a day, or a first and a last day."""


class SideError(Exception):
    """What is wrong with a side of a comparison, in one line."""


class Side:
    """Tables that are compared with others."""

    def __init__(self, given: str, opened: Snapshot | None = None) -> None:
        self.given = given
        found = CHOICE.fullmatch(given)
        self.path, run = given, None
        self.days: tuple[date, date] | None = None
        if found is not None:
            self.path = found["path"]
            if found["since"]:
                self.days = day_of(found["since"]), day_of(found["until"] or found["since"])
            else:
                run = int(found["run"])
        self.snapshot = opened or Snapshot(self.path, run)
        self.run = self.snapshot.state.run
        self.database = duckdb.connect()
        self.database.execute("set TimeZone = 'UTC'")
        for table in TABLES:
            self.add(table)

    def add(self, table: str) -> None:
        """Make a table known, or those of its days that are wanted."""
        rows: Any = self.snapshot.dataset(table)
        if self.days is None:
            self.database.register(table, rows)
            return
        self.database.register(f"all_{table}", rows)
        since, until = self.days
        self.database.execute(
            f"CREATE VIEW {table} AS SELECT * FROM all_{table}"
            f" WHERE CAST(day AS DATE) BETWEEN DATE '{since}' AND DATE '{until}'"
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query gives."""
        try:
            return self.database.execute(query).fetchall()
        except duckdb.Error as error:
            raise SideError(f"{self.path}: {reason_of(error)}") from error

    def counts(self, query: str) -> dict[tuple[Any, ...], int]:
        """What a query gives whose last column is a number, by the others."""
        return {row[:-1]: int(row[-1] or 0) for row in self.rows(query)}


def day_of(text: str) -> date:
    """A day as people write it."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise SideError(f"{text!r} is no day, expected one like 2026-11-17") from error


def merge_keys(one: Iterable[Any], other: Iterable[Any]) -> list[Any]:
    """The keys of both sides, each once."""
    return list(dict.fromkeys((*one, *other)))
