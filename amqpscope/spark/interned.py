"""What every process has of its own, by name: a state that is kept names it and leaves it out.

Rules and tables are large and the same everywhere. Some empty lists are told from others by being
that very list, so a state that is read back must refer to the one of its process. Each protocol
family adds its own.
"""

from __future__ import annotations

from typing import Final

from amqpscope import analysis
from amqpscope.model import event
from amqpscope.model.mark import NOWHERE
from amqpscope.protocols import talk
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream import flow
from dissectors.wire import NO_FAULTS

CONSTANTS: Final = {
    "NOTHING": analysis.NOTHING,
    "NO_FINDINGS": talk.NO_FINDINGS,
    "NO_DELIVERIES": event.NO_DELIVERIES,
    "NO_FAULTS": NO_FAULTS,
    "NOWHERE": NOWHERE,
    "NO_WAITING": flow.NO_WAITING,
    "NO_DELAYED": flow.NO_DELAYED,
}
"""What belongs to no family."""


class Known:
    """Both ways between things and their names."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.things: dict[str, object] = {"rules": rules, "ids": rules.ids, **CONSTANTS}
        for rule in load().values():
            self.things[f"rule {rule.id}"] = rule
        for protocol in PROTOCOLS:
            self.things[f"voice {protocol.name}"] = protocol.voice
            self.things[f"rules {protocol.name}"] = rules.of(protocol.name)
            for name, thing in protocol.interned_objects().items():
                self.things[f"{protocol.name} {name}"] = thing
        self.names = {id(thing): name for name, thing in self.things.items()}
