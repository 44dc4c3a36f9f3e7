"""One direction of a 1.0 connection cut into frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqpscope.stream import framer
from amqpscope.stream.framer import Frame
from dissectors.errors import Damage
from dissectors.v1_0.framing import SASL_FRAME, Unit, decode_unit, measure
from dissectors.v1_0.resync import find_frame

if TYPE_CHECKING:
    from mypy_extensions import i64

CUT: Final = frozenset((Damage.TRUNCATED, Damage.SIZE))
"""The damage that a value shows when the octets after it are not there."""


class Framer(framer.Framer):
    """Cuts the octets of one peer of 1.0 into frames."""

    def measure(self, data: bytes, at: i64, end: i64) -> i64:
        """The size of the unit that begins at `at`, or MORE, or DAMAGED."""
        return measure(data, at, end)

    def make_frame(
        self, raw: bytes, offset: int, missing: int, packet: int, time: int, ack: int
    ) -> Frame:
        """A frame, decoded."""
        return frame_of(self.sender, offset, raw, missing, packet, time, ack)

    def find(self, data: bytes, fresh: bool) -> i64:
        """Where the first credible frame begins, or -1."""
        return find_frame(data, fresh)


def frame_of(
    sender: int, offset: int, raw: bytes, missing: int, packet: int, time: int, ack: int
) -> Frame:
    """A unit of 1.0, decoded."""
    unit = decode_unit(raw, None, missing)
    if missing and unit.body is not None:
        excuse(unit)
    return Frame(sender, offset, raw, missing, packet, time, ack, unit)


def excuse(unit: Unit) -> None:
    """Take back the faults of a unit that are only the capture's, which does not have its end."""
    unit.faults = [fault for fault in unit.faults if fault.kind not in CUT]
    if not unit.faults:
        unit.kind = "sasl" if unit.type == SASL_FRAME else "amqp"
