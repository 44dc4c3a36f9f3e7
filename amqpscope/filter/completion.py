"""What can be written next, for a prompt that completes."""

from __future__ import annotations

from typing import Final

from amqpscope.filter.errors import FilterError
from amqpscope.filter.lexer import Is, Token, tokens
from amqpscope.filter.names import ROOTS, parts_of, resolve
from amqpscope.filter.parser import OPERATORS, Path, split
from amqpscope.protocols.names import Known
from amqpscope.protocols.shapes import Holds

AFTER_VALUE: Final = ["&&", "||"]
BOOLEANS: Final = ["true", "false"]


def complete(text: str, cursor: int) -> list[str]:
    """Words that may replace the one that ends at the cursor, best order first.

    After a space, what may follow; nothing inside a string or where the text cannot be read.
    """
    try:
        before = tokens(text[:cursor])[:-1]
    except FilterError:
        return []
    word = ""
    if before and before[-1].kind in (Is.WORD, Is.KEYWORD) and ends_at(before[-1], cursor):
        last = before.pop()
        word = text[last.position : cursor]
        if not (word[0].isalnum() or word[0] in "_$"):
            before.append(last)
            word = ""
    elif text[:cursor].endswith(".") and len(before) > 1 and before[-2].kind == Is.WORD:
        word = text[before[-2].position : cursor]
        before = before[:-2]
    return [found for found in candidates(before, word) if found.startswith(word)]


def ends_at(token: Token, cursor: int) -> bool:
    """The cursor is right behind a token."""
    return token.position + token.length == cursor


def candidates(before: list[Token], word: str) -> list[str]:
    """Everything that may follow some tokens."""
    if not before:
        return field_names(word)
    last = before[-1]
    if last.kind == Is.KEYWORD and last.text == "in":
        return ["{"]
    if last.kind == Is.KEYWORD and last.text in OPERATORS:
        return values_of(known_before(before[:-1]))
    if last.text in ("and", "or", "not", "has", "("):
        return field_names(word)
    brace = next((at for at in range(len(before) - 1, -1, -1) if before[at].text in "{}"), -1)
    if brace > 0 and before[brace].text == "{":
        return [*values_of(known_before(before[: brace - 1])), *(["}"] if not word else [])]
    if last.kind == Is.WORD and known_before(before) is not None and not is_value(before):
        return [*operators_of(known_before(before)), *AFTER_VALUE]
    return AFTER_VALUE


def is_value(before: list[Token]) -> bool:
    """The last word is behind an operator."""
    return len(before) > 1 and before[-2].kind == Is.KEYWORD and before[-2].text in OPERATORS


def known_before(before: list[Token]) -> Known | None:
    """The field that ends some tokens."""
    if not before or before[-1].kind != Is.WORD:
        return None
    word = before[-1]
    try:
        return resolve("", Path(tuple(split(word)), word.position, word.length))
    except FilterError:
        return None


def field_names(word: str) -> list[str]:
    """First names, or those behind the last dot of a word."""
    stem, dot, _ = word.rpartition(".")
    if not dot:
        return sorted(ROOTS)
    token = Token(Is.WORD, stem, 0, len(stem))
    known = ROOTS.get(stem) or known_before([token])
    return [] if known is None else [f"{stem}.{name}" for name in sorted(parts_of(known))]


def values_of(known: Known | None) -> list[str]:
    """The values that have names."""
    if known is None:
        return []
    names = [name for name, _ in known.shape.choices]
    return names or (BOOLEANS if Holds.BOOLEAN in known.shape.holds else [])


def operators_of(known: Known | None) -> list[str]:
    """The operators that go with a field."""
    if known is None or known.shape.holds <= {Holds.NOTHING}:
        return []
    holds = known.shape.holds
    if holds <= {Holds.BOOLEAN}:
        return ["==", "!="]
    if holds <= {Holds.COMPOSITE}:
        return ["==", "!=", "in"]
    if holds <= {Holds.NUMBER, Holds.TIME, Holds.DURATION}:
        return ["==", "!=", ">", ">=", "<", "<=", "in"]
    return ["==", "!=", "contains", "matches", "in"]
