"""What is written about each rule: read from the sources, where its function's docstring is.

A docstring has a first sentence, paragraphs of why, and exchanges headed `Bad:` or `Good:`, with
the scene that they begin after in brackets: `Bad (sending link-credit=1):` (see `scenes`). A second
pair of exchanges is allowed. Compiled functions have no docstrings, hence the sources.
"""

from __future__ import annotations

import ast
import pkgutil
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from inspect import cleandoc
from pathlib import Path
from typing import Final

from amqpscope import rules
from amqpscope.rules.all import load, modules
from amqpscope.rules.scenes import START, Opening, Scenes

NO_SCENES: Final = Scenes({}, START)

_HEADING: Final = re.compile(
    r"^(Bad|Good)(?: \(((?:[^\n]|\n +)*?)\))?:\s*$", re.MULTILINE
)  # a long one goes on in indented lines


@dataclass(frozen=True)
class Exchange:
    """A short conversation that breaks a rule, or comes close and does not."""

    good: bool
    scene: str
    """The scene that it begins after, with its parameters, as the heading has it."""
    text: str

    def opening(self, family: str) -> Opening:
        """What has happened before it."""
        return scenes().get(family, NO_SCENES).opening(self.scene)


@dataclass(frozen=True)
class Document:
    """A rule in words."""

    id: str
    summary: str
    reason: str
    exchanges: tuple[Exchange, ...]


@cache
def scenes() -> dict[str, Scenes]:
    """The scenes of the families that have some, found in their packages."""
    packages = [each for each in pkgutil.iter_modules(rules.__path__) if each.ispkg]
    found = (import_module(f"{rules.__name__}.{each.name}") for each in packages)
    return {each.FAMILY: import_module(f"{each.__name__}.scenes").SCENES for each in found}


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
        Exchange(kind == "Good", " ".join((scene or "").split()), cleandoc(f"\n{units}"))
        for kind, scene, units in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    )
    return Document(id, " ".join(summary.split()), reason.strip(), exchanges)
