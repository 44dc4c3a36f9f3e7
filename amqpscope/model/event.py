"""A frame in its place: what the rules look at.

An event is made before its frame is applied, so everything in it is as it was before the frame.
`kinds` tells what happens in it; rules name the kinds that they look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.connection import Connection, ConnectionEnd
from amqpscope.model.delivery import Delivery
from amqpscope.model.knowledge import EVERYTHING
from amqpscope.model.link import LinkEnd
from amqpscope.model.mark import Mark
from amqpscope.model.session import SessionEnd
from dissectors.v1_0.bodies import Body

if TYPE_CHECKING:
    from amqpscope.frames import Frame
    from amqpscope.model.message import Message

# fmt: off
KINDS: Final = (
    "header",        # a protocol header
    "frame",         # any frame, of any type, also empty or malformed
    "malformed",     # a unit with faults
    "wrong",         # a body that is not what its row says: a field is missing, surplus, of another
                     # type than declared, or out of its range (see `fitness`)
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

GRACE: Final = 1_000_000_000
"""Nanoseconds after which a frame that its receiver has not reacted to was probably read."""


class Event:
    """One frame, who sent it, and what it belongs to; or the end of a direction."""

    def __init__(
        self, connection: Connection, frame: Frame, peer: int, known: int, time: int
    ) -> None:
        self.connection = connection
        self.frame = frame
        """The frame; of `finished`, the last one of that direction."""
        self.peer = peer
        self.time = time
        self.mark = Mark(
            frame.number, frame.packet, time, frame.offset + len(frame.raw) + frame.missing
        )
        self.own: ConnectionEnd = connection.ends[peer]
        """The sender's end."""
        self.partner: ConnectionEnd = connection.ends[1 - peer]
        self.known = known
        """Octets of the partner's stream that the sender may have read (K+)."""
        self.kinds = 0
        self.body: Body | None = None
        self.session: SessionEnd | None = None
        """The sender's end of the session."""
        self.link: LinkEnd | None = None
        """The sender's end of the link."""
        self.delivery: Delivery | None = None
        """The delivery that a transfer belongs to."""
        self.payload = b""
        self.message: bytes | None = None
        """The whole message, on the transfer that completes a delivery."""
        self.parts: Message | None = None
        """The same by its sections, where rules run and its format is the standard's."""
        self.covered: list[Delivery] = NO_DELIVERIES
        """The live or lately settled deliveries that a disposition speaks of."""
        self.first = -1
        """The bounds of a disposition in the deliveries' unwrapped count; -1: not known."""
        self.last = -1

    def knew(self, mark: Mark | None) -> bool:
        """Whether the sender may have read this frame of its partner's (K+)."""
        return mark is not None and mark.end <= self.known

    def surely_knew(self, mark: Mark | None) -> bool:
        """Whether the sender's earlier frames show that it had read that frame (K-)."""
        return mark is not None and mark.end <= self.own.proved

    @property
    def ahead(self) -> bool:
        """The sender had octets of its partner that have not passed the tap, or not as a frame.

        So it may go by a frame that is still to come: the capture's order is not that of events.
        """
        return self.partner.last_mark.end < self.known < EVERYTHING

    def since(self, mark: Mark | None) -> int:
        """Nanoseconds since a frame; 0 for one that was not seen."""
        return 0 if mark is None or not mark.frame else self.time - mark.time

    @property
    def damaged(self) -> bool:
        """The frame was not read to its end, or has faults: what is null in it may not be."""
        return self.frame.missing > 0 or bool(self.frame.unit.faults)

    @property
    def discarded(self) -> bool:
        """The partner has ended the session or connection with an error and drops this frame."""
        if self.partner.discarding:
            return True
        session = self.session
        return session is not None and session.pair is not None and session.pair.discarding
