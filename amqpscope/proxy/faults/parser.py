"""Faults from text: `FILTER => ACTION [skip=N] [times=N] ...`, a preset, or a table of a file."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, Final

from amqpscope.filter import FilterError, compile_filter
from amqpscope.filter.errors import did_you_mean
from amqpscope.protocols.peers import Action
from amqpscope.proxy.faults.actions import FORMS, OPTIONS, Word, parse_action
from amqpscope.proxy.faults.errors import FaultError
from amqpscope.proxy.faults.fault import Counts, Fault
from amqpscope.proxy.faults.presets import PRESETS
from amqpscope.proxy.faults.quantities import parse_count

ARROW: Final = "=>"
LONGEST: Final = 1 << 17
"""Characters of one fault."""
COUNTS: Final = ("skip", "times", "every", "chance", "seed", "connection")
LEAST: Final = {"skip": 0, "seed": 0}
"""Of the counts that may be 0."""

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|=>')
_OPTION: Final = re.compile(r'\s([a-z-]+)=("(?:[^"\\]|\\.)*"|[^\s"]+)\s*\Z')
_WORD: Final = re.compile(r"\S+")
_NAME: Final = re.compile(r"[\w.@-]{1,64}")


def parse_fault(text: str, name: str = "") -> Fault:
    """Make a fault of its text; FaultError shows what is wrong, and where."""
    if len(text) > LONGEST:
        shown = text[:60] + "..."
        raise FaultError(shown, 0, len(shown), f"a fault has at most {LONGEST:,} characters")
    if text.lstrip().startswith("@"):
        return _parse_preset(text, name)
    arrow = next((found.start() for found in _STRING.finditer(text) if found[0] == ARROW), -1)
    if arrow < 0:
        raise FaultError(text, len(text), 0, "expected FILTER => ACTION")
    where, action = text[:arrow], text[arrow + len(ARROW) :]
    return _make(text, where, action, arrow + len(ARROW), name)


def parse_table(table: dict[str, Any], where: str) -> Fault:
    """Make a fault of a table; `where` says which one it is."""
    known = {"name", "on", "action", *COUNTS}
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known)
            raise FaultError(f"{where} {key}", len(where) + 1, len(key), f"no such key{hint}")
    for key in ("on", "action"):
        if not isinstance(table.get(key), str):
            raise FaultError(where, 0, len(where), f"expected {key} = a text")
        if len(table[key]) > LONGEST:
            message = f"{key} has at most {LONGEST:,} characters"
            raise FaultError(where, 0, len(where), message)
    name = table.get("name", "")
    if not isinstance(name, str) or (name and not _NAME.fullmatch(name)):
        raise FaultError(where, 0, len(where), "expected name = letters, digits, . _ - or @")
    words = []
    for key in COUNTS:
        if key in table:
            value = table[key]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise FaultError(f"{where} {key}", len(where) + 1, len(key), "expected a number")
            words.append(f" {key}={value}")
    # Together they are what could have been written in one line.
    on, action = table["on"], table["action"] + "".join(words)
    text = f"{on} {ARROW} {action}"
    return _make(text, on, action, len(on) + len(ARROW) + 2, name)


def _parse_preset(text: str, name: str) -> Fault:
    """`@flaky chance=0.5`: a preset, perhaps with other counts."""
    found = _WORD.search(text)
    word = found[0] if found is not None else ""
    start = text.index(word)
    preset = PRESETS.get(word)
    if preset is None:
        hint = did_you_mean(word, PRESETS)
        raise FaultError(text, start, len(word), f"expected {', '.join(PRESETS)}{hint}")
    rest, options = _take_options(text, text[start + len(word) :], start + len(word), COUNTS)
    if rest.strip():
        at = text.index(rest.strip(), start + len(word))
        raise FaultError(text, at, len(rest.strip()), f"expected {'=, '.join(COUNTS)}=")
    fault = parse_fault(preset.rule, name or word)
    usual = {key: str(value) for key, value in asdict(fault.counts).items()}
    given = usual | {key: value.text for key, value in options.items()}
    for key, value in options.items():
        _check_count(text, key, value)
    counts = _counts(given)
    return Fault(fault.name, fault.where, fault.text, fault.action, counts)


def _make(text: str, where: str, action: str, offset: int, name: str) -> Fault:
    if not where.strip():
        raise FaultError(text, 0, 0, f"expected a filter before {ARROW}")
    try:
        compiled = compile_filter(where.strip())
    except FilterError as error:
        position = error.position + len(where) - len(where.lstrip())
        raise FaultError(text, position, error.length, error.message) from None
    if compiled.follows:
        message = "the proxy does not follow messages from one connection to another"
        raise FaultError(text, text.index(where.strip()), len(where.strip()), message)
    written, made, counted = _make_action(text, action, offset, COUNTS)
    return Fault(name, compiled, written, made, _counts(counted))


def parse_decision(text: str, held_by: Fault) -> Fault:
    """Make a fault of what is to be done to a frame that another fault holds."""
    written, made = read_decision(text)
    return Fault(held_by.name, held_by.where, written, made, Counts())


def read_decision(text: str) -> tuple[str, Action]:
    """What is to be done to a frame that is held; FaultError shows what is wrong with it."""
    if len(text) > LONGEST:
        raise FaultError(text[:60] + "...", 0, 60, f"expected at most {LONGEST:,} characters")
    written, made, _ = _make_action(text, text, 0)
    if made.kind == "hold":
        raise FaultError(text, 0, len(text), "the frame is held already")
    return written, made


def _make_action(
    text: str, action: str, offset: int, counts: tuple[str, ...] = ()
) -> tuple[str, Action, dict[str, str]]:
    """An action as it is written, what it is, and its counts, which may be among its options."""
    found = _WORD.search(action)
    if found is None:
        raise FaultError(text, len(text), 0, f"expected an action ({', '.join(FORMS)})")
    form = FORMS.get(found[0])
    own = () if form is None else form.options if form.options or form.whole else OPTIONS
    action, options = _take_options(text, action, offset, (*counts, *own))
    counted = {key: options.pop(key) for key in counts if key in options}
    for key, word in counted.items():
        _check_count(text, key, word)
    given = [f"{key}={word.written}" for key, word in reversed(options.items())]
    written = " ".join([action.strip(), *given])
    words = [Word(each[0], offset + each.start()) for each in _WORD.finditer(action)]
    rest = Word(action[found.end() :], offset + found.end())
    made = parse_action(text, words, rest, options)
    return written, made, {key: word.text for key, word in counted.items()}


def _take_options(
    whole: str, text: str, offset: int, known: tuple[str, ...]
) -> tuple[str, dict[str, Word]]:
    """Take `name=value` off the end of a text, as long as the name is known."""
    options: dict[str, Word] = {}
    while (found := _OPTION.search(text)) is not None and found[1] in known:
        value = found[2]
        if value.startswith('"'):
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        if found[1] in options:
            second = options[found[1]].position - len(found[1]) - 1
            raise FaultError(whole, second, len(found[1]), f"{found[1]} is given twice")
        options[found[1]] = Word(value, offset + found.start(2), found[2])
        text = text[: found.start()]
    return text, options


def _check_count(text: str, key: str, word: Word) -> None:
    try:
        if key == "chance":
            parse_chance(word.text)
        else:
            parse_count(word.text, LEAST.get(key, 1))
    except ValueError as error:
        raise FaultError(text, word.position, len(word.text), str(error)) from None


def _counts(given: dict[str, str]) -> Counts:
    numbers = {key: int(value) for key, value in given.items() if key != "chance"}
    return Counts(**numbers, chance=parse_chance(given.get("chance", "1")))


def parse_chance(text: str) -> float:
    """A probability; ValueError says what was expected."""
    if not re.fullmatch(r"[0-9]{0,6}(\.[0-9]{1,12})?(e-[0-9]{1,2})?", text) or text in ("", "."):
        raise ValueError(f"{text[:40]!r} is not a probability from 0 to 1")
    if not 0 <= float(text) <= 1:
        raise ValueError(f"{text[:40]!r} is not a probability from 0 to 1")
    return float(text)
