"""Why something is stuck, in sentences: what was refused, what holds it, how it ended and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from amqpscope.findings import Finding
from amqpscope.insight.endings import explain_ending, explained_words
from amqpscope.model.constraint import RESTS, STUCK, WAITS
from amqpscope.model.ending import Ending
from amqpscope.model.refusal import ROLLED_BACK
from amqpscope.protocols.ending_words import brief_words, full_words
from amqpscope.protocols.stuck import Bound, Held, Refused, meaning
from amqpscope.protocols.words import printable, seconds
from amqpscope.stream.types import CLIENT, PEERS
from amqpscope.wording import plural

LONG: Final = 1_000_000_000
"""Nanoseconds from which on people wonder why nothing moves."""
WARNING: Final = "warning"
STRONG: Final = "strong"
REMARK: Final = ""
POINTER: Final = "dim"
"""The sentence does no more than point to a frame."""


class Statement(NamedTuple):
    """A sentence, and the frame that shows it."""

    text: str
    tone: str
    frame: int = 0
    """0: none, or the first at `time`."""
    time: int = 0
    """When it began, where it began with no frame."""
    lead: str = ""
    """What goes before the frame: `since`."""


class Brief(NamedTuple):
    """What holds something, in the columns of a list."""

    kind: str
    duration: int
    """For how long, in nanoseconds; 0: that has no meaning here."""
    waits_for: str
    """The peer that is waited for; empty: none."""


def title(held: Held) -> str:
    """What is held, and on which connection."""
    name = name_words(held)
    return name if held.what == "connection" else f"{name}, connection {held.connection}"


def name_words(held: Held) -> str:
    """What is held: its name, and its address where it has one."""
    name = printable(held.name) or "(no name)"
    where = f", {printable(held.address)}" if held.address else ""
    named = held.what in ("channel", "connection")
    return f"{name if named else f'{held.what} {name}'}{where}"


def brief(held: Held, now: int) -> Brief:
    """What holds it, for how long, and who is waited for; of what is over, how it ended."""
    bound, refused = held.bound, held.refused
    waits = "" if bound.waits_for is None else PEERS[bound.waits_for]
    duration = max(now - bound.time, 0) if bound.time else 0
    if refused is not None and held.was_refused:
        over = refused.counted or bound.ending is not None
        return Brief(refused.brief, 0 if over else duration, waits)
    if bound.ending is not None:
        stall = stalled(held)
        if stall is None:
            return Brief(brief_words(bound.ending), 0, "")
        waited = "" if stall.waits_for is None else PEERS[stall.waits_for]
        kind = f"{stall.kind}, then {brief_words(bound.ending)}"
        return Brief(kind, bound.time - stall.time, waited)
    return Brief(bound.kind, duration, waits)


def explain(held: Held, now: int, start: int, findings: Iterable[Finding]) -> Iterator[Statement]:
    """All that is to be said of it; times count from `start`.

    Of the findings those of its connection are wanted that may explain how it ended.
    """
    bound, refused = held.bound, held.refused
    if refused is not None:
        yield from refusal(refused)
    if bound.ending is not None:
        yield from ended_statements(held, bound.ending, start, findings)
        return
    yield since(holding_words(bound, now), bound)
    if meaning(bound.kind).text:
        yield Statement(meaning(bound.kind).text, REMARK)


def ended_statements(
    held: Held, ending: Ending, start: int, findings: Iterable[Finding]
) -> Iterator[Statement]:
    """How it ended, what explains that, and what held it until then.

    A stall comes first where nothing else explains the end: it may be why the client gave up.
    """
    frame = ending.mark.frame
    found = explain_ending(ending, findings)
    cause = found is not None and found.cause
    stall = None if cause or held.refused is not None else stalled(held)
    if stall is not None:
        yield since(holding_words(stall, held.bound.time), stall)
        if meaning(stall.kind).text:
            yield Statement(meaning(stall.kind).text, REMARK)
    if held.refused is None or held.refused.frame != ending.frame:
        words = full_words(ending, start, own=held.what)
        tone = STRONG if ending.orderly else WARNING
        words = words if stall is None else then_words(ending, start, held.what)
        yield Statement(sentence(words), tone, 0 if ending.after else frame)
        if ending.after and not (cause and found and found.finding.frame == frame):
            text = f"The last frame that the {PEERS[ending.peer]} had received:"
            yield Statement(text, POINTER, frame)
    if found is not None:
        yield Statement(sentence(explained_words(found)), WARNING, found.finding.frame)
    before = held.before
    if stall is None and before is not None and before.rank != RESTS:
        lasted = held.bound.time - before.time
        if lasted > 0:
            yield since(f"Until then: {bound_words(before)} for {seconds(lasted)}", before)


def then_words(ending: Ending, start: int, own: str) -> str:
    """How something ended that had been stalled before."""
    if ending.by_tcp:
        return f"then {full_words(ending, start)}"
    subject = "it" if ending.what == own else f"the {ending.what}"
    return f"then {subject} was {full_words(ending, start, own=ending.what)}"


def stalled(held: Held) -> Bound | None:
    """What held something until its client ended it, if that took long; None: nothing.

    A server that goes away does so for reasons of its own.
    """
    before, ending = held.before, held.bound.ending
    if before is None or before.rank not in (STUCK, WAITS):
        return None
    if ending is None or ending.peer != CLIENT:
        return None
    return before if held.bound.time - before.time >= LONG else None


def refusal(refused: Refused) -> Iterator[Statement]:
    """What was refused, by whom, and what that means."""
    who, text = PEERS[refused.peer], refused.refusal.full
    if refused.counted:
        undone = refused.refusal.what == ROLLED_BACK
        count = plural(refused.times, "transaction" if undone else "message")
        words = " ".join(filter(None, (refused.refusal.reason, refused.refusal.text)))
        text = f"{count} {refused.refusal.what} by the {who}"
        text += f": {words}" if words else ""
    else:
        what, colon, words = text.partition(":")
        text = f"{what} by the {who}{colon}{words}"
    lead = "the last in" if refused.times > 1 else ""
    yield Statement(sentence(text), WARNING, refused.frame, lead=lead)
    if refused.refusal.meaning:
        yield Statement(refused.refusal.meaning, REMARK)
    if refused.thief:
        yield Statement("This attach took it:", POINTER, refused.thief)


def since(text: str, bound: Bound) -> Statement:
    """What holds it, and the frame since which it does."""
    tone = WARNING if bound.rank <= WAITS else STRONG
    return Statement(sentence(text), tone, bound.frame, bound.time, "since")


def holding_words(bound: Bound, now: int) -> str:
    """What holds something that goes on, for how long, and who is waited for."""
    lasts = f" for {seconds(now - bound.time)}" if 0 < bound.time < now else ""
    return f"{bound_words(bound)}{lasts}{waiting(bound)}"


def bound_words(bound: Bound) -> str:
    """What holds something, with its detail."""
    return f"{bound.kind} ({printable(bound.detail)})" if bound.detail else bound.kind


def waiting(bound: Bound) -> str:
    """Who is waited for, at the end of a sentence; empty: nobody."""
    if bound.waits_for is None:
        return ""
    peer = PEERS[bound.waits_for]
    # "Waiting for acks: waiting for the client" would say it twice.
    return f", from the {peer}" if bound.kind.startswith("waiting") else f": waiting for the {peer}"


def with_frame(text: str, frame: int, lead: str = "") -> str:
    """A sentence, and the frame that shows it, unless it names that frame itself."""
    if not frame or f"frame {frame}" in text:
        return text
    if text.endswith(":"):
        return f"{text} frame {frame}"
    return f"{text.removesuffix('.')}, {lead}{' ' if lead else ''}frame {frame}"


def sentence(words: str) -> str:
    """Words that begin with a capital letter."""
    return words[:1].upper() + words[1:]
