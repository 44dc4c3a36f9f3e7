"""Parts of texts that programs and libraries make up for each run: ids, pids, times, signatures."""

from __future__ import annotations

import re
from typing import Any, Final

MARK: Final = "*"
"""What stands for such a part."""

LONGEST: Final = 4096
"""Characters of a text in which such parts are looked for: names and ids are short."""

_FIXED: Final = re.compile(
    "|".join((
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        r"\bamq\.(?:gen|ctag)-[\w-]+",
        r"sig=[^&\s\"']+",
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?",
    ))
)  # fmt: skip
_RUN: Final = re.compile(r"[A-Za-z0-9]{8,}")
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9_+/-]{20,}=*")
_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")
MANY_DIGITS: Final = 9


def without_generated(text: str) -> str:
    """A text with a mark for each part that was made up."""
    if len(text) > LONGEST:
        return text
    return _LONG_RUN.sub(_base64, _RUN.sub(_number, _FIXED.sub(MARK, text)))


def _number(run: re.Match[str]) -> str:
    """A mark in the place of a long number, decimal or hexadecimal."""
    text = run[0]
    digits = sum(map(str.isdigit, text))
    if digits == len(text):
        return MARK if digits >= MANY_DIGITS else text
    return MARK if digits and _HEXADECIMAL.issuperset(text) else text


def _base64(run: re.Match[str]) -> str:
    """A mark in the place of base64 and its kin: long, with capitals, small letters and digits."""
    text = run[0]
    kinds = (str.isdigit, str.islower, str.isupper)
    return MARK if all(any(map(kind, text)) for kind in kinds) else text


def is_generated(value: Any) -> bool:
    """Whether a name has a part that was made up."""
    return isinstance(value, str) and without_generated(value) != value


def settled_value(value: Any) -> Any:
    """A value as it would be in another run: without times and parts that were made up."""
    if isinstance(value, str):
        return without_generated(value)
    if isinstance(value, list):
        return [settled_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, inner),) = value.items()
        if tag in ("timestamp", "uuid"):
            return {tag: MARK}
        if tag == "binary" and isinstance(inner, str):
            return {tag: _settled_octets(inner)}
    return {without_generated(name): settled_value(item) for name, item in value.items()}


def _settled_octets(octets: str) -> str:
    """Octets in hexadecimal; where they are text, that text without what was made up."""
    try:
        text = bytes.fromhex(octets).decode("utf-8")
    except ValueError:
        return octets
    settled = without_generated(text)
    return octets if settled == text else settled
