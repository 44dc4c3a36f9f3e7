"""The journey of one message: every passage of it between a client and the broker."""

from __future__ import annotations

from collections import deque
from typing import Final

from amqpscope.model.broker.envelope import (
    NO_COMMITMENT,
    NO_VERDICT,
    OPEN,
    Commitment,
    Envelope,
    Route,
    Verdict,
)
from amqpscope.model.mark import Mark
from amqpscope.model.place import Place
from dissectors.native import mypyc_attr

# How a delivery was recognised as a message that was published.
# fmt: off
UNMATCHED: Final = 0  # no publish of it was captured
EXACT:     Final = 1  # its immutable octets are the same, and no other message has them
SAME_ID:   Final = 2  # its message-id is the same, its octets are not
SAME_BODY: Final = 3  # its application data is the same, in another protocol
# fmt: on
LEVELS: Final = ("not published in view", "the same octets", "the same message-id", "the same body")

MAX_RECENT: Final = 32
"""Messages of which it is remembered which subscribers got them."""
MAX_LEGS: Final = 64
"""Passages of one message that are kept; later ones are only counted."""
MIN_REREAD: Final = 3
"""Accepted messages that come again in their first order may be read from a log again."""
MAX_FOLDED: Final = 512
"""Octets of a message that are kept when it is over."""
Proof = tuple[str, int, int, int]
"""A finding by its rule, capture, connection and frame."""
PRIVATE: Final = ("$", "/management")
"""How nodes begin that are no places where messages wait."""


class Node:
    """Where messages wait at a broker, or what routes them."""

    def __init__(self, name: str, is_queue: bool) -> None:
        self.name = name
        self.is_queue = is_queue
        """For sure a queue: what one consumer takes no other gets."""
        self.is_exchange = False
        self.is_private = name.startswith(PRIVATE) or "/$management" in name
        """Requests and answers go there, which a broker deals with itself."""
        self.published = 0
        self.delivered = 0
        self.lanes: list[Lane] = []
        """The consumers that it has now."""
        self.is_topic = False
        """For sure no queue: each consumer gets what others get."""
        self.shares = 0
        """Messages that one consumer got and another, who could have had them, did not."""
        self.overlaps = 0
        """Messages that a consumer got while another one had them."""
        self.limited = False
        """Messages may go from it by its own rules: it has a limit, or a time to live."""
        self.fresh: int | None = None
        """Since when what comes from it was published in view: older ones came before."""
        self.family = ""
        """The protocol of the newest message that was published to it."""
        self.blurred = False
        """What came from it cannot be told apart: it was in another protocol, or not readable."""
        self.strangers = 0
        """Messages that came from it and were not published in view."""
        self.had_older = False
        """It held messages before the first was published to it in view."""
        self.fleeting = False
        """It does not outlive its broker, so neither do durable messages on it."""
        self.keeps = False
        """It had messages for a consumer that came after they were published."""
        self.newest: Leg | None = None
        """The newest delivery of a message that was not delivered before."""
        self.recent: deque[Journey] = deque(maxlen=MAX_RECENT)
        """The newest messages that were published to it, while it had several consumers."""
        self.waiting: dict[Journey, Leg] = {}
        """Messages that the broker has and nobody else: what it took, or got back from a consumer;
        kept where all is in view."""
        self.returned: dict[Journey, int] = {}
        """Messages that a consumer gave back, with how many had been delivered until then."""
        self.emptied: tuple[Lane, Mark] | None = None
        """The newest frame by which it had nothing for a consumer who asked for all there is."""

    def empty(self, lane: Lane, mark: Mark) -> None:
        """A consumer has asked for all there is, and there is nothing more.

        What another one has may come back, and what is under way to it is seen later.
        """
        route = lane.route
        if route.copy or route.filtered or route.unseen:
            return
        if all(each is lane or not each.open for each in self.lanes):
            self.emptied = lane, mark
            self.found_empty(mark)

    def found_empty(self, mark: Mark) -> None:
        """It has no messages now, so that what comes later was published later."""
        if self.fresh is None:
            self.fresh = mark.time


