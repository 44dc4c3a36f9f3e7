"""One broker: its nodes, and the journeys of the messages that it handles."""

from __future__ import annotations

from collections import Counter
from typing import Final

from amqpscope.model.broker.envelope import Envelope
from amqpscope.model.broker.journey import (
    EXACT,
    SAME_BODY,
    SAME_ID,
    UNMATCHED,
    Edge,
    Journey,
    Leg,
    Node,
    is_awaited,
)

MAX_FINISHED: Final = 8192
"""Journeys of a broker that are kept after they are over."""
MAX_JOURNEYS: Final = 32768
"""Journeys of a broker that are kept at all; of older ones only the numbers are."""
DISTINCTIVE: Final = 12
"""Octets of application data that others do not have by accident."""
MAX_SCRAPS: Final = 512
"""Publishes that were not completed, and addresses for answers, that are remembered."""
MAX_REQUESTS: Final = 256
"""Requests with one address for answers that are remembered."""
Request = tuple[tuple[bytes, ...], int, int]
"""The ids that an answer may have, and the frame and connection of the request."""
MAX_ASKED: Final = 8 * MAX_JOURNEYS
"""The same where somebody asks for what became of messages."""
MAX_HELD: Final = 12 * 1024 * 1024
"""Octets of messages that are kept, at so many journeys; at more, more."""
MAX_NODES: Final = 4096
"""Nodes of a broker that are told apart, and ways from one to another."""

MAX_CHANGES: Final = 1024
"""Changes of what is before the immutable octets that are told apart."""
MAX_NAMES: Final = 64
"""Names that are counted under one title."""


class Tally:
    """What happens to nearly every message, counted without a look at names."""

    def __init__(self) -> None:
        self.published = 0
        self.published_again = 0
        self.delivered = 0
        self.exact = 0
        self.publish_accepted = 0
        self.delivery_accepted = 0
        self.answered = 0
        """Publishes that were answered, and the frames that did."""
        self.answers = 0
        self.publish_presettled = 0
        self.delivery_presettled = 0


