"""Consumers, deliveries and what the client has acknowledged of them, on one channel."""

from __future__ import annotations

from typing import Final

from amqpscope.model import delivery as shared
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.model.place import Place
from amqpscope.model.v0_9.places import ChannelPlaces
from dissectors.native import mypyc_attr
from dissectors.v0_9.values import Table

MAX_SETTLED: Final = 4096
"""Settled deliveries, or confirmed publishes, of a channel whose end is remembered."""
MAX_REQUEUED: Final = 64
"""Deliveries of a channel that went back to their queues and are remembered."""
MAX_RECOVERED: Final = 1024
"""Message-ids of a channel that a recover brings again and that are remembered."""
MAX_WAYS: Final = 64
"""Ways to a consumer of which the newest message is remembered."""
MAX_OUTSTANDING: Final = 1 << 20
"""Deliveries, or publishes, of a channel that are remembered until they are settled."""

RESULTS: Final = {
    # the method: what people call it
    "ack": "acked",
    "nack": "nacked",
    "reject": "rejected",
    "recover": "recovered",
}

# How far a consumer is.
PENDING: Final = "pending"
ACTIVE: Final = "active"
CANCELLING: Final = "cancelling"
ORPHANED: Final = "orphaned"
"""Its queue was deleted."""
GONE: Final = "gone"


class Qos:
    """One basic.qos of the client."""

    def __init__(self, size: int, count: int, everywhere: bool, mark: Mark) -> None:
        self.size = size
        """`prefetch-size`, 0 for no limit."""
        self.count = count
        """`prefetch-count`, 0 for no limit."""
        self.everywhere = everywhere
        """`global`: of the connection by the specification, of the channel by RabbitMQ."""
        self.mark = mark
        self.ok_mark: Mark | None = None
        self.class_name = "basic"
        """The class whose deliveries it limits."""
        self.rate = 0
        """`consume-rate` in octets a second (stream class), 0 for no limit."""


class Consumer(Subject):
    """What one basic.consume asked for."""

    def __init__(self, tag: str, queue: str, no_ack: bool, exclusive: bool, mark: Mark) -> None:
        super().__init__()
        self.tag = tag
        """Empty until the server has chosen one."""
        self.queue = queue
        self.no_ack = no_ack
        self.exclusive = exclusive
        self.no_local = False
        self.class_name = "basic"
        self.arguments: Table | None = None
        self.mark = mark
        self.ok_mark: Mark | None = None
        self.cancel_mark: Mark | None = None
        """The client's, or the server's, cancel."""
        self.gone_mark: Mark | None = None
        self.state = PENDING
        self.qos: Qos | None = None
        """The newest qos without `global` when it was made: RabbitMQ's limit for it."""
        self.deliveries = 0
        self.bytes = 0
        self.unacked = 0
        """Deliveries to it that are not acknowledged."""
        self.unacked_bytes = 0
        self.oldest: Delivery | None = None
        """Of a consumer whose channel is over: the oldest delivery that it never acknowledged."""
        self.assumed = False
        """Its consume was not seen."""
        self.again = False
        """An earlier consumer of the channel had its tag."""
        self.passed: dict[str, Mark] = {}
        """The newest message of this connection that was delivered to it, by the way it took."""
        self.place: Place | None = None

    def place_on(self, places: ChannelPlaces) -> Place:
        """What messages to it are counted by."""
        if self.place is None:
            self.place = places.consuming(self.tag, self.queue, self.mark.frame)
        return self.place

    def take(self, way: str, mark: Mark) -> None:
        """A message that this connection published there came by that way."""
        before = self.passed.get(way)
        if before is None or before.end < mark.end:
            if len(self.passed) >= MAX_WAYS:
                self.passed = {}
            self.passed[way] = mark


@mypyc_attr(free_list_len=1)
class Delivery(shared.Delivery):
    """One message that the server handed to the client."""

    def __init__(
        self, tag: int, mark: Mark, consumer: Consumer | None, no_ack: bool, places: ChannelPlaces
    ) -> None:
        super().__init__(mark, tag or None)
        self.tag = tag
        self.consumer = consumer
        """None for the answer to a get."""
        self.no_ack = no_ack
        self.places = places
        self.exchange = ""
        self.routing_key = ""
        self.queue = ""
        """Where it came from, as far as the consumer or the get shows."""
        self.message_id = ""
        self.outcome = ""
        """`ack`, `nack`, `reject`, `no-ack`, or empty."""
        self.requeue = False
        self.transaction = False
        """It was acknowledged in a transaction that is not committed."""
        self.committed: Mark | None = None
        """The server's commit-ok of the transaction in which it was acknowledged."""
        self.given_back = False
        """It was acknowledged in a transaction that was rolled back."""

    # the vocabulary of all families

    @property
    def place(self) -> Place:
        """The queue that it comes from, or how it was routed where that is not known."""
        return self.places.source(self.queue or self.routing_key)

    @property
    def lane(self) -> Place | None:
        """The consumer that it is for."""
        consumer = self.consumer
        return None if consumer is None else consumer.place_on(self.places)

    @property
    def presettled(self) -> bool:
        """Nobody acknowledges it."""
        return self.no_ack

    @property
    def result(self) -> str:
        """How the client acknowledged it."""
        if self.outcome in RESULTS:
            return RESULTS[self.outcome]
        return shared.PRESETTLED if self.no_ack else self.outcome


