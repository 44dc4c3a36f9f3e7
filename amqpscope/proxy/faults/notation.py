"""Frames of a fault in our notation: checked before anything listens, made when a frame matches.

Of AMQP 1.0 a channel, handle or delivery-id that is left out is that of the matched frame, or the
next that is legal; of 0-9-1 the channel and a delivery-tag.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from dissectors.notation import parse
from dissectors.notation_scanner import NAME, NotationError, Scanner
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v0_9.notation import begins_unit
from dissectors.v0_9.notation_parser import read_argument
from dissectors.v0_9.rows import Field as OlderField
from dissectors.v0_9.values import Value
from dissectors.v1_0.notation_parser import Parser
from dissectors.v1_0.rows import Composite
from dissectors.v1_0.tables import COMPOSITE, COMPOSITES

LONGEST: Final = 1 << 16
"""Characters of a notation."""
NO_FIELD: Final = "no field "
PERFORMATIVES: Final = [row for row in COMPOSITES if {"frame", "sasl-frame"} & set(row.provides)]


class Written(NamedTuple):
    """A frame as a fault has it."""

    text: str
    name: str
    """`transfer`, `basic.deliver`, `octets`."""
    octets: bytes
    channelled: bool
    """It names its channel."""
    older: bool
    """It is one of 0-8, 0-9 or 0-9-1."""


def check_notation(text: str) -> None:
    """Raise NotationError where a text is not frames, one a line."""
    if len(text) > LONGEST:
        raise NotationError(1, LONGEST, f"a notation has at most {LONGEST:,} characters")
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                parse(line)
            except NotationError as error:
                raise NotationError(number, error.column, error.reason) from None
            except RecursionError:
                raise NotationError(number, 1, "values are nested too deep") from None


def read_frames(text: str, spoken: str = DEFAULT) -> list[Written]:
    """The frames of a text that was checked, one a line."""
    return [read_frame(line, spoken) for line in text.split("\n") if line.strip()]


def read_frame(line: str, spoken: str) -> Written:
    """One frame."""
    scanner = Scanner(line)
    scanner.space()
    name = scanner.take(NAME, "a frame")[0]
    older = begins_unit(scanner, name)
    if scanner.eat("."):
        name += "." + scanner.take(NAME, "a method")[0]
    return Written(line, name, parse(line, spoken), scanner.text[scanner.at :][:1] == "[", older)


def check_settings(text: str) -> None:
    """Raise NotationError where a text is not `FIELD=VALUE ...` of some frame."""
    if len(text) > LONGEST:
        raise NotationError(1, LONGEST, f"a notation has at most {LONGEST:,} characters")
    spoken = dialect(DEFAULT)
    owners = [plan.row.fields for plan in spoken.by_name.values()]
    owners += [row.properties for row in spoken.classes]
    attempts: list[Callable[[], object]] = [partial(read_settings, text, r) for r in PERFORMATIVES]
    attempts += [partial(read_older_settings, text, fields) for fields in owners]
    errors: list[NotationError] = []
    for attempt in attempts:
        try:
            attempt()
        except NotationError as error:
            errors.append(error)
        except RecursionError:
            errors.append(NotationError(1, 1, "values are nested too deep"))
        else:
            return
    # Who came furthest is who was meant.
    furthest = max(errors, key=lambda error: error.column)
    if furthest.reason.startswith(NO_FIELD):
        furthest = NotationError(furthest.line, furthest.column, "no frame has such a field")
    raise furthest


def read_settings(text: str, row: Composite) -> dict[int, bytes]:
    """The encoded values of a performative's fields by position; NotationError if not its own."""
    places = {field.name: place for place, field in enumerate(row.fields)}
    parser = Parser(text)
    given: dict[int, bytes] = {}
    while parser.peek():
        start = parser.at
        name = parser.take(NAME, "FIELD=VALUE")[0]
        if name not in places:
            parser.fail(f"{NO_FIELD}{name} in {row.name}", start)
        parser.expect("=")
        field = row.fields[places[name]]
        parser.space()
        word = NAME.match(text, parser.at)
        if word is not None and word[0] in COMPOSITE and text[word.end() : word.end() + 1] != "(":
            # `state=released` is short for `state=released()`.
            given[places[name]] = Parser(f"{word[0]}()").value()
            parser.at = word.end()
        else:
            given[places[name]] = parser.value(field.type, field.multiple)
    if not given:
        parser.fail("expected FIELD=VALUE")
    return given


def read_older_settings(text: str, owned: tuple[OlderField, ...]) -> dict[str, Value]:
    """The values of a method's arguments or a content's properties."""
    fields = {field.name: field for field in owned}
    scanner = Scanner(text)
    given: dict[str, Value] = {}
    while scanner.peek():
        start = scanner.at
        name = scanner.take(NAME, "FIELD=VALUE")[0]
        if name not in fields:
            scanner.fail(f"{NO_FIELD}{name}", start)
        scanner.expect("=")
        given[name] = read_argument(scanner, fields[name])
    if not given:
        scanner.fail("expected FIELD=VALUE")
    return given