class Anchor:
    """Leads from a lane to what follows its connection, until that is over."""

    def __init__(self, holder: object) -> None:
        self.holder: object = holder


ADRIFT: Final = Anchor(None)


class Lane:
    """One link, consumer or channel over which messages pass, on one connection."""

    def __init__(self, connection: int, capture: int, key: str, route: Route, node: Node) -> None:
        self.connection = connection
        self.capture = capture
        self.key = key
        self.name = ""
        self.channel = 0
        self.route = route
        self.node = node
        self.count = 0
        self.holed = False
        """Octets of its connection are missing, so that an outcome or a copy may be."""
        self.open: dict[Leg, None] = {}
        """Passages without an outcome, in the order in which they began."""
        self.anchor = ADRIFT
        self.legs: dict[int, Leg] = {}
        """Those of the whole connection of which something more may be said, by their ids."""
        self.ended: Mark | None = None
        """The frame after which nothing more passes."""
        self.ways: dict[tuple[Lane, Node, int, str], Way] = {}
        """How messages come to it, by where and how they were published."""
        self.way: Way | None = None
        """The one of the newest message."""
        self.edge: Edge | None = None
        """From where the newest message came to its node."""
        self.priorities = 0
        """The priorities of messages that came, as bits."""
        self.counted = False
        """It was seen from its beginning, and all its grants are kept."""
        self.grants: list[tuple[int, Mark]] = []
        """Up to how many messages may pass, and the frames that said so, each more than before."""
        self.unused = 0
        """Messages that were asked for with drain, and were not there."""
        self.rereading: Rereading | None = None
        """Those that came last, where all of them had come before."""


class Way:
    """How messages come to a consumer that were published alike; has the newest of them."""

    def __init__(self, publish: Leg, leg: Leg, priority: int, group: str) -> None:
        self.lane, self.node = publish.lane, publish.node
        self.priority = priority
        self.group = group
        self.publish = publish
        self.leg = leg


class Rereading:
    """Messages that came again to a consumer, one after the other and in their first order."""

    def __init__(self, first: Leg) -> None:
        self.newest = first
        """The first delivery of the newest of them."""
        self.accepted = 0
        """Those that a consumer had accepted."""
        self.proofs: list[Proof] = []
        """Findings about them that were certain before there were so many."""

    @property
    def is_likely(self) -> bool:
        """Whether their node may be a log that is read again."""
        return self.accepted >= MIN_REREAD


class Edge:
    """How many messages went from the node where they were published to that where they came."""

    def __init__(self, source: Node, target: Node) -> None:
        self.source = source
        self.target = target
        self.count = 0


class Transaction:
    """One in which messages were published, on one connection."""

    def __init__(self, commitment: Commitment) -> None:
        self.commitment = commitment
        """How far it is."""


