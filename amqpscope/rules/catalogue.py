"""The whole catalogue, a row a rule: also what only permits, cannot be seen, or is not checked."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Entry(NamedTuple):
    """One row of the catalogue."""

    id: str
    name: str
    protocol: str
    group: str
    section: str
    level: str
    severity: str
    observable: str
    default: str
    told: str
    """`elsewhere` where another rule reports its breach."""


@cache
def catalogue() -> dict[str, Entry]:
    """All rows by id."""
    text = files("amqpscope.rules").joinpath("catalogue.tsv").read_text(encoding="utf-8")
    rows = (Entry(*line.split("\t")) for line in text.splitlines()[1:])
    return {row.id: row for row in rows}
