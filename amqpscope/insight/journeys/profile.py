"""What a broker did with messages, as facts: the profile that `amqpscope broker` shows.

Facts come first, then the ledger of messages whose story has no good end in view. What rules make
of it is added by whoever shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from amqpscope.insight.journeys.answers import answers
from amqpscope.insight.journeys.whereabouts import Whereabouts
from amqpscope.insight.message_states import LOST
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.envelope import ACCEPTED, PRESETTLED, REFUSALS
from amqpscope.model.broker.journey import LEVELS, UNMATCHED, Journey
from amqpscope.rules.broker import Passage, history

MAX_LISTED: Final = 20
"""Messages of one kind that a ledger lists; of others it has the number."""


class Node(NamedTuple):
    """A node, and what passed there."""

    name: str
    kind: str
    """`queue`, `exchange` or `node`."""
    published: int
    delivered: int


class Way(NamedTuple):
    """From where messages were published to where they were consumed."""

    source: str
    target: str
    messages: int


class Timing(NamedTuple):
    """How long something took, in nanoseconds."""

    name: str
    times: int
    mean: int
    least: int
    most: int


class Entry(NamedTuple):
    """One message with all that happened to it."""

    id: str
    size: int
    published: int
    """How often it was published, or others that are equal to it."""
    doubt: str
    """Why nothing can be concluded from it; empty: something can."""
    history: list[Passage]


class Ledger(NamedTuple):
    """Messages that came to the same end."""

    kind: str
    total: int
    messages: list[Entry]
    """The first of them."""


class Profile(NamedTuple):
    """All of it."""

    broker: str
    product: str
    container: str
    connections: int
    incomplete: int
    """Connections of which octets are missing, or the beginning."""
    answers: dict[str, str]
    """What people ask first, in a line each."""
    counts: dict[str, int]
    recognised: dict[str, int]
    nodes: list[Node]
    ways: list[Way]
    changes: dict[str, int]
    """What the broker did to header fields."""
    annotations: dict[str, dict[str, int]]
    modes: dict[str, int]
    """Modes that clients asked for, with those that the broker gave."""
    attempts: dict[str, dict[str, int]]
    """By how much the delivery-count rose, and which deliveries were marked as redelivered."""
    times: list[Timing]
    ledgers: list[Ledger]
    forgotten: int
    """Messages that were followed no further, since there are too many."""


FIELD_CHANGES: Final = tuple(
    f"{field} {change}"
    for field in ("durable", "priority", "ttl")
    for change in ("added", "dropped", "changed")
)
COUNTS: Final = (
    "published", "published again", "delivered", "delivered again", "marked as redelivered",
    "moved to another node", "overtaken", "not followed",
)  # fmt: skip


def profile(broker: Broker) -> Profile:
    """What is known of a broker."""
    facts = broker.facts
    counts = {name: facts[name] for name in COUNTS if facts[name]}
    counts.update({
        name: number
        for name, number in sorted(facts.items())
        if name.startswith(("publish ", "delivery "))
    })  # fmt: skip
    recognised = {level: facts[f"recognised by {level}"] for level in LEVELS[1:]}
    recognised[LEVELS[UNMATCHED]] = facts[LEVELS[UNMATCHED]]
    return Profile(
        broker.name, broker.product, broker.container, broker.connections, broker.broken,
        answers(broker), counts,
        {name: number for name, number in recognised.items() if number},
        nodes_of(broker),
        [Way(a.name, b.name, edge.count) for (a, b), edge in broker.edges.items()],
        {name: facts[name] for name in FIELD_CHANGES if facts[name]},
        tables(broker, "annotations "),
        dict(sorted(broker.keys.get("modes asked for -> given", {}).items())),
        tables(broker, "delivery-count ") | tables(broker, "redelivered "),
        [
            Timing(name, span.count, span.total // span.count, span.least, span.most)
            for name, span in broker.times.items()
        ],
        ledgers(broker),
        broker.forgotten,
    )  # fmt: skip


def nodes_of(broker: Broker) -> list[Node]:
    """The nodes that messages passed, the busiest first."""
    found = [
        Node(
            node.name.removeprefix("exchange "),
            kind_of(node.name, node.is_queue),
            node.published,
            node.delivered,
        )
        for node in broker.nodes.values()
        if node.published or node.delivered
    ]
    return sorted(found, key=lambda node: (-node.published - node.delivered, node.name))


def kind_of(name: str, is_queue: bool) -> str:
    """What a node is, as far as that is known."""
    if name.startswith("exchange "):
        return "exchange"
    return "queue" if is_queue else "node"


def tables(broker: Broker, start: str) -> dict[str, dict[str, int]]:
    """Tables of names whose title begins so."""
    return {
        title: dict(counted.most_common())
        for title, counted in sorted(broker.keys.items())
        if title.startswith(start)
    }


def is_undelivered(journey: Journey) -> bool:
    """The broker took it, and no consumer in view got it."""
    return not journey.delivered and any(leg.outcome == ACCEPTED for leg in journey.publishes)


def is_unanswered(journey: Journey) -> bool:
    """The publisher wanted an answer and got none; what became of it is unknown."""
    return not journey.delivered and any(not leg.outcome for leg in journey.publishes)


def is_unconfirmed(journey: Journey) -> bool:
    """The publisher asked for no answer, and no consumer in view got it."""
    return not journey.delivered and all(leg.outcome == PRESETTLED for leg in journey.publishes)


def is_refused(journey: Journey) -> bool:
    """The broker refused it, and did not take it later."""
    outcomes = {leg.outcome for leg in journey.publishes}
    return bool(outcomes) and outcomes.issubset(REFUSALS)


def is_open(journey: Journey) -> bool:
    """A consumer got it, and nobody has accepted it."""
    words = {leg.outcome for leg in journey.deliveries}
    return bool(journey.deliveries) and not words & {ACCEPTED, PRESETTLED}


def is_repeated(journey: Journey) -> bool:
    """Consumers have accepted it from one node more often than it was published."""
    nodes = Counter(leg.node for leg in journey.deliveries if leg.outcome == ACCEPTED)
    return max(nodes.values(), default=0) > max(journey.published, 1)


PASSED_OVER: Final = "taken by the broker, not delivered in view though later ones were"
LEDGERS: Final[tuple[tuple[str, Callable[[Journey], bool]], ...]] = (
    (PASSED_OVER, is_undelivered),
    ("taken by the broker, not delivered in view", is_undelivered),
    ("published without asking for an answer, not delivered in view", is_unconfirmed),
    ("published, never answered, not delivered in view", is_unanswered),
    ("refused by the broker", is_refused),
    ("delivered, not accepted in view", is_open),
    ("accepted more often than published, from one node", is_repeated),
    ("published more than once", lambda journey: journey.published > 1),
)


def ledgers(broker: Broker) -> list[Ledger]:
    """The messages that are still followed, by how their story stands."""
    journeys = list(broker.exact.values())
    passed = passed_over(journeys)
    found = []
    for kind, fits in LEDGERS:
        fitting = [
            journey
            for journey in journeys
            if fits(journey) and (journey.publishes or journey.deliveries)
        ]
        if fits is is_undelivered:
            fitting = [each for each in fitting if (each in passed) == (kind == PASSED_OVER)]
        if fitting:
            entries = [entry(journey) for journey in fitting[:MAX_LISTED]]
            found.append(Ledger(kind, len(fitting), entries))
    return found


def passed_over(journeys: list[Journey]) -> set[Journey]:
    """The messages that look lost: others that took the same way later have been delivered."""
    whereabouts = Whereabouts()
    now = 0
    for journey in journeys:
        whereabouts.note(journey)
        now = max(now, *[leg.last.time for leg in journey.legs], 0)
    return {each for each in journeys if whereabouts.state(each, now) == LOST}


def entry(journey: Journey) -> Entry:
    """One message."""
    envelope = journey.envelope
    published, doubt = journey.published, journey.doubtful
    return Entry(envelope.id_text, envelope.size, published, doubt, history(journey))