class Span:
    """How often something was timed, the sum, the least and the most, in nanoseconds."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.least = 0
        self.most = 0

    def add(self, nanoseconds: int) -> None:
        """Take a time into account."""
        if not self.count or nanoseconds < self.least:
            self.least = nanoseconds
        if not self.count or nanoseconds > self.most:
            self.most = nanoseconds
        self.count += 1
        self.total += nanoseconds


class Change:
    """What a broker makes of what is before the immutable octets of a message, on one way."""

    def __init__(self) -> None:
        self.facts: list[str] = []
        """What is counted of it."""
        self.names: list[tuple[str, str]] = []
        """Names that are counted, by title."""
        self.count = 0
        """Messages that are not counted yet."""
        self.looked = 0
        """How often in a row rules have looked at it and reported nothing."""


def is_same_body(journey: Journey, envelope: Envelope) -> bool:
    """Whether application data is enough to recognise a message by: in another protocol, or where
    there is no other that has it, and no other id either."""
    published = journey.envelope
    if published.family != envelope.family:
        return True
    if journey.alike or journey.delivered or len(envelope.body_key) < DISTINCTIVE:
        return False
    return published.id_text == envelope.id_text


def is_renamed(journey: Journey, leg: Leg) -> bool:
    """Whether a message comes with another id than it was published with, or has none any more.

    Its consumer waited for it, and all is in view, so that nobody else has published the same.
    Where it never had an id, short data counts too.
    """
    published, publish, envelope = journey.envelope, journey.publish, leg.envelope
    if publish is None or published.family != envelope.family or journey.alike or journey.delivered:
        return False
    if publish.lane.holed or publish.node is not leg.node or not is_awaited(leg, publish):
        return False
    return not published.message_id or len(envelope.body_key) >= DISTINCTIVE


class Broker:
    """What the connections to one server show of it."""

    def __init__(self, name: str, window: int = MAX_FINISHED, backlog: int = MAX_JOURNEYS) -> None:
        self.name = name
        """Its address: `10.0.0.2:5672`."""
        self.window = window
        self.backlog = backlog
        """Journeys that are kept at most."""
        self.room = backlog * (MAX_HELD // MAX_JOURNEYS)
        """Octets of messages that are kept at most."""
        self.container = ""
        """The container-id, or what the cluster calls itself."""
        self.product = ""
        self.connections = 0
        self.broken = 0
        """Connections of which octets are missing, or the beginning."""
        self.open = 0
        """Connections that are not over."""
        self.left = 0
        """When a connection ended last, as far as its frames show."""
        self.restarted: int | None = None
        """When it dropped all its connections, as one does that starts again."""
        self.nodes: dict[str, Node] = {}
        self.edges: dict[tuple[Node, Node], Edge] = {}
        """How many messages went from where they were published to where they came from."""
        self.exact: dict[bytes, Journey] = {}
        self.ids: dict[bytes, Journey | None] = {}
        """By message-id, once something has come that its octets do not recognise; None: several
        messages have it."""
        self.by_id = False
        self.bodies: dict[bytes, Journey] = {}
        """Published messages; kept once something has come that nothing else recognises."""
        self.by_body = False
        self.scraps: dict[bytes, Leg] = {}
        """Publishes that were aborted or cut off, by what came of them, and by message-id."""
        self.requests: dict[str, list[Request]] = {}
        """Messages that want an answer, by where it is to go."""
        self.held = 0
        """Octets of messages that are kept."""
        self.finished: list[Journey] = []
        self.forgotten = 0
        """Journeys that were dropped before they were over."""
        self.gone: list[Journey] | None = None
        """Journeys that were dropped since somebody looked; None: nobody does."""
        self.reported: set[str] = set()
        """What was reported of a way that messages take."""
        self.counts: Counter[str] = Counter()
        self.tally = Tally()
        self.answered = 0
        """The newest frame that answered a publish."""
        self.names: dict[str, Counter[str]] = {}
        self.changes: dict[tuple[bytes, bytes, Node, Node], Change] = {}
        """By the octets before the immutable ones, at first and then, and where they went."""
        self.resident = Span()
        self.publish_settled = Span()
        self.delivery_settled = Span()

    @property
    def facts(self) -> Counter[str]:
        """What happened how often, in words of `insight.journeys`."""
        self.count_changes()
        counts, tally = self.counts, self.tally
        self.tally = Tally()
        for name, count in (
            ("published", tally.published),
            ("published again", tally.published_again),
            ("delivered", tally.delivered),
            ("recognised by the same octets", tally.exact),
            ("publish accepted", tally.publish_accepted),
            ("delivery accepted", tally.delivery_accepted),
            ("publish presettled", tally.publish_presettled),
            ("delivery presettled", tally.delivery_presettled),
            ("publishes answered", tally.answered),
            ("answers to publishes", tally.answers),
        ):
            if count:
                counts[name] += count
        return counts

    @property
    def keys(self) -> dict[str, Counter[str]]:
        """Names that were counted, by title: annotations that were added, and the like."""
        self.count_changes()
        return self.names

    def count_changes(self) -> None:
        """Take into account what was done to messages again and again."""
        for change in self.changes.values():
            self.count_change(change)

    def count_change(self, change: Change) -> None:
        """Take into account what was done to some messages."""
        if change.count:
            for fact in change.facts:
                self.counts[fact] += change.count
            for title, name in change.names:
                self.count_key(title, name, change.count)
            change.count = 0

    def keep_change(self, key: tuple[bytes, bytes, Node, Node], change: Change) -> None:
        """Remember what is done to messages with these octets."""
        if len(self.changes) >= MAX_CHANGES:
            self.count_changes()
            self.changes = {}
        self.changes[key] = change

    def connect(self, source: Node, leg: Leg) -> None:
        """A message that was published to one node came from another."""
        lane, target = leg.lane, leg.node
        edge = lane.edge
        if edge is None or edge.source is not source or edge.target is not target:
            edge = self.edges.get((source, target))
            if edge is None:
                edge = Edge(source, target)
                if len(self.edges) < MAX_NODES:
                    self.edges[source, target] = edge
            lane.edge = edge
        edge.count += 1

    def traffic(self, source: Node, target: Node) -> int:
        """How many messages went from where they were published to where they came from."""
        edge = self.edges.get((source, target))
        return 0 if edge is None else edge.count

    @property
    def times(self) -> dict[str, Span]:
        """How long things took."""
        spans = {
            "at the broker for": self.resident,
            "publish settled after": self.publish_settled,
            "delivery settled after": self.delivery_settled,
        }
        return {name: span for name, span in spans.items() if span.count}

    @property
    def is_rabbit(self) -> bool:
        """It is RabbitMQ, or takes addresses as RabbitMQ does."""
        return self.product in ("RabbitMQ", "LavinMQ")

    def leave(self, time: int, dropped: bool) -> None:
        """A connection is over; `dropped` where the broker ended it without a word."""
        self.open -= 1
        self.left = max(self.left, time)
        if dropped and not self.open:
            self.restarted = self.left

    def meet(self, container: str) -> None:
        """It says who it is; another one does not have the messages of the one before."""
        if self.container and self.container != container:
            for node in self.nodes.values():
                node.waiting.clear()
        self.container = container

    def node(self, name: str, is_queue: bool) -> Node:
        """A node by its name; made when it is not known."""
        found = self.nodes.get(name)
        if found is None:
            found = Node(name, is_queue)
            if len(self.nodes) < MAX_NODES:
                self.nodes[name] = found
        elif is_queue:
            found.is_queue = True
        return found

    def publish(self, envelope: Envelope) -> Journey:
        """The journey of a message that is published."""
        found = self.exact.get(envelope.key)
        if found is None:
            found = self.begin(envelope)
            if self.by_body:
                self.keep_body(found)
        if self.by_id:
            self.keep_id(envelope.message_id, found)
        return found

    def begin(self, envelope: Envelope) -> Journey:
        """A new journey; the oldest are dropped where there are too many."""
        made = self.exact[envelope.key] = Journey(envelope)
        if len(self.exact) > self.backlog or self.held > self.room:
            self.shed()
        return made

    def index_ids(self) -> None:
        """The octets do not recognise a message: from now on ids matter too."""
        self.by_id = True
        for journey in self.exact.values():
            if journey.published:
                self.keep_id(journey.envelope.message_id, journey)

    def keep_id(self, id: bytes, journey: Journey) -> None:
        """Recognise a message by its id, unless another has it too."""
        if not id:
            return
        if id not in self.ids:
            self.ids[id] = journey
        elif self.ids[id] is not journey:
            self.ids[id] = None

    def index_bodies(self) -> None:
        """Nothing else recognises a message: from now on bodies matter too."""
        self.by_body = True
        for journey in self.exact.values():
            if journey.published:
                self.keep_body(journey)

    def keep_body(self, journey: Journey) -> None:
        """Recognise a message by its application data."""
        key = journey.envelope.body_key
        before = self.bodies.get(key)
        if before is not None and before is not journey:
            before.alike = journey.alike = True
        self.bodies[key] = journey

    def shed(self) -> None:
        """Drop the older quarter of the journeys."""
        journeys = list(self.exact.values())
        for journey in journeys[: len(journeys) // 4 + 1]:
            if not journey.queued:
                self.forgotten += 1
            self.forget(journey)
        if len(self.ids) > 2 * self.backlog:
            self.ids = {id: journey for id, journey in self.ids.items() if journey is not None}

    def find(self, envelope: Envelope) -> tuple[Journey, int]:
        """The journey of a message that is delivered, and how it was recognised."""
        found, level = self.recognise(envelope)
        return (self.begin(envelope), UNMATCHED) if found is None else (found, level)

    def recognise(self, envelope: Envelope) -> tuple[Journey | None, int]:
        """The journey of a message by its octets, id or application data, if it has one."""
        found = self.exact.get(envelope.key)
        if found is not None:
            return found, EXACT if found.published else UNMATCHED
        id = envelope.message_id
        if id:
            if not self.by_id:
                self.index_ids()
            found = self.ids.get(id)
            if found is not None:
                return found, SAME_ID
        if not id or id not in self.ids:
            if not self.by_body:
                self.index_bodies()
            found = self.bodies.get(envelope.body_key)
            if found is not None and is_same_body(found, envelope):
                return found, SAME_BODY
        return None, UNMATCHED

    def scrap(self, leg: Leg) -> None:
        """A publish that was not completed."""
        envelope = leg.envelope
        for key in (envelope.key, b"id " + envelope.message_id):
            if key != b"id ":
                self.scraps[key] = leg
        while len(self.scraps) > MAX_SCRAPS:
            del self.scraps[next(iter(self.scraps))]

    def request(self, leg: Leg, answers_to: str) -> None:
        """A message that wants an answer."""
        envelope = leg.envelope
        ids = tuple(each for each in (envelope.message_id, envelope.open().correlation) if each)
        if not ids:
            return
        asked = self.requests.setdefault(answers_to, [])
        asked.append((ids, leg.mark.frame, leg.lane.connection))
        if len(asked) > MAX_REQUESTS:
            del asked[0]
        while len(self.requests) > MAX_SCRAPS:
            del self.requests[next(iter(self.requests))]

    def finish(self, journey: Journey) -> None:
        """A journey is over: keep it for a while, for what should not come any more."""
        if journey.queued or journey.over:
            return
        journey.queued = True
        self.held -= journey.fold()
        finished = self.finished
        finished.append(journey)
        surplus = len(finished) - self.window
        if surplus > self.window // 4:
            for oldest in finished[:surplus]:
                oldest.queued = False
                if oldest.is_over:
                    self.forget(oldest)
            del finished[:surplus]

    def forget(self, journey: Journey) -> None:
        """Drop a journey."""
        if journey.over:
            return
        journey.over = True
        if self.gone is not None:
            self.gone.append(journey)
        self.held -= journey.octets
        envelope = journey.envelope
        key = envelope.key
        if self.exact.get(key) is journey:
            del self.exact[key]
        if self.bodies and self.bodies.get(envelope.body_key) is journey:
            del self.bodies[envelope.body_key]
        if self.by_id:
            id = envelope.message_id
            if id and self.ids.get(id, journey) is journey:
                self.ids.pop(id, None)
        journey.part()

    def count_key(self, title: str, name: str, number: int = 1) -> None:
        """Count a name, for a table of names."""
        counted = self.names.get(title)
        if counted is None:
            counted = self.names[title] = Counter()
        if name in counted or len(counted) < MAX_NAMES:
            counted[name] += number
