"""What one connection shows of the messages on it, as records: plain facts, without its model.

To follow messages from one connection to another takes two. The `Witness` of a connection looks at
its frames, beside the model of their protocol, and states record by record what they show: a
message passed, a consumer answered, a link ended. The `Judge` takes the records of all connections
in the order of the capture, recognises messages, and lets the rules about brokers look at them.

`Records` is what passes between the two, one method a kind of record. All that is handed over are
values: numbers, texts, octets, and small objects that hold no more than these (`Mark`, `Envelope`,
`Verdict`, `Route`, `Declaration`). So a record can be taken at once, in the process that made it
(`parties.Party`), or one day be written down and taken elsewhere, as in a shuffle of Spark.

A message is known by the frame that began it, its `id`: no other has the same on its connection. A
lane (a link, consumer or channel over which messages pass) and a transaction have numbers that the
witness gives them.
"""

from __future__ import annotations

from amqpscope.model.broker.declaration import Declaration
from amqpscope.model.broker.envelope import Commitment, Envelope, Route, Verdict
from amqpscope.model.broker.journey import Leg
from amqpscope.model.mark import Mark
from amqpscope.model.place import Place
from dissectors.native import mypyc_attr

Address = tuple[str, int]
"""A host and a port."""


class Peers:
    """Which connection it is whose records these are."""

    def __init__(
        self, number: int, capture: int, family: str, client: Address, server: Address
    ) -> None:
        self.number = number
        self.capture = capture
        self.family = family
        """The protocol family."""
        self.client = client
        self.server = server

    @property
    def addresses(self) -> tuple[str, int, str, int]:
        """Who talks to whom, the client first."""
        return (*self.client, *self.server)


class Opening:
    """A lane over which messages pass from now on."""

    def __init__(self, peer: int, place: Place, route: Route) -> None:
        self.peer = peer
        """Who sends them."""
        self.place = place
        self.route = route


class Outcome:
    """What became of one message."""

    def __init__(self, id: int, verdict: Verdict, settled: bool) -> None:
        self.id = id
        self.verdict = verdict
        self.settled = settled
        """Nothing more is to be said of it."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Source:
    """Who makes the records of one connection."""

    def look_for_loss(self) -> None:
        """Say at once if octets turn out to be missing, and not with the next frame."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Records:
    """Takes the records of one connection."""

    def __init__(self) -> None:
        self.source: Source | None = None
        """Who makes them, where that is in this process."""

    def lose(self, *, holed: bool) -> None:
        """Its beginning was not captured; `holed`: or octets are missing, or a fault has acted."""
        raise NotImplementedError

    def set_virtual_host(self, name: str) -> None:
        """The client asks for a part of the broker."""
        raise NotImplementedError

    def introduce(self, product: str, container: str) -> None:
        """The server says who it is, as far as these are not empty."""
        raise NotImplementedError

    def follows(self) -> bool:
        """Whether somebody wants to know of the next message."""
        return True

    def skip(self) -> None:
        """A message has passed that cannot be followed."""
        raise NotImplementedError

    def overlook(self, lane: int, opening: Opening | None) -> None:
        """A consumer got a message that cannot be followed, perhaps any that its node had."""
        raise NotImplementedError

    def message(
        self, leg: Leg, lane: int, opening: Opening | None, target: str | None, way: Route | None,
        transaction: int, first: int, scrap: Envelope | None,
    ) -> None:  # fmt: skip
        """A message has passed.

        `opening`: the lane may be new. `target`: where it goes, on a lane where each message has a
        way of its own; `way` says more of a new one. `first`: what the first message over the lane
        is counted as; -1: not known. `scrap`: what it is if a producer did not complete it, of one
        that cannot be read whole; the leg has the same if nothing else can be made of it.
        """
        raise NotImplementedError

    def scrap(
        self, leg: Leg, lane: int, opening: Opening | None, target: str | None, way: Route | None
    ) -> None:
        """A message was given up, or cut off, before it was complete."""
        raise NotImplementedError

    def subscribe(self, lane: int, opening: Opening) -> None:
        """A consumer is complete, before anything was delivered to it."""
        raise NotImplementedError

    def grant(self, lane: int, limit: int, mark: Mark) -> None:
        """A consumer lets so many messages pass, from the first on."""
        raise NotImplementedError

    def drain(self, lane: int, unused: int, mark: Mark) -> None:
        """The broker has nothing more for a consumer, for so many that were asked for."""
        raise NotImplementedError

    def answer(
        self, id: int, verdict: Verdict, settled: bool, peer: int, known: int, mark: Mark
    ) -> None:
        """A peer, who knows so many octets of its partner, says what became of a message."""
        raise NotImplementedError

    def recover(self, channel: int, verdict: Verdict) -> None:
        """A client gives back all that it has on a channel."""
        raise NotImplementedError

    def conclude(self, outcomes: list[Outcome], mark: Mark) -> None:
        """A transaction is over: what became of messages whose outcome was given in one."""
        raise NotImplementedError

    def progress(self, transaction: int, commitment: Commitment) -> None:
        """A transaction in which messages were published is so far."""
        raise NotImplementedError

    def prove(self, end: int, mark: Mark) -> None:
        """A frame of the broker shows that it has read so many octets of the client."""
        raise NotImplementedError

    def discard(self) -> None:
        """The broker ends something: what it has not read by then, it throws away (2.5.5)."""
        raise NotImplementedError

    def declare(self, said: Declaration) -> None:
        """A client declares or uses something, or the broker answers."""
        raise NotImplementedError

    def clear(self, route: Route) -> None:
        """A client removes all messages of a queue."""
        raise NotImplementedError

    def find_empty(self, route: Route, name: str, mark: Mark) -> None:
        """A queue had nothing for somebody who is no consumer of it, in a frame of this name."""
        raise NotImplementedError

    def count_modes(self, modes: list[str]) -> None:
        """The broker answers with the modes that it gives."""
        raise NotImplementedError

    def close(self, mark: Mark) -> None:
        """A peer closes the connection: consumers say nothing more."""
        raise NotImplementedError

    def end_consumers(self, channel: int) -> None:
        """What was declared on a channel has no consumers there any more, or one less."""
        raise NotImplementedError

    def end_lane(self, lane: int, mark: Mark, *, unused: bool) -> None:
        """A lane ends; `unused`: unless a message on it has no outcome."""
        raise NotImplementedError

    def end_channel(self, channel: int, mark: Mark) -> None:
        """All lanes of a channel end."""
        raise NotImplementedError

    def end(self, mark: Mark, time: int, *, dropped: bool, over: bool) -> None:
        """A direction of the connection has ended, or the capture has.

        `dropped`: the server has ended its own; `over`: both have.
        """
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Court:
    """Who wants records."""

    def meet(self, peers: Peers) -> Records:
        """What takes those of a connection that is new."""
        raise NotImplementedError
