"""SQL over the tables of a directory, by DuckDB: neither Spark nor a jar is needed."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import duckdb
import pyarrow as pa

from amqpscope.report.columns import columns
from amqpscope.spark.schema import TABLES
from amqpscope.spark.tables import Snapshot

FORMATS: Final = ("text", "json", "csv")


class QueryError(Exception):
    """What is wrong with a query, in one line."""


def query(snapshot: Snapshot, text: str) -> pa.Table:
    """The rows that a query gives."""
    with duckdb.connect() as connection:
        try:
            connection.execute("set TimeZone = 'UTC'")
            for table in TABLES:
                connection.register(table, snapshot.dataset(table))
            found: Any = connection.sql(text)  # None for what has no rows, as COPY
            return pa.table({}) if found is None else found.to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(reason_of(error)) from error


def reason_of(error: duckdb.Error) -> str:
    """What DuckDB says, up to its picture of the query."""
    lines = [line.strip() for line in str(error).split("LINE ")[0].splitlines()]
    return " ".join(line for line in lines if line) or type(error).__name__


def lines_of(rows: pa.Table, form: str) -> Iterator[str]:
    """Rows as text, as a JSON array of objects, or as CSV."""
    if form == "json":
        yield from json_lines(rows)
    elif form == "csv":
        yield csv_line(rows.schema.names)
        for row in values_of(rows):
            yield csv_line(map(cell_text, row))
    else:
        yield from text_lines(rows)


def values_of(rows: pa.Table) -> Iterator[list[Any]]:
    """Rows as values that JSON has."""
    nested = [pa.types.is_map(kind) for kind in rows.schema.types]
    for batch in rows.to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            values = zip(row, nested, strict=True)
            yield [plain(dict(v) if is_map and v is not None else v) for v, is_map in values]


def plain(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601, octets in hexadecimal."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value if isinstance(value, str | int | float | None) else str(value)


def cell_text(value: Any) -> str:
    """A value in a cell; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def json_lines(rows: pa.Table) -> Iterator[str]:
    """One JSON array, an object a line."""
    last = len(rows) - 1
    yield "["
    for at, row in enumerate(values_of(rows)):
        yield json.dumps(dict(zip(rows.schema.names, row, strict=True))) + "," * (at < last)
    yield "]"


def csv_line(values: Any) -> str:
    """One line of CSV."""
    sink = io.StringIO()
    csv.writer(sink, lineterminator="").writerow(values)
    return sink.getvalue()


def text_lines(rows: pa.Table) -> Iterator[str]:
    """Columns one below the other, numbers to the right."""
    cells = [[cell_text(value).replace("\n", " ") for value in row] for row in values_of(rows)]
    names = rows.schema.names
    if not names:
        return
    widths = [max(map(columns, column)) for column in zip(names, *cells, strict=True)]
    right = [is_number(kind) for kind in rows.schema.types]
    rule = ["-" * width for width in widths]
    for line in (names, rule, *cells):
        yield "  ".join(
            pad_cell(cell, width, end) for cell, width, end in zip(line, widths, right, strict=True)
        ).rstrip()


def is_number(kind: pa.DataType) -> bool:
    """Whether a column has numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def pad_cell(cell: str, width: int, right: bool) -> str:
    """A cell as wide as its column."""
    room = " " * (width - columns(cell))
    return room + cell if right else cell + room
