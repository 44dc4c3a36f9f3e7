"""JSON and XML with line breaks and indentation, and otherwise as they are, but for white space.

What is a number, a name or an escape is not read, so that nothing is lost or written otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

_JSON: Final = re.compile(r'\s*("(?:[^"\\\x00-\x1f]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)
_XML: Final = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![^>\[]*(?:\[.*?\]\s*)?>"
    r"|<[/\w][^<>\"']*(?:\"[^\"]*\"[^<>\"']*|'[^']*'[^<>\"']*)*>|[^<]+",
    re.DOTALL,
)
DEEPEST: Final = 100
"""Levels that are indented; those below are not further to the right."""


def is_json(text: str) -> str:
    """Why a text is not JSON; empty: it is."""
    try:
        json.loads(text)
    except RecursionError:
        return "nested too deep"
    except ValueError as error:
        return str(error)
    return ""


def json_lines(text: str) -> Iterator[str]:
    """JSON in lines."""
    level, line, opened, at = 0, "", False, 0
    while found := _JSON.match(text, at):
        token, at = found[1], found.end()
        if token in "}]":
            level = max(level - 1, 0)
            if not opened:
                yield line
                line = indent(level)
            line += token
        elif opened:
            yield line
            line = indent(level) + token
        else:
            line += token
        opened = token in "{["
        level += opened
        if token == ",":
            yield line
            line = indent(level)
        elif token == ":":
            line += " "
    line += text[at:].strip()
    if line.strip():
        yield line


def xml_lines(text: str) -> Iterator[str]:
    """XML in lines: an element without others inside on one line."""
    level, line, at = 0, "", 0
    while found := _XML.match(text, at):
        token, at = found[0].strip(), found.end()
        if not token:
            continue
        closes, opens = token.startswith("</"), is_opening(token)
        level -= closes and level > 0
        text_inside = not token.startswith("<")
        if line and (text_inside or closes):
            line += token
            if closes:
                yield from split(line)
                line = ""
            continue
        if line:
            yield from split(line)
        line = indent(level) + token
        level += opens
        if not opens and not text_inside:
            yield from split(line)
            line = ""
    line += text[at:].strip()
    if line:
        yield from split(line)


def is_opening(token: str) -> bool:
    """Whether a tag begins an element that goes on behind it."""
    return token.startswith("<") and token[1] not in "/?!" and not token.endswith("/>")


def split(text: str) -> list[str]:
    """Text that may have line breaks of its own."""
    return text.splitlines()


def indent(level: int) -> str:
    """The space before a line."""
    return "  " * min(level, DEEPEST)
