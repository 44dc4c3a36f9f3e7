"""What is held or was refused, as text and as plain objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from amqpscope.findings import Finding
from amqpscope.insight.endings import explain_ending
from amqpscope.insight.explanation import explain, title, with_frame
from amqpscope.insight.stuck import is_held, standing
from amqpscope.protocols.stuck import Bound, Held, Refused
from amqpscope.report.endings import ended_object
from amqpscope.stream.types import PEERS
from dissectors.secrets import clean_name, cleaned


class Stuck(NamedTuple):
    """What holds the connections of a capture at one instant."""

    capture: str
    held: list[Held]
    """All that can be held, the worst first."""
    frame: int
    """The newest frame, and when it, or what ended after it, passed."""
    now: int
    start: int
    """From when times are counted."""
    findings: dict[int, list[Finding]]
    """By connection: those that may explain how something of it ended."""

    def findings_of(self, held: Held) -> list[Finding]:
        """Those that may explain how something ended."""
        return self.findings.get(held.connection, [])


def stuck_lines(found: Stuck) -> Iterator[str]:
    """What is held or was refused, the worst first, and how many things are not."""
    if not found.held:
        return
    yield f"{found.capture}, after frame {found.frame} at {(found.now - found.start) / 1e9:.3f} s:"
    for held in filter(is_held, found.held):
        way = "client -> server" if held.sender == 0 else "client <- server"
        way = "" if held.what == "connection" else f", {way}"
        yield f"  {standing(held)}: {title(held)}{way}"
        for each in explain(held, found.now, found.start, found.findings_of(held)):
            yield f"    {with_frame(each.text, each.frame, each.lead)}"
    rest = Counter(standing(held) for held in found.held if not is_held(held))
    if rest:
        counts = ", ".join(f"{count:,} {word}" for word, count in rest.items())
        yield f"  {'nothing is stuck' if rest.total() == len(found.held) else 'others'}: {counts}"


def stuck_object(found: Stuck) -> dict[str, Any]:
    """What is held or was refused, the worst first, for JSON."""
    return {
        "capture": found.capture,
        "frame": found.frame or None,
        "time": found.now / 1e9 if found.now else None,
        "held": [held_object(held, found) for held in filter(is_held, found.held)],
        "others": sum(not is_held(held) for held in found.held),
    }


def held_object(held: Held, found: Stuck) -> dict[str, Any]:
    """One link, channel, consumer or connection."""
    bound, ending = held.bound, held.bound.ending
    why = None if ending is None else explain_ending(ending, found.findings_of(held))
    return {
        "state": standing(held),
        "what": held.what,
        "name": clean_name(held.name),
        "address": clean_name(held.address) or None,
        "connection": held.connection,
        "channel": None if held.what == "connection" else held.channel,
        "sender": PEERS[held.sender],
        "constraint": bound_object(bound, found.now) if ending is None else None,
        "until-then": None if held.before is None else bound_object(held.before, bound.time),
        "refused": refused_object(held.refused),
        "ended": ended_object(ending, why),
    }


def bound_object(bound: Bound, until: int) -> dict[str, Any]:
    """What holds something, or held it until its end; `peer` is who is waited for."""
    peer = bound.waits_for
    return {
        "kind": bound.kind,
        "since": bound.frame or None,
        "seconds": max(until - bound.time, 0) / 1e9 if bound.time else None,
        "peer": None if peer is None else PEERS[peer],
        "detail": cleaned(bound.detail),
    }


def refused_object(refused: Refused | None) -> dict[str, Any] | None:
    """What a peer has refused; null: nothing."""
    if refused is None:
        return None
    return {
        "what": refused.refusal.what,
        "condition": cleaned(refused.refusal.reason) or None,
        "description": cleaned(refused.refusal.text) or None,
        "by": PEERS[refused.peer],
        "frame": refused.frame,
        "time": refused.time / 1e9,
        "times": refused.times,
        "taken-by": refused.thief or None,
    }
