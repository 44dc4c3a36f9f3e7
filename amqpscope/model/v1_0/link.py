"""One peer's end of a link (spec 2.6): what it is, and its parts as a sender and as a receiver.

A peer is either the sender or the receiver of a link, so that only one of the parts `sending` and
`receiving` is used; both are there, since the role of a link is unknown where its attach was not
seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.knowledge import MAX_GRANTS, MAX_UNREAD, Grants
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.model.place import LINK, Place
from amqpscope.model.v1_0 import states
from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.expectations import Watch
from amqpscope.model.v1_0.terms import SENDER, Terms, outlives_session
from amqpscope.stream.types import BEYOND
from dissectors.v1_0.bodies import Attach, Detach, Flow

if TYPE_CHECKING:
    from amqpscope.model.v1_0.session import SessionEnd

MAX_FREED: Final = 1024
"""Deliveries whose settlement by the receiver may still be on its way to the sender."""


class LinkSending:
    """What a sender has put on a link, and how it counts.

    The delivery-count is an interval, since stacks differ in when they count a delivery:
    `count_low` when it is complete, `count_high` when it begins.
    """

    def __init__(self, initial_count: int | None) -> None:
        self.initial_count = initial_count
        self.count_low = initial_count
        self.count_high = initial_count
        self.count_peak = initial_count
        """The highest that `count_high` ever was; kept when the count becomes unknown."""
        self.counted_open = False
        """The completion of the open delivery moves no bound: a flow has stated the count since it
        began, or whether it counts at all is not known."""
        self.miscounted = False
        """A flow of this sender stated a count that cannot be; verdicts that rest on it are off."""
        self.stated_counts: list[tuple[int, int]] = []
        """The delivery-counts of this sender's flows, unwrapped, and where the flows end: the
        newest that the receiver has provably read, and those after it."""
        self.stated_credit = False
        """This sender has stated credit that is not 0, so that 0 means something."""
        self.available: int | None = None
        self.available_from = 0
        """How many deliveries this sender had begun when it said so."""
        self.available_peak = 0
        """The most that this sender ever said to be available."""

        self.delivery_total = 0
        """How many this sender has begun."""
        self.aborts = 0
        """Aborted deliveries: stacks differ in whether these count."""
        self.open_delivery: Delivery | None = None
        """The delivery whose last transfer is still to come."""
        self.interrupted: Delivery | None = None
        """An unfinished delivery that another one was begun before the end of."""
        self.lost = False
        """Frames may have been lost, so the next transfer may go on with an unseen delivery."""
        self.unread: list[tuple[int, int]] = []
        """Deliveries whose beginning the receiver has not provably read, newest last: the highest
        count before, and where the first transfer ends."""
        self.unsettled: dict[bytes, Delivery] = {}
        """Deliveries by tag, while the sender has not settled them."""
        self.freed: dict[bytes, Delivery] = {}
        """Those that the receiver has settled, whose tags are free once the sender knows it."""
        self.resumed: set[bytes] = set()
        """Deliveries that were resumed on this attachment, by tag."""
        self.last_mark: Mark | None = None
        """The newest transfer."""
        self.presettled: Mark | None = None
        """A control message that was sent settled, on a link to a coordinator."""
        self.watch: Watch | None = None
        """What its messages are compared with; None for nearly all links."""

    def lose(self) -> None:
        """Frames of the sender may be missing: what they would have counted is unknown."""
        self.count_low = None
        self.count_high = None
        self.lost = True
        self.interrupted = None
        if self.open_delivery is not None:
            self.open_delivery.lose()
            self.open_delivery = None

    def begin(self, delivery: Delivery) -> None:
        """Count a new delivery."""
        if delivery.tag is not None:
            self.unsettled[delivery.tag] = delivery
        if self.open_delivery is not None:
            self.interrupted = self.open_delivery
            self.open_delivery = None
        self.delivery_total += 1
        # Whether a resumed delivery counts is not said; one after a loss may have been counted
        # before.
        self.counted_open = self.lost or delivery.resumed
        self.lost = False
        count, peak = self.count_high, self.count_peak
        if count is None or peak is None:
            return
        unread = self.unread
        unread.append((peak, delivery.mark.end))
        if len(unread) > MAX_UNREAD:
            del unread[: MAX_UNREAD // 2]
        self.count_high = count + 1
        if peak <= count:
            self.count_peak = count + 1

    def end(self, delivery: Delivery, aborted: bool) -> None:
        """Count the completion of a delivery, or its abort."""
        if self.open_delivery is delivery:
            self.open_delivery = None
        if self.interrupted is delivery:
            self.interrupted = None
        if aborted:
            self.aborts += 1
        elif self.count_low is not None and not self.counted_open:
            self.count_low += 1
        self.counted_open = False

    def state_count(self, count: int, end: int) -> None:
        """Note a delivery-count that a flow states, and where the flow ends."""
        stated = self.stated_counts
        stated.append((count, end))
        if len(stated) > MAX_GRANTS:
            # The lower of the two oldest excuses more.
            del stated[0 if stated[0][0] >= stated[1][0] else 1]

    def forget_read(self, proved: int) -> None:
        """Drop what needs no place any more, since the receiver has provably read so far."""
        unread = self.unread
        read = 0
        while read < len(unread) and unread[read][1] <= proved:
            read += 1
        if read:
            del unread[:read]
        stated = self.stated_counts
        while len(stated) > 1 and stated[1][1] <= proved:
            del stated[0]

    def free(self, tag: bytes, delivery: Delivery) -> None:
        """The receiver has settled a delivery."""
        if len(self.freed) >= MAX_FREED:
            self.freed = {}
        self.freed[tag] = delivery


class LinkReceiving:
    """What a receiver has granted on a link, and asked for."""

    def __init__(self) -> None:
        self.credit = Grants()
        """Limits of the sender's delivery-count."""
        self.early_flows: list[tuple[Flow, Mark]] = []
        """Flows with credit from before the sender's attach."""
        self.guessed_count: tuple[int, Mark] | None = None
        """The first delivery-count that it sent before it could know the sender's attach."""
        self.last_count: int | None = None
        """The delivery-count of its last flow, unwrapped."""
        self.drain = False
        """Its last flow asked to drain."""
        self.drain_mark: Mark | None = None
        """The last flow that asked to drain."""
        self.first_drain: Mark | None = None
        """The first flow that asked to drain."""
        self.breach: Mark | None = None
        """The newest delivery that came although this receiver's list of unsettled ones is
        incomplete."""
        self.txn_ids: list[bytes] = []
        """Transactions that its flows have named, for what the sender acquires."""
        self.txn_mark: Mark | None = None
        """The flow that named the newest of them first."""


