"""One connection of 0-9: two peers, the handshake, limits and channels (4.1)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.fault import MAX_FAULTS, Breaches, Fault
from amqpscope.model.ledger import Subject
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.peer import PeerEnd
from amqpscope.model.transactions import TransactionCounts
from amqpscope.model.v0_9.channel import Channel, Closed
from amqpscope.model.v0_9.declared import Declared
from amqpscope.model.v0_9.publishes import Publish
from amqpscope.model.v0_9.staging import Staging
from dissectors.v0_9.codec import Method
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.values import Table
from dissectors.wire import Header

FRAME_MIN_SIZE: Final = 4096
"""The largest frame before a limit was agreed on, and the lowest limit there is."""
NO_LIMIT: Final = 1 << 32
MAX_SAMPLES: Final = 4096
"""Bodies of a connection that are remembered."""

# How far the handshake is; the names of the state model in 4.1.
# fmt: off
NEW:        Final = "new"         # nothing was said
HDR:        Final = "header"      # the client has sent its header
REFUSED:    Final = "refused"     # the server has answered with a header
STARTED:    Final = "started"     # ... with start
AUTH:       Final = "auth"        # the client has sent start-ok or secure-ok
CHALLENGED: Final = "challenged"  # the server has sent secure
TUNING:     Final = "tuning"      # ... tune
TUNED:      Final = "tuned"       # the client has sent tune-ok
OPENING:    Final = "opening"     # ... open
OPEN:       Final = "open"        # the server has sent open-ok
REDIRECTED: Final = "redirected"  # ... redirect
UNKNOWN:    Final = "unknown"     # the capture began later, or octets are missing

NEXT: Final = {
    # stage: what may come next, as method or `header`
    NEW:        ("header",),
    HDR:        ("connection.start", "header"),
    STARTED:    ("connection.start-ok",),
    AUTH:       ("connection.secure", "connection.tune"),
    CHALLENGED: ("connection.secure-ok",),
    TUNING:     ("connection.tune-ok",),
    TUNED:      ("connection.open",),
    OPENING:    ("connection.open-ok", "connection.redirect"),
    OPEN:       (),
    REDIRECTED: (),
    REFUSED:    (),
    UNKNOWN:    (),
}
AFTER: Final = {
    # handshake method: the stage that it leads to
    "connection.start":     STARTED,
    "connection.start-ok":  AUTH,
    "connection.secure":    CHALLENGED,
    "connection.secure-ok": AUTH,
    "connection.tune":      TUNING,
    "connection.tune-ok":   TUNED,
    "connection.open":      OPENING,
    "connection.open-ok":   OPEN,
    "connection.redirect":  REDIRECTED,
}
# fmt: on


class Limits:
    """What a tune or tune-ok says."""

    def __init__(self, channel_max: int, frame_max: int, heartbeat: int, mark: Mark) -> None:
        self.channel_max = channel_max
        self.frame_max = frame_max
        self.heartbeat = heartbeat
        """In seconds."""
        self.mark = mark


class Silence:
    """A time in which a peer sent not one octet."""

    def __init__(self, since: int, until: int, mark: Mark) -> None:
        self.since = since
        self.until = until
        self.mark = mark
        """The last frame before it."""

    @property
    def duration(self) -> int:
        """How long it lasted, in nanoseconds."""
        return self.until - self.since


class ConnectionEnd(PeerEnd):
    """What one peer has said of the connection."""

    def __init__(self, peer: int, anchored: bool) -> None:
        super().__init__(peer, anchored)
        self.header: Header | None = None
        self.header_mark: Mark | None = None
        self.properties: Table | None = None
        """`server-properties` of start, or `client-properties` of start-ok."""
        self.capabilities: frozenset[str] = frozenset()
        """What it announced in them as true."""
        self.product = ""
        self.version = ""
        self.damaged: Mark | None = None
        """The first frame of this peer that could not be decoded."""
        self.close: Closed | None = None
        self.close_ok_mark: Mark | None = None
        """Its answer to the partner's close."""
        self.sent: dict[int, Mark] = {}
        """The methods that it sent, by class and method, with the newest place."""
        self.heard = 0
        """When its newest octets passed; 0 before the first."""
        self.seen = 0
        """Where the newest of its octets that passed end in its stream."""
        self.reached = 0
        """How far its partner had read when that sent frames which came before these octets."""
        self.silence: Silence | None = None
        """The time without an octet before the newest frame, when it was a second or more."""
        self.heartbeat_mark: Mark | None = None
        """The newest heartbeat."""
        self.trace_mark: Mark | None = None
        """The newest trace frame."""
        self.frame_limit = NO_LIMIT
        """The largest frame that it may send, as far as that is sure."""
        self.staged: dict[str, Staging] = {}
        """The newest files that it staged, by their identifiers."""


