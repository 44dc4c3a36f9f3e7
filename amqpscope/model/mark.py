"""Where in the capture something was said."""

from __future__ import annotations

from typing import Final

from dissectors.native import mypyc_attr


@mypyc_attr(free_list_len=1, acyclic=True)
class Mark:
    """The place of a frame."""

    def __init__(self, frame: int, packet: int, time: int, end: int) -> None:
        self.frame = frame
        """Its number; 0 for one that was not seen."""
        self.packet = packet
        self.time = time
        self.end = end
        """Where it ends in its sender's stream."""


NOWHERE: Final = Mark(0, 0, 0, 0)
"""The place of what was said before the capture began, or in octets that are missing."""
