"""The connections of a capture, and the brokers that they go to."""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.journeys.parties import Party
from amqpscope.model.broker.broker import Broker
from amqpscope.model.event import Event
from amqpscope.stream.types import CLIENT

PAIRED_PORTS: Final = {5671: 5672}
"""Ports on which a broker usually offers the same over TLS."""


class Connections:
    """Knows which broker each connection goes to."""

    def __init__(self, window: int, backlog: int, *, collects: bool) -> None:
        self.window = window
        self.backlog = backlog
        self.collects = collects
        """Brokers keep the journeys that they drop, for somebody who looks at all in the end."""
        self.brokers: dict[tuple[str, int], Broker] = {}
        self.containers: dict[str, Broker] = {}
        self.parties: dict[Conversation, Party] = {}
        self.numbered: dict[tuple[int, int], Party] = {}
        """The same by the numbers of their captures and connections."""
        self.addressed: dict[tuple[str, int, str, int], Party] = {}
        """The first of those with the same addresses, by these."""

    def introduce(self, step: Step, event: Event, capture: int) -> None:
        """A server says who it is, or a client which part of it it wants."""
        party = self.party(step, capture)
        if event.peer == CLIENT:
            party.virtual_host = party.view.virtual_host(event) or party.virtual_host
            return
        identity, broker = event.identifies, party.broker
        if identity is None:
            return
        if identity.product:
            broker.product = identity.product
        if event.name == "open" and identity.name:
            known = self.containers.setdefault(identity.name, broker)
            if known is not broker and is_same(known, broker):
                party.broker = self.brokers[self.server_of(step)] = known
                known.connections += 1
                known.broken += int(party.broken)
            party.broker.meet(identity.name)

    def party(self, step: Step, capture: int) -> Party:
        """A connection and its broker."""
        found = self.parties.get(step.conversation)
        if found is None:
            server = self.server_of(step)
            broker = self.brokers.get(server)
            if broker is None:
                name = f"{server[0]}:{server[1]}"
                broker = self.brokers[server] = Broker(name, self.window, self.backlog)
                broker.gone = [] if self.collects else None
            found = self.parties[step.conversation] = Party(step.conversation, capture, broker)
            self.numbered[capture, step.conversation.number] = found
            found.copied = self.is_copy(found)
        return found

    def server_of(self, step: Step) -> tuple[str, int]:
        """Where a broker listens."""
        host, port = step.conversation.connection.server
        return host, PAIRED_PORTS.get(port, port)

    def is_copy(self, party: Party) -> bool:
        """Whether another capture has the same connection: its messages would come twice."""
        other = self.addressed.setdefault(party.addresses, party)
        return other.capture != party.capture

    def is_holed(self, capture: int, connection: int) -> bool:
        """Whether octets of a connection are missing, as far as it is not over."""
        party = self.numbered.get((capture, connection))
        if party is None:
            return False
        party.look_for_loss()
        return party.holed


def is_same(known: Broker, broker: Broker) -> bool:
    """Whether two servers with one container-id are one broker.

    RabbitMQ calls all nodes of a cluster the same; others use any name that suits them.
    """
    if known.product != broker.product:
        return False
    return known.is_rabbit or known.name.rpartition(":")[0] == broker.name.rpartition(":")[0]
