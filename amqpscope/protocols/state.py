"""The state of a connection at one instant, as a tree that text, JSON and the screen show.

A `StateRow` has what the client and what the server says. Two instants are compared row by row, so
everything that a frame changed shows. A `StateNode` is the row of a connection, session, link,
channel or consumer; it also has what text and programs are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from amqpscope.model.constraint import Constraint
from amqpscope.model.ending import Ending
from amqpscope.model.transactions import TransactionCounts
from amqpscope.protocols.ending_words import brief_words, rest_words, waiting, who_words
from amqpscope.protocols.words import printable

ENDED: Final = "ended"
HELD: Final = "constraint"
STATE: Final = "state"

TITLE: Final = "title"
HELD_STYLE: Final = "held"
ENDED_STYLE: Final = "ended"
UNKNOWN: Final = "?"
LISTED: Final = 20
"""Deliveries that are listed of a link or channel, the oldest."""


@dataclass(slots=True)
class StateRow:
    """One line, and those below it."""

    key: str
    """What it is known by among its neighbours, at every instant."""
    label: str
    client: str = ""
    """What the client says; what is to be said at all, where `server` is None."""
    server: str | None = None
    style: str = ""
    """TITLE; HELD_STYLE for what holds a link, ENDED_STYLE for how something ended; or nothing."""
    frame: int = 0
    """The frame that it is about."""
    since: int = 0
    """When that passed, in nanoseconds."""
    children: tuple[StateRow, ...] = ()

    @property
    def words(self) -> tuple[str, str, str | None]:
        """What is compared with an earlier instant."""
        return self.label, self.client, self.server


@dataclass(slots=True)
class StateNode(StateRow):
    """A connection, session, link, channel or consumer."""

    kind: str = field(default="", compare=False)
    title: str = field(default="", compare=False)
    """The first line, as text."""
    fields: dict[str, Any] = field(default_factory=dict, compare=False)
    """The node for programs; `ended`, `constraint` and the group of nodes are filled in."""
    lines: tuple[str, ...] = field(default=(), compare=False)
    """What else text says of it, a line each."""
    ending: Ending | None = field(default=None, compare=False)
    """How it ended, where it says so itself."""
    constraint: Constraint | None = field(default=None, compare=False)
    """What holds it, or how it ended, where messages move over it."""
    group: str = field(default="", compare=False)
    """What the nodes below it are called."""

    @property
    def nodes(self) -> list[StateNode]:
        """The nodes below it, without the rows that say more of itself."""
        return [child for child in self.children if isinstance(child, StateNode)]


def transaction_row(counts: TransactionCounts, children: tuple[StateRow, ...]) -> list[StateRow]:
    """What became of transactions; nothing where there was none."""
    if not any(counts):
        return []
    return [StateRow("transactions", "transactions", counts.words(), children=children)]


KnownNodes = dict[tuple[int, int, str, int], tuple[object, StateNode]]
"""By connection, channel, name and sender: what a node was made of, and the node.

A node that has not changed is used again: keeping the states of many frames costs little more than
what changed.
"""


def pair_row(label: str, values: Iterable[str], children: tuple[StateRow, ...] = ()) -> StateRow:
    """A line with a value of each peer."""
    client, server = values
    return StateRow(label, label, client, server, children=children)


def ended_row(ending: Ending, own: str) -> StateRow:
    """How something ended, and the frame that did so or was the last that was received."""
    if own and ending.what != own:
        text = f"with the {ending.what};"
    else:
        # Who shows it knows from when times are counted, and puts the time in.
        text = f"{who_words(ending, own)};, {rest_words(ending)}"
    mark = ending.mark
    return StateRow(
        "ended", "ended", text, style=ENDED_STYLE, frame=mark.frame, since=mark.time
    )  # fmt: skip


def held_row(held: Constraint, what: str) -> StateRow:
    """What holds something, and who is waited for; or how it ended."""
    if held.ending is not None:
        return ended_row(held.ending, own=what)
    detail = f" ({printable(held.detail)})" if held.detail else ""
    text = f"{held.kind}{detail}{waiting(held)}"
    since = held.since
    return StateRow(
        "held", "held by", text, style=HELD_STYLE, frame=since.frame, since=since.time
    )  # fmt: skip


def brief_constraint(held: Constraint) -> str:
    """What holds something, or how it ended, in a few words."""
    return held.kind if held.ending is None else brief_words(held.ending)
