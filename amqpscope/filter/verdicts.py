"""The compiled form of a filter: a tree of small objects that say yes or no to a frame.

A `Test` looks at a frame. A `Match` looks at one value of a field; a field with several values
passes when any of them does.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from amqpscope.filter.operands import LESS, MORE, SAME, Operand
from amqpscope.filter.view import leaves
from amqpscope.protocols.names import FrameView, Getter
from dissectors.values import Uuid, Value


class Match(ABC):
    """What is asked of one value."""

    @abstractmethod
    def accepts(self, value: Value) -> bool:
        """Whether a value passes."""


class Equal(Match):
    """The value equals the operand, in the way that its type compares."""

    def __init__(self, operand: Operand) -> None:
        self.operand = operand

    def accepts(self, value: Value) -> bool:
        """The value is the operand."""
        if isinstance(value, str):
            return value == self.operand.text
        if isinstance(value, range):
            number = self.operand.number
            return number is not None and value[0] <= number <= value[-1]
        return self.operand.order(value) == SAME


class Ordered(Match):
    """Before or after; `>` and `>=` let MORE pass, `<` and `<=` LESS."""

    def __init__(self, operand: Operand, side: int, same: bool) -> None:
        self.operand = operand
        self.side = side
        self.same = same

    def accepts(self, value: Value) -> bool:
        """The value is on the right side of the operand."""
        if isinstance(value, range):
            value = value[-1] if self.side == MORE else value[0]
        order = self.operand.order(value)
        return order == self.side or (self.same and order == SAME)


class Between(Match):
    """From one value to another, both included."""

    def __init__(self, low: Operand, high: Operand) -> None:
        self.low = low
        self.high = high

    def accepts(self, value: Value) -> bool:
        """The value is neither below the one nor above the other."""
        first, last = (value[0], value[-1]) if isinstance(value, range) else (value, value)
        above, below = self.low.order(last), self.high.order(first)
        return above in (SAME, MORE) and below in (SAME, LESS)


class AnyOf(Match):
    """One at least of several."""

    def __init__(self, matches: list[Match]) -> None:
        self.matches = matches

    def accepts(self, value: Value) -> bool:
        """One of them accepts the value."""
        for match in self.matches:  # noqa: SIM110  (a generator would cost more than the matches)
            if match.accepts(value):
                return True
        return False


class Contains(Match):
    """A text within a text, octets within octets."""

    def __init__(self, operand: Operand) -> None:
        self.text = operand.text or ""
        self.octets = operand.octets or b""

    def accepts(self, value: Value) -> bool:
        """The value has the operand in it."""
        if isinstance(value, str):
            return self.text in value
        if isinstance(value, Uuid):
            return self.text.lower() in str(value)
        return isinstance(value, bytes) and self.octets in value


class Matches(Match):
    """A regular expression, found anywhere; binary is read as UTF-8."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern

    def accepts(self, value: Value) -> bool:
        """The expression is found in the value."""
        if isinstance(value, Uuid):
            value = str(value)
        elif isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        return isinstance(value, str) and self.pattern.search(value) is not None


class Test(ABC):
    """What is asked of a frame."""

    @abstractmethod
    def holds(self, view: FrameView) -> bool:
        """It is true of this frame."""


class Everything(Test):
    """The empty filter."""

    def holds(self, view: FrameView) -> bool:
        """Always."""
        return True


class Present(Test):
    """The field is there, whatever it says."""

    def __init__(self, getter: Getter) -> None:
        self.getter = getter

    def holds(self, view: FrameView) -> bool:
        """It has a value."""
        return self.getter.get(view) is not None


class Said(Test):
    """The field is there and not false."""

    def __init__(self, getter: Getter) -> None:
        self.getter = getter

    def holds(self, view: FrameView) -> bool:
        """It has a value other than false."""
        value = self.getter.get(view)
        if type(value) is list:
            return not value or any(item is not False for item in value)
        return value is not None and value is not False


class Compare(Test):
    """The field is there and one of its values passes."""

    def __init__(self, getter: Getter, match: Match) -> None:
        self.getter = getter
        self.match = match

    def holds(self, view: FrameView) -> bool:
        """One of its values passes."""
        value = self.getter.get(view)
        if value is None:
            return False
        if isinstance(value, int | str):
            return self.match.accepts(value)
        found: list[Value] = []
        leaves(value, found)
        return any(self.match.accepts(item) for item in found)


class Differs(Test):
    """The field is there and none of its values passes."""

    def __init__(self, getter: Getter, match: Match) -> None:
        self.getter = getter
        self.match = match

    def holds(self, view: FrameView) -> bool:
        """It has values, and none passes."""
        found: list[Value] = []
        leaves(self.getter.get(view), found)
        return bool(found) and not any(self.match.accepts(item) for item in found)


class Not(Test):
    """A test that holds where another does not."""

    def __init__(self, test: Test) -> None:
        self.test = test

    def holds(self, view: FrameView) -> bool:
        """The other does not hold."""
        return not self.test.holds(view)


class All(Test):
    """Every one of several, asked from left to right until one fails."""

    def __init__(self, tests: list[Test]) -> None:
        self.tests = tests

    def holds(self, view: FrameView) -> bool:
        """No one fails."""
        for test in self.tests:  # noqa: SIM110  (as above)
            if not test.holds(view):
                return False
        return True


class Some(Test):
    """One of several, asked from left to right until one holds."""

    def __init__(self, tests: list[Test]) -> None:
        self.tests = tests

    def holds(self, view: FrameView) -> bool:
        """One holds."""
        for test in self.tests:  # noqa: SIM110  (as above)
            if test.holds(view):
                return True
        return False
