"""A capture as the TUI sees it: rows by number, findings, filters, and the state at any frame.

Reading and looking through it happen in processes of their own (`indexing`, `scanning`); here is
the end that the screens hold. `update` takes what is new and never waits.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from functools import cached_property
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, Any

from amqpscope.analysis import Conversation, Step
from amqpscope.findings import Finding
from amqpscope.insight.state import StateRenderer
from amqpscope.protocols.sketch import FrameRecord
from amqpscope.protocols.state import StateNode
from amqpscope.tui.finding_index import FindingIndex
from amqpscope.tui.opening import ReaderProcess
from amqpscope.tui.processes import launch, stop
from amqpscope.tui.refusal_index import RefusalIndex
from amqpscope.tui.scanning import HEAD
from amqpscope.tui.step_cache import Row, StepCache, TalkSpan
from amqpscope.tui.time_travel import TimeTravel
from amqpscope.wording import no_amqp

if TYPE_CHECKING:
    from amqpscope.tui.messages_worker import MessagesWorker
    from amqpscope.tui.stats_worker import StatsWorker


class Store:
    """One capture."""

    def __init__(self, reading: ReaderProcess) -> None:
        self.source = reading.source
        self.files = reading.files
        self._reader = reading.process
        self.steps = StepCache(
            self.files, self.source.decode_as, show_secrets=self.source.show_secrets
        )
        self.status: dict[str, Any] = {}
        """What the reader last said: position, size, packets, gaps, problem, notes, done, error."""
        self.start = 0
        """The time of the first frame, in nanoseconds; 0 before there is one."""
        self.heard = 0.0
        """When the newest frame came here, by the clock of this machine."""

    @cached_property
    def travel(self) -> TimeTravel[StateNode]:
        """The state of a connection as of any frame."""
        return TimeTravel(self.files, self.source.decode_as, StateRenderer())

    @cached_property
    def numbers(self) -> StatsWorker:
        """Counts and courses over time, once `numbers.start()` was called."""
        from amqpscope.tui.stats_worker import StatsWorker

        return StatsWorker(self.files, self.source.decode_as)

    @cached_property
    def messages(self) -> MessagesWorker:
        """Messages over all connections, once `messages.start()` was called."""
        from amqpscope.tui.messages_worker import MessagesWorker

        return MessagesWorker(self.files, self.source.decode_as)

    def close(self) -> None:
        """Stop reading and let go of the files."""
        stop(self._reader)
        for name in ("travel", "numbers", "messages"):
            if name in self.__dict__:
                getattr(self, name).close()
        self.files.close()

    def update(self) -> bool:
        """Take what was read since; whether there was anything new."""
        before = self.count
        changed = self.steps.update()
        status = self.files.read_status() or {}
        # Asked in any case: a process that has ended is there until somebody asks.
        ended = self._reader.poll() is not None
        if ended and not status.get("done"):
            status = self.files.read_status() or {}
            if not status.get("done"):
                status = {**status, "done": True, "error": self._death_reason()}
            changed = self.steps.update() or changed
        if self.count != before:
            self.heard = monotonic()
        if not self.start and self.count:
            self.start = self.files.record(1).time
        changed = changed or status != self.status
        self.status = status
        return changed

    def _death_reason(self) -> str:
        code = self._reader.returncode
        how = f"signal {-code}" if code < 0 else f"code {code}"
        return f"the process that reads the capture ended early ({how})"

    @property
    def count(self) -> int:
        """Frames so far; their numbers are 1 to this."""
        return self.steps.count

    @property
    def done(self) -> bool:
        """The capture was read to its end, or cannot be."""
        return bool(self.status.get("done"))

    @property
    def error(self) -> str:
        """Why nothing more can be read; empty where all is well."""
        return str(self.status.get("error") or "")

    @property
    def trouble(self) -> str:
        """What the user should know: it could not be read, or has nothing in it."""
        if self.error:
            return self.error
        if self.status.get("unreadable"):
            return str(self.status["problem"])
        if self.done and not self.count and not self.status.get("notes"):
            return self.no_amqp
        return ""

    @property
    def no_amqp(self) -> str:
        """What is shown of a capture without AMQP."""
        return no_amqp(self.status.get("packets", 0))

    @property
    def progress(self) -> float:
        """How much of the file was read, from 0 to 1; 1 where that is not known."""
        size = self.status.get("size") or 0
        return min(self.status.get("position", 0) / size, 1.0) if size else 1.0

    @property
    def behind(self) -> int:
        """Octets that a growing file has and the reader has not taken yet."""
        try:
            size = os.stat(self.source.path).st_size
        except OSError:
            return 0
        return max(size - int(self.status.get("position", 0)), 0)

    @property
    def connections(self) -> dict[int, Conversation]:
        """Connections by number; of their models only what a fact says."""
        return self.steps.conversations

    @property
    def name_width(self) -> int:
        """Columns for the names of frames, in the families that the capture has."""
        return self.steps.name_width

    @property
    def spans(self) -> dict[int, TalkSpan]:
        """How far each connection is, by number."""
        return self.steps.spans

    @property
    def findings(self) -> FindingIndex:
        """All findings so far, in the order in which they were made."""
        return self.steps.findings

    @property
    def counts(self) -> Counter[str]:
        """Findings by severity."""
        return self.steps.findings.counts

    @property
    def refusals(self) -> RefusalIndex:
        """The frames so far in which a peer refuses something."""
        return self.steps.refusals

    def findings_at(self, number: int) -> list[Finding]:
        """The findings about one frame."""
        return self.steps.findings.at(number)

    def record(self, number: int) -> FrameRecord:
        """What is kept of a frame: its time, connection, sender, channel and octets."""
        return self.files.record(number)

    def records(self, first: int, last: int) -> list[FrameRecord]:
        """The records of the frames from `first` to `last`."""
        return self.files.records(first, last)

    def row(self, number: int) -> Row:
        """What a list says of a frame."""
        return self.steps.row(number)

    def step(self, number: int) -> Step:
        """A frame, decoded, with its link, delivery, message and findings.

        It is quick unless `is_replayed`: then the connection may have to be replayed up to it.
        """
        return self.steps.step(number)

    def is_replayed(self, number: int) -> bool:
        """Whether the Step of a frame comes from a replay, which may take a while."""
        return self.steps.is_replayed(number)

    def at_time(self, time: int) -> int:
        """The first frame at or after a time in nanoseconds; the last if there is none."""
        low, high = 1, self.count
        while low < high:
            middle = (low + high) // 2
            if self.files.record(middle).time < time:
                low = middle + 1
            else:
                high = middle
        return low

    def scan(self, kind: str, text: str) -> Scan:
        """Begin to look through all frames: kind `filter` or `search`."""
        return Scan(self, kind, text)


class Scan:
    """The frames that a filter or search wants, as far as they are known."""

    def __init__(self, store: Store, kind: str, text: str) -> None:
        self.text = text
        self.matches: array[int] = array("I")
        """Their numbers, ascending."""
        self.seen = 0
        """Frames that were looked at."""
        self.turns = 0
        """How often matches came that are not the last."""
        self._read = HEAD.size
        self._out, path = tempfile.mkstemp(prefix="amqpscope-scan-")
        os.unlink(path)
        request = {
            "files": store.files.files,
            "out": self._out,
            "kind": kind,
            "text": text,
            "start": store.start or None,
            "show_secrets": store.source.show_secrets,
            "decode_as": store.source.decode_as,
        }
        self._process = launch("amqpscope.tui.scanning", request, [*store.files.files, self._out])

    def update(self) -> bool:
        """Take what was found since; whether there was anything."""
        head = os.pread(self._out, HEAD.size, 0)
        if len(head) < HEAD.size:
            return False
        seen = HEAD.unpack(head)[0]
        data = os.pread(self._out, 1 << 22, self._read)
        data = data[: len(data) - len(data) % 4]
        self._read += len(data)
        fresh = array("I", data)
        if ascending(fresh) and (not fresh or not self.matches or fresh[0] > self.matches[-1]):
            self.matches.extend(fresh)
        else:
            self.turns += 1
            for number in fresh:
                insort(self.matches, number)
        changed = bool(fresh) or seen != self.seen
        self.seen = seen
        return changed

    def after(self, number: int) -> int:
        """The first match behind a frame; 0 if there is none."""
        place = bisect_right(self.matches, number)
        return self.matches[place] if place < len(self.matches) else 0

    def before(self, number: int) -> int:
        """The last match before a frame; 0 if there is none."""
        place = bisect_left(self.matches, number)
        return self.matches[place - 1] if place else 0

    def close(self) -> None:
        """Stop looking."""
        stop(self._process)
        os.close(self._out)


def ascending(numbers: array[int]) -> bool:
    """Whether numbers come in order: only late findings break it."""
    return all(one < other for one, other in pairwise(numbers))
