"""What clients declare at a broker, and use: queues, exchanges and consumers."""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from dissectors.values import Value

# fmt: off
ASKED:   Final = "asked"    # a client declares it
MADE:    Final = "made"     # the broker says that it is there
DELETED: Final = "deleted"  # a client deletes it, so that it may be gone
GONE:    Final = "gone"     # the broker says that it is deleted
UNBOUND: Final = "unbound"  # the broker says that a message for it has no way
USED:    Final = "used"     # the broker lets a client consume from it
# fmt: on


class Declaration:
    """One declare, delete or consume of a client, or the broker's answer to it."""

    def __init__(self, action: str, kind: str, name: str, mark: Mark) -> None:
        self.action = action
        self.kind = kind
        """`queue`, `exchange`, or `node` for one that a broker made for a link."""
        self.name = name
        self.mark = mark
        self.facts: dict[str, Value] = {}
        """What it is to be like, by the names of fields."""
        self.exclusive = False
        """One connection, or one consumer, is to have it alone."""
        self.fleeting = False
        """It may be gone at any time, unseen."""
        self.asked: Mark | None = None
        """The client's frame that the broker answers."""
        self.generated = False
        """The broker chose its name."""
        self.if_unused = False
        """It is to be deleted only where it has no consumers."""
        self.limited = False
        """A queue from which messages may go by its own rules."""
        self.waiting = 0
        """Messages that the broker says are in a queue."""
        self.empty = False
        """The broker says that a queue has no messages, and no consumer that may have some."""
        self.connection = 0
        self.capture = 0
        self.channel = 0
