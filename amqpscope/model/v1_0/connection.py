"""One AMQP connection: two peers, their layers, opens and channels (spec 2.2, 2.4)."""

from __future__ import annotations

from typing import Final

from amqpscope.model import fault
from amqpscope.model.fault import MAX_FAULTS, Breaches
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import Mark
from amqpscope.model.peer import PeerEnd
from amqpscope.model.v1_0 import states
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.sasl import Sasl
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.transaction import Transactions
from amqpscope.stream.types import Connection as Carrier
from dissectors.v1_0.bodies import Close, Open
from dissectors.wire import Header

AMQP_LAYER: Final = 0
"""The protocol ids of headers (2.2, 5.3.1)."""
SASL_LAYER: Final = 3
MIN_MAX_FRAME_SIZE: Final = 512
NO_LIMIT: Final = 0xFFFFFFFF
MAX_UNPAIRED: Final = 4096
"""Unanswered begins, or attaches of a session, that are remembered."""
MAX_NAMES: Final = 10_000
"""Link names that are remembered after their links are gone."""
MAX_RIVALS: Final = 64
NOTE: Final = "info"

# What a violation has touched, beside the channel of a session, a link's number (`of_link`), and
# what `model.fault` has for all families.
CONNECTION: Final = -1
"""Versions, authentication and the limits of `open`."""
TRANSACTIONS: Final = -3
"""Which transactions there are, and what belongs to them."""
TERMS: Final = 1 << 60
"""What is added to the number of a link for its termini and outcomes alone."""
SOME_HANDLE: Final = 0xFFFFFFFF
"""A link of the session, but it is not known which."""


class SeenHeader:
    """A protocol header and its place."""

    def __init__(self, header: Header, mark: Mark) -> None:
        self.header = header
        self.mark = mark


class Rivals:
    """Two attachments of one link by one peer, the older of which should give way."""

    def __init__(self, old: LinkEnd, new: LinkEnd) -> None:
        self.old = old
        self.new = new
        self.used_old: list[Mark | None] = [None, None]
        """Each peer's last flow or transfer on the old one since the new one was answered."""
        self.used_new: list[Mark | None] = [None, None]


class Fault(fault.Fault):
    """A finding, as far as other rules of 1.0 have to know of it."""

    def __init__(self, rule: str, sure: bool, peer: int, mark: Mark) -> None:
        super().__init__(rule, sure, peer, mark)
        self.session: SessionEnd | None = None
        """The end of the session of who is at fault."""
        self.link: LinkEnd | None = None
        self.path = ""
        """The field that it is about."""
        self.severity = ""
        """`error`, `warning`, or `info` for a note about nothing that a partner would mind."""
        self.frames = 0
        """Frames of both peers on the connection until it was found."""


def of_link(channel: int, handle: int) -> int:
    """The number of a link among what can be touched, beyond those of the sessions."""
    return (channel + 1) << 32 | handle


def of_terms(channel: int, handle: int) -> int:
    """The number of a link's termini and outcomes, beyond those of the links."""
    return TERMS | of_link(channel, handle)


class EarlyFrames:
    """What a peer sent before its partner's open, which will have to allow it."""

    def __init__(self) -> None:
        self.size = 0
        """The size of its largest frame of type 0."""
        self.mark: Mark | None = None
        """That frame."""
        self.channel = 0
        """The highest channel on which it began a session."""
        self.channel_mark: Mark | None = None
        """That begin."""

    def add(self, size: int, begun: int, mark: Mark) -> None:
        """Note a frame, and the channel on which it begins a session; -1 for none."""
        if size > self.size:
            self.size, self.mark = size, mark
        if begun > self.channel:
            self.channel, self.channel_mark = begun, mark


