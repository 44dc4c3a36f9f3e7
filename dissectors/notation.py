r"""Units as lines of text, both ways, exact to the octet: the door to the notation.

    header AMQP 1.0.0
    transfer[0] handle=0 delivery-id=0 delivery-tag=b"1" | header(durable=true) data(b"hello")
    basic.publish[1] exchange="amq.topic" routing-key="orders.new"
    octets 0x0000000702

How a unit of AMQP 1.0 is written, `v1_0.notation` explains; one of 0-9, `v0_9.notation`. In both
families a unit is its name, its channel in brackets and its fields by the spec's names. A protocol
header is `header` with its protocol and version; octets that are no unit follow `octets`.

A conversation is lines of units with who sent them, and when if that matters:

    client: open container-id="c"
    @1.5s server: close error=error(condition=:amqp:not-found
                                    description="no")   # <- CON-001

A line indented deeper goes on with the one before. `#` begins a comment, `# <- ID` marks the line.
Units of 0-9 are of the dialect that the header, and then `connection.start`, announce.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from dissectors.notation_scanner import NAME, NotationError, Scanner
from dissectors.notation_units import is_header, read_header, read_line
from dissectors.v0_9 import dialects
from dissectors.v0_9 import notation as v0_9
from dissectors.v0_9.dialects import DEFAULT
from dissectors.v1_0 import notation as v1_0
from dissectors.v1_0.notation_text import text_value

__all__ = [
    "DEFAULT", "Line", "NotationError", "family_of", "parse", "parse_conversation", "text_value",
    "write",
]  # fmt: skip

_START = re.compile(r"[ \t]*(?:@(?P<time>\d+(?:\.\d+)?)s[ \t]+)?(?P<peer>client|server):")
_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|(?:^|(?<=\s))#')
_TARGETS = re.compile(r"#\s*<-\s*(.+)")


class Line(NamedTuple):
    """One unit of a conversation."""

    peer: str
    """`client` or `server`."""
    time: float
    """Seconds; without one of its own, that of the line before."""
    raw: bytes
    number: int
    """Which line of the text it begins on, from 1."""
    marks: tuple[str, ...] = ()
    """What its comment points out: `# <- FLW-001`."""


def write(raw: bytes, limit: int = 0, dialect: str = "") -> str:
    """One unit as one line; `parse` gives the same octets, whatever they are.

    `dialect` is the dialect of a unit of 0-9; without it the unit is one of AMQP 1.0. With a
    `limit` long strings and binaries are cut to it, for people's eyes only.
    """
    if not dialect:
        return v1_0.write(raw, limit)
    spoken = dialects.dialect(dialect)
    return v0_9.write(raw, spoken, limit, spoken.heads[0])


def family_of(text: str) -> str:
    """The package of the family that a line is written in: `v1_0` or `v0_9`."""
    scanner = Scanner(text)
    scanner.space()
    found = NAME.match(text, scanner.at)
    if found is None:
        return "v1_0"
    scanner.at = found.end()
    return "v0_9" if v0_9.begins_unit(scanner, found[0]) else "v1_0"


def parse(text: str, dialect: str = DEFAULT) -> bytes:
    """The octets of one unit; `dialect` is the dialect of one of 0-9 that does not name its own."""
    return _read_line(Scanner(text), dialect)


def _read_line(scanner: Scanner, dialect: str) -> bytes:
    expected = "header, open, transfer, empty, frame, octets, ..."
    return read_line(scanner, expected, partial(_read_unit, dialect=dialect))


def _read_unit(scanner: Scanner, name: str, start: int, dialect: str) -> bytes:
    """The octets of a unit whose first word was read."""
    if v0_9.begins_unit(scanner, name):
        return v0_9.read_unit(scanner, name, start, dialect)
    if is_header(scanner, name):
        return read_header(scanner)
    if name == "octets":
        scanner.space()
        return scanner.binary()
    return v1_0.read_unit(scanner, name, start)


def parse_conversation(text: str) -> list[Line]:
    """The units of a conversation in order."""
    lines: list[Line] = []
    time = 0.0
    dialect = DEFAULT
    for number, block, marks in _blocks(text):
        found = _START.match(block)
        if found is None:
            column = len(block) - len(block.lstrip()) + 1
            raise NotationError(number, column, "expected client: or server:")
        time = float(found["time"]) if found["time"] else time
        raw = _read_line(Scanner(block, found.end(), number), dialect)
        dialect = v0_9.next_dialect(raw, dialect)
        lines.append(Line(found["peer"], time, raw, number, marks))
    return lines


def _blocks(text: str) -> list[tuple[int, str, tuple[str, ...]]]:
    """Each line with those that go on with it, without comments: number, text, marks."""
    blocks: list[tuple[int, str, tuple[str, ...]]] = []
    indent = 0
    for number, line in enumerate(text.splitlines(), 1):
        code, comment = _uncommented(line)
        if not code.strip():
            continue
        found = _TARGETS.match(comment)
        marks = tuple(re.split(r"[\s,]+", found[1].strip())) if found else ()
        depth = len(code) - len(code.lstrip())
        if blocks and depth > indent and _START.match(code) is None:
            first, block, before = blocks[-1]
            missing = number - first - block.count("\n")  # lines that only held a comment
            blocks[-1] = (first, block + "\n" * missing + code, before + marks)
        else:
            indent = depth
            blocks.append((number, code, marks))
    return blocks


def _uncommented(line: str) -> tuple[str, str]:
    for found in _COMMENT_OR_STRING.finditer(line):
        if found[0][0] == "#":
            return line[: found.start()], line[found.start() :]
    return line, ""
