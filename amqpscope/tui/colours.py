"""Colour rules: frames that match a filter are drawn in a colour; the first rule that matches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:  # the filter language takes a while to load, and no rules do not need it
    from amqpscope.analysis import Step
    from amqpscope.filter import Filter

COLOURS: Final = ("red", "yellow", "green", "blue", "purple", "pink", "grey")
EXPECTED: Final = "colour filter; colour filter; ... (" + " ".join(COLOURS) + ")"
_RULE: Final = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^;"']|["'])+""")
_PARTS: Final = re.compile(r"\s*(\S+)\s*(.*?)\s*", re.DOTALL)


class ColourRule(NamedTuple):
    """A filter, and the colour of the frames that pass it."""

    colour: str
    where: Filter

    def __str__(self) -> str:
        return f"{self.colour} {self.where.text}"


def parse_rules(text: str) -> tuple[ColourRule, ...]:
    """Rules as the user writes them: `red settled; blue payload > 1000`.

    Raises `FilterError`, which says where.
    """
    found: list[ColourRule] = []
    for each in _RULE.finditer(text):
        parts = _PARTS.fullmatch(each[0])
        if parts is not None:
            found.append(parse_rule(parts[1], parts[2], text, each.start() + parts.start(1),
                                    each.start() + parts.start(2)))  # fmt: skip
    return tuple(found)


def parse_rule(colour: str, where: str, text: str, start: int, behind: int) -> ColourRule:
    """One rule, whose colour and filter begin at these places of a text."""
    from amqpscope.filter import FilterError, compile_filter

    if colour not in COLOURS:
        message = f"expected a colour: {', '.join(COLOURS)}"
        raise FilterError(text, start, len(colour), message)
    if not where:
        raise FilterError(text, start, len(colour), "expected a filter behind the colour")
    try:
        made = compile_filter(where)
    except FilterError as error:
        raise FilterError(text, behind + error.position, error.length, error.message) from None
    if made.follows:
        message = "message fields follow messages over connections, which a colour cannot"
        raise FilterError(text, behind, len(where), message)
    return ColourRule(colour, made)


def rules_text(rules: tuple[ColourRule, ...]) -> str:
    """Rules as the user would write them."""
    return "; ".join(map(str, rules))


def colour_of(rules: tuple[ColourRule, ...], step: Step, start: int) -> str:
    """The colour of the first rule that a frame matches; empty: none does."""
    for rule in rules:
        rule.where.start = start
        if rule.where.matches(step):
            return rule.colour
    return ""
