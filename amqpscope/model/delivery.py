"""One message that one peer hands to the other on one connection, whatever the protocol.

A delivery of 1.0 is one; so are a publish, a deliver and a get-ok of 0-9. Each family's class adds
what its own model and rules need.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark
from amqpscope.model.place import Place
from dissectors.native import mypyc_attr

PRESETTLED: Final = "presettled"
"""The outcome of a delivery that its sender wants no answer to."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Delivery:
    """What every family says of a message on its way."""

    def __init__(self, mark: Mark, delivery_id: int | None) -> None:
        self.mark = mark
        """The frame that began it."""
        self.delivery_id = delivery_id
        """Its delivery-id or delivery-tag, or its number in confirm mode; None: it has none."""
        self.size = 0
        """Octets of the message, as far as they are known."""
        self.transfers = 0
        """Frames that carried octets of it."""
        self.complete = False
        """All of it was seen."""
        self.aborted = False
        """Its sender gave it up."""
        self.redelivered = False
        """Its sender says that it was handed out before."""
        self.settled: Mark | None = None
        """The frame that settled it first."""

    @property
    def place(self) -> Place:
        """What it is counted by: its link, exchange or queue."""
        raise NotImplementedError

    @property
    def lane(self) -> Place | None:
        """What limits it: its link or consumer, or the channel that published it."""
        return self.place

    @property
    def presettled(self) -> bool:
        """Its sender settled it when it sent it."""
        return False

    @property
    def unanswered(self) -> bool:
        """No answer to it is to come: it was settled when it was sent, or nobody confirms it."""
        return self.presettled

    @property
    def result(self) -> str:
        """How it ended: `accepted`, `acked`, `confirmed`; empty while it is open."""
        return ""

    @property
    def delivery_tag(self) -> bytes | None:
        """Its delivery-tag, where that is binary."""
        return None
