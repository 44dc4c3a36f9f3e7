"""What both families let a fault do: keep the conversation of each peer legal.

A `PeerView` follows one connection as both peers see it. It translates each frame that passes into
the frames that the other peer is to get, and makes the frames with which the proxy answers, settles
or ends in somebody's place.
"""

from __future__ import annotations

from typing import NamedTuple

from amqpscope.proxy.faults.actions import Action
from amqpscope.proxy.faults.errors import CannotApplyError
from amqpscope.proxy.faults.notation import Written
from amqpscope.stream.framer import Frame
from dissectors.v0_9.dialects import DEFAULT


class Output(NamedTuple):
    """A frame for a peer."""

    to: int
    octets: bytes
    forged: bool = False
    """The proxy made it, or took something out of it."""


class PeerView:
    """One connection of a family that faults know nothing special of."""

    version = ""

    def translate(self, frame: Frame) -> list[Output]:
        """What is sent in the place of a frame that passes."""
        return [Output(1 - frame.sender, frame.raw)]

    def withhold(self, frame: Frame) -> list[Output]:
        """Do not pass a frame on; what is sent to keep both peers going."""
        self.translate(frame)
        return []

    def duplicate(self, frame: Frame) -> list[Output]:
        """Pass a frame on twice."""
        passed = self.translate(frame)
        return [*passed, *[each._replace(forged=True) for each in passed]]

    def change(self, frame: Frame, notation: str) -> list[Output]:
        """Pass a frame on with other values in its fields."""
        raise CannotApplyError("this frame has no fields")

    def write(self, frame: Frame, written: Written, to: int) -> list[Output]:
        """Put in a frame beside another, or in its place."""
        return [Output(to, written.octets, forged=True)]

    def settle(self, frame: Frame, action: Action) -> list[Output]:
        """Answer a message in its receiver's place instead of passing it on."""
        raise CannotApplyError(f"{action.kind} is for a message, and this frame is part of none")

    def end(self, frame: Frame, action: Action) -> list[Output]:
        """Pass a frame on, then end its link, session, channel or connection for both peers."""
        raise CannotApplyError(f"this protocol has no {action.kind}")

    @property
    def is_over(self) -> bool:
        """Whether a connection that the proxy closed has been closed by both peers."""
        return False

    @property
    def dialect(self) -> str:
        """The dialect of frames of 0-9 that do not name their own."""
        return DEFAULT