@mypyc_attr(free_list_len=1)
class Leg:
    """One passage of a message: from a client to the broker, or from the broker to a client."""

    __slots__ = (
        "awaited", "cause", "commitment", "envelope", "is_publish", "journey", "lane", "last",
        "latest", "level", "lost", "mark", "node", "place", "read", "redelivered", "transaction",
        "verdict",
    )  # fmt: skip

    def __init__(
        self, envelope: Envelope, mark: Mark, last: Mark, place: Place, *, is_publish: bool
    ) -> None:
        self.envelope = envelope
        self.mark = mark
        """The frame that began it; its number is the id of the passage on its connection."""
        self.last = last
        """The frame that completed it."""
        self.place: Place | None = place
        """What it is counted by: its link, exchange or queue."""
        self.is_publish = is_publish
        self.redelivered = False
        self.lane = NO_LANE
        self.node = NO_NODE
        self.journey: Journey | None = None
        self.level = UNMATCHED
        self.cause: Mark | None = None
        """The client's newest frame without which the broker could not have sent it."""
        self.verdict = NO_VERDICT
        self.latest: Verdict | None = None
        """What was said of it after its lane had ended: it counts once somebody asks."""
        self.read: Mark | None = None
        """The broker's frame that shows that it has read the outcome."""
        self.lost: Mark | None = None
        """Its link, channel or connection ended before it had an outcome."""
        self.commitment = NO_COMMITMENT
        """How far its transaction was when somebody asked last."""
        self.transaction: Transaction | None = None
        """The one in which it was published, while more may come of that."""
        self.awaited = False
        """It is among those of its connection of which something more may be said."""

    @property
    def outcome(self) -> str:
        """What became of it; empty while that is not known."""
        return self.verdict.word

    def hear(self, verdict: Verdict, now: Mark) -> None:
        """Take what is said of it, as far as that was said by now.

        The model may be ahead: all frames of a packet are applied before the first is handed on.
        """
        mark = verdict.mark
        if verdict.word != self.verdict.word and mark is not None and mark.frame <= now.frame:
            self.verdict = verdict
            if verdict.read is not None:
                self.read = verdict.read

    def part(self, journey: Journey) -> None:
        """Its journey is not followed any more."""
        self.journey = None
        if self.node.waiting:
            self.node.waiting.pop(journey, None)
        if self.awaited:
            self.awaited = False
            self.lane.legs.pop(self.mark.frame, None)
            self.close()

    def close(self) -> None:
        """It has its outcome, or none is wanted."""
        passages = self.lane.open
        if self in passages:
            del passages[self]

    @property
    def is_over(self) -> bool:
        """Nothing more is to be said about it."""
        return self.verdict.word != OPEN or self.lost is not None


NO_NODE: Final = Node("", False)
NO_LANE: Final = Lane(0, 0, "", Route(""), NO_NODE)
NO_LEGS: Final[list[Leg]] = []
"""What a message has before it passes; shared, so never added to."""


