"""Text in the columns of a terminal, where some characters take two and some none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from unicodedata import combining, east_asian_width


def columns(text: str) -> int:
    """How wide a text is."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, mark: str = "…") -> str:
    """A text, or so much of its beginning as there is room for."""
    if columns(text) <= width:
        return text
    room = width - columns(mark)
    end = 0
    while end < len(text) and (room := room - _columns(text[end])) >= 0:
        end += 1
    return text[:end] + mark


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """A text in lines that are not wider; `first` and `rest` are before them. 0: one line."""
    rest = first if rest is None else rest
    if width <= max(len(first), len(rest)) + 8:
        return [first + text]
    lines: list[str] = []
    line = first
    for word in text.split(" "):
        joined = line + word if line in (first, rest) else f"{line} {word}"
        if columns(joined) <= width:
            line = joined
            continue
        if line not in (first, rest):
            lines.append(line)
            line = rest
        while columns(line + word) > width:
            part = cut(word, width - len(line), "")
            lines.append(line + part)
            word = word[len(part) :]
            line = rest
        line += word
    return [*lines, line]


def folded(lines: Iterable[str], width: int) -> Iterator[str]:
    """Lines of a tree, the long ones broken and indented a little deeper."""
    for line in lines:
        text = line.lstrip(" ")
        indent = line[: len(line) - len(text)]
        yield from wrap(text, width, indent, f"{indent}    ")
