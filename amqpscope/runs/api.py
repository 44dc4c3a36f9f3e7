"""Captures for programs: `amqpscope.steps` and `amqpscope.lint`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from amqpscope.analysis import Step
from amqpscope.capture.source import CaptureError
from amqpscope.check.result import CaptureResult, NotChecked
from amqpscope.check.selection import Selection, resolve
from amqpscope.filter import Filter, FilterError, compile_filter
from amqpscope.findings import Finding
from amqpscope.runs.input import Input, read_keylogs
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.run import Run

__all__ = [
    "CaptureError", "CaptureResult", "FilterError", "Finding", "NotChecked", "Step", "lint",
    "steps",
]  # fmt: skip

Path = str | os.PathLike[str]


def steps(
    path: Path,
    *,
    where: str = "",
    keylogs: Iterable[Path] = (),
    decode_as: Mapping[int, str] | None = None,
    check: bool = True,
) -> Iterator[Step]:
    """The AMQP frames of a capture, each with its place in the conversation and its findings.

    `where` is a display filter, `decode_as` a protocol by port. Findings that come to light after
    their frame are those of `lint` alone; `check=False` looks for none, which is faster.
    `FilterError` when the filter does not parse; `CaptureError` when there is no capture or, after
    its last frame, when it is damaged; `NotChecked` when a key log cannot be read.
    """
    selected = compile_filter(where) if where else None
    return _steps(_input(path, keylogs, decode_as), selected, Selection() if check else None)


def lint(
    path: Path,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    strict: bool = False,
    keylogs: Iterable[Path] = (),
    decode_as: Mapping[int, str] | None = None,
    allow_empty: bool = False,
) -> CaptureResult:
    """Check a capture against the specification, as the command `lint` does without a config file.

    `NotChecked` when it cannot be read, and when there is no AMQP in it unless `allow_empty`. Where
    reading broke off later, `error` in the result says why.
    """
    selection = Selection(resolve(tuple(select)), resolve(tuple(ignore)), strict=strict)
    result = check(_input(path, keylogs, decode_as), CheckSettings(selection))
    if result.unreadable or not (result.frames or allow_empty):
        raise NotChecked("; ".join(result.lines()))
    return result


def _input(path: Path, keylogs: Iterable[Path], decode_as: Mapping[int, str] | None) -> Input:
    return Input(os.fspath(path), read_keylogs(keylogs, _refuse), dict(decode_as or {}))


def _refuse(line: str) -> None:
    raise NotChecked(line)


def _steps(source: Input, where: Filter | None, selection: Selection | None) -> Iterator[Step]:
    with Run(source, selection) as run:
        for batch in run:
            for step in batch.steps:
                if where is None or where.matches(step):
                    yield step
        problem = run.pieces.capture.problem
        if problem is not None:
            raise CaptureError(source.name, problem)
