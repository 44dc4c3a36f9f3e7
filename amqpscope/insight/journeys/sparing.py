"""Which messages no rule asks for, so that nobody has to follow them.

Without the rules about brokers, those of single protocol families are left: a few look at the
messages of their family on all connections. Others are skipped until the family shows up at the
same broker; then they are followed too, as messages go from one protocol to another. What was
skipped before is a hole in what is known of that broker.
"""

from __future__ import annotations

from amqpscope.insight.journeys.parties import Party
from amqpscope.model.broker.broker import Broker


class Sparing:
    """Knows which messages to follow for rules of some protocol families."""

    def __init__(self, families: frozenset[str]) -> None:
        self.families = families
        self.wanted: set[Broker] = set()
        """Brokers that messages of these families go to."""
        self.skipped: set[Broker] = set()
        """Brokers of which messages were not followed."""

    def skips(self, party: Party) -> bool:
        """Whether a message on a connection is not to be followed."""
        broker = party.broker
        if party.peers.family in self.families:
            self.wanted.add(broker)
        elif broker not in self.wanted:
            self.skipped.add(broker)
            return True
        if broker in self.skipped:
            party.find_hole()
        return False