class ConnectionEnd(PeerEnd):
    """What one peer has sent that concerns the connection as a whole."""

    def __init__(self, peer: int, anchored: bool) -> None:
        super().__init__(peer, anchored)
        self.stage = states.NOTHING if anchored else states.LOST
        """What this peer has sent last, of header, open and close (see `states`)."""
        self.headers: list[SeenHeader] = []
        self.layer = -1
        """The protocol id of its last header: 0 AMQP, 2 TLS, 3 SASL; -1 before the first."""
        self.open: Open | None = None
        self.open_mark: Mark | None = None
        self.close: Close | None = None
        self.close_mark: Mark | None = None
        self.missed = False
        """Octets of this peer are missing since its newest unit: it was not silent then."""
        self.amqp_frames = 0
        """Frames of type 0 since the last header."""
        self.frame_limit = NO_LIMIT
        """`max_frame_size` once its open was seen; until then nothing is known to be too large."""
        self.early = EarlyFrames()
        self.damaged = False
        """A frame of this peer could not be decoded."""
        self.odd_start: tuple[Mark, bytes] | None = None
        """Its first octets, where they are neither a header nor a frame."""
        self.empty_mark: Mark | None = None
        """This peer's last empty frame."""
        self.channels: dict[int, SessionEnd] = {}
        """This peer's sessions by its own channel numbers."""
        self.ended: dict[int, SessionEnd] = {}
        """The last session on each channel that this peer has ended."""
        self.unpaired: list[SessionEnd] = []
        """Sessions that the partner has not answered, oldest first."""
        self.partner: ConnectionEnd | None = None
        """The other end of the connection."""

    @property
    def state(self) -> str:
        """The state of this end (2.4.6), by what both peers have sent so far."""
        partner = self.partner
        received = states.LOST if partner is None else partner.stage
        return states.CONNECTION.state(self.stage, received)

    @property
    def is_closed(self) -> bool:
        """This peer has sent its close."""
        return self.stage >= states.CLOSE

    @property
    def discarding(self) -> bool:
        """This peer has closed with an error and drops what still comes."""
        return self.stage == states.CLOSE_ERROR

    @property
    def max_frame_size(self) -> int:
        """The largest frame that this peer takes: 512 until its open says more."""
        if self.open is None:
            return MIN_MAX_FRAME_SIZE
        size = self.open.max_frame_size
        return NO_LIMIT if size is None else max(size, MIN_MAX_FRAME_SIZE)

    @property
    def channel_max(self) -> int:
        """The highest channel that this peer takes."""
        if self.open is None:
            return 0
        channel = self.open.channel_max
        return 65535 if channel is None else channel

    def anchor(self, anchored: bool) -> None:
        """Set whether the capture has this peer's stream from its beginning."""
        self.anchored = anchored
        self.stage = states.NOTHING if anchored else states.LOST

    def lose(self) -> None:
        """Octets of this peer are missing, and with them any frame."""
        self.anchored = False
        self.stage = states.CONNECTION.after(self.stage, states.LOST)
        self.sound = 0

    def add_header(self, header: Header, mark: Mark) -> None:
        """This peer begins a layer."""
        self.headers.append(SeenHeader(header, mark))
        self.layer = header.id
        if header.id == AMQP_LAYER:
            self.stage = states.CONNECTION.after(self.stage, states.HEADER)

    def set_open(self, body: Open, mark: Mark) -> None:
        """This peer opens the connection."""
        self.open, self.open_mark = body, mark
        self.frame_limit = self.max_frame_size
        self.stage = states.CONNECTION.after(self.stage, states.OPEN)

    def set_close(self, body: Close, mark: Mark) -> None:
        """This peer closes the connection."""
        self.close, self.close_mark = body, mark
        error = body.error is not None or bool(body.wrong)
        step = states.CLOSE_ERROR if error else states.CLOSE
        self.stage = states.CONNECTION.after(self.stage, step)

    def prove(self, end: int) -> None:
        """This peer's frame shows that it has read so much of its partner's stream."""
        self.proved = max(self.proved, end)


class Connection(Subject):
    """A connection: both ends, and what they share."""

    def __init__(self, anchored: bool) -> None:
        super().__init__()
        # A list: compiled, a pair would be made again each time it is indexed.
        self.ends = [ConnectionEnd(0, anchored), ConnectionEnd(1, anchored)]
        self.ends[0].partner, self.ends[1].partner = self.ends[1], self.ends[0]
        self.encrypted = False
        """It was found inside TLS that began with the first octet, not by a header."""
        self.carrier: Carrier | None = None
        """The TCP connection beneath, with what was seen of its TLS and WebSocket."""
        self.sasl = Sasl()
        self.transactions = Transactions()
        self.links: dict[tuple[int, str, bool], int] = {}
        """How often each peer has attached a link of a name and role."""
        self.attached: dict[tuple[int, str, bool], list[LinkEnd]] = {}
        """The links that a peer has attached and not detached, on any session, by name and role."""
        self.started = False
        self.shaken_until = 0
        """Until then what was in flight when octets were lost, or when the capture began, may still
        come, and be taken for something else."""
        self.shaken_by = -1
        """The peer of which octets inside a frame were lost: whether that frame ended where its
        size says, and not before, is shown by the next one."""
        self.rivals: list[Rivals] = []
        """Links that were attached again while they were attached, until that is resolved."""
        self.nameless: list[LinkEnd] = []
        """Answers for a dynamic node without its address, until it is clear that they are not the
        first half of a refusal."""
        self.unclosed: list[LinkEnd] = []
        """Ends that were detached without closing them while the partner's detach closed the link,
        until they are attached and closed, or it is too late for that."""
        self.faults: list[Fault] = []
        """What was found against either peer, the oldest and the newest of it."""
        self.breaches = Breaches()

    @property
    def frames(self) -> int:
        """Frames of both peers so far; numbers of frames count those of other connections too."""
        return self.ends[0].frames + self.ends[1].frames

    @property
    def closing(self) -> bool:
        """A peer has closed, or a direction has ended."""
        one, other = self.ends
        return one.is_closed or other.is_closed or bool(one.finished or other.finished)

    def blame(self, fault: Fault) -> None:
        """Remember a finding, since some rules judge how the partner reacts to it."""
        if len(self.faults) >= MAX_FAULTS:
            del self.faults[MAX_FAULTS // 2]
        fault.frames = self.frames
        self.faults.append(fault)

    def clean(self, peer: int) -> bool:
        """Nothing but notes was found against a peer."""
        return all(fault.peer != peer or fault.severity == NOTE for fault in self.faults)
