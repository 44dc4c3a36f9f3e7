"""One broker: its nodes, and the journeys of the messages that it handles."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from amqpscope.model.broker.envelope import Envelope
from amqpscope.model.broker.journey import EXACT, SAME_BODY, SAME_ID, UNMATCHED, Journey, Leg, Node

MAX_FINISHED: Final = 8192
"""Journeys of a broker that are kept after they are over."""
MAX_JOURNEYS: Final = 65536
"""Journeys of a broker that are kept at all; of older ones only the numbers are."""
DISTINCTIVE: Final = 12
"""Octets of application data that others do not have by accident."""
MAX_SCRAPS: Final = 512
"""Publishes that were not completed, and addresses for answers, that are remembered."""
MAX_ASKED: Final = 256
"""Requests with one address for answers that are remembered."""
Request = tuple[tuple[bytes, ...], int, int]
"""The ids that an answer may have, and the frame and connection of the request."""
MAX_NODES: Final = 4096
"""Nodes of a broker that are told apart."""


def is_same_body(journey: Journey, envelope: Envelope) -> bool:
    """Whether application data is enough to recognise a message by: in another protocol, or where
    there is no other that has it, and no id either."""
    published = journey.envelope
    if published.family != envelope.family:
        return True
    if journey.alike or published.message_id or envelope.message_id or journey.delivered:
        return False
    return len(envelope.body_key) >= DISTINCTIVE


class Broker:
    """What the connections to one server show of it."""

    def __init__(self, name: str, window: int = MAX_FINISHED) -> None:
        self.name = name
        """Its address: `10.0.0.2:5672`."""
        self.window = window
        self.container = ""
        """The container-id, or what the cluster calls itself."""
        self.product = ""
        self.connections = 0
        self.broken = 0
        """Connections of which octets are missing, or the beginning."""
        self.open = 0
        """Connections that are not over."""
        self.restarted: int | None = None
        """When it dropped all its connections, as one does that starts again."""
        self.nodes: dict[str, Node] = {}
        self.edges: dict[tuple[Node, Node], int] = {}
        """How many messages went from where they were published to where they came from."""
        self.exact: dict[bytes, Journey] = {}
        self.ids: dict[bytes, Journey | None] = {}
        """By message-id; None: several messages have it."""
        self.bodies: dict[bytes, Journey] = {}
        self.scraps: dict[bytes, Leg] = {}
        """Publishes that were aborted or cut off, by what came of them, and by message-id."""
        self.requests: dict[str, list[Request]] = {}
        """Messages that want an answer, by where it is to go."""
        self.order: deque[Journey] = deque()
        """The journeys in the order in which they began."""
        self.finished: deque[Journey] = deque()
        self.forgotten = 0
        """Journeys that were dropped before they were over."""
        self.reported: set[str] = set()
        """What was reported of a way that messages take."""
        self.facts: Counter[str] = Counter()
        """What happened how often, in words of `insight.journeys`."""
        self.keys: dict[str, Counter[str]] = {}
        """Names that were counted: annotations that were added, and the like."""
        self.times: dict[str, list[int]] = {}
        """How often, the sum, the least and the most of times, in nanoseconds."""

    @property
    def is_rabbit(self) -> bool:
        """It is RabbitMQ, or takes addresses as RabbitMQ does."""
        return self.product in ("RabbitMQ", "LavinMQ")

    def leave(self, time: int, dropped: bool) -> None:
        """A connection is over; `dropped` where the broker ended it without a word."""
        self.open -= 1
        if dropped and not self.open:
            self.restarted = time

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
            before = self.bodies.get(envelope.body_key)
            if before is not None:
                before.alike = found.alike = True
            self.bodies[envelope.body_key] = found
        id = envelope.message_id
        if id:
            if id not in self.ids:
                self.ids[id] = found
            elif self.ids[id] is not found:
                self.ids[id] = None
        return found

    def begin(self, envelope: Envelope) -> Journey:
        """A new journey; the oldest is dropped where there are too many."""
        made = self.exact[envelope.key] = Journey(envelope)
        order = self.order
        order.append(made)
        while order and (order[0].over or len(self.exact) > MAX_JOURNEYS):
            oldest = order.popleft()
            if not oldest.over:
                self.forgotten += 1
                self.forget(oldest)
        return made

    def find(self, envelope: Envelope) -> tuple[Journey, int]:
        """The journey of a message that is delivered, and how it was recognised."""
        found = self.exact.get(envelope.key)
        if found is not None:
            return found, EXACT if found.published else UNMATCHED
        if envelope.message_id:
            found = self.ids.get(envelope.message_id)
            if found is not None:
                return found, SAME_ID
        if not envelope.message_id or envelope.message_id not in self.ids:
            found = self.bodies.get(envelope.body_key)
            if found is not None and is_same_body(found, envelope):
                return found, SAME_BODY
        return self.begin(envelope), UNMATCHED

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
        if len(asked) > MAX_ASKED:
            del asked[0]
        while len(self.requests) > MAX_SCRAPS:
            del self.requests[next(iter(self.requests))]

    def finish(self, journey: Journey) -> None:
        """A journey is over: keep it for a while, for what should not come any more."""
        if journey.queued:
            return
        journey.queued = True
        finished = self.finished
        finished.append(journey)
        while len(finished) > self.window:
            oldest = finished.popleft()
            oldest.queued = False
            if oldest.is_over:
                self.forget(oldest)

    def forget(self, journey: Journey) -> None:
        """Drop a journey."""
        journey.over = True
        envelope = journey.envelope
        if self.exact.get(envelope.key) is journey:
            del self.exact[envelope.key]
        if self.bodies.get(envelope.body_key) is journey:
            del self.bodies[envelope.body_key]
        if envelope.message_id and self.ids.get(envelope.message_id, journey) is journey:
            self.ids.pop(envelope.message_id, None)

    def count_key(self, fact: str, name: str) -> None:
        """Count a name, for a table of names."""
        counted = self.keys.setdefault(fact, Counter())
        if name in counted or len(counted) < 64:
            counted[name] += 1

    def measure(self, fact: str, nanoseconds: int) -> None:
        """Take a time into account."""
        times = self.times.get(fact)
        if times is None:
            self.times[fact] = [1, nanoseconds, nanoseconds, nanoseconds]
            return
        times[0] += 1
        times[1] += nanoseconds
        times[2] = min(times[2], nanoseconds)
        times[3] = max(times[3], nanoseconds)
