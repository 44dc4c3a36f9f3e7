"""What the client publishes on a channel: counted, confirmed, returned, or in a transaction."""

from __future__ import annotations

from typing import Final

from amqpscope.model import delivery as shared
from amqpscope.model.mark import Mark
from amqpscope.model.place import Place
from amqpscope.model.v0_9.deliveries import MAX_OUTSTANDING, MAX_SETTLED, Delivery, Settled
from amqpscope.model.v0_9.places import ChannelPlaces
from dissectors.native import mypyc_attr

MAX_RETURNABLE: Final = 1024
"""Publishes with `mandatory` or `immediate` of a channel that are remembered."""


RESULTS: Final = {"ack": "confirmed", "nack": "nacked"}
"""The method with which the server confirms, and what people call it."""


@mypyc_attr(free_list_len=1)
class Publish(shared.Delivery):
    """One message that the client handed to the server."""

    def __init__(
        self, number: int, mark: Mark, exchange: str, routing_key: str, places: ChannelPlaces
    ) -> None:
        super().__init__(mark, number or None)
        self.number = number
        """Its number in confirm mode, from 1; 0 in no such mode."""
        self.exchange = exchange
        self.routing_key = routing_key
        self.places = places
        self.mandatory = False
        self.immediate = False
        self.size = -1
        """Octets of its body, once its header was seen; -1 before."""
        self.returned: Mark | None = None
        self.outcome = ""
        """`ack`, `nack`, or empty while it is not confirmed."""
        self.work: Work | None = None
        """The transaction that it is part of."""

    # the vocabulary of all families

    @property
    def place(self) -> Place:
        """The exchange that it goes to, or the queue by way of the default exchange."""
        return self.places.target(self.exchange, self.routing_key)

    @property
    def lane(self) -> Place | None:
        """The channel that it was published on."""
        return self.places.publishing()

    @property
    def unanswered(self) -> bool:
        """The channel is not in confirm mode."""
        return self.number == 0

    @property
    def result(self) -> str:
        """How the server confirmed it."""
        if self.outcome in RESULTS:
            return RESULTS[self.outcome]
        return shared.PRESETTLED if self.number == 0 else self.outcome


class Confirms:
    """Confirm mode of a channel (RabbitMQ's extension)."""

    def __init__(self) -> None:
        self.select_mark: Mark | None = None
        """The client's confirm.select."""
        self.ok_mark: Mark | None = None
        self.next_number = 1
        self.outstanding: dict[int, Publish] = {}
        """Published and not confirmed, in order."""
        self.settled: dict[int, Settled] = {}
        """The newest that are confirmed."""
        self.unsure = False
        """Publishes or confirms may have been missed."""

    @property
    def on(self) -> bool:
        """Whether publishes are counted, as the client has asked for confirms."""
        return self.select_mark is not None

    def lose(self) -> None:
        """Frames were missed: the count is not sure any more."""
        self.unsure = True

    def add(self, publish: Publish) -> None:
        """Add a publish."""
        self.next_number = publish.number + 1
        self.outstanding[publish.number] = publish
        if len(self.outstanding) > MAX_OUTSTANDING:
            del self.outstanding[next(iter(self.outstanding))]
            self.unsure = True

    def covered_by(self, number: int, multiple: bool) -> list[Publish]:
        """The outstanding ones that a confirm refers to."""
        if not multiple:
            found = self.outstanding.get(number)
            return [] if found is None else [found]
        covered: list[Publish] = []
        for place, publish in self.outstanding.items():
            if number and place > number:
                break
            covered.append(publish)
        return covered

    def settle(self, publish: Publish, mark: Mark, outcome: str) -> None:
        """One of them is confirmed."""
        if self.outstanding.pop(publish.number, None) is None:
            return
        publish.settled, publish.outcome = mark, outcome
        self.settled[publish.number] = Settled(mark, outcome)
        if len(self.settled) > 2 * MAX_SETTLED:
            self.settled = dict(list(self.settled.items())[-MAX_SETTLED:])


class Work:
    """What is done between two commits or rollbacks."""

    def __init__(self) -> None:
        self.end: Mark | None = None
        """The client's commit or rollback."""
        self.rollback = False


class Transaction:
    """Transaction mode of a channel: what is done and not committed."""

    def __init__(self, mark: Mark) -> None:
        self.select_mark = mark
        self.ok_mark: Mark | None = None
        self.publishes = 0
        self.first_mark: Mark | None = None
        """The first publish or acknowledgement since the last commit."""
        self.acked: list[Delivery] = []
        """Deliveries that were acknowledged and may come back."""
        self.ending: list[Ending] = []
        """Commits and rollbacks that are not answered, oldest first."""
        self.current = Work()

    def work(self, mark: Mark) -> None:
        """Something is done in it."""
        if self.first_mark is None:
            self.first_mark = mark

    def unfinished(self) -> tuple[int, int]:
        """How many are rolled back, and how many in doubt, if the channel ends now."""
        commits = sum(1 for ending in self.ending if not ending.rollback)
        return len(self.ending) - commits + (self.first_mark is not None), commits

    def abandon(self) -> tuple[int, int]:
        """The channel ends; how many are rolled back by that, and how many in doubt."""
        found = self.unfinished()
        self.ending, self.first_mark = [], None
        return found

    def end(self, mark: Mark, rollback: bool) -> None:
        """The client commits or rolls back: what comes next is of the next transaction."""
        self.ending.append(Ending(mark, rollback, self.publishes, self.acked))
        self.current.end, self.current.rollback = mark, rollback
        self.current = Work()
        self.publishes = 0
        self.acked = []
        self.first_mark = None


class Ending:
    """One commit or rollback."""

    def __init__(self, mark: Mark, rollback: bool, publishes: int, acked: list[Delivery]) -> None:
        self.mark = mark
        self.rollback = rollback
        self.publishes = publishes
        self.acked = acked
