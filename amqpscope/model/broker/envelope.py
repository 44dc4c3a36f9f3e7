"""What a message says of itself, in the words that all protocol families share.

An envelope is made for every message, so it starts with what tells messages apart. The rest is
read from the octets when somebody asks for it.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from amqpscope.model.mark import Mark
from dissectors.native import mypyc_attr
from dissectors.values import Value

PACK: Final = Struct(">qQ").pack
MAX_KEY: Final = 64
"""Octets that are their own key; longer ones are known by a hash."""
MAX_OCTETS: Final = 2048
"""Octets of a message that are kept, to be read and compared later."""

DEFAULT_PRIORITY: Final = 4
"""What a message without a priority has (3.2.1)."""


def key_of(octets: bytes) -> bytes:
    """What octets are known by, in this process alone: themselves where they are few, else a hash.

    Python's own hash of 64 bits is keyed at random, and four times as fast as a digest.
    """
    if len(octets) <= MAX_KEY:
        return octets
    return PACK(hash(octets), len(octets))


class Content:
    """What header, annotations and properties of a message say; read when somebody asks."""

    def __init__(self) -> None:
        self.durable: bool | None = None
        self.priority: int | None = None
        self.ttl: int | None = None
        """Milliseconds that it may live."""
        self.first_acquirer: bool | None = None
        self.delivery_count: int | None = None
        """None where the family does not count."""
        self.annotations: dict[str, Value] = {}
        """Message annotations, or headers."""
        self.delivery_annotations: dict[str, Value] = {}
        self.expiry: int | None = None
        """When it expires by its own word, in milliseconds since the Unix epoch."""
        self.to = ""
        self.group = ""
        self.reply_to = ""
        self.correlation = b""
        """Its correlation-id with the type before it."""


@mypyc_attr(allow_interpreted_subclasses=True, acyclic=True)
class Envelope:
    """One message, as one peer sent it on one connection."""

    __slots__ = (
        "family", "format", "has_header", "head", "hinted", "key", "known_body", "known_sections",
        "message_id", "octets", "opened", "perishable", "properties", "size", "torn",
    )  # fmt: skip

    def __init__(self, family: str, key: bytes, message_id: bytes, octets: bytes) -> None:
        self.family = family
        """The protocol family: messages of another one are the same in other octets."""
        self.key = key
        """The same for messages whose immutable octets are the same."""
        self.message_id = message_id
        """Its message-id with the type before it; empty where it has none."""
        size = len(octets)
        self.octets = octets if size <= MAX_OCTETS else octets[:MAX_OCTETS]
        self.size = size
        self.head = b""
        """The octets before the immutable ones: what a broker may change."""
        self.properties = 0
        """How many properties it may have at most, so that few messages are read for rare ones."""
        self.format = 0
        """The message-format."""
        self.known_body = b""
        """`body_key`, once it was asked for, or where not all octets are kept."""
        self.known_sections = b""
        """`sections`, where not all octets are kept."""
        self.opened: Content | None = None
        self.has_header = False
        """Brokers may change what is before its immutable octets, and count attempts there."""
        self.hinted = False
        """It has delivery annotations."""
        self.perishable = False
        """It has a time to live, or says when it expires."""
        self.torn = False
        """What follows its last section cannot be read, as where it was cut off."""

    @property
    def id_text(self) -> str:
        """Its message-id for people; empty where it has none."""
        return id_text(self.message_id)

    @property
    def body_key(self) -> bytes:
        """The same for messages with the same application data, in whatever sections."""
        return self.known_body

    @property
    def sections(self) -> bytes:
        """The descriptors of its sections, in order."""
        return self.known_sections

    def fold(self) -> None:
        """Its message is over: drop the application data, but not what it is known by."""

    @property
    def has_strong_id(self) -> bool:
        """Its message-id is long enough not to be anybody else's by accident."""
        kind, _, value = self.message_id.partition(b" ")
        return kind == b"uuid" or (kind != b"ulong" and len(value) >= 16)

    def open(self) -> Content:
        """What it says beside its octets; read once."""
        opened = self.opened
        if opened is None:
            opened = self.opened = self.read()
        return opened

    def read(self) -> Content:
        """Read what the family's octets say."""
        return Content()

    def rank(self) -> int:
        """Its priority, or that of messages that state none."""
        stated = self.open().priority if self.head else None
        return DEFAULT_PRIORITY if stated is None else stated

    def attempts(self) -> int:
        """How many deliveries of it have failed before, by its own word; 0 where it has none."""
        return 0

    def has_head_of(self, other: Envelope) -> bool:
        """Whether it says the same as another where a broker may change it."""
        return self.head == other.head

    def fields(self) -> dict[str, str]:
        """The immutable fields by name, as text; empty where not all octets are kept."""
        return {}

    def says_the_same(self, other: Envelope) -> bool:
        """Whether another message has the same values in its immutable part, in other octets."""
        return False

    def data(self) -> tuple[bytes, int]:
        """Its application data as far as that is kept, and how long it is; empty where unknown."""
        return b"", 0

    def plain_body(self) -> bytes | None:
        """Its application data, where that is octets and all of them are kept."""
        return None


