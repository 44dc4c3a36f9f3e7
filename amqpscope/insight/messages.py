"""Messages as people look for them: where each is now, and what happened to it so far.

`Followed` takes Steps and keeps a `Message` for each that it recognises, from the connection that
publishes it to those that consume it. Of those that are settled it keeps the newest.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from amqpscope.analysis import Conversation, Step
from amqpscope.insight.journeys import Journeys
from amqpscope.insight.journeys.observer import Observer
from amqpscope.insight.journeys.whereabouts import KEEPING, Way, expiry_of, way_of
from amqpscope.insight.message_states import (
    DISCARDED,
    DONE,
    EXPIRED,
    HELD,
    KNOWN_AT_ONCE,
    LOST,
    REFUSED,
    UNANSWERED,
    UNKNOWN,
    UNSETTLED,
    WAITING,
)
from amqpscope.model.broker.envelope import REFUSALS, REJECTED
from amqpscope.model.broker.journey import Journey, Leg
from amqpscope.model.mark import Mark
from amqpscope.rules.dispatch import RuleSet

PUBLISHED, ANSWERED, DELIVERED, CONSUMED, ENDED = range(5)
"""What a passage is."""
WORDS: Final = (
    "published to {}", "{} by the broker", "delivered from {}", "{} by the consumer",
    "{}: ended without an outcome",
)  # fmt: skip

MAX_SETTLED: Final = 10_000
"""Settled messages that are kept."""
MAX_OPEN: Final = 100_000
"""Messages in another state that are kept."""
MAX_PASSAGES: Final = 100
"""Passages of one message that are kept; later ones are only counted."""
CAPTURE_ENDS: Final = "capture"
"""Why a direction is over that was not seen to end."""
GRACE: Final = 1_000_000_000
"""Nanoseconds after which one that was overtaken may be lost, while more is to come."""


class Passage(NamedTuple):
    """One frame in the life of a message."""

    frame: int
    last: int
    """The frame that completes the message, where it comes in several."""
    time: int
    connection: int
    kind: int
    word: str
    """The node, or the outcome."""
    redelivered: bool = False

    @property
    def text(self) -> str:
        """What happened, in words."""
        return WORDS[self.kind].format(self.word) + (", redelivered" if self.redelivered else "")


class Message:
    """One message at one broker; several where they cannot be told apart."""

    __slots__ = (
        "address", "delivered", "expiry", "family", "frame", "holder", "id", "journey", "latency",
        "more", "nodes", "open", "outcome", "passages", "publish", "published", "returned",
        "settle", "since", "size", "state", "time",
    )  # fmt: skip

    def __init__(self, journey: Journey, leg: Leg) -> None:
        envelope = leg.envelope
        self.journey = journey
        self.id = envelope.id_text
        self.size = envelope.size
        self.family = envelope.family
        self.address = leg.node.name
        """Where it was published to, or else came from."""
        self.frame = leg.mark.frame
        """The first of its frames that was captured."""
        self.time = leg.mark.time
        self.since = self.time
        """When it came to its present state."""
        self.state = ""
        self.published = 0
        self.delivered = 0
        """How often it was handed to consumers, also again."""
        self.publish: Leg | None = None
        self.outcome = ""
        """What its consumer said last."""
        self.nodes: tuple[str, ...] = ()
        """Where it was delivered from."""
        self.open: tuple[Leg, ...] = ()
        """Deliveries without an outcome."""
        self.returned: tuple[str, ...] = ()
        """Nodes that have it again after they had delivered it."""
        self.holder = 0
        """The connection of the newest delivery."""
        self.latency: int | None = None
        """Nanoseconds from its publish to its newest delivery; None where one of them is unseen."""
        self.settle: int | None = None
        """Nanoseconds from a delivery until its consumer had settled it, of the newest."""
        self.expiry: int | None = None
        """When it expires; 0: never, None: not looked up yet."""
        self.passages: list[Passage] = []
        self.more = 0
        """Passages that are not kept."""

    def add(self, passage: Passage) -> None:
        """Something happened to it."""
        if len(self.passages) < MAX_PASSAGES:
            self.passages.append(passage)
        else:
            self.more += 1

    @property
    def redelivered(self) -> int:
        """How often it was delivered after the first time from each node."""
        return max(self.delivered - max(len(self.nodes), self.published, 1), 0)

    @property
    def missing(self) -> int:
        """How many of several that are alike no consumer in view got."""
        return max(self.published - self.delivered, 0)


class Followed(Observer):
    """The messages of one capture, as far as it was read."""

    def __init__(self, settled: int = MAX_SETTLED) -> None:
        self.journeys = Journeys(RuleSet([]), wanted=[self])
        self.settled = settled
        self.messages: dict[Journey, Message] = {}
        self.by_state: dict[str, dict[Message, None]] = {state: {} for state in KNOWN_AT_ONCE}
        """Those in each state, in the order in which they came to it."""
        self.touched: list[Message] = []
        """Those that the newest frame carries or settles."""
        self.newest: dict[Way, tuple[int, int]] = {}
        """Of the messages that took a way, the newest that was delivered: its frame, and when."""
        self.forgotten: Counter[str] = Counter()
        """Messages that are not kept, by their state then."""

    def take(self, step: Step) -> None:
        """Follow the messages of a frame."""
        self.touched = []
        self.journeys.take(step)

    def end(self, conversation: Conversation, reason: str) -> None:
        """A direction of a connection is over; where only the capture is, it goes on unseen."""
        if reason != CAPTURE_ENDS:
            self.journeys.end(conversation)

    # what passes

    def look(self, journey: Journey, leg: Leg) -> None:
        """A message was published or delivered."""
        message = self.messages.get(journey)
        if message is None:
            message = self.messages[journey] = Message(journey, leg)
        self.touched.append(message)
        if leg.is_publish:
            message.published += 1
            message.publish = leg
            message.add(passage_of(leg, PUBLISHED, leg.node.name))
        else:
            self.deliver(message, leg)
        self.place(message, leg.mark.time)

    def deliver(self, message: Message, leg: Leg) -> None:
        """The broker hands a message to a consumer."""
        mark, lane, node, publish = leg.mark, leg.lane, leg.node, message.publish
        message.add(passage_of(leg, DELIVERED, node.name))
        if lane.route.copy:
            return  # it was looked at, and is where it was
        message.delivered += 1
        message.holder = lane.connection
        if node.name not in message.nodes:
            message.nodes = (*message.nodes, node.name)
        if node.name in message.returned:
            message.returned = tuple(name for name in message.returned if name != node.name)
        if not leg.outcome:
            message.open = (*message.open, leg)
        if publish is None or message.published > 1 or publish.last.time > mark.time:
            return
        message.latency = mark.time - publish.last.time
        if not lane.route.filtered:
            way = way_of(publish)
            if self.newest.get(way, (0, 0))[0] < publish.mark.frame:
                self.newest[way] = (publish.mark.frame, mark.time)

    def look_at_answer(self, journey: Journey, leg: Leg) -> None:
        """A publish or a delivery has its outcome."""
        message, mark = self.messages.get(journey), leg.verdict.mark
        if message is None or mark is None:
            return
        self.touched.append(message)
        kind = ANSWERED if leg.is_publish else CONSUMED
        message.add(answer_of(leg, mark, kind, leg.outcome))
        if not leg.is_publish:
            message.settle, message.outcome = mark.time - leg.last.time, leg.outcome
            self.close(message, leg, leg.outcome in KEEPING)
        self.place(message, mark.time)

    def close(self, message: Message, leg: Leg, kept: bool) -> None:
        """A delivery is over; the broker has the message again unless the consumer kept it."""
        message.open = tuple(each for each in message.open if each is not leg)
        if not kept and not leg.lane.route.copy and leg.node.name not in message.returned:
            message.returned = (*message.returned, leg.node.name)

    # where it is

    def place(self, message: Message, time: int) -> None:
        """Put a message where it belongs now."""
        state = state_of(message)
        if state == message.state:
            return
        if message.state:
            del self.by_state[message.state][message]
        message.state, message.since = state, time
        kept = self.by_state[state]
        kept[message] = None
        if len(kept) > (self.settled if state == DONE else MAX_OPEN):
            oldest = next(iter(kept))
            del kept[oldest]
            del self.messages[oldest.journey]
            self.forgotten[state] += 1

    def look_for_ends(self) -> None:
        """Notice the deliveries whose link, channel or connection ended before their outcome."""
        for message in list(self.by_state[HELD]):
            for leg in message.open:
                lost = leg.lost
                if lost is not None:
                    message.add(answer_of(leg, lost, ENDED, "link, channel or connection"))
                    self.close(message, leg, kept=False)
                    self.place(message, lost.time)

    def suspicion(self, message: Message, now: int, *, final: bool) -> str:
        """The state of a message that is not settled, by what happened to others since."""
        publish = message.publish
        if message.journey.over and message.state in UNSETTLED:
            return UNKNOWN
        if message.state != WAITING or message.delivered or publish is None:
            return message.state
        if message.expiry is None:
            message.expiry = expiry_of(publish)
        if 0 < message.expiry < now:
            return EXPIRED
        frame, time = self.newest.get(way_of(publish), (0, 0))
        return LOST if publish.mark.frame < frame and (final or now - time > GRACE) else WAITING


def passage_of(leg: Leg, kind: int, word: str) -> Passage:
    """The frames with which a message passed."""
    first, last, connection = leg.mark, leg.last, leg.lane.connection
    return Passage(first.frame, last.frame, first.time, connection, kind, word, leg.redelivered)


def answer_of(leg: Leg, mark: Mark, kind: int, word: str) -> Passage:
    """A frame that says what became of a message."""
    return Passage(mark.frame, mark.frame, mark.time, leg.lane.connection, kind, word)


def state_of(message: Message) -> str:
    """Where a message is, by its own frames alone."""
    if message.open:
        return HELD
    if message.returned:
        return WAITING
    publish = message.publish
    if not message.delivered or message.missing:
        word = "" if publish is None else publish.outcome
        if word in REFUSALS:
            return REFUSED
        return WAITING if word else UNANSWERED
    return DISCARDED if message.outcome == REJECTED else DONE
