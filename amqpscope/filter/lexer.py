"""A filter's text cut into tokens.

A word takes dots, hyphens, colons and slashes with it (`transfer.delivery-id`, `amqp:not-found`,
`amqp-1.0`, `10.0.0.1`): the language has no arithmetic, so nothing else could be meant.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from amqpscope.filter.errors import FilterError


class Is(StrEnum):
    """What kind of token it is."""

    WORD = "word"
    NUMBER = "number"
    OCTETS = "octets"
    STRING = "string"
    KEYWORD = "keyword"
    SIGN = "sign"
    END = "end"


class Token(NamedTuple):
    """A piece of a filter."""

    kind: Is
    text: str
    """As written; keywords and signs in their one spelling (`and` for `&&`)."""
    position: int
    length: int


KEYWORDS: Final = {
    # as written: meaning
    "&&": "and",
    "and": "and",
    "||": "or",
    "or": "or",
    "!": "not",
    "not": "not",
    "has": "has",
    "==": "==",
    "eq": "==",
    "!=": "!=",
    "ne": "!=",
    ">": ">",
    "gt": ">",
    ">=": ">=",
    "ge": ">=",
    "<": "<",
    "lt": "<",
    "<=": "<=",
    "le": "<=",
    "contains": "contains",
    "matches": "matches",
    "~": "matches",
    "in": "in",
}
NEARLY: Final = {"=": "==", "&": "&&", "|": "||"}

_SEGMENT: Final = r"[\w$][\w$:/-]*"
_TOKENS: Final = re.compile(
    rf"""
      (?P<space>  \s+ )
    | (?P<string> r?(?P<quote>["'])(?:(?!(?P=quote))[^\\]|\\.)*(?P=quote) )
    | (?P<open>   r?["'] )
    | (?P<octets> [0-9A-Fa-f]{{2}}(?::[0-9A-Fa-f]{{2}})+(?![\w$:/-]) )
    | (?P<number> -?(?:0[xX][0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
                  (?![\w$:/-]|\.[\w$]) )
    | (?P<word>   {_SEGMENT}(?:\.{_SEGMENT})* )
    | (?P<sign>   ==|!=|>=|<=|&&|\|\||\.\.|[><!~(){{}}\[\],.] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", '"': '"', "'": "'", "\\": "\\"}


def tokens(text: str) -> list[Token]:
    """The tokens of a filter, an `END` last."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise FilterError(text, at, 1, stray(text[at]))
        if match.lastgroup == "open":
            raise FilterError(text, at, len(text) - at, "this string has no closing quote")
        token = token_of(match)
        if token is not None:
            found.append(token)
        at = match.end()
    found.append(Token(Is.END, "", len(text), 0))
    return found


def token_of(match: re.Match[str]) -> Token | None:
    """The token that was found, None for space."""
    kind = next(kind for kind in ("space", "string", "octets", "number", "word", "sign")
                if match[kind] is not None)  # fmt: skip
    said = match[0]
    if kind == "space":
        return None
    if kind in ("word", "sign") and said.lower() in KEYWORDS:
        return Token(Is.KEYWORD, KEYWORDS[said.lower()], match.start(), len(said))
    return Token(Is(kind), said, match.start(), len(said))


def stray(character: str) -> str:
    """The message about a character that begins no token."""
    if character in NEARLY:
        return f"write {NEARLY[character]}"
    return f"nothing in a filter begins with {character!r}"


def unquote(said: str) -> str:
    r"""What a string says.

    An escape that is none of ours stays as it is, so that `"\d+"` is the regular expression that
    it looks like; in `r"..."` there are no escapes.
    """
    if said[0] == "r":
        return said[2:-1]
    return _ESCAPE.sub(_unescape, said[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16))
    return _ESCAPED.get(match[3], match[0])
