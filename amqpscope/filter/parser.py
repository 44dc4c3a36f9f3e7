"""A filter's text as a syntax tree.

    either     = both { "or" both }
    both       = test { "and" test }
    test       = "not" test | "(" either ")" | "has" path | path [ comparison ]
    comparison = operator value | [ "not" ] "in" "{" value [ ".." value ] { [","] ... } "}"
    path       = word { "[" ( number | string ) "]" [ "." word ] }

`!a == 1` is `!(a == 1)`: negation is of a test, never of a value.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.filter.errors import FilterError
from amqpscope.filter.lexer import Is, Token, tokens, unquote

MAX_DEPTH: Final = 64
"""Parentheses and negations inside each other."""
OPERATORS: Final = ("==", "!=", ">", ">=", "<", "<=", "contains", "matches")


class PathPart(NamedTuple):
    """One name on the way to a value."""

    name: str
    position: int
    length: int


class Path(NamedTuple):
    """A field as written."""

    parts: tuple[PathPart, ...]
    position: int
    length: int

    def __str__(self) -> str:
        return ".".join(part.name for part in self.parts)


class Literal(NamedTuple):
    """A value as written."""

    kind: Is
    text: str
    """Without quotes and escapes."""
    position: int
    length: int


class ValueRange(NamedTuple):
    """Values from one to another, both included."""

    low: Literal
    high: Literal


class Bare(NamedTuple):
    """A field alone: there, and not false."""

    path: Path


class Has(NamedTuple):
    """A field is there, whatever it says."""

    path: Path


class Comparison(NamedTuple):
    """A field beside one value, or several for `in` and `not in`."""

    path: Path
    operator: str
    values: tuple[Literal | ValueRange, ...]
    position: int
    """Of the operator."""
    length: int


class Not(NamedTuple):
    """What holds where the part below does not."""

    test: Syntax


class Both(NamedTuple):
    """What holds where all parts do."""

    tests: tuple[Syntax, ...]


class Either(NamedTuple):
    """One at least holds."""

    tests: tuple[Syntax, ...]


Syntax = Bare | Has | Comparison | Not | Both | Either


def parse(text: str) -> Syntax | None:
    """The tree of a filter, None for an empty one."""
    parser = Parser(text)
    if parser.over():
        return None
    tree = parser.either()
    if not parser.over():
        raise parser.expected("&&, || or the end")
    return tree


class Parser:
    """Reads a filter from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        """The token that is to be read."""
        return self.tokens[self.at]

    def over(self) -> bool:
        """Whether the whole text has been read."""
        return self.next.kind == Is.END

    def take(self, *texts: str) -> bool:
        """Pass over a keyword or sign if it is there."""
        there = self.next.kind in (Is.KEYWORD, Is.SIGN) and self.next.text in texts
        self.at += there
        return there

    def need(self, text: str, what: str) -> None:
        """Pass over a sign that must be there."""
        if not self.take(text):
            raise self.expected(what)

    def expected(self, what: str) -> FilterError:
        """The error that something else is here."""
        token = self.next
        found = "" if token.kind == Is.END else f", found {self.spelling(token)}"
        return FilterError(self.text, token.position, token.length, f"expected {what}{found}")

    def spelling(self, token: Token) -> str:
        """A token as it was written."""
        return self.text[token.position : token.position + token.length]

    def either(self) -> Syntax:
        """Tests joined by `or`."""
        tests = [self.both()]
        while self.take("or"):
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else Either(tuple(tests))

    def both(self) -> Syntax:
        """Tests joined by `and`."""
        tests = [self.test()]
        while self.take("and"):
            tests.append(self.test())
        return tests[0] if len(tests) == 1 else Both(tuple(tests))

    def test(self) -> Syntax:
        """One test."""
        start = self.next
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FilterError(
                self.text, start.position, start.length, f"more than {MAX_DEPTH} levels deep"
            )
        tree: Syntax
        if self.take("not"):
            tree = Not(self.test())
        elif self.take("("):
            tree = self.either()
            self.need(")", "&&, || or )")
        elif self.take("has"):
            tree = Has(self.path())
        else:
            tree = self.comparison()
        self.depth -= 1
        return tree

    def comparison(self) -> Syntax:
        """A field, alone or beside a value."""
        path = self.path()
        token = self.next
        if self.take("not"):
            self.need("in", "in")
            return Comparison(path, "not in", self.members(), token.position, token.length)
        if self.take("in"):
            return Comparison(path, "in", self.members(), token.position, token.length)
        if self.take(*OPERATORS):
            return Comparison(path, token.text, (self.value(),), token.position, token.length)
        if token.kind in (Is.WORD, Is.NUMBER, Is.OCTETS, Is.STRING):
            raise self.expected("an operator (==, contains, in, ...), && or ||")
        return Bare(path)

    def members(self) -> tuple[Literal | ValueRange, ...]:
        """The values of `in`, between braces."""
        self.need("{", "{")
        found: list[Literal | ValueRange] = []
        while not found or not self.take("}"):
            low = self.value()
            found.append(ValueRange(low, self.value()) if self.take("..") else low)
            self.take(",")
        return tuple(found)

    def value(self) -> Literal:
        """A value to compare with."""
        token = self.next
        if token.kind not in (Is.WORD, Is.NUMBER, Is.OCTETS, Is.STRING):
            raise self.expected("a value")
        self.at += 1
        text = unquote(token.text) if token.kind == Is.STRING else token.text
        return Literal(token.kind, text, token.position, token.length)

    def path(self) -> Path:
        """A field's name, with keys in brackets where they are no words."""
        start = self.next
        if start.kind != Is.WORD:
            raise self.expected("a field")
        self.at += 1
        parts = split(start)
        while self.take("["):
            parts.append(self.key())
            if self.take("."):
                if self.next.kind not in (Is.WORD, Is.NUMBER, Is.OCTETS):
                    raise self.expected("a name")
                parts.extend(split(self.next))
                self.at += 1
        last = self.tokens[self.at - 1]
        length = last.position + last.length - start.position
        return Path(tuple(parts), start.position, length)

    def key(self) -> PathPart:
        """An index or a map's key, in brackets."""
        token = self.next
        if token.kind not in (Is.NUMBER, Is.STRING, Is.WORD):
            raise self.expected('a number or a "key"')
        self.at += 1
        self.need("]", "]")
        text = unquote(token.text) if token.kind == Is.STRING else token.text
        return PathPart(text, token.position, token.length)


def split(word: Token) -> list[PathPart]:
    """The names in a word with dots."""
    parts: list[PathPart] = []
    at = word.position
    for name in word.text.split("."):
        parts.append(PathPart(name, at, len(name)))
        at += len(name) + 1
    return parts
