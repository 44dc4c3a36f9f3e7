"""What a family's frames say of a broker's work with messages: one object a family."""

from __future__ import annotations

from amqpscope.model.broker.declaration import Declaration
from amqpscope.model.broker.envelope import Commitment, Envelope, Route, Verdict
from amqpscope.model.delivery import Delivery
from amqpscope.model.event import Event
from amqpscope.model.mark import Mark
from amqpscope.model.peer import PeerEnd
from amqpscope.model.place import Place
from dissectors.native import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerView:
    """What `insight.journeys` asks; what is not overridden says nothing."""

    def virtual_host(self, event: Event) -> str | None:
        """The part of the broker that a client asks for; None where the frame does not say."""
        return None

    def envelope(self, event: Event) -> Envelope | None:
        """The message that a frame completes; None where its octets are in doubt."""
        return None

    def may_ask(self, event: Event) -> bool:
        """Whether the message that a frame completes may want an answer, at a quick look."""
        return True

    def scrap(self, event: Event) -> Envelope | None:
        """What was sent of a message that a frame gives up; or one that cannot be read whole."""
        return None

    def unfinished_messages(self, end: PeerEnd) -> list[tuple[Delivery, Envelope]]:
        """Messages that a peer began and did not complete, with what came of them."""
        return []

    def route(self, delivery: Delivery) -> Route:
        """Where a message goes at the broker, or comes from."""
        return Route("")

    def subscribes(self, event: Event) -> tuple[Place, Route] | None:
        """The consumer that a frame completes, and where its messages come from."""
        return None

    def target_key(self, delivery: Delivery, envelope: Envelope) -> str:
        """What tells where a message goes from where others go, where each has a way of its own."""
        return ""

    def verdict(self, delivery: Delivery) -> Verdict:
        """What became of a message that was handed over."""
        return Verdict("", None)

    def commitment(self, delivery: Delivery) -> Commitment:
        """The transaction that a message was handed over in."""
        return Commitment("", None)

    def transaction(self, delivery: Delivery) -> object:
        """What is the same for all messages that were handed over in one transaction."""
        return None

    def grant(self, event: Event) -> tuple[Place, int] | None:
        """The place of a flow, and how many messages it lets pass there, from the first on."""
        return None

    def first_position(self, delivery: Delivery) -> int:
        """What the first message over its place is counted as; -1: not known."""
        return -1

    def declares(self, event: Event) -> Declaration | None:
        """What a frame declares, deletes or uses at the broker."""
        return None

    def modes(self, event: Event) -> list[str]:
        """What clients ask a broker for and what it gives them: `confirms -> on`."""
        return []

    def answers_ending(self, event: Event) -> Mark | None:
        """The client's frame that ends a link or more, which a broker's frame answers."""
        return None

    def leaves(self, event: Event) -> list[Place]:
        """The links that a peer leaves with an event, whatever its partner does then."""
        return []

    def clears(self, event: Event) -> Route | None:
        """The queue whose messages a client removes, all at once."""
        return None

    def empties(self, event: Event) -> Route | None:
        """The queue of which a broker says that it has nothing, without a consumer."""
        return None

    def drained_place(self, event: Event) -> tuple[Place, int] | None:
        """The place for which a broker says that it has nothing more, where all was asked for; and
        for how many messages that were asked for, since it began, there were none."""
        return None
