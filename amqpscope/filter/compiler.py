"""A filter's syntax tree turned into tests, with every name and type checked on the way."""

from __future__ import annotations

import re
import warnings
from typing import Final

from amqpscope.filter import parser, verdicts
from amqpscope.filter.errors import FilterError
from amqpscope.filter.facts import OfMessages
from amqpscope.filter.names import resolve
from amqpscope.filter.operands import LESS, MORE, operand, plain
from amqpscope.filter.parser import Comparison, Literal, Path, Syntax, ValueRange
from amqpscope.protocols.names import Known
from amqpscope.protocols.shapes import Holds, describe

SIDES: Final = {
    # operator: side that passes, the same passes too
    ">": (MORE, False),
    ">=": (MORE, True),
    "<": (LESS, False),
    "<=": (LESS, True),
}
UNORDERED: Final = frozenset((Holds.BOOLEAN, Holds.COMPOSITE))
SEARCHED: Final = frozenset((Holds.TEXT, Holds.BINARY, Holds.COMPOSITE, Holds.ANY))


class Compiler:
    """Turns the tree of one filter into tests."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.follows = False
        """Something is asked about messages that have to be followed over connections."""

    def test(self, tree: Syntax) -> verdicts.Test:
        """The test that a tree stands for."""
        if isinstance(tree, parser.Not):
            return verdicts.Not(self.test(tree.test))
        if isinstance(tree, parser.Both):
            return verdicts.All([self.test(test) for test in tree.tests])
        if isinstance(tree, parser.Either):
            return verdicts.Some([self.test(test) for test in tree.tests])
        if isinstance(tree, Comparison):
            return self.comparison(tree)
        return self.presence(tree)

    def presence(self, tree: parser.Bare | parser.Has) -> verdicts.Test:
        """The test of a field without operator: it is there and not false."""
        known = self.resolve(tree.path)
        assert known.getter is not None
        assert known.presence is not None
        # A role is a boolean on the wire, but nobody asks whether it is true.
        named = Holds.BOOLEAN in known.shape.holds and known.shape.choices
        if isinstance(tree, parser.Has) or named or known.presence is not known.getter:
            return verdicts.Present(known.presence)
        return verdicts.Said(known.getter)

    def comparison(self, tree: Comparison) -> verdicts.Test:
        """A field beside values."""
        known = self.resolve(tree.path)
        assert known.getter is not None
        self.check_operator(tree, known)
        match = self.match(tree, known)
        if tree.operator in ("!=", "not in"):
            return verdicts.Differs(known.getter, match)
        return verdicts.Compare(known.getter, match)

    def resolve(self, path: Path) -> Known:
        """What a field stands for."""
        known = resolve(self.text, path)
        self.follows = self.follows or isinstance(known.getter, OfMessages)
        return known

    def check_operator(self, tree: Comparison, known: Known) -> None:
        """Refuse an operator that a field of this shape can never satisfy."""
        holds, path = known.shape.holds, tree.path
        if holds <= {Holds.NOTHING}:
            message = f"{path} is a kind of frame and has no value: it stands alone"
            raise FilterError(self.text, tree.position, tree.length, message)
        if tree.operator in SIDES and holds <= UNORDERED:
            raise self.wrong_operator(tree, known, "==, != or in")
        if tree.operator in ("contains", "matches") and not holds & SEARCHED:
            raise self.wrong_operator(
                tree, known, "==, != or in" if holds <= UNORDERED else "==, <, > or in"
            )

    def wrong_operator(self, tree: Comparison, known: Known, better: str) -> FilterError:
        """The error that an operator does not go with a field."""
        message = f"{tree.path} is {describe(known.shape)}: compare it with {better}"
        return FilterError(self.text, tree.position, tree.length, message)

    def match(self, tree: Comparison, known: Known) -> verdicts.Match:
        """What is asked of the field's values."""
        if tree.operator in ("in", "not in"):
            matches = [self.member(value, tree.path, known) for value in tree.values]
            return matches[0] if len(matches) == 1 else verdicts.AnyOf(matches)
        value = tree.values[0]
        assert isinstance(value, Literal)
        if tree.operator == "contains":
            return verdicts.Contains(plain(self.text, value))
        if tree.operator == "matches":
            return verdicts.Matches(self.pattern(value))
        made = operand(self.text, value, known.shape, str(tree.path))
        if tree.operator in SIDES:
            side, same = SIDES[tree.operator]
            return verdicts.Ordered(made, side, same)
        return verdicts.Equal(made)

    def member(self, value: Literal | ValueRange, path: Path, known: Known) -> verdicts.Match:
        """One value or range between the braces of `in`."""
        if isinstance(value, Literal):
            return verdicts.Equal(operand(self.text, value, known.shape, str(path)))
        if known.shape.holds <= UNORDERED:
            message = f"{path} is {describe(known.shape)}: a range means nothing"
            raise FilterError(self.text, value.low.position, value.low.length, message)
        low = operand(self.text, value.low, known.shape, str(path))
        high = operand(self.text, value.high, known.shape, str(path))
        return verdicts.Between(low, high)

    def pattern(self, value: Literal) -> re.Pattern[str]:
        """Compile the regular expression of a `matches`."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.compile(value.text)
        except (re.error, OverflowError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            message = f"not a regular expression: {'nested too deep' if deep else error}"
            raise FilterError(self.text, value.position, value.length, message) from None
