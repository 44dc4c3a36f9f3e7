"""Frames of a fault in our notation: checked before anything listens, made when a frame matches.

Of AMQP 1.0 a channel, handle or delivery-id that is left out is that of the matched frame, or the
next that is legal; of 0-9-1 the channel and a delivery-tag.
"""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.peers import NO_FIELD, Written, furthest
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.proxy.faults.errors import FaultError
from dissectors.notation import DEFAULT, family_of, parse
from dissectors.notation_scanner import NAME, NotationError, Scanner

LONGEST: Final = 1 << 16
"""Characters of a notation."""
COMMENT: Final = "#"
"""How a line begins that is no frame."""


def check_notation(text: str) -> None:
    """Raise NotationError where a text is not frames, one a line."""
    if not read_frames(text, DEFAULT):
        raise NotationError(1, 1, "expected a frame")


def check_length(text: str) -> None:
    """Raise NotationError where a text is longer than any notation has to be."""
    if len(text) > LONGEST:
        raise NotationError(1, LONGEST, f"a notation has at most {LONGEST:,} characters")


def read_frames(text: str, dialect: str) -> list[Written]:
    """The frames of a text, one a line; NotationError where it is something else."""
    check_length(text)
    frames = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith(COMMENT):
            try:
                frames.append(read_frame(line, dialect))
            except NotationError as error:
                raise NotationError(number, error.column, error.reason) from None
            except RecursionError:
                raise NotationError(number, 1, "values are nested too deep") from None
    return frames


def find_error(text: str, dialect: str) -> FaultError | None:
    """What is wrong with a text of frames, with its line and a caret; None if nothing is."""
    try:
        frames = read_frames(text, dialect)
    except NotationError as error:
        return FaultError(text.split("\n")[error.line - 1], error.column - 1, 1, error.reason)
    return None if frames else FaultError(text, 0, 0, "expected a frame")


def read_frame(line: str, dialect: str) -> Written:
    """One frame, of a dialect unless it names its own."""
    scanner = Scanner(line)
    scanner.space()
    name = scanner.take(NAME, "a frame")[0]
    if scanner.eat("."):
        name += "." + scanner.take(NAME, "a method")[0]
    channelled = scanner.text[scanner.at :][:1] == "["
    return Written(line, name, parse(line, dialect or DEFAULT), channelled, family_of(line))


def check_settings(text: str) -> None:
    """Raise NotationError where a text is not `FIELD=VALUE ...` of some frame."""
    check_length(text)
    error = furthest([reader for each in PROTOCOLS for reader in each.setting_readers()], text)
    if error is None:
        return
    if error.reason.startswith(NO_FIELD):
        error = NotationError(error.line, error.column, "no frame has such a field")
    raise error
