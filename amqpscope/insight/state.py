"""The states of connections, frame after frame."""

from __future__ import annotations

from amqpscope.analysis import Conversation
from amqpscope.protocols.state import KnownNodes, StateNode


class StateRenderer:
    """Makes trees of models; what has not changed since the last one is used again."""

    def __init__(self) -> None:
        self.known: KnownNodes = {}

    def __call__(self, conversation: Conversation) -> StateNode:
        """A connection as it is now."""
        return conversation.current.state(self.known)
