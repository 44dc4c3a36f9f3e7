"""The connections of a capture, and the brokers that they go to."""

from __future__ import annotations

from typing import Final

from amqpscope.insight.journeys.parties import Party
from amqpscope.insight.journeys.records import Court, Peers
from amqpscope.model.broker.broker import Broker

PAIRED_PORTS: Final = {5671: 5672}
"""Ports on which a broker usually offers the same over TLS."""


class Connections(Court):
    """Knows which broker each connection goes to."""

    def __init__(self, window: int, backlog: int, *, collects: bool) -> None:
        self.window = window
        self.backlog = backlog
        self.collects = collects
        """Brokers keep the journeys that they drop, for somebody who looks at all in the end."""
        self.brokers: dict[tuple[str, int], Broker] = {}
        self.containers: dict[str, Broker] = {}
        self.parties: dict[tuple[int, int], Party] = {}
        """By the numbers of their captures and connections."""
        self.addressed: dict[tuple[str, int, str, int], Party] = {}
        """The first of those with the same addresses, by these."""

    def meet(self, peers: Peers) -> Party:
        """A connection of which records are to come."""
        server = server_of(peers)
        broker = self.brokers.get(server)
        if broker is None:
            broker = self.brokers[server] = Broker(
                f"{server[0]}:{server[1]}", self.window, self.backlog
            )
            broker.gone = [] if self.collects else None
        found = self.parties[peers.capture, peers.number] = self.party(peers, broker)
        found.copied = self.is_copy(found)
        return found

    def party(self, peers: Peers, broker: Broker) -> Party:
        """What takes the records of a connection to a broker."""
        raise NotImplementedError

    def unite(self, party: Party, container: str) -> None:
        """A server says who it is: perhaps a broker that is known by another address."""
        broker = party.broker
        known = self.containers.setdefault(container, broker)
        if known is not broker and is_same(known, broker):
            party.broker = self.brokers[server_of(party.peers)] = known
            known.connections += 1
            known.broken += int(party.broken)

    def part(self, party: Party) -> None:
        """A connection is over."""
        del self.parties[party.capture, party.number]
        if self.addressed.get(party.peers.addresses) is party:
            del self.addressed[party.peers.addresses]
        party.leave()

    def is_copy(self, party: Party) -> bool:
        """Whether another capture has the same connection: its messages would come twice."""
        other = self.addressed.setdefault(party.peers.addresses, party)
        return other.capture != party.capture

    def is_holed(self, capture: int, connection: int) -> bool:
        """Whether octets of a connection are missing, as far as it is not over."""
        party = self.parties.get((capture, connection))
        if party is None:
            return False
        party.look_for_loss()
        return party.holed


def server_of(peers: Peers) -> tuple[str, int]:
    """Where a broker listens."""
    host, port = peers.server
    return host, PAIRED_PORTS.get(port, port)


def is_same(known: Broker, broker: Broker) -> bool:
    """Whether two servers with one container-id are one broker.

    RabbitMQ calls all nodes of a cluster the same; others use any name that suits them.
    """
    if known.product != broker.product:
        return False
    return known.is_rabbit or known.name.rpartition(":")[0] == broker.name.rpartition(":")[0]