def differing(theirs: Envelope, ours: Envelope) -> list[str]:
    """The immutable fields that two messages do not have alike, with both values."""
    before, after = theirs.fields(), ours.fields()
    if not before or not after:
        return []
    names = [*before, *[name for name in after if name not in before]]
    return [
        f"{name} was {before.get(name, 'absent')} and is {after.get(name, 'absent')}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def id_text(message_id: bytes) -> str:
    """A typed id for people: `m1`, `0x00ff`."""
    kind, _, value = message_id.partition(b" ")
    if kind == b"string":
        return value.decode("utf-8", "backslashreplace")
    if kind == b"ulong":
        return str(int.from_bytes(value, "big"))
    if kind == b"uuid":
        h = value.hex()
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
    return "0x" + value.hex() if value else ""


# What became of a passage, in the words that both families share.
# fmt: off
OPEN:        Final = ""
ACCEPTED:    Final = "accepted"
REJECTED:    Final = "rejected"
RELEASED:    Final = "released"
MODIFIED:    Final = "modified"
RETURNED:    Final = "returned"
PROVISIONAL: Final = "accepted in a transaction"
SETTLED:     Final = "settled without an outcome"
PRESETTLED:  Final = "presettled"
ABORTED:     Final = "aborted"
CUT:         Final = "cut off"
# fmt: on
REFUSALS: Final = (REJECTED, RELEASED, MODIFIED, RETURNED)
"""What a broker answers to a publish that it does not take."""


NO_ANNOTATIONS: Final[dict[str, Value]] = {}
"""What nearly all outcomes have; shared, so never added to."""


@mypyc_attr(free_list_len=1, acyclic=True)
class Verdict:
    """What became of a delivery, as far as the wire shows."""

    def __init__(self, word: str, mark: Mark | None) -> None:
        self.word = word
        self.mark = mark
        """The frame that says so first."""
        self.failed = False
        """`modified` with delivery-failed: the attempt counts."""
        self.here = False
        """`modified` with undeliverable-here."""
        self.annotations = NO_ANNOTATIONS
        """What `modified` adds to the message."""
        self.missing = False
        """`rejected`, as there is no such node."""
        self.read: Mark | None = None
        """The broker's own frame that makes it so: it commits the transaction."""
        self.undone = False
        """It was given in a transaction that was not committed."""


NO_VERDICT: Final = Verdict(OPEN, None)
"""What became of a delivery that is open; shared, so never changed."""

# How far the transaction of a delivery is.
# fmt: off
NONE:        Final = ""
PENDING:     Final = "pending"
DISCHARGED:  Final = "discharged"
COMMITTED:   Final = "committed"
ROLLED_BACK: Final = "rolled back"
IN_DOUBT:    Final = "in doubt"
# fmt: on


class Commitment:
    """The transaction that a delivery is part of."""

    def __init__(self, state: str, mark: Mark | None) -> None:
        self.state = state
        self.mark = mark
        """The frame that ends it: the client's discharge, commit or rollback."""


NO_COMMITMENT: Final = Commitment(NONE, None)
"""Of a delivery outside of transactions; shared, so never changed."""


class Route:
    """Where a delivery goes at the broker, or comes from."""

    def __init__(self, address: str) -> None:
        self.address = address
        """As it is on the wire; empty where it is not known."""
        self.exchange = ""
        """The exchange of 0-9, where the address is a routing key for it."""
        self.is_queue = False
        """It is a queue for sure, by the protocol or by what the link says of it."""
        self.copy = False
        """It is browsed: what is sent stays there."""
        self.filtered = False
        """Only some messages are asked for."""
        self.unseen = False
        """How the link or consumer began was not seen."""
        self.is_topic = False
        """It is a topic, by what the link says of it."""
        self.durable = False
        """What is subscribed to may outlive the link, and be older than it."""
        self.default_outcome = ""
        """What becomes of a message whose consumer is gone without a word; empty: not stated."""
        self.no_local = False
        """What the same connection publishes is not asked for."""
        self.since: Mark | None = None
        """The client's frame that asked for messages."""
        self.varies = False
        """Each message on the link or channel has a way of its own."""
