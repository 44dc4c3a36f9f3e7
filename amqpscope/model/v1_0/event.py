"""A frame in its place: what the rules look at.

An event is made before its frame is applied, so everything in it is as it was before the frame.
`kinds` says what happens in it; rules name the kinds that they look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from amqpscope.model import event as shared
from amqpscope.model.delivery import Delivery as AnyDelivery
from amqpscope.model.knowledge import EVERYTHING
from amqpscope.model.mark import Mark
from amqpscope.model.place import Identity
from amqpscope.model.refusal import Refusal
from amqpscope.model.v1_0.connection import Connection, ConnectionEnd
from amqpscope.model.v1_0.delivery import NO_PARTS, Delivery
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.refusal import refused_by
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.transaction import rolled_back, step_of
from dissectors.native import mypyc_attr
from dissectors.v1_0.bodies import Attach, Begin, Body, Close, Detach, End, Open, Transfer
from dissectors.v1_0.framing import Unit
from dissectors.v1_0.values import Map

if TYPE_CHECKING:
    from amqpscope.model.v1_0.message import Message
    from amqpscope.stream.framer import Frame

# fmt: off
KINDS: Final = (
    "header",        # a protocol header
    "frame",         # any frame, of any type, also empty or malformed
    "malformed",     # a unit with faults
    "wrong",         # a body that is not what its row says: a field is missing, surplus, of another
                     # type than declared, or out of its range (see `field_checks`)
    "empty",
    "sasl",          # any SASL frame
    "amqp",          # any frame of type 0 with a body that could be read
    "open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close",
    "unbegun",       # a session frame on a channel that its sender has not begun
    "unattached",    # a link frame on a handle that its sender has not attached
    "link-flow",     # a flow with a handle, of either role
    "sender-flow",   # ... from the sender of the link
    "receiver-flow", # ... from its receiver
    "session-flow",  # a flow without a handle
    "first",         # the first transfer of a delivery
    "continuation",  # a later one
    "last",          # the one that completes the delivery
    "message",       # the same, when the whole message was seen
    "resume",        # a transfer with resume set
    "aborted",       # a transfer with aborted set
    "state",         # a transfer or disposition with a delivery state
    "coordinator",   # a link frame on a link to a transaction coordinator
    "sender-disposition", "receiver-disposition",
    "tick",          # a second or more has passed on this connection since the last tick
    "finished",      # a direction has ended (FIN, RST, or the capture ends); there is no frame
    "misplaced",     # a frame of a type that is not of the layer its sender's last header began
    # Set by `message.look_into` where rules run, for messages of the standard's format:
    "odd-message",   # a message that is not wholly in order, or holds something out of the ordinary
    "content",       # a message with a content-type or content-encoding
    "times",         # a message with a creation-time or absolute-expiry-time
    "keys",          # a message with an annotation whose key does not begin with x-opt-
    "footer",        # a message with a footer
    # What is out of the ordinary about a frame as such, or about when it comes:
    "other",         # a frame with a body that is no performative of its layer, and not malformed
    "trailing",      # octets behind a performative that takes no payload
    "oversize",      # a frame larger than the partner's open allows
    "unopened",      # a frame of the AMQP layer from a peer that has not sent its open
    "closed",        # a unit from a peer that has sent its close
    "pause",         # this peer had sent nothing for a second or more
    # What most transfers and dispositions are not, found in one look so that few rules run on them:
    "odd-transfer",    # its fields, or its place in its delivery, are out of the ordinary
    "odd-disposition", # ... or what it says of its deliveries
    "overrun",         # a transfer that the newest window or credit does not cover
    "transactional", # a frame that may concern a transaction: a coordinator link or a
                     # transactional state was seen on the connection, or is in this frame
    "odd-state",     # a delivery state that is not just accepted, on a link that says nothing of
                     # the outcomes it knows
    "listed",        # the first transfer of a delivery on a link whose attach, of either peer,
                     # lists unsettled deliveries or says that it cannot list all
    "odd-link",      # a frame for a link without a terminus, detached with an error, or a transfer
                     # on a handle of which its sender is the receiver
    "odd-flow",        # a flow of whose counters or grants something is out of the ordinary
    "nameless",        # a message on a link that its sender attached without a target address
    "watched",         # a message on a link whose messages are compared with earlier ones, or with
                       # the filters that were agreed
)
# fmt: on
KIND: Final = {name: 1 << place for place, name in enumerate(KINDS)}

# fmt: off
HEADER:       Final = 1 << 0
FRAME:        Final = 1 << 1
MALFORMED:    Final = 1 << 2
WRONG:        Final = 1 << 3
EMPTY:        Final = 1 << 4
SASL:         Final = 1 << 5
AMQP:         Final = 1 << 6
UNBEGUN:      Final = 1 << 16
UNATTACHED:   Final = 1 << 17
LINK_FLOW:    Final = 1 << 18
SENDER_FLOW:  Final = 1 << 19
RECEIVER_FLOW: Final = 1 << 20
SESSION_FLOW: Final = 1 << 21
FIRST:        Final = 1 << 22
CONTINUATION: Final = 1 << 23
LAST:         Final = 1 << 24
MESSAGE:      Final = 1 << 25
RESUME:       Final = 1 << 26
ABORTED:      Final = 1 << 27
STATE:        Final = 1 << 28
COORDINATOR:  Final = 1 << 29
SENDER_DISPOSITION:   Final = 1 << 30
RECEIVER_DISPOSITION: Final = 1 << 31
TICK:         Final = 1 << 32
FINISHED:     Final = 1 << 33
MISPLACED:    Final = 1 << 34
OTHER:        Final = 1 << 40
TRAILING:     Final = 1 << 41
OVERSIZE:     Final = 1 << 42
UNOPENED:     Final = 1 << 43
CLOSED:       Final = 1 << 44
PAUSE:        Final = 1 << 45
ODD_TRANSFER: Final = 1 << 46
ODD_DISPOSITION: Final = 1 << 47
OVERRUN:      Final = 1 << 48
ODD_FLOW:     Final = 1 << 53
# fmt: on

NO_DELIVERIES: Final[list[Delivery]] = []
"""What nearly all events cover; shared, so never added to."""

TRUSTED: Final = 3
"""Frames in a row that were sound prove that we are in step where the start was not seen."""
_TLS_LAYER: Final = 2
_SASL_LAYER: Final = 3


@mypyc_attr(free_list_len=1)
class Event(shared.Event):
    """One frame, who sent it, and what it belongs to; or the end of a direction."""

    def __init__(
        self, connection: Connection, frame: Frame, peer: int, known: int, time: int
    ) -> None:
        super().__init__(frame, peer, known, time)
        self.unit = cast(Unit, frame.unit)
        self.connection = connection
        self.own: ConnectionEnd = connection.ends[peer]
        """The sender's end."""
        self.partner: ConnectionEnd = connection.ends[1 - peer]
        self.body: Body | None = None
        self.session: SessionEnd | None = None
        """The sender's end of the session."""
        self.link: LinkEnd | None = None
        """The sender's end of the link."""
        self.delivery: Delivery | None = None
        """The delivery that a transfer belongs to."""
        self.payload = b""
        self.transfers = 0
        """Transfers of the delivery up to this one: the delivery itself goes on with others."""
        self.octets = 0
        """Octets of its payload up to here."""
        self.earlier = NO_PARTS
        """Payloads of a delivery that goes on: up to this one, and those that came since."""
        self.parts: Message | None = None
        """The message by its sections, where rules run and its format is the standard's."""
        self.covered: list[Delivery] = NO_DELIVERIES
        """The live or lately settled deliveries that a disposition refers to."""
        self.first = -1
        """The bounds of a disposition in the deliveries' unwrapped count; -1: not known."""
        self.last = -1

    def surely_knew(self, mark: Mark | None) -> bool:
        """Whether the sender's earlier frames show that it had read that frame (K-)."""
        return mark is not None and mark.end <= self.own.proved

    @property
    def ahead(self) -> bool:
        """The sender had octets of its partner that have not passed the tap, or not as a frame.

        So it may go by a frame that is still to come: the capture's order is not that of events.
        """
        return self.partner.last_mark.end < self.known < EVERYTHING

    @property
    def damaged(self) -> bool:
        """The frame was not read to its end, or has faults: what is null in it may not be."""
        return self.frame.missing > 0 or bool(self.frame.unit.faults)

    @property
    def trusted(self) -> bool:
        """The frame was seen whole, and it is sure that a frame begins where we took it to."""
        frame, own = self.frame, self.own
        if frame.missing or frame.cut or own.layer == _TLS_LAYER:
            return False
        if own.layer == _SASL_LAYER:
            sasl = self.connection.sasl
            if sasl.outcome is not None and sasl.opaque:
                return False
        return own.anchored or own.sound >= TRUSTED

    @property
    def discarded(self) -> bool:
        """The partner has ended the session or connection with an error and drops this frame."""
        if self.partner.discarding:
            return True
        session = self.session
        return session is not None and session.pair is not None and session.pair.discarding

    # the vocabulary of all families

    @property
    def begins(self) -> AnyDelivery | None:
        """The delivery whose first transfer this is."""
        delivery = self.delivery
        if delivery is None or delivery.mark.frame != self.frame.number:
            return None
        return delivery

    @property
    def carries(self) -> AnyDelivery | None:
        """The delivery that a transfer belongs to."""
        return self.delivery

    @property
    def carried_octets(self) -> int:
        """Octets of payload in a transfer."""
        frame = self.frame
        return len(frame.raw) - frame.unit.payload + frame.missing

    @property
    def completes(self) -> bool:
        """The last transfer of a delivery."""
        return self.kinds & LAST != 0

    @property
    def aborts(self) -> bool:
        """A transfer that aborts its delivery."""
        return self.kinds & ABORTED != 0

    @property
    def settles(self) -> list[AnyDelivery]:
        """The deliveries that a disposition settles, as the first to do so."""
        if not self.covered:
            return shared.NO_DELIVERIES
        number = self.frame.number
        settled: list[AnyDelivery] = []
        for delivery in self.covered:
            mark = delivery.settled
            if mark is not None and mark.frame == number:
                settled.append(delivery)
        return settled

    @property
    def covers(self) -> list[AnyDelivery]:
        """The deliveries that a disposition is about."""
        return list(self.covered) if self.covered else shared.NO_DELIVERIES

    @property
    def answers(self) -> Mark | None:
        """The partner's frame of the same name for the same thing, where it came first."""
        mark = self.counterpart(self.unit.body)
        return mark if mark is not None and 0 < mark.frame < self.frame.number else None

    def counterpart(self, body: Body | None) -> Mark | None:
        """The partner's open, begin, attach, detach, end or close."""
        if isinstance(body, Open):
            return self.partner.open_mark
        if isinstance(body, Close):
            return self.partner.close_mark
        session, link = self.session, self.link
        if isinstance(body, (Begin, End)):
            other = None if session is None else session.pair
            if other is None:
                return None
            return other.mark if isinstance(body, Begin) else other.ended_mark
        if isinstance(body, (Attach, Detach)):
            far = None if link is None else link.pair
            if far is None:
                return None
            return far.mark if isinstance(body, Attach) else far.detach_mark
        return None

    @property
    def refuses(self) -> Refusal | None:
        """A refused login or message, or the error with which something was ended."""
        body = self.unit.body
        if isinstance(body, Transfer):
            if self.kinds & ABORTED:
                return refused_by(body)
            return rolled_back(self) if self.connection.transactions.active else None
        return refused_by(body)

    @property
    def transacts(self) -> str:
        """What a control message asks for, or what the answer to one says."""
        return step_of(self) if self.connection.transactions.active else ""

    @property
    def identifies(self) -> Identity | None:
        """The container-id of an open, with product and version."""
        body = self.unit.body
        if not isinstance(body, Open):
            return None
        properties = body.properties
        if not isinstance(properties, Map):
            return Identity(body.container_id, None)
        product, version = properties.get("product"), properties.get("version")
        return Identity(
            body.container_id,
            str(product) if isinstance(product, str) else None,
            str(version) if isinstance(version, str) else None,
        )
