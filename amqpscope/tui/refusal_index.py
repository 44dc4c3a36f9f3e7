"""What peers refused in a capture, frame by frame; the words are read when they are shown."""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_left
from typing import NamedTuple

from amqpscope.insight.refusals import Refusals
from amqpscope.tui.spool import SpooledLine


class RefusalWords(NamedTuple):
    """What a frame refuses."""

    full: str
    meaning: str
    """What that means, as a sentence; empty where nothing is to be added."""


class RefusalIndex(Refusals):
    """The frames that refuse something, and where the words are."""

    def __init__(self, file: int) -> None:
        super().__init__()
        self.file = file
        self.places: array[int] = array("Q")
        self.sizes: array[int] = array("I")

    def add(self, line: SpooledLine) -> None:
        """Take one more, in the order of frames."""
        self.frames.append(line.value["refusal"])
        self.places.append(line.place)
        self.sizes.append(line.size)

    def words(self, number: int) -> RefusalWords:
        """What a frame of the index refuses."""
        at = bisect_left(self.frames, number)
        fact = json.loads(os.pread(self.file, self.sizes[at], self.places[at]))
        return RefusalWords(fact["words"], fact["meaning"])
