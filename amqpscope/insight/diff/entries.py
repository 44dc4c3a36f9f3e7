"""The frames of a connection as they are compared: by lane, flat, and without what may differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from amqpscope.analysis import Conversation, Step
from amqpscope.findings import Finding
from amqpscope.insight.diff.generated import MARK, settled_value
from amqpscope.model.delivery import Delivery
from amqpscope.protocols.comparison import Comparison, Facts, Lane


@dataclass
class Entry:
    """One frame, or what it says of one delivery."""

    connection: int
    frame: int
    packet: int
    time: int
    sender: int
    channel: int
    name: str
    lane: Lane
    address: str
    facts: Facts
    """All that it says."""
    shown: Facts
    """All that it says, without secrets."""
    summary: str
    octets: bytes
    payload: bytes
    """Octets of a message."""
    cadence: bool
    """How often such a frame comes is a matter of time."""
    completes: bool
    """It completes a message, which is among the facts."""
    delivery: Delivery | None
    stable: dict[str, str] = field(default_factory=dict)
    """What is compared, as text by path."""
    answered: list[int] = field(default_factory=list)
    """The first frames of the deliveries that it answers."""

    signature: int = 0
    """A number that frames have in common which say the same."""

    def settle(self, stable: dict[str, str]) -> None:
        """Set what is compared."""
        self.stable = stable
        self.signature = hash((self.name, frozenset(stable.items())))


class ComparedConnection:
    """One connection, to be compared with another."""

    def __init__(self, conversation: Conversation, *, show_secrets: bool = False) -> None:
        self.number = conversation.number
        self.protocol = conversation.protocol
        self.comparison: Comparison = conversation.talk.voice.comparison()
        self.show_secrets = show_secrets
        self.entries: list[Entry] = []
        self.findings: list[Finding] = []
        self.lanes = self.comparison.lanes()
        self.latencies: dict[str, list[int]] = {}
        """By address: how long each delivery took to be settled, in nanoseconds."""

    def take(self, step: Step) -> None:
        """Add a frame and what it says of deliveries."""
        event, frame, voice = step.event, step.frame, step.talk.voice
        comparison = voice.comparison()
        name = voice.full_name(event)
        full, masked = _document(step, True), _document(step, False)
        facts = comparison.facts(name, json.loads(full))
        hides = masked != full and not self.show_secrets
        lane = self.lanes.lane(event)
        entry = Entry(
            self.number, frame.number, frame.packet, frame.time, frame.sender, frame.unit.channel,
            name, lane, voice.address(event), facts,
            comparison.facts(name, json.loads(masked)) if hides else facts,
            voice.summary(event, self.show_secrets), frame.raw, frame.raw[frame.unit.payload :],
            comparison.cadence(name, facts), event.message is not None, event.carries,
        )  # fmt: skip
        self.lanes.note(event, lane)
        if name in comparison.settling:
            entry.answered = self.lanes.answered_frames(event)
        for each in event.settles:
            if each.mark.frame:
                taken = self.latencies.setdefault(each.place.address, [])
                taken.append(frame.time - each.mark.time)
        self.entries.append(entry)

    def settle(self, *, exact: bool) -> None:
        """Work out what is compared: all of it, or what does not change from run to run."""
        for entry in self.entries:
            entry.settle(exact_facts(entry.facts) if exact else self.stable(entry))

    def stable(self, entry: Entry) -> dict[str, str]:
        """What a frame says that does not change from run to run."""
        comparison = self.comparison
        return {
            path: text_of(MARK if path in comparison.names else settled_value(value))
            for path, value in entry.facts.items()
            if not comparison.is_volatile(path, entry.facts)
        }

    def shape(self) -> Counter[tuple[Any, ...]]:
        """What kinds of frames there are, for finding its like."""
        return Counter(
            (each.sender, each.name, each.lane.kind, each.address) for each in self.entries
        )


def _document(step: Step, show_secrets: bool) -> str:
    out: list[str] = ['{"fields": ']
    step.talk.voice.put_content(out, step.event, show_secrets)
    out.append("}")
    return "".join(out)


def exact_facts(facts: Facts) -> dict[str, str]:
    """All that a frame says, as text by path."""
    return {path: text_of(value) for path, value in facts.items()}


def text_of(value: Any) -> str:
    """A value as text by which it can be compared: maps have no order."""
    return json.dumps(value, sort_keys=True)


def under(paths: Iterable[str], path: str) -> bool:
    """Whether a path is one of some, or below one."""
    return any(path == each or path.startswith(f"{each}.") for each in paths)
