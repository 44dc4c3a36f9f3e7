"""What every process has of its own, by name: a state that is kept names it and leaves it out.

Rules and dialects are large and the same everywhere. Some empty lists are told from others by
being that very list, so a thawed state must refer to the one of its process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqpscope import analysis
from amqpscope.model import event as shared_event
from amqpscope.model.mark import NOWHERE
from amqpscope.model.v0_9 import content
from amqpscope.model.v0_9 import event as event_09
from amqpscope.model.v0_9.roles import roles
from amqpscope.model.v1_0 import delivery, event
from amqpscope.protocols import talk
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.rules.all import load
from amqpscope.rules.registry import RuleSet
from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v1_0 import body
from dissectors.wire import NO_FAULTS

CONSTANTS: Final = {
    "NOTHING": analysis.NOTHING,
    "NO_FINDINGS": talk.NO_FINDINGS,
    "NO_DELIVERIES": event.NO_DELIVERIES,
    "shared.NO_DELIVERIES": shared_event.NO_DELIVERIES,
    "v0_9.NO_DELIVERIES": event_09.NO_DELIVERIES,
    "NO_PUBLISHES": event_09.NO_PUBLISHES,
    "NO_PARTS": delivery.NO_PARTS,
    "NO_PIECES": content.NO_PIECES,
    "NO_WRONG": body.NO_WRONG,
    "NO_FAULTS": NO_FAULTS,
    "NOWHERE": NOWHERE,
}


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
        for name in NAMES:
            self.things.update(_of_dialect(name))
        self.names = {id(thing): name for name, thing in self.things.items()}


def _of_dialect(name: str) -> Iterator[tuple[str, object]]:
    spoken = dialect(name)
    yield name, spoken
    yield f"{name} roles", roles(name)
    for method, role in roles(name).items():
        yield f"{name} role {method}", role
    for code, plan in (*spoken.methods.items(), *spoken.by_name.items()):
        yield f"{name} {code}", plan
        if plan.other is not None:
            yield f"{name} other {code}", plan.other
    for number, contents in spoken.contents.items():
        yield f"{name} content {number}", contents
