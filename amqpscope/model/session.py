"""One peer's end of a session (spec 2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.delivery import Delivery
from amqpscope.model.knowledge import Grants
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from dissectors.v1_0.bodies import Begin, End, Flow

if TYPE_CHECKING:
    from amqpscope.model.connection import ConnectionEnd

MAX_DONE: Final = 512
"""Settled deliveries that are remembered, to tell a late word on them from one on nothing."""
MAX_SENT: Final = 1024
"""Transfers whose place in the stream is remembered, as what a flow can prove to be known."""


class SessionEnd:
    """What one peer has said on a channel, from its begin to its end."""

    def __init__(self, owner: ConnectionEnd, channel: int, begin: Begin | None, mark: Mark) -> None:
        self.owner = owner
        self.channel = channel
        self.begin = begin
        """None when the begin was not seen: the rest is then assumed."""
        self.mark = mark
        """The begin; of an assumed session, the first frame on its channel."""
        self.known_then = 0
        """Octets of the partner's stream that this peer may have read when it began (K+)."""
        self.replied = False
        """This begin answers the partner's."""
        self.whole = begin is not None
        """All that this peer has said on it was seen: there are no handles but those we know of."""
        self.doubtful = False
        """The answer to the begin may have been in octets that are missing."""
        self.overdue = False
        """It was told that the partner owes an answer to the begin, or to the end."""
        self.pair: SessionEnd | None = None
        self.ended: End | None = None
        self.ended_mark: Mark | None = None
        self.handles: dict[int, LinkEnd] = {}
        """This peer's attached links by its own handle numbers."""
        self.detached: dict[int, LinkEnd] = {}
        """The last link on each handle that this peer has detached."""
        self.unpaired: list[LinkEnd] = []
        """Links that the partner has not attached yet, oldest first."""

        first = None if begin is None else begin.next_outgoing_id
        self.initial_outgoing_id = first
        self.next_outgoing_id = first
        """The transfer-id of this peer's next transfer, unwrapped; None: unknown."""
        self.counted_id = first
        """The same by our count alone, whatever its flows say."""
        self.near_outgoing_id = first
        """The last value that was known: near which to unwrap the next."""
        self.miscounted = False
        """A flow of this peer gave another next-outgoing-id than its transfers do, so the partner's
        next-incoming-id may follow either."""
        self.misread = False
        """A wrong next-incoming-id of this peer was reported; what follows from it is not."""
        self.overrun = -1
        """The window's end past which this peer was last reported to have sent."""
        self.told: set[str] = set()
        """Rules that speak once per session and have spoken."""
        self.overspent = False
        """It was reported to have sent more than its own outgoing-window."""
        self.announced_id = first
        """The next-outgoing-id with which it last announced its outgoing-window."""
        self.outgoing_window = None if begin is None else begin.outgoing_window
        self.window = Grants()
        """Limits of the partner's transfer-ids: where this peer's incoming window ends."""
        self.early = Grants()
        """Windows of flows from before the partner's begin, which gives them their base."""
        self.next_incoming_id: int | None = None
        """As this peer last announced it, unwrapped."""
        self.last_mark: Mark | None = None
        """The newest transfer of this peer."""
        self.sent: list[tuple[int, int]] = []
        """Transfers that the partner has not provably read, newest last: transfer-id and where
        the frame ends."""
        self.flow: Flow | None = None
        self.flow_mark: Mark | None = None

        self.live: dict[int, Delivery] = {}
        """Deliveries that this peer sent and that are not settled, by unwrapped delivery-id."""
        self.done: dict[int, Delivery] = {}
        """The last of those that are settled."""
        self.next_delivery_id: int | None = None
        """Unwrapped; None until a first delivery-id was seen."""
        self.first_delivery_id: int | None = None
        self.skipped_id: int | None = None
        """The next delivery-id had the last wrong one been right: to go on there is no fault."""
        self.foretold = False
        """Deliveries were settled by a disposition that was captured before their transfers."""
        self.half: dict[int, Delivery] = {}
        """Live deliveries that the receiver has stated an outcome for without settling."""
        self.echo: Mark | None = None
        """The oldest flow of this peer that asked for one in return and has got none."""
        self.echo_link: LinkEnd | None = None
        """The link that it was for, if any."""
        self.echo_run = 0
        """Flows in a row, of both peers, that asked for an echo and said nothing new."""
        self.stalled = -1
        """The end of the window that was reported to hold this peer for long."""

    @property
    def assumed(self) -> bool:
        """Made up, because its begin was not seen."""
        return self.begin is None

    @property
    def discarding(self) -> bool:
        """This peer has ended the session with an error and drops what still comes."""
        ended = self.ended
        return ended is not None and (ended.error is not None or bool(ended.wrong))

    def finish(self, delivery: Delivery) -> None:
        """A delivery is settled as far as the wire will show."""
        number = delivery.number
        if number is not None and number in self.live:
            del self.live[number]
            if self.half:
                self.half.pop(number, None)
            self.done[number] = delivery
            if len(self.done) > MAX_DONE:
                for old in list(self.done)[: MAX_DONE // 2]:
                    del self.done[old]

    def find(self, number: int) -> Delivery | None:
        """A delivery of this peer by its unwrapped id, live or lately settled."""
        found = self.live.get(number)
        return self.done.get(number) if found is None else found

    def remember(self, transfer: int, end: int) -> None:
        """Note where a transfer ended in the stream."""
        sent = self.sent
        sent.append((transfer, end))
        if len(sent) > MAX_SENT:
            del sent[: MAX_SENT // 2]
