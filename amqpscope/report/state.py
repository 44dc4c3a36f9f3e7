"""The state of connections at one instant, as text and as plain objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amqpscope.analysis import Conversation
from amqpscope.model.ending import CONNECTION
from amqpscope.protocols.ending_words import ended_words
from amqpscope.protocols.state import ENDED, HELD, STATE, StateNode
from amqpscope.report.endings import Instant, constraint_object, ending_lines, held_lines


def talk_lines(conversation: Conversation, at: Instant) -> Iterator[str]:
    """One connection as it is at an instant, as a tree."""
    return node_lines(conversation.current.state({}), at, "")


def talk_object(conversation: Conversation, at: Instant) -> dict[str, Any]:
    """One connection as it is at an instant, for JSON."""
    return node_object(conversation.current.state({}), at)


def node_lines(node: StateNode, at: Instant, indent: str) -> Iterator[str]:
    """A node of the tree and those below it."""
    below = f"{indent}  "
    yield f"{indent}{node.title}"
    yield from ending_lines(node.ending, node.kind, at, below)
    for line in node.lines:
        yield f"{below}{line}"
    if node.constraint is not None:
        yield from held_lines(node.constraint, node.kind, at, below)
    for child in node.nodes:
        yield from node_lines(child, at, below)


def node_object(node: StateNode, at: Instant) -> dict[str, Any]:
    """A node of the tree and those below it, for JSON."""
    made = dict(node.fields)
    ending, held = node.ending, node.constraint
    if held is not None:
        made[HELD] = constraint_object(held, at.now)
        ending = held.ending
    made[ENDED] = at.object(ending)
    if node.kind == CONNECTION and ending is not None:
        made[STATE] = ended_words(ending, own=CONNECTION)
    if node.group:
        made[node.group] = [node_object(child, at) for child in node.nodes]
    return made
