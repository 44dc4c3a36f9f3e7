"""The letters of the notation: what every reader takes off a text, and where it went wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import InvalidOperation
from typing import NoReturn

from dissectors.notation_text import EPOCH

NAME = re.compile(r"[a-z][a-z0-9-]*")
WORD = re.compile(r"[A-Za-z0-9+.:_-]+")
MOST_DIGITS = 400
"""Of a number; every type has fewer."""
INTEGER = re.compile(r"[+-]?(0x[0-9a-fA-F]+|[0-9]+)")
HEX = re.compile(r"0x([0-9a-fA-F]*)")
ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT.*Z")

_SPACE = re.compile(r"[\s,]*")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", '"': '"', "\\": "\\"}


class NotationError(ValueError):
    """Text that is no notation: where, and what was expected there."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(line, column, reason)
        self.line = line
        self.column = column
        """From 1, both."""
        self.reason = reason

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.reason}"


class Scanner:
    """A walk over text."""

    def __init__(self, text: str, at: int = 0, line: int = 1) -> None:
        self.text = text
        self.at = at
        self.line = line

    # text

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """Report what was expected, and where."""
        at = self.at if at is None else at
        before = self.text[:at]
        line = self.line + before.count("\n")
        raise NotationError(line, at - (before.rfind("\n") + 1) + 1, reason)

    def space(self) -> None:
        """Skip what only separates."""
        self.at = self.match(_SPACE).end()

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """What matches here, where something always does."""
        found = pattern.match(self.text, self.at)
        assert found is not None
        return found

    def peek(self) -> str:
        """The next character that means something; empty at the end."""
        self.space()
        return self.text[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        """Match a pattern here or fail."""
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail(f"expected {expected}")
        self.at = found.end()
        return found

    def eat(self, character: str) -> bool:
        """Take a character if it is here, without space before it."""
        if self.text.startswith(character, self.at):
            self.at += len(character)
            return True
        return False

    def expect(self, character: str) -> None:
        """Take a character or fail."""
        if self.peek() != character:
            self.fail(f"expected {character}")
        self.at += 1

    def make_octets(self, make: Callable[[], bytes], at: int) -> bytes:
        """Octets, or a failure at the value that does not fit them."""
        try:
            return make()
        except OverflowError as error:
            large = "too big" in str(error)
            self.fail(f"this number is too {'big' if large else 'small'} for its type", at)
        except UnicodeEncodeError as error:
            what = "an octet" if error.encoding == "latin-1" else "a character"
            self.fail(f"{error.object[error.start]!a} is not {what}", at)
        except (ValueError, InvalidOperation) as error:
            if isinstance(error, NotationError):
                raise
            self.fail(str(error) or "this value does not fit", at)

    # literals

    def string(self) -> str:
        """Text in double quotes."""
        found = self.take(_STRING, 'a string in double quotes: "..."')
        start = found.start(1)

        def replace(escape: re.Match[str]) -> str:
            kind = escape[1]
            if len(kind) > 1:
                return chr(int(kind[1:], 16))
            if kind not in _PLAIN_ESCAPES:
                self.fail(f"no such escape: \\{kind}", start + escape.start())
            return _PLAIN_ESCAPES[kind]

        return _ESCAPE.sub(replace, found[1])

    def binary(self) -> bytes:
        """Octets as `b"..."` or `0x...`."""
        start = self.at
        if self.eat("b"):
            return self.make_octets(lambda: self.string().encode("latin-1"), start)
        digits = self.take(HEX, 'binary: b"..." or 0x...')[1]
        return self.make_octets(lambda: bytes.fromhex(digits), start)

    def integer(self) -> int:
        """A number, decimal or hex."""
        start = self.at
        return self.to_integer(self.take(INTEGER, "a number")[0], start)

    def to_integer(self, digits: str, at: int) -> int:
        """The number that digits are, decimal or hex."""
        if len(digits) > MOST_DIGITS:
            self.fail("this number is too big for its type", at)
        return int(digits, 16 if "0x" in digits else 10)

    def time(self, step: timedelta) -> int:
        """A time as ISO 8601 in UTC or as a number: how many steps it is since 1970."""
        found = WORD.match(self.text, self.at)
        if found is None or not ISO_TIME.fullmatch(found[0]):
            return self.integer()
        try:
            moment = datetime.fromisoformat(found[0])
        except ValueError as error:
            self.fail(str(error))
        self.at = found.end()
        return (moment - EPOCH) // step
