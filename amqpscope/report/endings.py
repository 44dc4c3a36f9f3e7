"""How something ended, as lines and for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from amqpscope.findings import Finding
from amqpscope.insight.endings import Explained, explain_ending, explained_words
from amqpscope.model.constraint import Constraint, waits_for
from amqpscope.model.ending import END, Ending
from amqpscope.protocols.ending_words import full_words, held_words
from amqpscope.stream.types import PEERS
from dissectors.secrets import cleaned


class Instant(NamedTuple):
    """As of when a state is shown, and what was found until then."""

    now: int
    """Nanoseconds since the Unix epoch, as all times."""
    start: int
    """From when times are counted."""
    findings: tuple[Finding, ...] = ()
    """Those of the connection that may explain how something ended."""

    def explain(self, ending: Ending | None) -> Explained | None:
        """What explains an ending."""
        return None if ending is None else explain_ending(ending, self.findings)

    def object(self, ending: Ending | None) -> dict[str, Any] | None:
        """An ending for JSON; null while there is none."""
        return ended_object(ending, self.explain(ending))


def ending_lines(ending: Ending | None, what: str, at: Instant, indent: str) -> Iterator[str]:
    """When and how something ended, and what explains it."""
    if ending is None:
        return
    if ending.what != what:
        time = f"at {(ending.mark.time - at.start) / 1e9:.3f} s"
        yield f"{indent}ended with the {ending.what}, {time}"
        return
    prefix = "" if ending.how == END else "ended: "
    yield f"{indent}{prefix}{full_words(ending, at.start, own=what)}"
    found = at.explain(ending)
    if found is not None:
        yield f"{indent}{explained_words(found)}"


def held_lines(held: Constraint, what: str, at: Instant, indent: str) -> Iterator[str]:
    """What holds something, since when, and who is waited for; or how it ended."""
    if held.ending is not None:
        yield from ending_lines(held.ending, what, at, indent)
    else:
        yield f"{indent}{held_words(held, at.now)}"


def constraint_object(held: Constraint, now: int) -> dict[str, Any]:
    """What holds something, for JSON; `peer` is who is waited for, null for nobody."""
    peer, since = waits_for(held), held.since
    return {
        "kind": held.kind,
        "since": since.frame or None,
        "seconds": max(now - since.time, 0) / 1e9 if since.time else None,
        "peer": None if peer is None else PEERS[peer],
        "detail": cleaned(held.detail),
    }


def ended_object(ending: Ending | None, found: Explained | None = None) -> dict[str, Any] | None:
    """An ending for JSON; null while there is none."""
    if ending is None:
        return None
    return {
        "what": ending.what,
        "how": ending.how,
        "by": PEERS[ending.peer] if ending.peer >= 0 else None,
        "time": ending.mark.time / 1e9,
        "packet": ending.mark.packet,
        "frame": ending.frame or None,
        "after": ending.after or None,
        "condition": cleaned(ending.condition) or None,
        "description": cleaned(ending.text) or None,
        "answered": None if ending.by_tcp else ending.answered,
        "finding": None
        if found is None
        else {
            "rule": found.finding.rule,
            "peer": found.finding.peer,
            "frame": found.finding.frame,
            "message": found.finding.message,
            "cause": found.cause,
        },
    }
