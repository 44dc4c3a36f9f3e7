"""What is written about each rule: read from the sources, where its function's docstring is.

A docstring has a first sentence, paragraphs of why, and exchanges headed `Bad:` or `Good:`, with
the name of a common beginning in brackets where they have one: `Bad (sending):`. A second pair of
exchanges is allowed. Compiled functions have no docstrings, hence the sources.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from inspect import cleandoc
from pathlib import Path
from typing import Final

from amqpscope.rules.all import load, modules

_HEADING: Final = re.compile(r"^(Bad|Good)(?: \((\w+)\))?:\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Exchange:
    """A short conversation that breaks a rule, or comes close and does not."""

    good: bool
    setup: str
    """The beginning that goes unsaid: `opened`, `session`, `sending`, ..."""
    text: str


@dataclass(frozen=True)
class Document:
    """A rule in words."""

    id: str
    summary: str
    reason: str
    exchanges: tuple[Exchange, ...]


@cache
def documents() -> dict[str, Document]:
    """All of them by the rule's id."""
    found: dict[str, Document] = {}
    for module in dict.fromkeys((*modules(), *(rule.module for rule in load().values()))):
        for node in ast.parse(_source(module)).body:
            if isinstance(node, ast.FunctionDef):
                for id in _ids(node):
                    found[id] = _document(id, ast.get_docstring(node) or "")
    return found


def _source(module: str) -> str:
    package, _, name = module.rpartition(".")
    place = files(package) if package else Path(sys.modules[module].__file__ or "").parent
    return place.joinpath(f"{name}.py").read_text(encoding="utf-8")


def _ids(function: ast.FunctionDef) -> list[str]:
    """The rules that a function is, by its decorators."""
    return [
        decorator.args[0].value
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id == "rule"
        and isinstance(decorator.args[0], ast.Constant)
        and isinstance(decorator.args[0].value, str)
    ]


def _document(id: str, text: str) -> Document:
    parts = _HEADING.split(text)
    summary, _, reason = parts[0].partition("\n\n")
    exchanges = tuple(
        Exchange(parts[i] == "Good", parts[i + 1] or "", cleandoc("\n" + parts[i + 2]))
        for i in range(1, len(parts), 3)
    )
    return Document(id, " ".join(summary.split()), reason.strip(), exchanges)
