"""A frame in its place, in the words that all protocol families share.

Each family has an Event of its own, which its rules look at. Sinks ask only what is here: which
message a frame begins, carries or settles, what it refuses, and who its sender says it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.model.delivery import Delivery
from amqpscope.model.mark import Mark
from amqpscope.model.place import Identity, Place
from amqpscope.model.refusal import Refusal
from dissectors.native import mypyc_attr

if TYPE_CHECKING:
    from amqpscope.stream.framer import Frame

NO_DELIVERIES: Final[list[Delivery]] = []
"""What nearly all frames settle; shared, so never added to."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Event:
    """One frame, who sent it, and what it means for messages; or the end of a direction."""

    def __init__(self, frame: Frame, peer: int, known: int, time: int) -> None:
        self.frame = frame
        """The frame; of the end of a direction, the last one of that direction."""
        self.peer = peer
        self.time = time
        self.mark = Mark(
            frame.number, frame.packet, time, frame.offset + len(frame.raw) + frame.missing
        )
        self.known = known
        """Octets of the partner's stream that the sender may have read (K+)."""
        self.kinds = 0
        """What happens in it, as bits of the family's own kinds."""
        self.message: bytes | None = None
        """The whole message, on the frame that completes it."""

    def knew(self, mark: Mark | None) -> bool:
        """Whether the sender may have read this frame of its partner's (K+)."""
        return mark is not None and mark.end <= self.known

    def since(self, mark: Mark | None) -> int:
        """Nanoseconds since a frame; 0 for one that was not seen."""
        return 0 if mark is None or not mark.frame else self.time - mark.time

    @property
    def name(self) -> str:
        """What the specification calls it: `transfer`, `basic.publish`."""
        return self.frame.unit.name

    @property
    def begins(self) -> Delivery | None:
        """The delivery that this frame begins."""
        return None

    @property
    def carries(self) -> Delivery | None:
        """The delivery that this frame is part of, from the first frame to the last."""
        return None

    @property
    def carried_octets(self) -> int:
        """Octets of the message that this frame adds."""
        return 0

    @property
    def carried_frames(self) -> int:
        """1 where this frame has octets of the message in it, 0 where it only announces them."""
        return 1

    @property
    def completes(self) -> bool:
        """This frame completes the delivery that it carries."""
        return False

    @property
    def aborts(self) -> bool:
        """This frame gives up the delivery that it carries."""
        return False

    @property
    def settles(self) -> list[Delivery]:
        """The deliveries that this frame settles."""
        return NO_DELIVERIES

    @property
    def covers(self) -> list[Delivery]:
        """The deliveries that this frame gives an answer to, whether or not it settles them."""
        return NO_DELIVERIES

    @property
    def returns(self) -> Delivery | None:
        """The delivery that this frame hands back to its sender."""
        return None

    @property
    def answers(self) -> Mark | None:
        """The request of the partner that this frame answers: an open that follows an open."""
        return None

    @property
    def lane(self) -> Place | None:
        """What a refused message was sent over, also where the message itself was not seen."""
        return None

    @property
    def refuses(self) -> Refusal | None:
        """What this frame refuses."""
        return None

    @property
    def transacts(self) -> str:
        """What this frame does to a transaction, one of `transactions.STEPS`; empty: nothing."""
        return ""

    @property
    def identifies(self) -> Identity | None:
        """Who the sender says it is, in this frame."""
        return None