class LinkEnd(Subject):
    """What one peer has said of a link, from its attach to its detach."""

    def __init__(self, session: SessionEnd, handle: int, attach: Attach | None, mark: Mark) -> None:
        super().__init__()
        self.session = session
        self.handle = handle
        self.attach = attach
        """None when the attach was not seen: the rest is then assumed."""
        self.mark = mark
        """The attach; of an assumed link, the first frame that named its handle."""
        self.stage = states.LOST if attach is None else states.ATTACH
        """What this peer has sent last, of attach and detach (see `states`)."""
        self.name = "" if attach is None or attach.name is None else attach.name
        self.named = attach is not None and attach.name is not None
        self.role: bool | None = None if attach is None else attach.role
        """SENDER or RECEIVER, this peer's."""
        self.terms = Terms(attach)
        initial = None if attach is None else attach.initial_delivery_count
        self.sending = LinkSending(initial if self.role is SENDER else None)
        self.receiving = LinkReceiving()

        self.pair: LinkEnd | None = None
        """The partner's end."""
        self.replied = False
        """This attach answers the partner's."""
        self.known_then = 0
        """Octets of the partner's stream that this peer may have read when it attached (K+)."""
        self.doubtful = False
        """The answer to the attach may have been in octets that are missing."""
        self.again = False
        """The peer had this link attached before (same name and role), so counts may carry over."""
        self.refused = False
        """The partner has detached a handle that it never attached, most likely to refuse this."""
        self.odd = False
        """Without a terminus, or detached with an error by either peer."""
        self.flow: Flow | None = None
        """The last flow for this link from this peer, either role."""
        self.flow_mark: Mark | None = None
        self.flow_proved = 0
        """What this peer had provably read of its partner when it sent `flow`."""
        self.detach: Detach | None = None
        self.detach_mark: Mark | None = None
        self.detach_known = 0
        """Octets of the partner's stream that this peer may have read when it detached (K+)."""
        self.own_place: Place | None = None

    @property
    def state(self) -> str:
        """The state of this end (2.6), by what both peers have sent on the link so far.

        A link whose session ended is suspended if its terminus outlives that, by its own attach.
        """
        if self.session.is_ended and self.stage < states.DETACH_CLOSED:
            if self.attach is None or not self.terms.clear:
                return states.UNKNOWN
            return states.SUSPENDED if outlives_session(self.attach) else states.GONE
        received = states.LOST if self.attach is None or self.doubtful else states.NOTHING
        if self.pair is not None:
            received = self.pair.stage
        return states.LINK.state(self.stage, received)

    @property
    def place(self) -> Place:
        """What messages on it are counted by; both ends share one."""
        found, pair = self.own_place, self.pair
        if found is None and pair is not None:
            found = pair.own_place
        if found is None:
            owner = self.session.owner.peer
            sender = 1 - owner if self.role else owner
            found = Place(LINK, self.name, "", sender, self.session.channel)
            found.key = f"{found.key} {self.mark.frame}"
        self.own_place = found
        if not found.address:
            found.address = self.node()
        if found.parent is None:
            session = self.session.pair if self.role else self.session
            found.parent = None if session is None else session.place
        return found

    @property
    def is_detached(self) -> bool:
        """This peer has sent its detach."""
        return self.stage >= states.DETACH

    @property
    def live(self) -> bool:
        """This peer has neither detached it nor ended its session."""
        return not self.is_detached and not self.session.is_ended

    def set_detach(self, body: Detach, mark: Mark, known: int) -> None:
        """This peer detaches the link, and may have read so much of its partner's stream (K+)."""
        self.detach, self.detach_mark, self.detach_known = body, mark, known
        step = states.DETACH
        if body.closed:
            step = states.DETACH_CLOSED
        elif body.error is not None or body.wrong:
            step = states.DETACH_ERROR
        self.stage = states.LINK.after(self.stage, step)

    @property
    def may_answer(self) -> bool:
        """This attach answers the partner's, or perhaps one of it that was not seen.

        Without ACK numbers, the partner's that was captured later may be the one that it answers.
        """
        if self.replied or not self.doubtful:
            return self.replied
        return self.pair is None or self.known_then >= BEYOND

    def node(self) -> str:
        """The address that the link goes to or comes from, as either peer states it."""
        if self.terms.address or self.pair is None:
            return self.terms.address
        return self.pair.terms.address

    def lose(self) -> None:
        """Frames of this peer may be missing: the handle may be that of another link now."""
        self.stage = states.LINK.after(self.stage, states.LOST)
        self.again = True
        self.sending.lose()
        self.receiving.credit.lose()

    def label(self) -> str:
        """What it is called in a sentence."""
        return f'"{self.name}"' if self.name else f"on handle {self.handle}"
