"""What a broker did with messages, as facts: the profile that `amqpscope broker` shows.

Facts come first, then the ledger of messages whose story has no good end in view. What rules make
of it is added by whoever shows it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqpscope.insight.journeys.answers import CHANGES, FIELDS, answers
from amqpscope.insight.journeys.ledger import Ledger, fate, ledgers
from amqpscope.model.broker.broker import Broker
from amqpscope.model.broker.journey import LEVELS, UNMATCHED


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


FIELD_CHANGES: Final = tuple(f"{field} {change}" for field in FIELDS for change in CHANGES)
COUNTS: Final = (
    "published", "published again", "delivered", "delivered again", "marked as redelivered",
    "moved to another node", "overtaken", "not followed",
)  # fmt: skip


def profile(broker: Broker) -> Profile:
    """What is known of a broker."""
    facts, listed = broker.facts, ledgers(broker)
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
        fate(broker, listed) | answers(broker), counts,
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
        listed,
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
