"""The live side of a conversation that is replayed: numbers, credit and windows as they are now."""

from __future__ import annotations

from typing import Final

from amqpscope.protocols.v1_0.replay_script import Delivery, Link, Session
from dissectors.v1_0.bodies import Flow, Transfer
from dissectors.v1_0.values import Value

U32: Final = 1 << 32
HALF: Final = 1 << 31


def ahead(one: int, other: int) -> int:
    """How far one serial number is ahead of another (RFC 1982)."""
    return (one - other + HALF) % U32 - HALF


class LiveDelivery:
    """A delivery that the live peer sends."""

    __slots__ = ("aborted", "link", "number", "parts", "script", "settled", "state", "tag")

    def __init__(self, link: LiveLink, first: Transfer) -> None:
        self.link = link
        self.number = first.delivery_id or 0
        self.tag = first.delivery_tag
        self.parts: list[bytes] = []
        self.settled = False
        self.aborted = False
        self.state: Value = None
        self.script: Delivery | None = None


class LiveLink:
    """A link, from the first attach on."""

    def __init__(self, session: LiveSession, name: Value, sends: bool) -> None:
        self.session = session
        self.name = name
        self.sends = sends
        """We are its sender."""
        self.handles: list[int | None] = [None, None]
        """Ours, and that of the live peer."""
        self.detached = [False, False]
        self.script: Link | None = None
        self.delivery_count = 0
        self.counted = False
        """The delivery-count is known: ours always, that of the peer from its attach on."""
        self.credit = 0
        """Messages that we may send."""
        self.draining = False
        self.sending: int | None = None
        """The delivery-id of a delivery of ours that goes on."""
        self.coming: LiveDelivery | None = None
        self.turn = 0
        """The recorded delivery that comes next."""
        self.changed = False
        """The newest message of the peer was not as recorded."""
        self.received = 0
        self.granted = 0
        """Messages that the peer may have sent in all, by our newest grant."""
        self.incoming: dict[int, LiveDelivery] = {}
        """Deliveries of the peer, by their place in the recording."""
        self.outgoing: dict[int, int] = {}
        """The delivery-ids of ours, by their place in the recording."""

    @property
    def usable(self) -> bool:
        """Both peers have attached it and none has detached it."""
        return None not in self.handles and not any(self.detached)

    @property
    def waits_for_drain(self) -> bool:
        """The peer has asked us to use up its credit, and no delivery of ours goes on."""
        return self.sends and self.draining and self.usable and self.sending is None

    @property
    def starved(self) -> bool:
        """The peer has sent all that we have granted: no message comes before we grant more."""
        return self.coming is None and self.received >= self.granted

    def grant(self, flow: Flow) -> None:
        """Take the credit of the live receiver."""
        counted = self.delivery_count if flow.delivery_count is None else flow.delivery_count
        left = (flow.link_credit or 0) + ahead(counted, self.delivery_count)
        self.credit = max(0, left)
        self.draining = bool(flow.drain) and self.credit > 0


class LiveSession:
    """A session, from the first begin on."""

    def __init__(self) -> None:
        self.channels: list[int | None] = [None, None]
        """Ours, and that of the live peer."""
        self.ended = [False, False]
        self.script: Session | None = None
        self.next_outgoing_id = 0
        self.next_incoming_id: int | None = None
        self.outgoing_window = 0
        self.remote_window = 0
        """Transfers that we may send."""
        self.window = 0
        """Transfers that we still take."""
        self.full_window = 0
        self.next_delivery_id = 0
        self.handle_max = U32 - 1
        self.handles: list[dict[int, LiveLink]] = [{}, {}]
        self.links: list[LiveLink] = []
        self.outgoing: dict[int, Delivery] = {}
        """Deliveries of ours that are not settled, by delivery-id."""
        self.incoming: dict[int, LiveDelivery] = {}

    @property
    def usable(self) -> bool:
        """We have begun it, and none has ended it."""
        return self.channels[0] is not None and not any(self.ended)

    def take_window(self, next_incoming_id: int | None, window: int) -> None:
        """Take how many transfers the live peer takes."""
        start = self.next_outgoing_id if next_incoming_id is None else next_incoming_id
        self.remote_window = max(0, window + ahead(start, self.next_outgoing_id))

    def free_handle(self, wanted: int) -> int:
        """A handle of ours that is free: the recorded one if it is."""
        taken = self.handles[0]
        if wanted not in taken and wanted <= self.handle_max:
            return wanted
        return next(number for number in range(U32) if number not in taken)

    def flow(self) -> Flow:
        """A flow with the numbers of this session."""
        return Flow(
            next_incoming_id=self.next_incoming_id,
            incoming_window=self.window,
            next_outgoing_id=self.next_outgoing_id,
            outgoing_window=self.outgoing_window,
        )
