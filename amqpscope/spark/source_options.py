"""The options of `spark.read.format("amqp")`, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final

from amqpscope.filter import FilterError, compile_filter
from amqpscope.protocols.registry import parse_port
from amqpscope.runs.input import read_keylogs
from amqpscope.spark.work import Work

FOREVER: Final = 1 << 62
RINGS: Final = ("file", "directory")
OPTIONS: Final = {
    "captures": "names of rings, separated by commas, with * and ?",
    "since": "leave out frames before this time (ISO 8601, UTC unless it says otherwise)",
    "until": "leave out frames at this time and after it, and files that begin after it",
    "filter": "a display filter, as `read -Y` takes it",
    "columns": "the columns to make, separated by commas",
    "keylog": "TLS key logs, separated by commas",
    "decodeAs": "PORT=PROTOCOL, separated by commas",
    "ring": "file: each capture is by itself; directory: those of one are a rotated capture",
}


@dataclass(frozen=True)
class SourceOptions:
    """What one reading was asked for."""

    path: str
    captures: tuple[str, ...] = ()
    since: int = 0
    """Nanoseconds since 1970, included."""
    until: int = FOREVER
    """The same, not included."""
    where: str = ""
    columns: tuple[str, ...] = ()
    keylogs: tuple[bytes, ...] = ()
    decode_as: tuple[tuple[int, str], ...] = ()
    each: bool = False

    def wants(self, ring: str) -> bool:
        """Whether a ring is to be read."""
        return not self.captures or any(fnmatchcase(ring, name) for name in self.captures)

    def work(self) -> Work:
        """The same for a worker."""
        return Work(
            keylogs=self.keylogs, decode_as=dict(self.decode_as), frames=True, where=self.where,
            messages=False,
        )  # fmt: skip


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """Options as Spark hands them over, which spells their names as it likes."""
    options = {name.lower(): value for name, value in given.items()}
    known = {name.lower() for name in OPTIONS} | {"path"}
    for name in given:
        if name.lower() not in known:
            raise ValueError(f"{name!r} is no option, expected one of {', '.join(OPTIONS)}")
    ring = options.get("ring", RINGS[0])
    if ring not in RINGS:
        raise ValueError(f"ring={ring!r}, expected {' or '.join(RINGS)}")
    return SourceOptions(
        options.get("path", ""),
        words_of(options, "captures"),
        time_of(options, "since", 0),
        time_of(options, "until", FOREVER),
        filter_of(options),
        words_of(options, "columns"),
        tuple(read_keylogs(words_of(options, "keylog"), refuse)),
        tuple(parse_port(word) for word in words_of(options, "decodeas")),
        ring == "file",
    )


def words_of(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The words of an option."""
    return tuple(word.strip() for word in options.get(name, "").split(",") if word.strip())


def time_of(options: Mapping[str, str], name: str, otherwise: int) -> int:
    """A time in nanoseconds since 1970."""
    text = options.get(name)
    if text is None:
        return otherwise
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-11-18T12:00:00Z"
        raise ValueError(f"{name}={text!r} is no time, expected such as {example}") from None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return round(when.timestamp() * 1_000_000) * 1000


def filter_of(options: Mapping[str, str]) -> str:
    """A filter that parses."""
    text = options.get("filter", "")
    if text:
        try:
            compile_filter(text)
        except FilterError as error:
            raise ValueError(f"filter: {error}") from error
    return text


def refuse(line: str) -> None:
    """Raise what is wrong with an option."""
    raise ValueError(line)
