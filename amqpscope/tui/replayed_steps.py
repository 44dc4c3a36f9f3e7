"""Steps made again by replaying their connection, for frames that cannot be made alone.

Going on in a connection is cheap, going back begins at its start.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from amqpscope.analysis import Step
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.tui.spool import Spool

KEPT: Final = 2000
"""Steps that are kept."""
RUNS: Final = 64
"""Connections of which it is known how far they were replayed."""


class ReplayedSteps:
    """Makes Steps by replaying; from any thread."""

    def __init__(self, files: Spool, decode_as: dict[int, str]) -> None:
        self.places = PieceIndex(files, decode_as)
        self.runs: OrderedDict[int, Replay] = OrderedDict()
        self.kept: OrderedDict[int, Step] = OrderedDict()
        self.lock = threading.Lock()

    def step(self, number: int, connection: int) -> Step:
        """One frame with what it belongs to."""
        with self.lock:
            found = self.kept.get(number)
            if found is not None:
                return found
            self.places.update()
            run = self.runs.get(connection)
            if run is None or run.frame >= number:
                run = self.runs[connection] = Replay(self.places, connection)
                if len(self.runs) > RUNS:
                    self.runs.popitem(last=False)
            for step in run.steps(number):
                self.kept[step.frame.number] = step
                if len(self.kept) > KEPT:
                    self.kept.popitem(last=False)
            return self.kept[number]