class Journey:
    """All that is known of one message at one broker."""

    __slots__ = (
        "accepted",
        "alike",
        "delivered",
        "doubtful",
        "envelope",
        "first_delivery",
        "first_publish",
        "later",
        "over",
        "published",
        "queued",
        "reported",
    )  # fmt: skip

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.first_publish: Leg | None = None
        self.first_delivery: Leg | None = None
        self.later = NO_LEGS
        """Its other passages, which most messages do not have."""
        self.published = 0
        """How often it was published, also where the passage is not kept."""
        self.delivered = 0
        self.accepted = 0
        """How often a consumer accepted it."""
        self.alike = False
        """Another message has the same application data."""
        self.doubtful = ""
        """Why nothing can be concluded from what became of it; empty: something can."""
        self.reported: tuple[str, ...] = ()
        """The rules that were reported about it."""
        self.queued = False
        """It waits to be folded into counters."""
        self.over = False
        """It is not followed any more."""

    def add_publish(self, leg: Leg) -> None:
        """One more publish; of a message that is published twice nothing can be concluded."""
        self.published += 1
        if self.first_publish is None:
            self.first_publish = leg
        elif self.published <= MAX_LEGS:
            self.keep(leg)
        if self.published > 1:
            self.doubtful = "it was published more than once"
        elif self.delivered:
            self.doubtful = "it was delivered before it was published in view"

    def add_delivery(self, leg: Leg) -> None:
        """One more delivery."""
        self.delivered += 1
        if self.first_delivery is None:
            self.first_delivery = leg
        elif self.delivered <= MAX_LEGS:
            self.keep(leg)
        else:
            self.doubtful = self.doubtful or "it was delivered very often"

    def keep(self, leg: Leg) -> None:
        """Keep a passage that is not the first."""
        if self.later is NO_LEGS:
            self.later = [leg]
        else:
            self.later.append(leg)

    def add_scrap(self, leg: Leg) -> None:
        """What its producer has sent of it, and did not complete."""
        if self.first_publish is None:
            self.first_publish = leg
        else:
            self.keep(leg)

    @property
    def publishes(self) -> list[Leg]:
        """The passages from its publishers to the broker."""
        if self.first_publish is None:
            return NO_LEGS
        return [self.first_publish, *[leg for leg in self.later if leg.is_publish]]

    @property
    def deliveries(self) -> list[Leg]:
        """The passages from the broker to its consumers."""
        if self.first_delivery is None:
            return NO_LEGS
        return [self.first_delivery, *[leg for leg in self.later if not leg.is_publish]]

    @property
    def publish(self) -> Leg | None:
        """The one publish of it; None where there is none or several."""
        return self.first_publish if self.published == 1 else None

    def before(self, leg: Leg) -> list[Leg]:
        """The deliveries from the same node that came before one; not those that only have its id,
        and are perhaps of another message."""
        return [each for each in self.deliveries if is_before(each, leg)]

    def newest_before(self, leg: Leg) -> Leg | None:
        """The last delivery from the same node that came before one, of those in `before`."""
        for place in range(len(self.later) - 1, -1, -1):
            each = self.later[place]
            if not each.is_publish and is_before(each, leg):
                return each
        first = self.first_delivery
        return first if first is not None and is_before(first, leg) else None

    @property
    def is_over(self) -> bool:
        """Every passage of it has its outcome, and a consumer has taken it."""
        publish, delivery = self.first_publish, self.first_delivery
        if delivery is None or not delivery.is_over:
            return False
        if publish is not None and not publish.is_over:
            return False
        return all(leg.is_over for leg in self.later)

    @property
    def octets(self) -> int:
        """Octets that are kept of it."""
        publish, delivery = self.first_publish, self.first_delivery
        kept = 0 if publish is None else len(publish.envelope.octets)
        if delivery is not None:
            kept += len(delivery.envelope.octets)
        for leg in self.later:
            kept += len(leg.envelope.octets)
        return kept

    def fold(self) -> int:
        """It is over: drop the application data; how many octets that were."""
        before = self.octets
        if before <= MAX_FOLDED:
            return 0
        for leg in self.legs:
            leg.envelope.fold()
        return before - self.octets

    def part(self) -> None:
        """Let go of its passages, which know it too: nothing more is followed."""
        publish, delivery = self.first_publish, self.first_delivery
        if publish is not None:
            publish.part(self)
        if delivery is not None:
            delivery.part(self)
        for leg in self.later:
            leg.part(self)

    @property
    def legs(self) -> list[Leg]:
        """All passages in the order of their frames."""
        return sorted([*self.publishes, *self.deliveries], key=_moment)


def is_before(each: Leg, leg: Leg) -> bool:
    """Whether one delivery of a message came before another, from the same node."""
    return (
        each is not leg
        and each.node is leg.node
        and (each.level != UNMATCHED or leg.level == UNMATCHED)
    )


def is_awaited(leg: Leg, publish: Leg) -> bool:
    """Whether a consumer had asked for messages when one was published, or had got later ones:
    what is older came before."""
    fresh = leg.node.fresh
    if fresh is not None and fresh <= leg.mark.time:
        return True
    return had_asked(leg, publish)


def had_asked(leg: Leg, publish: Leg) -> bool:
    """Whether a consumer had asked for messages when one was published."""
    grants = leg.lane.grants
    asked = grants[0][1] if leg.lane.counted and grants else leg.lane.route.since
    return asked is not None and precedes(asked, leg.lane, publish.mark, publish.lane)


def is_one_connection(lane: Lane, other: Lane) -> bool:
    """Whether messages pass over the same connection; each capture counts its own."""
    return (lane.capture, lane.connection) == (other.capture, other.connection)


def precedes(mark: Mark, lane: Lane, later: Mark, other: Lane) -> bool:
    """Whether one frame was captured before another; captures that are read together were taken
    with one clock."""
    if lane.capture == other.capture:
        return mark.frame < later.frame
    return mark.time < later.time


def _moment(leg: Leg) -> tuple[int, int, int]:
    return leg.mark.time, leg.lane.capture, leg.mark.frame
