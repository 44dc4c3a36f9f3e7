"""Values of binary formats as indented lines, in the manner of CBOR's diagnostic notation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

LONGEST: Final = 64
"""Octets of one value that are shown."""


class Pairs(list[Any]):
    """A map: keys and values by turns, as they came."""


class Tagged(list[Any]):
    """A value with a tag: a list of at most one."""

    def __init__(self, tag: str) -> None:
        super().__init__()
        self.tag = tag


class Word(str):
    """A value that is shown as it is, without quotes."""

    __slots__ = ()


def outline(value: Any, indent: str = "", before: str = "", after: str = "") -> Iterator[str]:
    """A value in lines, with what is before and after it."""
    if isinstance(value, Tagged):
        inner = value[0] if value else Word("...")
        yield from outline(inner, indent, f"{before}{value.tag}(", f"){after}")
        return
    if not isinstance(value, list):
        yield f"{indent}{before}{scalar(value)}{after}"
        return
    first, last = "{}" if isinstance(value, Pairs) else "[]"
    if not value:
        yield f"{indent}{before}{first}{last}{after}"
        return
    yield f"{indent}{before}{first}"
    step = 2 if isinstance(value, Pairs) else 1
    for at in range(0, len(value), step):
        comma = "," if at + step < len(value) else ""
        key = "" if step == 1 else f"{inline(value[at])}: "
        item = value[at + step - 1] if at + step <= len(value) else Word("...")
        yield from outline(item, f"{indent}  ", key, comma)
    yield f"{indent}{last}{after}"


def inline(value: Any) -> str:
    """A value on one line, as a key is."""
    return " ".join(line.strip() for line in outline(value))


def scalar(value: Any) -> str:
    """A value that holds no others."""
    if isinstance(value, Word):
        return value
    if isinstance(value, bytes):
        more = "" if len(value) <= LONGEST else f"... ({len(value)} octets)"
        return f"h'{value[:LONGEST].hex()}'{more}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None:
        return "null"
    return json.dumps(value)  # also what JSON has not: NaN, Infinity