@mypyc_attr(free_list_len=1)
class Settled:
    """How and where a delivery, or a publish, was settled."""

    def __init__(self, mark: Mark, outcome: str) -> None:
        self.mark = mark
        self.outcome = outcome


class Deliveries:
    """All of a channel that matter."""

    def __init__(self) -> None:
        self.next_tag: int | None = 1
        """The tag that the next one should have; None: unknown."""
        self.highest = 0
        """The highest tag that was seen."""
        self.outstanding: dict[int, Delivery] = {}
        """Not settled, in the order of their tags."""
        self.settled: dict[int, Settled] = {}
        """The newest that are settled."""
        self.unsure = False
        """Deliveries or acknowledgements may have been missed."""
        self.requeued: list[Delivery] = []
        """The newest that the client has rejected, to be handed out again."""
        self.recovered: dict[str, Mark] = {}
        """The message-ids of those that the client wants again, with its recover."""
        self.misnamed: Mark | None = None
        """The first acknowledgement that named none of them."""
        self.count = 0
        self.bytes = 0
        self.unacked = 0
        """Outstanding ones that came by a consumer: those that a prefetch counts."""

    def lose(self) -> None:
        """Frames were missed: which tag comes next is not known any more."""
        self.unsure = True
        self.next_tag = None

    def add(self, delivery: Delivery) -> None:
        """Add a delivery."""
        tag = delivery.tag
        self.count += 1
        self.highest = max(self.highest, tag)
        self.next_tag = tag + 1
        consumer = delivery.consumer
        if consumer is not None:
            consumer.deliveries += 1
        if delivery.no_ack:
            delivery.settled, delivery.outcome = delivery.mark, "no-ack"
            self.remember(tag, Settled(delivery.mark, "no-ack"))
            return
        self.outstanding[tag] = delivery
        if consumer is not None:
            consumer.unacked += 1
            self.unacked += 1
        if len(self.outstanding) > MAX_OUTSTANDING:
            del self.outstanding[next(iter(self.outstanding))]
            self.unsure = True

    def set_size(self, delivery: Delivery, size: int) -> None:
        """The header of its content says how large it is."""
        delivery.size = size
        self.bytes += size
        consumer = delivery.consumer
        if consumer is not None:
            consumer.bytes += size
            if not delivery.no_ack:
                consumer.unacked_bytes += size

    def remember(self, tag: int, settled: Settled) -> None:
        """Keep how one was settled, for a while."""
        self.settled[tag] = settled
        if len(self.settled) > 2 * MAX_SETTLED:
            # Not one by one: to find the oldest of a dict costs more the more were deleted.
            self.settled = dict(list(self.settled.items())[-MAX_SETTLED:])

    def covered_by(self, tag: int, multiple: bool) -> list[Delivery]:
        """The outstanding ones that an acknowledgement refers to."""
        if not multiple:
            found = self.outstanding.get(tag)
            return [] if found is None else [found]
        covered: list[Delivery] = []
        for number, delivery in self.outstanding.items():
            if tag and number > tag:
                break
            covered.append(delivery)
        return covered

    def settle(self, delivery: Delivery, mark: Mark, outcome: str) -> None:
        """One of them is settled."""
        if self.outstanding.pop(delivery.tag, None) is None:
            return
        delivery.settled, delivery.outcome = mark, outcome
        consumer = delivery.consumer
        if consumer is not None:
            self.unacked -= 1
            consumer.unacked -= 1
            consumer.unacked_bytes -= delivery.size
        self.remember(delivery.tag, Settled(mark, outcome))

    def requeue(self, delivery: Delivery) -> None:
        """One of them goes back to its queue."""
        delivery.requeue = True
        self.requeued.append(delivery)
        if len(self.requeued) > MAX_REQUEUED:
            del self.requeued[0]

    def recover(self, mark: Mark) -> None:
        """All that are outstanding come again, with other tags."""
        for delivery in list(self.outstanding.values()):
            self.settle(delivery, mark, "recover")
            if delivery.message_id and len(self.recovered) < MAX_RECOVERED:
                self.recovered[delivery.message_id] = mark

    def give_back(self, deliveries: list[Delivery]) -> None:
        """A rollback: what was acknowledged in the transaction is not any more."""
        if not deliveries:
            return
        for delivery in deliveries:
            delivery.settled, delivery.outcome = None, ""
            delivery.given_back = True
            self.settled.pop(delivery.tag, None)
            self.outstanding[delivery.tag] = delivery
            consumer = delivery.consumer
            if consumer is not None:
                self.unacked += 1
                consumer.unacked += 1
                consumer.unacked_bytes += delivery.size
        self.outstanding = dict(sorted(self.outstanding.items()))