class Sample:
    """What is remembered of a published message, to know it again where it is delivered."""

    def __init__(self, size: int, digest: int, mark: Mark) -> None:
        self.size = size
        self.digest = digest
        self.mark = mark
        """The frame that completed it."""
        self.publish: Publish | None = None
        self.channel = 0
        """The channel that it was published on, and how often the number had been opened before."""
        self.generation = 0
        self.ranked = False
        """It has a priority or a lifetime: others may pass it, or it others."""
        self.again = False
        """Its message-id was used for more than one message."""

    @property
    def way(self) -> str:
        """From where to where it was published: messages of one way keep their order."""
        publish = self.publish
        if publish is None:
            return ""
        return f"{self.channel}.{self.generation} {publish.exchange} {publish.routing_key}"


class Connection(Subject):
    """A connection: both ends, and what they agreed on."""

    def __init__(self, anchored: bool, dialect: Dialect) -> None:
        super().__init__()
        self.ends = [ConnectionEnd(0, anchored), ConnectionEnd(1, anchored)]
        self.dialect = dialect
        self.announced = True
        """A header, the server's own words, or many frames that fit have shown the dialect."""
        self.stage = NEW if anchored else UNKNOWN
        self.encrypted = False
        """Its octets came out of TLS."""
        self.loopback = False
        """Both peers are on one machine."""
        self.zero = Channel(0, not anchored, NOWHERE)
        """Requests and replies of the connection itself."""
        self.channels: dict[int, Channel] = {}
        self.closed: dict[int, Channel] = {}
        """The last channel of each number that is closed."""
        self.refused: list[Channel] = []
        """Channels that were closed for a fault and whose number was opened again, the newest."""
        self.transacted = [0, 0, 0]
        """Transactions that were committed, rolled back, and ended in doubt."""
        self.start: Method | None = None
        self.start_mark: Mark | None = None
        self.start_ok: Method | None = None
        self.start_ok_mark: Mark | None = None
        self.mechanism = ""
        self.user = ""
        """The login name, where the mechanism is PLAIN or AMQPLAIN."""
        self.tune: Limits | None = None
        self.tune_ok: Limits | None = None
        self.virtual_host: str | None = None
        self.insist = False
        self.open_mark: Mark | None = None
        self.blocked: Mark | None = None
        """The server's connection.blocked, while that lasts."""
        self.blocked_reason = ""
        self.declared = Declared()
        self.consuming = False
        """The client consumes on this connection too."""
        self.samples: dict[str, Sample] = {}
        """The newest bodies that the client published with a message-id, by that."""
        self.faults: list[Fault] = []
        self.breaches = Breaches()
        self.shaken_until = 0
        """Until this time, after octets were lost, nothing that rests on state is sure."""
        self.scrambled_until = 0
        """Until this time frames may come before others that their senders had read."""
        self.started = False

    @property
    def rabbit(self) -> bool:
        """The server is RabbitMQ, or one that behaves as it does."""
        return self.ends[1].product in RABBITS

    def transactions(self, over: bool) -> TransactionCounts:
        """What became of transactions; what was open is rolled back when the connection is over."""
        committed, rolled_back, in_doubt = self.transacted
        waiting = 0
        for channel in self.channels.values():
            if channel.transaction is not None:
                lost, doubtful = channel.transaction.unfinished()
                if over:
                    rolled_back += lost
                    in_doubt += doubtful
                else:
                    waiting += lost + doubtful
        return TransactionCounts(committed, rolled_back, in_doubt, waiting)

    @property
    def heartbeat(self) -> int:
        """The interval in seconds that both agreed on; 0 for none, -1 where that is unknown."""
        tune, tune_ok = self.tune, self.tune_ok
        if tune is None or tune_ok is None:
            return -1
        if tune.heartbeat == 0 or tune_ok.heartbeat == 0:
            return max(tune.heartbeat, tune_ok.heartbeat) if tune_ok.heartbeat else 0
        return min(tune.heartbeat, tune_ok.heartbeat)

    def limit(self, name: str) -> int:
        """What was agreed as `channel_max` or `frame_max`; 0 for no limit, -1 where unknown."""
        tune, tune_ok = self.tune, self.tune_ok
        if tune is None or tune_ok is None:
            return -1
        if name == "frame_max":
            return lower(tune.frame_max, tune_ok.frame_max)
        return lower(tune.channel_max, tune_ok.channel_max)

    def publish(self, name: str, sample: Sample) -> None:
        """Remember a body; a name that is used twice means nothing."""
        sample.again = name in self.samples
        self.samples[name] = sample
        if len(self.samples) > 2 * MAX_SAMPLES:
            # Not one by one: to find the oldest of a dict costs more the more were deleted.
            self.samples = dict(list(self.samples.items())[-MAX_SAMPLES:])

    def blame(self, fault: Fault) -> None:
        """Remember a finding that other rules have to know of."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)


RABBITS: Final = frozenset(("RabbitMQ", "LavinMQ"))
"""Products that use 0-9-1 with RabbitMQ's extensions."""


def lower(one: int, other: int) -> int:
    """The lower of two limits of which 0 is none."""
    if not one or not other:
        return one or other
    return min(one, other)
