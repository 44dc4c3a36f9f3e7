"""The tables of methods in `tables/*.txt`, as rows.

A table is text that people can check against the specification: a class on a line of its own, its
methods below it, one a line, aligned. A table with a `base` says only what differs from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from dissectors.data_files import read_text
from dissectors.v0_9.rows import TYPES, ClassRow, Field, MethodRow

DOMAINS: Final = {
    # domain: wire type, the same in all dialects that have it
    "access-ticket": "short",
    "channel-id": "longstr",
    "class-id": "short",
    "consumer-tag": "shortstr",
    "delivery-tag": "longlong",
    "destination": "shortstr",
    "duration": "longlong",
    "exchange-name": "shortstr",
    "known-hosts": "shortstr",
    "message-count": "long",
    "method-id": "short",
    "no-ack": "bit",
    "no-local": "bit",
    "no-wait": "bit",
    "offset": "longlong",
    "path": "shortstr",
    "peer-properties": "table",
    "queue-name": "shortstr",
    "redelivered": "bit",
    "reference": "longstr",
    "reject-code": "short",
    "reject-text": "shortstr",
    "reply-code": "short",
    "reply-text": "shortstr",
    "security-token": "longstr",
    **{name: name for name in TYPES},
}
UNCERTAIN: Final = "?"
"""Ends a list of fields that is not proven."""
NONE: Final = "-"


class _Class:
    """A class while its lines are read."""

    def __init__(self, name: str, id: int) -> None:
        self.name = name
        self.id = id
        self.properties: tuple[Field, ...] = ()
        self.methods: dict[str, MethodRow] = {}

    def row(self) -> ClassRow:
        return ClassRow(self.name, self.id, self.properties, tuple(self.methods.values()))

    def line(self, words: list[str]) -> None:
        """Take one line below the class."""
        if words[0] == "properties":
            self.properties = _fields(words[1:])
        elif words[1] == NONE:
            del self.methods[words[0]]
        else:
            self.methods[words[0]] = self.method(words)

    def method(self, words: list[str]) -> MethodRow:
        name, number, sender, sync, content, replies, *fields = words
        answers = () if replies == NONE else tuple(replies.split(","))
        return MethodRow(
            self.name,
            self.id,
            name,
            int(number),
            sender,
            sync == "sync",
            content == "content",
            tuple(f"{self.name}.{answer}" for answer in answers),
            _fields(word for word in fields if word != UNCERTAIN),
            UNCERTAIN not in fields,
        )


def _fields(words: Iterable[str]) -> tuple[Field, ...]:
    return tuple(map(_field, words))


def _field(word: str) -> Field:
    name, _, domain = word.partition(":")
    return Field(name, DOMAINS[domain or name], domain or name)


@cache
def table(name: str) -> tuple[ClassRow, ...]:
    """The classes of one table."""
    text = read_text("dissectors.v0_9", f"tables/{name}.txt")
    found: dict[str, _Class] = {}
    current: _Class | None = None
    for line in text.splitlines():
        words = line.split()
        if words[0].startswith("#"):
            continue
        if words[0] == "base":
            found = {row.name: _again(row) for row in table(words[1])}
        elif line[0] != " ":
            current = found.setdefault(words[0], _Class(words[0], int(words[1])))
        elif current is not None:
            current.line(words)
    return tuple(made.row() for made in found.values())


def _again(row: ClassRow) -> _Class:
    made = _Class(row.name, row.id)
    made.properties = row.properties
    made.methods = {method.method: method for method in row.methods}
    return made
