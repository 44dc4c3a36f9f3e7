"""What a fault can do: one row an action, with the words that may follow its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from amqpscope.filter.durations import parse_seconds
from amqpscope.filter.errors import did_you_mean
from amqpscope.protocols.peers import Action
from amqpscope.proxy.faults.errors import FaultError
from amqpscope.proxy.faults.notation import check_notation, check_settings
from amqpscope.proxy.faults.quantities import parse_count, parse_rate
from dissectors.notation_scanner import NotationError

LARGEST_SLICE: Final = 1 << 20
PEERS: Final = ("client", "server")
BOOLEANS: Final = {"true": True, "false": False}


class Word(NamedTuple):
    """A part of a text, and where it is."""

    text: str
    position: int
    written: str = ""
    """Of an option: its value with the quotes."""


class Form(NamedTuple):
    """How an action is written."""

    usage: str
    operand: Callable[[str], dict[str, object]] | None = None
    """Reads the word behind the name."""
    needed: bool = False
    """It must be there."""
    options: tuple[str, ...] = ()
    whole: bool = False
    """All that follows is one notation."""


def _seconds(text: str) -> dict[str, object]:
    return {"seconds": parse_seconds(text)}


def _rate(text: str) -> dict[str, object]:
    return {"number": parse_rate(text)}


def _slice(text: str) -> dict[str, object]:
    return {"number": parse_count(text, 1, LARGEST_SLICE)}


_ENDING: Final = ("condition", "description")
_CLOSE: Final = ("code", "text")
# fmt: off
FORMS: Final = {
    "delay":         Form("delay 2s [jitter=500ms]", _seconds, True, ("jitter",)),
    "drop":          Form("drop"),
    "duplicate":     Form("duplicate"),
    "set":           Form("set FIELD=VALUE ...", whole=True),
    "replace":       Form("replace NOTATION", whole=True),
    "inject":        Form("inject NOTATION [to=client|server] [when=before|after]", whole=True,
                          options=("to", "when")),
    "detach":        Form("detach [condition=...] [description=...]", options=_ENDING),
    "end":           Form("end [condition=...] [description=...]", options=_ENDING),
    "close":         Form("close [condition=...] [description=...]", options=_ENDING),
    "reject":        Form("reject [condition=...] [description=...]", options=_ENDING),
    "release":       Form("release"),
    "modify":        Form("modify [delivery-failed=true] [undeliverable-here=true]",
                          options=("delivery-failed", "undeliverable-here")),
    "accept":        Form("accept"),
    "nack":          Form("nack [requeue=true]", options=("requeue",)),
    "return":        Form("return [code=312] [text=NO_ROUTE]", options=_CLOSE),
    "cancel":        Form("cancel"),
    "channel.close": Form("channel.close [code=406] [text=...]", options=_CLOSE),
    "stall":         Form("stall [10s]", _seconds),
    "reset":         Form("reset"),
    "disconnect":    Form("disconnect"),
    "corrupt":       Form("corrupt [octets=N]", options=("octets",)),
    "truncate":      Form("truncate"),
    "slice":         Form("slice N [pause=5ms]", _slice, True, ("pause",)),
    "rate":          Form("rate 10kB/s", _rate, True),
    "hold":          Form("hold"),
}
# fmt: on


def parse_action(text: str, words: list[Word], rest: Word, options: dict[str, Word]) -> Action:
    """Make an action of its words; `rest` is all behind its name, `options` those at its end."""
    name = words[0]
    form = FORMS.get(name.text)
    if form is None:
        near = did_you_mean(name.text, FORMS)
        message = f"expected an action ({', '.join(FORMS)}){near}"
        raise FaultError(text, name.position, len(name.text), message)
    for key, word in options.items():
        if key not in form.options:
            start = word.position - len(key) - 1
            raise FaultError(text, start, len(key), f"{name.text} is written: {form.usage}")
    if form.whole:
        return _whole(text, name.text, form, rest, options)
    made: dict[str, object] = {}
    if len(words) > 1 and form.operand is not None:
        made = _read(text, words[1], form.operand)
    elif form.needed:
        position = name.position + len(name.text)
        raise FaultError(text, position, 0, f"expected: {form.usage}")
    extra = words[1 + (form.operand is not None) :]
    if extra:
        # Options that are known were taken off the end, up to one that is not.
        wrong = extra[-1] if "=" in extra[-1].text else extra[0]
        message = f"expected the end or an option: {form.usage}"
        raise FaultError(text, wrong.position, len(wrong.text), message)
    for key, word in options.items():
        made |= _read(text, word, READERS.get(key, _text))
    values = {key: options[key].text for key in options if key in _VALUES}
    return Action(name.text, values=values, **made)  # type: ignore[arg-type]


def _whole(text: str, name: str, form: Form, rest: Word, options: dict[str, Word]) -> Action:
    if not rest.text.strip():
        raise FaultError(text, len(text), 0, f"expected: {form.usage}")
    try:
        (check_settings if name == "set" else check_notation)(rest.text)
    except NotationError as error:
        lines = rest.text.split("\n")
        position = rest.position + sum(len(line) + 1 for line in lines[: error.line - 1])
        raise FaultError(text, position + error.column - 1, 1, error.reason) from None
    made: dict[str, object] = {}
    for key, word in options.items():
        made |= _read(text, word, READERS[key])
    return Action(name, notation=rest.text.strip(), **made)  # type: ignore[arg-type]


def _read(text: str, word: Word, read: Callable[[str], dict[str, object]]) -> dict[str, object]:
    try:
        return read(word.text)
    except ValueError as error:
        raise FaultError(text, word.position, len(word.text), str(error)) from None


def _text(text: str) -> dict[str, object]:
    return {}


def _boolean(text: str) -> dict[str, object]:
    if text not in BOOLEANS:
        raise ValueError(f"{text!r}: expected true or false")
    return {}


def _to(text: str) -> dict[str, object]:
    if text not in PEERS:
        raise ValueError(f"{text!r}: expected client or server")
    return {"to": text}


def _when(text: str) -> dict[str, object]:
    if text not in ("before", "after"):
        raise ValueError(f"{text!r}: expected before or after")
    return {"when": text}


def _code(text: str) -> dict[str, object]:
    parse_count(text, 0, 0xFFFF)
    return {}


READERS: Final[dict[str, Callable[[str], dict[str, object]]]] = {
    "jitter": lambda text: {"jitter": parse_seconds(text)},
    "pause": lambda text: {"seconds": parse_seconds(text)},
    "octets": lambda text: {"number": parse_count(text)},
    "to": _to,
    "when": _when,
    "code": _code,
    "delivery-failed": _boolean,
    "undeliverable-here": _boolean,
    "requeue": _boolean,
}
_VALUES: Final = (*_ENDING, *_CLOSE, "delivery-failed", "undeliverable-here", "requeue")
OPTIONS: Final = tuple(sorted({key for form in FORMS.values() for key in form.options}))
"""Every word that can precede `=` behind an action."""
