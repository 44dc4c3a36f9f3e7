"""Words that users and readers meet: one name for a thing, and plain verbs in help texts."""

import ast
import re

import click
import pytest

from amqpscope.cli import cli
from kit import ROOT, TESTS

OLDER = re.compile(r"(?<![a-z])older(?![a-z])", re.IGNORECASE)
"""The family is `v0_9` in names and AMQP 0-9 in words."""
COMPARED = ("an older connection", "an_older_version", "def older_step()")
"""Where something really is older than something else, or where a test looks for the word."""
ODD = re.compile(r"\b(?:told|tells?|telling|whoever|anew)\b", re.IGNORECASE)
"""What a help text says otherwise: report, show, print."""


def commands(command, path=()):
    """A command and all below it, each by its name."""
    yield " ".join(path) or "amqpscope", command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), (*path, name))


def pages():
    """The pages about the project, and the code of the tests."""
    yield from ROOT.glob(".github/**/*.md")
    yield from (ROOT / "amqpscope" / "README.md", TESTS / "README.md")
    yield from (path for path in TESTS.glob("**/*.py") if path.name != "test_words.py")


def test_no_test_calls_a_family_older():
    found = [str(path) for path in TESTS.glob("**/*") if OLDER.search(path.name)]
    for path in pages():
        text = path.read_text(encoding="utf-8")
        for words in COMPARED:
            text = text.replace(words, "")
        if OLDER.search(text):
            found.append(str(path.relative_to(ROOT)))
    assert found == []


COMMANDS = dict(commands(cli))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_in_plain_words(name):
    command = COMMANDS[name]
    text = command.get_help(click.Context(command, info_name=name))
    assert not ODD.search(text)
    assert not OLDER.search(text)


NAMED = re.compile(r"`([a-z]\w*(?:\.[A-Za-z]\w*)+|[a-z]+_\w+|[A-Z][A-Za-z]+)`")
"""What a docstring names: a module or attribute with dots, a name with underscores, a class."""
TEXTS = re.compile(r'"""[\s\S]*?"""')
MADE = re.compile(r"scapy_layers\.py$|logs/protonj\.py$")
"""Modules that name classes made from rows, or the settings of a library that is not ours."""


def docstrings(tree):
    """All texts that are statements of their own."""
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for each in body if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                yield str(each.value.value)


def test_docstrings_name_what_is_there():
    paths = [*ROOT.glob("amqpscope/**/*.py"), *ROOT.glob("dissectors/**/*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    tests = (path.read_text(encoding="utf-8") for path in TESTS.glob("**/*.py"))
    code = (TEXTS.sub("", text) for text in (*texts.values(), *tests))
    known = set(re.findall(r"\w+", " ".join(code)))
    known |= {part for path in paths for part in path.relative_to(ROOT).with_suffix("").parts}
    unknown = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in texts.items() if not MADE.search(str(path))
        for said in docstrings(ast.parse(text))
        for name in NAMED.findall(said)
        if not set(name.split(".")) <= known
    ]  # fmt: skip
    assert unknown == []
