"""A frame of 0-9 in its place: what the rules look at.

An event is made before its frame is applied, so everything in it is as it was before the frame.
`kinds` says what happens in it, and `name` which method it is; rules name the kinds and methods
that they look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model import event as shared
from amqpscope.model.delivery import Delivery as AnyDelivery
from amqpscope.model.knowledge import EVERYTHING
from amqpscope.model.mark import Mark
from amqpscope.model.place import Identity, Place
from amqpscope.model.refusal import Refusal
from amqpscope.model.transactions import COMMIT, COMMITTED, ROLLBACK, ROLLED_BACK
from amqpscope.model.v0_9.channel import Channel, Request
from amqpscope.model.v0_9.connection import Connection, ConnectionEnd
from amqpscope.model.v0_9.content import Assembly, Content, Tangle
from amqpscope.model.v0_9.deliveries import Consumer, Delivery
from amqpscope.model.v0_9.publishes import Publish
from amqpscope.model.v0_9.refusal import refused_by
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.native import mypyc_attr
from dissectors.v0_9.framing import Unit

if TYPE_CHECKING:
    from amqpscope.stream.framer import Frame

# fmt: off
KINDS: Final = (
    "header",         # a protocol header
    "frame",          # any frame, of any type, also malformed
    "malformed",      # a unit with faults
    "method",         # a method that the dialect has, in whatever frame
    "content-header",
    "content-body",
    "heartbeat",
    "special",        # trace, out-of-band, or a type that the dialect does not have
    "request",        # a REQUEST frame of 0-9
    "response",       # a RESPONSE frame of 0-9
    "unknown-method", # a method that the dialect does not have
    "wrong-way",      # a method from a peer that may not send it
    "wrong-channel",  # a class, content or heartbeat on a channel where it cannot be
    "asks",           # a method that wants an answer
    "answers",        # a method that is an answer
    "unasked",        # ... to nothing that was asked, for sure
    "carries",        # a method that carries a content
    "completes",      # the frame that completes a content
    "interrupts",     # a frame where the open content of its channel should go on
    "stray",          # a content frame with no content open, for sure
    "entangled",      # a content frame of a content that was interrupted, or may be
    "surplus",        # a body frame larger than what its content still wants
    "untangles",      # what ends a tangle of contents: all are complete, or the channel is over
    "unopened",       # a frame on a channel that is not open, for sure
    "own-closed",     # a frame on a channel that its sender has closed
    "peer-closed",    # ... that its partner has closed, as the sender may have known
    "after-close",    # a frame from a peer that has sent connection.close or its close-ok
    "oversize",       # a frame larger than the limit that both agreed on
    "handshake",      # a method of the handshake
    "disorderly",     # ... out of its order, for sure
    "tables",         # a frame with a table that is not empty
    "odd-text",       # ... with a short string that has a zero octet or is no UTF-8
    "delivers",       # basic.deliver, basic.get-ok and their like
    "settles",        # the client's ack, nack and reject
    "confirms",       # the server's ack and nack
    # What most of them are not, found in one look so that few rules run on them:
    "odd-publish",    # a publish on a channel, or with flags, out of the ordinary
    "odd-deliver",    # a delivery with another tag, or to another consumer, than expected
    "odd-settle",     # an acknowledgement of anything but deliveries that are not settled
    "odd-confirm",    # a confirm of anything but publishes that are not confirmed
    "odd-header",     # a content header of which something is out of the ordinary
    "full",           # a delivery that reaches or passes a prefetch limit
    "transactional",  # a publish, acknowledgement or end of a channel in transaction mode
    "pause",          # this peer had not sent an octet for a second or more
    "tick",           # a second or more has passed on this connection since the last tick
    "finished",       # a direction has ended (FIN, RST, or the capture ends); there is no frame
    "odd-table",      # a frame with a table of which something is out of the ordinary
    "identified",     # the frame that completes a delivery with a message-id that was published
    "alone",          # a body frame while its sender owes another channel an answer
    "early",          # a unit before the connection is open, or after it was refused
    "in-pieces",      # a body frame that completes a content of three or more
)
# fmt: on
KIND: Final = {name: 1 << place for place, name in enumerate(KINDS)}

# fmt: off
HEADER:         Final = 1 << 0
FRAME:          Final = 1 << 1
MALFORMED:      Final = 1 << 2
METHOD:         Final = 1 << 3
CONTENT_HEADER: Final = 1 << 4
CONTENT_BODY:   Final = 1 << 5
HEARTBEAT:      Final = 1 << 6
SPECIAL:        Final = 1 << 7
REQUEST:        Final = 1 << 8
RESPONSE:       Final = 1 << 9
UNKNOWN_METHOD: Final = 1 << 10
WRONG_WAY:      Final = 1 << 11
WRONG_CHANNEL:  Final = 1 << 12
ASKS:           Final = 1 << 13
ANSWERS:        Final = 1 << 14
UNASKED:        Final = 1 << 15
CARRIES:        Final = 1 << 16
COMPLETES:      Final = 1 << 17
INTERRUPTS:     Final = 1 << 18
STRAY:          Final = 1 << 19
ENTANGLED:      Final = 1 << 20
SURPLUS:        Final = 1 << 21
UNTANGLES:      Final = 1 << 22
UNOPENED:       Final = 1 << 23
OWN_CLOSED:     Final = 1 << 24
PEER_CLOSED:    Final = 1 << 25
AFTER_CLOSE:    Final = 1 << 26
OVERSIZE:       Final = 1 << 27
HANDSHAKE:      Final = 1 << 28
DISORDERLY:     Final = 1 << 29
TABLES:         Final = 1 << 30
ODD_TEXT:       Final = 1 << 31
DELIVERS:       Final = 1 << 32
SETTLES:        Final = 1 << 33
CONFIRMS:       Final = 1 << 34
ODD_PUBLISH:    Final = 1 << 35
ODD_DELIVER:    Final = 1 << 36
ODD_SETTLE:     Final = 1 << 37
ODD_CONFIRM:    Final = 1 << 38
ODD_HEADER:     Final = 1 << 39
FULL:           Final = 1 << 40
TRANSACTIONAL:  Final = 1 << 41
PAUSE:          Final = 1 << 42
TICK:           Final = 1 << 43
FINISHED:       Final = 1 << 44
ODD_TABLE:      Final = 1 << 45
IDENTIFIED:     Final = 1 << 46
ALONE:          Final = 1 << 47
EARLY:          Final = 1 << 48
IN_PIECES:      Final = 1 << 49
# fmt: on
ABSENCE: Final = UNASKED | UNOPENED | DISORDERLY
"""What is said of a frame because of something that the partner did not send."""


NO_DELIVERIES: Final[list[Delivery]] = []
NO_PUBLISHES: Final[list[Publish]] = []
"""What most events are about; shared, so never added to."""


@mypyc_attr(free_list_len=1)
class Event(shared.Event):
    """One frame, who sent it, and what it belongs to; or the end of a direction."""

    def __init__(
        self,
        connection: Connection,
        frame: Frame,
        unit: Unit,
        peer: int,
        known: int,
        time: int,
    ) -> None:
        super().__init__(frame, peer, known, time)
        self.connection = connection
        self.unit = unit
        self.method_name = unit.name
        """The method: `basic.publish`; else the kind of frame."""
        self.own: ConnectionEnd = connection.ends[peer]
        """The sender's end."""
        self.partner: ConnectionEnd = connection.ends[1 - peer]
        self.channel: Channel | None = None
        """The channel; `connection.zero` for methods of the connection; None where none can be."""
        self.request: Request | None = None
        """What an answer answers."""
        self.skipped = 0
        """Requests that were asked before it and are not answered."""
        self.assembly: Assembly | None = None
        """The contents of this direction of the channel."""
        self.content: Content | None = None
        """The content that a frame begins, or belongs to."""
        self.consumer: Consumer | None = None
        """Whom a delivery is for, or a consume or cancel is about."""
        self.delivery: Delivery | None = None
        """What a deliver or get-ok, and the frames of its content, hand over."""
        self.publish: Publish | None = None
        """What a publish, and the frames of its content, hand over; or what is returned."""
        self.covered: list[Delivery] = NO_DELIVERIES
        """The deliveries that an acknowledgement settles."""
        self.confirmed: list[Publish] = NO_PUBLISHES
        """The publishes that a confirm settles."""
        self.tangle: Tangle | None = None
        """What this frame, or the end, untangles."""

    def surely_knew(self, mark: Mark | None) -> bool:
        """Whether the sender's earlier frames show that it had read that frame (K-)."""
        return mark is not None and mark.end <= self.own.proved

    @property
    def ahead(self) -> bool:
        """The sender had octets of its partner that have not passed the tap.

        They are lost, or still to come: what seems not to have been said may have been.
        """
        return self.partner.seen < self.known < EVERYTHING

    @property
    def address(self) -> str:
        """The queue or exchange that the frame is about; empty where there is none."""
        delivery, publish, consumer = self.delivery, self.publish, self.consumer
        if delivery is not None and delivery.queue:
            return delivery.queue
        if publish is not None:
            return publish.exchange or publish.routing_key
        if consumer is not None:
            return consumer.queue
        if self.covered:
            return self.covered[0].queue
        if self.confirmed:
            return self.confirmed[0].exchange or self.confirmed[0].routing_key
        request = self.request
        for source in (self.unit.method, None if request is None else request.method):
            for name in ADDRESSES:
                found = None if source is None else source.get(name)
                if isinstance(found, str) and found:
                    return found
        return ""

    @property
    def size(self) -> int:
        """Octets of the frame."""
        return len(self.frame.raw) + self.frame.missing

    @property
    def trusted(self) -> bool:
        """The frame was seen whole, and it is sure that a frame begins where we took it to."""
        frame = self.frame
        if frame.missing or frame.cut:
            return False
        return self.own.anchored or self.own.sound >= TRUSTED

    # the vocabulary of all families

    @property
    def name(self) -> str:
        """The method: `basic.publish`; else the kind of frame."""
        return self.method_name

    @property
    def begins(self) -> AnyDelivery | None:
        """What a publish, deliver or get-ok hands over."""
        return self.carries if self.kinds & CARRIES else None

    @property
    def carries(self) -> AnyDelivery | None:
        """The message that a method, header or body belongs to; a return is not sent again."""
        if not self.kinds & (CARRIES | CONTENT_HEADER | CONTENT_BODY):
            return None
        if self.delivery is not None:
            return self.delivery
        return self.publish if self.peer == CLIENT else None

    @property
    def carried_octets(self) -> int:
        """Octets of the body that a content header announces."""
        content = self.unit.content
        return 0 if content is None else content.body_size

    @property
    def carried_frames(self) -> int:
        """1 for a body frame."""
        return 1 if self.kinds & CONTENT_BODY else 0

    @property
    def completes(self) -> bool:
        """All of the content has passed."""
        return self.kinds & COMPLETES != 0

    @property
    def settles(self) -> list[AnyDelivery]:
        """Deliveries that the client acknowledges, or publishes that the server confirms."""
        if not self.covered and not self.confirmed:
            return shared.NO_DELIVERIES
        number = self.mark.frame
        settled: list[AnyDelivery] = []
        for delivery in self.covers:
            mark = delivery.settled
            if mark is not None and mark.frame == number:
                settled.append(delivery)
        return settled

    @property
    def covers(self) -> list[AnyDelivery]:
        """The deliveries or publishes that an acknowledgement is about."""
        if self.covered:
            return list(self.covered)
        return list(self.confirmed) if self.confirmed else shared.NO_DELIVERIES

    @property
    def returns(self) -> AnyDelivery | None:
        """The publish that the server could not route or deliver."""
        return self.publish if self.kinds & CARRIES and self.peer == SERVER else None

    @property
    def lane(self) -> Place | None:
        """The channel, of what the server says about publishes on it, and of a rollback."""
        channel = self.channel
        if channel is None or (self.peer == CLIENT and self.method_name != "tx.rollback"):
            return None
        return channel.places.publishing()

    @property
    def answers(self) -> Mark | None:
        """The method that a reply answers."""
        request = self.request
        return None if request is None else request.mark

    @property
    def refuses(self) -> Refusal | None:
        """A close with an error, a return, or a message that is not taken."""
        method = self.unit.method
        return None if method is None else refused_by(self.method_name, method, self.peer)

    @property
    def transacts(self) -> str:
        """What a method of the class tx does."""
        return TRANSACTING.get(self.method_name, "")

    @property
    def identifies(self) -> Identity | None:
        """The product and version of a start or start-ok."""
        if self.method_name not in INTRODUCTIONS:
            return None
        own = self.own
        name = f"{own.product} {own.version}".strip()
        return Identity(name or None, own.product or None, own.version or None)


ADDRESSES: Final = ("queue", "exchange", "destination")
"""Arguments that name what a method is about, the likeliest first."""
TRUSTED: Final = 3
"""Frames in a row that were sound prove that we are in step where the start was not seen."""
INTRODUCTIONS: Final = ("connection.start", "connection.start-ok")
TRANSACTING: Final = {
    "tx.commit": COMMIT,
    "tx.commit-ok": COMMITTED,
    "tx.rollback": ROLLBACK,
    "tx.rollback-ok": ROLLED_BACK,
}
"""Methods in which a peer says who it is."""
