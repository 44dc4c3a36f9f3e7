"""Sessions and links of AMQP 1.0 as both peers see them, and how far their numbers differ."""

from __future__ import annotations

from amqpscope.protocols.peers_numbers import WRAP, NumberMap, Serial
from amqpscope.stream.framer import Frame
from dissectors.v1_0.bodies import Attach, Body, Flow, Source
from dissectors.v1_0.values import Array, Symbol, Value


class Link:
    """One link; lists have the client's value first."""

    def __init__(self, name: str, session: Session) -> None:
        self.name = name
        self.session = session
        self.handles: list[int | None] = [None, None]
        self.sender = 0
        """Who sends messages over it."""
        self.gone = [False, False]
        """Which peers the proxy has sent a detach, and has not been answered by."""
        self.detached = [False, False]
        """Which peers have sent a detach that was passed on."""
        self.pending: Value = None
        """The error with which it is to be ended as soon as both peers have attached."""
        self.outcomes: list[str] = []
        """What deliveries may end in, by symbol; none: in anything."""
        self.count = 0
        """The delivery-count of the sender."""
        self.hidden = 0
        """By how much it is ahead of what the receiver counts."""
        self.credit: tuple[int, int] | None = None
        """The receiver's newest delivery-count and link-credit."""
        self.promised: int | None = None
        """The delivery-count up to which the sender had credit before the proxy put a message in,
        and may go on until it knows of that."""
        self.named_count: int | None = None
        """The newest delivery-count that the proxy has named to the sender in a flow of its own."""
        self.delivery: int | None = None
        """The delivery-id of the message that is being sent."""
        self.parts: list[bytes] = []
        """Its transfers so far, unless it is all in one, or too large to be copied."""
        self.parts_size = 0
        self.copied = False
        """The receiver is to get that message twice."""
        self.withheld = False
        """The receiver is not to get the rest of that message."""
        self.answer: Body | None = None
        """The state with which that message is answered when it is whole."""
        self.owes_answer = False

    @property
    def attached(self) -> bool:
        """Whether both peers have attached it."""
        return None not in self.handles

    @property
    def receiver(self) -> int:
        """Who receives messages over it."""
        return 1 - self.sender

    @property
    def remaining(self) -> int:
        """Messages that the receiver takes at present."""
        if self.credit is None:
            return 0
        ahead = distance(self.count - self.hidden, self.credit[0])
        return min(max(0, ahead + self.credit[1]), WRAP - 1)

    def promise(self) -> None:
        """Note how far the sender may go, before a message is put in."""
        limit = self.count + self.remaining
        if self.promised is None or distance(self.promised, limit) > 0:
            self.promised = limit % WRAP

    @property
    def lacks_credit(self) -> bool:
        """Whether a message of the sender was promised credit that the proxy has used up."""
        if self.promised is None or self.remaining:
            return False
        return distance(self.count, self.promised) > 0

    def attach(self, side: int, body: Attach) -> None:
        """Note that a peer attaches a link."""
        self.handles[side] = body.handle
        if not body.role:
            self.sender = side
            self.count = body.initial_delivery_count or 0
            outcomes = body.source.outcomes if isinstance(body.source, Source) else None
            several = outcomes if isinstance(outcomes, Array) else [outcomes]
            self.outcomes = [str(each) for each in several if isinstance(each, Symbol)]
        else:
            self.sender = 1 - side


