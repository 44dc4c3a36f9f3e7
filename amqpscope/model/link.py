"""One peer's end of a link (spec 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.delivery import Delivery
from amqpscope.model.knowledge import Grants
from amqpscope.model.mark import Mark
from amqpscope.model.watch import Watch
from amqpscope.stream import BEYOND
from dissectors.v1_0.bodies import Attach, Body, Coordinator, Detach, Flow, Source, Target
from dissectors.v1_0.values import Array, Symbol

if TYPE_CHECKING:
    from amqpscope.model.session import SessionEnd

SENDER: Final = False
RECEIVER: Final = True

UNSETTLED: Final = 0
SETTLED: Final = 1
MIXED: Final = 2
FIRST: Final = 0
SECOND: Final = 1

MAX_FREED: Final = 1024
"""Deliveries whose settlement by the receiver may still be on its way to the sender."""


class LinkEnd:
    """What one peer has said of a link, from its attach to its detach."""

    def __init__(self, session: SessionEnd, handle: int, attach: Attach | None, mark: Mark) -> None:
        self.session = session
        self.handle = handle
        self.attach = attach
        """None when the attach was not seen: the rest is then assumed."""
        self.mark = mark
        """The attach; of an assumed link, the first frame that named its handle."""
        self.name = "" if attach is None or attach.name is None else attach.name
        self.named = attach is not None and attach.name is not None
        self.role: bool | None = None if attach is None else attach.role
        """SENDER or RECEIVER, this peer's."""
        self.address = "" if attach is None else address_of(attach)
        self.coordinator = attach is not None and isinstance(attach.target, Coordinator)
        target = None if attach is None else attach.target
        self.nameless = isinstance(target, Target) and target.address is None
        """Its target has no address: a sender's messages say where they go."""
        self.snd_settle_mode = MIXED if attach is None else said(attach.snd_settle_mode, MIXED)
        """As this peer announced it; in force if it is the sender."""
        self.rcv_settle_mode = FIRST if attach is None else said(attach.rcv_settle_mode, FIRST)
        """The same; in force if it is the receiver."""
        self.max_message_size = 0 if attach is None else attach.max_message_size or 0
        """What this end takes; 0: anything."""
        self.outcomes = outcomes_of(attach)
        """The outcomes that its source lists; none of them: it says nothing."""
        self.pair: LinkEnd | None = None
        self.replied = False
        """This attach answers the partner's."""
        self.known_then = 0
        """Octets of the partner's stream that this peer may have read when it attached (K+)."""
        self.clear = attach is not None
        """The attach was read to its end and without faults: what is null in it is null."""
        self.odd = False
        """Without a terminus, or detached with an error by either peer."""
        self.no_terminus = False
        """It was attached without a terminus of its own: as an answer, that is a refusal."""
        self.lists = attach is not None and bool(attach.unsettled or attach.incomplete_unsettled)
        """Its attach lists unsettled deliveries, or says that it does not list all."""
        self.resumed: set[bytes] = set()
        """Deliveries that this sender has resumed on this attachment, by tag."""
        self.breached: Mark | None = None
        """A new delivery that came although this receiver's list is incomplete."""
        self.doubtful = False
        """The answer to the attach may have been in octets that are missing."""
        self.overdue = False
        """It was told that the partner owes an answer to the attach."""
        self.detach_overdue = False
        """It was told that the partner owes an answer to the detach."""
        self.again = False
        """The peer had this link attached before (same name and role), so counts may carry over."""
        self.told: set[str] = set()
        """Notes on this link that were made already and would be the same for every message."""
        self.detach: Detach | None = None
        self.detach_mark: Mark | None = None
        self.detach_known = 0
        """Octets of the partner's stream that this peer may have read when it detached (K+)."""

        # The sender's side: its delivery-count as an interval, since stacks differ in when they
        # count a delivery: `count_low` when it is complete, `count_high` when it begins.
        initial = None if attach is None else attach.initial_delivery_count
        self.initial_count: int | None = initial if self.role is SENDER else None
        self.count_low: int | None = self.initial_count
        self.count_high: int | None = self.initial_count
        self.count_peak: int | None = self.initial_count
        """The highest that `count_high` ever was; kept when the count becomes unknown."""
        self.said: list[tuple[int, int]] = []
        """The delivery-counts of this sender's flows, unwrapped, and where the flows end: the
        newest that the receiver has provably read, and those after it."""
        self.counted_open = False
        """The completion of the open delivery moves no bound: a flow has told the count since it
        began, or whether it counts at all is not known."""
        self.miscounted = False
        """A flow of this sender gave a count that cannot be; verdicts that rest on it are off."""
        self.lost = False
        """Frames may have been lost, so the next transfer may go on with an unseen delivery."""
        self.begun: list[tuple[int, int]] = []
        """Deliveries whose beginning the receiver has not provably read, newest last: the highest
        count before, and where the first transfer ends."""
        self.aborts = 0
        """Aborted deliveries: stacks differ in whether these count."""
        self.interrupted: Delivery | None = None
        """An unfinished delivery that another one was begun before the end of."""
        self.overrun = -1
        """The credit's end past which this sender was last reported to have sent."""
        self.delivery: Delivery | None = None
        """The delivery whose last transfer is still to come."""
        self.unsettled: dict[bytes, Delivery] = {}
        """Deliveries of this sender by tag, while it has not settled them."""
        self.freed: dict[bytes, Delivery] = {}
        """Those that the receiver has settled, whose tags are free once the sender knows it."""
        self.deliveries = 0
        """How many this sender has begun."""
        self.last_mark: Mark | None = None
        """The newest transfer of this sender."""
        self.stated = False
        """This sender has stated credit that is not 0, so that 0 means something."""
        self.available: int | None = None
        self.watch: Watch | None = None
        """What its messages are compared with; None for nearly all links."""

        # The receiver's side.
        self.credit = Grants()
        """Limits of the partner's delivery-count."""
        self.presettled: Mark | None = None
        """A control message that the controller sent settled, on its end of a control link."""
        self.txn_ids: list[bytes] = []
        """Transactions that this receiver's flows have named, for what the sender acquires."""
        self.txn_mark: Mark | None = None
        """The flow that named the newest of them first."""
        self.early: list[tuple[Flow, Mark]] = []
        """Flows with credit from before the sender's attach."""
        self.last_count: int | None = None
        """The delivery-count of this receiver's last flow, unwrapped."""
        self.first_drain: Mark | None = None
        """Its first flow that asked to drain."""
        self.drain_told: Mark | None = None
        """The flow whose wish to drain was reported as not met."""
        self.misread = False
        """A wrong delivery-count of this receiver was reported; what follows from it is not."""
        self.guess: tuple[int, Mark] | None = None
        """The first delivery-count that it sent before it could know the sender's attach."""
        self.flow_proved = 0
        """What this peer had provably read of its partner when it sent `flow`."""
        self.available_peak = 0
        """The most that this sender ever said to be available."""
        self.drain = False
        self.drain_mark: Mark | None = None
        """The last flow of this receiver that asked to drain."""
        self.flow: Flow | None = None
        """The last flow for this link from this peer, either role."""
        self.flow_mark: Mark | None = None

    @property
    def live(self) -> bool:
        """This peer has neither detached it nor ended its session."""
        return self.detach is None and self.session.ended is None

    @property
    def may_answer(self) -> bool:
        """This attach answers the partner's, or perhaps one of it that was not seen.

        Without ACK numbers, the partner's that was captured later may be the one that it answers.
        """
        if self.replied or not self.doubtful:
            return self.replied
        return self.pair is None or self.known_then >= BEYOND

    def node(self) -> str:
        """The address that the link goes to or comes from, as either side tells it."""
        if self.address or self.pair is None:
            return self.address
        return self.pair.address

    def free(self, tag: bytes, delivery: Delivery) -> None:
        """The receiver has settled a delivery of this sender."""
        if len(self.freed) >= MAX_FREED:
            self.freed = {}
        self.freed[tag] = delivery

    def label(self) -> str:
        """How to call it in a sentence."""
        return f'"{self.name}"' if self.name else f"on handle {self.handle}"


def said(mode: int | None, default: int) -> int:
    """A settle mode as it was told, or its default; 0 is one too."""
    return default if mode is None else mode


def address_of(attach: Attach) -> str:
    """The node at the broker's end: a sender's target or a receiver's source."""
    for terminus in (
        (attach.source, attach.target) if attach.role else (attach.target, attach.source)
    ):
        if isinstance(terminus, Coordinator):
            return "$coordinator"
        if isinstance(terminus, Source | Target) and isinstance(terminus.address, str):
            return terminus.address
    return ""


def outcomes_of(attach: Attach | None) -> tuple[str, ...]:
    """The outcomes that a source lists, with the one that it takes by default, by their symbols."""
    source = None if attach is None else attach.source
    if not isinstance(source, Source):
        return ()
    listed = source.outcomes
    names: tuple[str, ...] = ()
    if isinstance(listed, Symbol):
        names = (str(listed),)
    elif isinstance(listed, Array):
        names = tuple(str(name) for name in listed)
    default = source.default_outcome
    if names and isinstance(default, Body) and default.row.symbol not in names:
        return (*names, default.row.symbol)
    return names
