"""What both families let a fault do: keep the conversation of each peer legal.

A `PeerView` follows one connection as both peers see it. It translates each frame that passes into
the frames that the other peer is to get, and makes the frames with which the proxy answers, settles
or ends in somebody's place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from amqpscope.stream.framer import Frame
from dissectors.notation_scanner import NotationError

NO_FIELD: Final = "no field "
"""How a text is refused that names a field which a frame does not have."""

SettingReader = Callable[[str], object]
"""Reads `FIELD=VALUE ...` of one kind of frame; NotationError if the fields are not its own."""


@dataclass(frozen=True)
class Action:
    """What happens to a frame that a fault matches."""

    kind: str
    seconds: float = 0.0
    """Of a delay, a stall or the pause of a slice; 0: for ever, or none."""
    jitter: float = 0.0
    number: float = 0
    """Octets of a slice or to corrupt; octets a second."""
    notation: str = ""
    """A frame, or the fields to set."""
    to: str = ""
    when: str = "after"
    values: dict[str, str] = field(default_factory=dict)
    """`condition`, `description` and the like."""


class Written(NamedTuple):
    """A frame as a fault has it."""

    text: str
    name: str
    """`transfer`, `basic.deliver`, `octets`."""
    octets: bytes
    channelled: bool
    """It names its channel."""
    family: str
    """The package of dissectors that its words are of."""


class Output(NamedTuple):
    """A frame for a peer."""

    to: int
    octets: bytes
    forged: bool = False
    """The proxy made it, or took something out of it."""


class CannotApplyError(Exception):
    """A fault that cannot act on this frame: the frame passes, and the reason is reported."""

    def __init__(self, reason: str, passed: list[Output] | None = None) -> None:
        super().__init__(reason)
        self.passed = passed
        """What is to be sent in the frame's place; None where it was not translated yet."""


class PeerView:
    """One connection of a family that faults know nothing special of."""

    quick: tuple[str, ...] = ()
    """Frames that come by the thousand, by name; all others may change what frames belong to."""
    linked: frozenset[str] = frozenset()
    """Those of them that name their link, so that it is known without what passed before."""

    def measure(self, octets: bytearray, at: int) -> tuple[int, str]:
        """The size of the frame that begins somewhere, and its name if it is a quick one.

        The size is 0 while too little of the frame is there to know, and -1 where that is none.
        """
        return -1, ""

    def count(self, side: int, octets: bytearray, at: int, size: int) -> bool:
        """Count a quick frame that passes, without decoding it; False if that cannot be.

        Only as long as no fault has acted.
        """
        return False

    def link_key(self, octets: bytearray, at: int) -> bytes:
        """What tells the link of a quick frame from others of its sender; empty if that is not
        known."""
        return b""

    def decode(self, side: int, offset: int, raw: bytes) -> Frame:
        """A frame that no model has seen."""
        raise NotImplementedError

    def lacks_room(self, frame: Frame) -> bool:
        """Whether a frame has to wait: its receiver has room for it again only later, because of
        what a fault has put in."""
        return False

    def waive_room(self, frame: Frame) -> None:
        """Do not let a frame wait for room any more, nor those of its link that follow."""

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

    def edit(self, frame: Frame, edited: bytes) -> list[Output]:
        """Pass a frame on as a person has rewritten it; numbers left alone are translated."""
        outputs = self.translate(frame)
        if all(each.forged for each in outputs):
            raise CannotApplyError("its receiver no longer expects this frame", outputs)
        return [
            each if each.forged else Output(each.to, self.merge(frame, each, edited), forged=True)
            for each in outputs
        ]

    def merge(self, frame: Frame, passed: Output, edited: bytes) -> bytes:
        """An edited frame, with the numbers that the frame itself would have been passed with."""
        return edited

    def write(self, frame: Frame, written: Written, to: int) -> list[Output]:
        """Put in a frame beside another, or in its place."""
        return [Output(to, written.octets, forged=True)]

    def replace(self, frame: Frame, written: Written) -> list[Output]:
        """Put in a frame in the place of another."""
        passed = self.withhold(frame)
        try:
            return [*passed, *self.write(frame, written, 1 - frame.sender)]
        except CannotApplyError as error:
            outputs = [*passed, Output(1 - frame.sender, frame.raw)]
            raise CannotApplyError(str(error), outputs) from None

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
    def is_open(self) -> bool:
        """Whether both peers have opened the connection."""
        return True

    def patience_of(self, side: int) -> tuple[float, str]:
        """After how many seconds of silence a peer may close, and what says so; 0: never."""
        return 0.0, ""

    @property
    def dialect(self) -> str:
        """The dialect that frames are written in which do not name their own; empty for none."""
        return ""


def furthest(readers: list[SettingReader], text: str) -> NotationError | None:
    """The error of the reader that came furthest, who is likely meant; None where one succeeds."""
    errors: list[NotationError] = []
    for read in readers:
        try:
            read(text)
        except NotationError as error:
            errors.append(error)
        except RecursionError:
            errors.append(NotationError(1, 1, "values are nested too deep"))
        else:
            return None
    return max(errors, key=lambda error: error.column)
