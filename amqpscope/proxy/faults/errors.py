"""What is wrong with a fault: with its text, or with using it on a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqpscope.filter.errors import FilterError

if TYPE_CHECKING:
    from amqpscope.proxy.faults.peer_view import Output


class FaultError(FilterError):
    """A fault that cannot be understood; `str()` shows the place with carets under it."""


class CannotApplyError(Exception):
    """A fault that cannot act on this frame: the frame passes, and the reason is reported."""

    def __init__(self, reason: str, passed: list[Output] | None = None) -> None:
        super().__init__(reason)
        self.passed = passed
        """What is to be sent in the frame's place; None where it was not translated yet."""
