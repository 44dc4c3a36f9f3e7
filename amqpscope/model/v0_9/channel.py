"""One channel: what both peers have said on one number, from its open to its close (4.2).

A number that is opened again is another channel: delivery tags, consumers, confirms and requests
that wait for their answers start again with it.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.content import Assembly
from amqpscope.model.v0_9.deliveries import Consumer, Deliveries, Qos
from amqpscope.model.v0_9.dialogue import Dialogue
from amqpscope.model.v0_9.places import ChannelPlaces
from amqpscope.model.v0_9.publishes import MAX_RETURNABLE, Confirms, Publish, Transaction
from amqpscope.model.v0_9.staging import References, Staging
from dissectors.v0_9.codec import Method

MAX_PENDING: Final = 4096
"""Requests of a peer on a channel that are remembered until they are answered."""
MAX_GONE: Final = 256
"""Consumers of a channel that are remembered after they are gone."""


class Request:
    """A method that wants an answer and has none yet."""

    def __init__(self, method: Method, mark: Mark, replies: tuple[str, ...]) -> None:
        self.method = method
        self.name = method.plan.name
        self.mark = mark
        self.replies = replies
        self.consumer: Consumer | None = None
        """What a consume or cancel is about."""
        self.qos: Qos | None = None
        self.staging: Staging | None = None
        """The file that an open, or an open-ok, is about."""


class Closed:
    """A close of a channel or connection."""

    def __init__(self, code: int, text: str, class_id: int, method_id: int, mark: Mark) -> None:
        self.code = code
        self.text = text
        self.class_id = class_id
        self.method_id = method_id
        self.mark = mark
        self.answer: Mark | None = None
        """The partner's close-ok."""


class Flow(Subject):
    """What one peer's channel.flow asks of its partner."""

    def __init__(self) -> None:
        super().__init__()
        self.active = True
        self.mark: Mark | None = None
        """The newest flow."""
        self.ok_active = True
        """What the partner has last said to obey."""
        self.ok_mark: Mark | None = None


class Channel(Subject):
    """One channel; number 0 stands for the connection's own methods."""

    def __init__(self, number: int, assumed: bool, mark: Mark) -> None:
        super().__init__()
        self.number = number
        self.assumed = assumed
        """Its open was not seen."""
        self.generation = 0
        """How often the number had been opened before."""
        self.mark = mark
        """Its open, or the first frame that was seen of it."""
        self.ok_mark: Mark | None = None
        """The server's open-ok."""
        self.whole = [not assumed, not assumed]
        """All that the client, and the server, wrote on it was seen."""
        self.closes: list[Closed | None] = [None, None]
        """The close of each peer."""
        self.owes = [False, False]
        """Who has yet to answer the close of the channel that had the number before."""
        self.out_of_band = ""
        self.pending: list[list[Request]] = [[], []]
        """Requests of each peer that are not answered, oldest first."""
        self.unanswered: list[Request] = []
        """Requests that were passed over: a later one has had its answer."""
        self.unawaited: dict[str, Mark] = {}
        """The newest request that wants no answer, by what the answer would be."""
        self.doubtful = [False, False]
        """Of which peers' requests the answers may have been missed."""
        self.assemblies = [Assembly(number, 0), Assembly(number, 1)]
        self.dialogues = [Dialogue(), Dialogue()]
        """The request and response frames of each peer (0-9)."""
        self.stagings: list[Staging | None] = [None, None]
        """What the newest file.stage of each peer is about."""
        self.references = [References(), References()]
        """What each peer said by the message class (0-9)."""
        self.flows = [Flow(), Flow()]
        """By who asks."""
        self.proved = [0, 0]
        """Octets of its partner's stream that each peer has dealt with on this channel (K-)."""
        self.sent: list[dict[int, Mark]] = [{}, {}]
        """The methods that each peer sent, by class and method, with the newest place."""
        self.consumers: dict[str, Consumer] = {}
        self.gone: dict[str, Consumer] = {}
        """Consumers that were cancelled, the newest by tag."""
        self.places = ChannelPlaces(number)
        self.deliveries = Deliveries()
        self.qos: list[Qos] = []
        """The newest of each scope, oldest first, and those that are not answered."""
        self.confirms = Confirms()
        self.transaction: Transaction | None = None
        self.dtx_mark: Mark | None = None
        """The client's dtx.select."""
        self.dtx_start_mark: Mark | None = None
        self.returnable: list[Publish] = []
        """Publishes with `mandatory` or `immediate`, the newest."""
        self.last_queue: str | None = None
        """The queue that was declared last: what an empty name means."""
        self.tickets: set[int] = set()
        self.publishes = 0
        self.published_bytes = 0
        self.after_close = [0, 0]
        """Frames that each peer sent after it may have read the partner's close."""

    @property
    def sure(self) -> bool:
        """All that was said on it, by both, was seen."""
        return self.whole[0] and self.whole[1]

    @property
    def closing(self) -> bool:
        """A close of either peer was sent."""
        return self.closes[0] is not None or self.closes[1] is not None

    @property
    def open(self) -> bool:
        """Both have opened it, as far as is known, and nobody has closed it."""
        return (self.ok_mark is not None or self.assumed) and not self.closing

    def lose(self, peer: int) -> None:
        """Frames of a peer were missed, perhaps some of this channel."""
        self.whole[peer] = False
        self.doubtful = [True, True]
        self.assemblies[peer].lose()
        self.deliveries.lose()
        self.confirms.lose()
        for dialogue in self.dialogues:
            dialogue.unsure = True

    def ask(self, peer: int, request: Request) -> None:
        """A peer wants an answer."""
        pending = self.pending[peer]
        pending.append(request)
        if len(pending) > MAX_PENDING:
            del pending[0]
            self.doubtful[peer] = True

    def answered_request(self, peer: int, name: str) -> Request | None:
        """The request, of the partner of `peer`, that a reply of this name answers."""
        for request in self.pending[1 - peer]:
            if name in request.replies:
                return request
        return None

    def prove(self, peer: int, end: int) -> None:
        """A peer's frame shows that it dealt with so much of what its partner wrote."""
        self.proved[peer] = max(self.proved[peer], end)

    def leave(self, consumer: Consumer) -> None:
        """A consumer is gone."""
        if self.consumers.get(consumer.tag) is consumer:
            del self.consumers[consumer.tag]
        self.gone.pop(consumer.tag, None)
        self.gone[consumer.tag] = consumer
        if len(self.gone) > MAX_GONE:
            del self.gone[next(iter(self.gone))]

    def release(self) -> None:
        """It is over: let go of messages, of which nobody will ask any more.

        Of each consumer the oldest that it never acknowledged is kept: it may be why it was stuck.
        """
        for delivery in self.deliveries.outstanding.values():
            consumer = delivery.consumer
            if consumer is not None and consumer.oldest is None:
                consumer.oldest = delivery
        self.deliveries.outstanding = {}
        self.deliveries.settled = {}
        self.confirms.outstanding = {}
        self.confirms.settled = {}
        self.returnable = []
        self.pending = [[], []]

    def returns(self, publish: Publish) -> None:
        """The server may give this one back."""
        self.returnable.append(publish)
        if len(self.returnable) > MAX_RETURNABLE:
            del self.returnable[0]