class Session:
    """One session; lists have the client's value first."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        """The longest frame that each peer takes."""
        self.channels: list[int | None] = [None, None]
        self.gone = [False, False]
        """Which peers the proxy has sent an end, and has not been answered by."""
        self.ended = [False, False]
        self.pending: Value = None
        """The error with which it is to be ended as soon as both peers have begun."""
        self.maps = [NumberMap(), NumberMap()]
        """The delivery-ids that each peer assigns."""
        self.serials = [Serial(), Serial()]
        """The delivery-ids that each peer assigns, unwrapped."""
        self.hidden = [0, 0]
        """How many transfers of each peer the other has not seen."""
        self.first_outgoing = [0, 0]
        """The first transfer-id of each peer."""
        self.next_outgoing = [0, 0]
        """The next transfer-id of each peer, as it counts itself."""
        self.windows = [(0, 0), (0, 0)]
        """The incoming and outgoing windows that each peer announced last."""
        self.received: list[int | None] = [None, None]
        """The next-incoming-id that each peer announced with its window, as it counts."""
        self.promised: list[int | None] = [None, None]
        """The transfer-id up to which the window had room for each peer, before the proxy put
        transfers in."""
        self.named_ids: list[int | None] = [None, None]
        """The newest next-incoming-id that each peer's partner was sent, as the partner counts."""
        self.forged = [False, False]
        """Whose windows the proxy has named in a flow of its own."""
        self.links: list[Link] = []
        self.parked: list[list[Frame]] = [[], []]
        """What each peer sends while the other has not answered a detach of the same link."""

    @property
    def begun(self) -> bool:
        """Whether both peers have begun it."""
        return None not in self.channels

    def link_of(self, side: int, handle: int | None) -> Link | None:
        """The link that a peer calls by a handle."""
        for link in reversed(self.links):
            if link.handles[side] == handle and not link.detached[side] and handle is not None:
                return link
        return None

    def attach(self, side: int, body: Attach) -> Link:
        """A peer attaches a link, or answers its partner's attach."""
        for link in self.links:
            half = link.handles[side] is None and link.handles[1 - side] is not None
            if half and link.name == body.name and (link.sender == side) != bool(body.role):
                link.attach(side, body)
                return link
        link = Link(str(body.name), self)
        link.attach(side, body)
        self.links.append(link)
        return link

    def awaits_detach(self, side: int, name: Value) -> bool:
        """Whether a link that a peer attaches again is not detached yet by its partner."""
        return any(link.name == name and link.gone[1 - side] for link in self.links)

    def forget(self, link: Link) -> None:
        """A link is over."""
        if link in self.links:
            self.links.remove(link)

    def next_delivery(self, side: int) -> int:
        """The next delivery-id of a peer, as it counts."""
        newest = self.serials[side].newest
        return 0 if newest is None else newest + 1

    def room_of(self, side: int) -> int:
        """How many transfers of a peer its partner's window takes at present."""
        received = self.received[1 - side]
        if received is None:
            received = self.first_outgoing[side]
        used = distance(received, self.next_outgoing[side] - self.hidden[side])
        return max(0, self.windows[1 - side][0] - used)

    def promise(self, side: int) -> None:
        """Note how far a peer may go, before transfers are put in."""
        limit, promised = self.next_outgoing[side] + self.room_of(side), self.promised[side]
        if promised is None or distance(promised, limit) > 0:
            self.promised[side] = limit % WRAP

    def lacks_window(self, side: int) -> bool:
        """Whether a transfer of a peer was promised room that the proxy has used up."""
        promised = self.promised[side]
        if promised is None or self.room_of(side):
            return False
        return distance(self.next_outgoing[side], promised) > 0

    def window_for(self, side: int) -> tuple[int, int]:
        """The next-incoming-id and incoming-window of a peer, as its partner counts.

        What the proxy has sent the partner before is not taken back.
        """
        sender = 1 - side
        received, window = self.received[side], self.windows[side][0]
        if received is None:
            received = self.first_outgoing[sender]
        first, named = received + self.hidden[sender], self.named_ids[side]
        named = self.first_outgoing[sender] if named is None else named
        if distance(named, first) < 0:
            window = max(0, window + distance(named, first))
            first = named
        self.named_ids[side] = first % WRAP
        return first % WRAP, window

    def flow_from(self, side: int, link: Link | None) -> Flow:
        """What a peer would say now of its windows, and of a link, as far as the proxy knows."""
        self.forged[side] = True
        first, window = self.window_for(side)
        flow: list[int | None] = [None, None, None]
        if link is not None:
            count = link.count if side == link.receiver else link.count - link.hidden
            flow = [link.handles[side], count % WRAP, link.remaining]
            if side == link.receiver:
                link.named_count = link.count % WRAP
        return Flow(
            first,
            window,
            (self.next_outgoing[side] - self.hidden[side]) % WRAP,
            self.windows[side][1],
            *flow,
        )


def distance(first: int, second: int) -> int:
    """How far it is from one serial number (RFC 1982) to another, by the nearest way."""
    return (second - first + WRAP // 2) % WRAP - WRAP // 2
