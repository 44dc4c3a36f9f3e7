"""One peer's end of a session (spec 2.5): what it is, and its parts.

A peer sends transfers and deliveries on a session (`sending`, `deliveries`), and grants its partner
a window for those that it receives (`receiving`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.knowledge import MAX_UNREAD, Grants
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.model.place import SESSION, Place
from amqpscope.model.serial import wire
from amqpscope.model.v1_0 import states
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.link import LinkEnd
from dissectors.v1_0.bodies import Begin, End, Flow

if TYPE_CHECKING:
    from amqpscope.model.v1_0.connection import ConnectionEnd

MAX_DONE: Final = 512
"""Settled deliveries that are remembered, so that a late disposition of them is recognised."""


class SessionSending:
    """The transfers that a peer sends on a session, by their implicit transfer-ids (2.5.6)."""

    def __init__(self, begin: Begin | None) -> None:
        first = None if begin is None else begin.next_outgoing_id
        self.initial_outgoing_id = first
        self.next_outgoing_id = first
        """The transfer-id of the next transfer, unwrapped; None: unknown."""
        self.counted_id = first
        """The next transfer-id by our count alone, whatever the peer's flows state."""
        self.near_outgoing_id = first
        """The last value that was known: near which to unwrap the next."""
        self.miscounted = False
        """A flow stated another next-outgoing-id than the transfers make, so the partner's
        next-incoming-id may follow either."""
        self.outgoing_window = None if begin is None else begin.outgoing_window
        self.announced_id = first
        """The next-outgoing-id with which the outgoing-window was last announced."""
        self.last_mark: Mark | None = None
        """The newest transfer."""
        self.unread: list[tuple[int, int]] = []
        """Transfers that the partner has not provably read, newest last: transfer-id and where
        the frame ends."""

    def count(self, end: int) -> None:
        """One more transfer, which ends there in the peer's stream."""
        number = self.next_outgoing_id
        if number is None:
            return
        unread = self.unread
        unread.append((number, end))
        if len(unread) > MAX_UNREAD:
            del unread[: MAX_UNREAD // 2]
        self.next_outgoing_id = self.near_outgoing_id = number + 1
        if self.counted_id is not None:
            self.counted_id += 1

    def lose(self) -> None:
        """Transfers may be missing."""
        self.next_outgoing_id = None
        self.counted_id = None


class SessionReceiving:
    """The window that a peer grants for what it receives on a session (2.5.6)."""

    def __init__(self) -> None:
        self.window = Grants()
        """Limits of the partner's transfer-ids: where the incoming window ends."""
        self.early_windows = Grants()
        """Windows of flows from before the partner's begin, which gives them their base."""
        self.next_incoming_id: int | None = None
        """As this peer last announced it, unwrapped."""


class SentDeliveries:
    """The deliveries that a peer sends on a session, by their unwrapped delivery-ids."""

    def __init__(self) -> None:
        self.live: dict[int, Delivery] = {}
        """Those that are not settled."""
        self.done: dict[int, Delivery] = {}
        """The last of those that are settled."""
        self.half_settled: dict[int, Delivery] = {}
        """Live ones for which the receiver has stated an outcome without settling."""
        self.next_delivery_id: int | None = None
        """None until a first delivery-id was seen."""
        self.first_delivery_id: int | None = None
        self.skipped_id: int | None = None
        """The next delivery-id had the last wrong one been right: to go on there is no fault."""
        self.settled_ahead = False
        """Some were settled by a disposition that was captured before their transfers."""

    def begin(self, delivery: Delivery) -> None:
        """Take a new delivery, and keep it until it is settled."""
        number, expected = delivery.number, self.next_delivery_id
        if number is None:
            return
        if expected is not None and number != expected:
            self.skipped_id = None if number == self.skipped_id else expected + 1
            delivery.due_id = wire(expected)
        elif self.skipped_id is not None:
            self.skipped_id += 1
        self.next_delivery_id = number + 1
        if self.first_delivery_id is None:
            self.first_delivery_id = number
        self.live[number] = delivery

    def finish(self, delivery: Delivery) -> None:
        """A delivery is settled as far as the wire will show."""
        number = delivery.number
        if number is not None and number in self.live:
            del self.live[number]
            if self.half_settled:
                self.half_settled.pop(number, None)
            self.done[number] = delivery
            if len(self.done) > MAX_DONE:
                for old in list(self.done)[: MAX_DONE // 2]:
                    del self.done[old]

    def find(self, number: int) -> Delivery | None:
        """A delivery by its unwrapped id, live or lately settled."""
        found = self.live.get(number)
        return self.done.get(number) if found is None else found

    def find_range(self, first: int, last: int) -> list[Delivery]:
        """The deliveries of a range, without walking over a range of millions."""
        if first == last:
            one = self.find(first)
            return [] if one is None else [one]
        if last - first > len(self.live) + len(self.done):
            ids = sorted(number for number in (*self.live, *self.done) if first <= number <= last)
        else:
            ids = list(range(first, last + 1))
        found = [self.find(number) for number in ids]
        return [delivery for delivery in found if delivery is not None]


class Echo:
    """A peer's request for a flow in return (2.7.4)."""

    def __init__(self) -> None:
        self.mark: Mark | None = None
        """The oldest flow that asked for one in return and has got none."""
        self.link: LinkEnd | None = None
        """The link that it was for, if any."""
        self.run = 0
        """Flows in a row, of both peers, that asked for an echo and said nothing new."""


class SessionEnd(Subject):
    """What one peer has said on a channel, from its begin to its end."""

    def __init__(self, owner: ConnectionEnd, channel: int, begin: Begin | None, mark: Mark) -> None:
        super().__init__()
        self.owner = owner
        self.channel = channel
        self.begin = begin
        """None when the begin was not seen: the rest is then assumed."""
        self.mark = mark
        """The begin; of an assumed session, the first frame on its channel."""
        self.stage = states.LOST if begin is None else states.BEGIN
        """What this peer has sent last, of begin and end (see `states`)."""
        self.sending = SessionSending(begin)
        self.receiving = SessionReceiving()
        self.deliveries = SentDeliveries()
        self.echo = Echo()

        self.pair: SessionEnd | None = None
        """The partner's end."""
        self.replied = False
        """This begin answers the partner's."""
        self.known_then = 0
        """Octets of the partner's stream that this peer may have read when it began (K+)."""
        self.whole = begin is not None
        """All that this peer has said on it was seen: there are no handles but those we know of."""
        self.doubtful = False
        """The answer to the begin may have been in octets that are missing."""
        self.handles: dict[int, LinkEnd] = {}
        """This peer's attached links by its own handle numbers."""
        self.detached: dict[int, LinkEnd] = {}
        """The last link on each handle that this peer has detached."""
        self.unpaired: list[LinkEnd] = []
        """Links that the partner has not attached yet, oldest first."""
        self.flow: Flow | None = None
        """The last flow of this peer, for the session or for a link."""
        self.flow_mark: Mark | None = None
        self.ended: End | None = None
        self.ended_mark: Mark | None = None
        self.own_place: Place | None = None

    @property
    def assumed(self) -> bool:
        """Made up, because its begin was not seen."""
        return self.begin is None

    @property
    def place(self) -> Place:
        """What its window limits."""
        if self.own_place is None:
            peer, channel = self.owner.peer, self.channel
            self.own_place = Place(SESSION, str(channel), "", peer, channel)
            self.own_place.key = f"{self.own_place.key} {self.mark.frame}"
        return self.own_place

    @property
    def state(self) -> str:
        """The state of this end (2.5.5), by what both peers have sent on the session so far."""
        received = states.LOST if self.assumed or self.doubtful else states.NOTHING
        if self.pair is not None:
            received = self.pair.stage
        return states.SESSION.state(self.stage, received)

    @property
    def is_ended(self) -> bool:
        """This peer has sent its end."""
        return self.stage >= states.END

    @property
    def discarding(self) -> bool:
        """This peer has ended the session with an error and drops what still comes."""
        return self.stage == states.END_ERROR

    def set_end(self, body: End, mark: Mark) -> None:
        """This peer ends the session."""
        self.ended, self.ended_mark = body, mark
        error = body.error is not None or bool(body.wrong)
        self.stage = states.SESSION.after(self.stage, states.END_ERROR if error else states.END)

    def lose(self) -> None:
        """Frames of this peer may be missing: what it has counted and granted is unknown."""
        self.stage = states.SESSION.after(self.stage, states.LOST)
        self.whole = False
        self.sending.lose()
        self.deliveries.next_delivery_id = None
        self.receiving.window.lose()
        for link in self.handles.values():
            link.lose()
