"""Programs that run on the same capture in turn: their time and memory."""

import contextlib
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

PAUSE = 0.05
"""Seconds between two looks at the memory of a program."""


class Run(NamedTuple):
    """A process that has ended."""

    seconds: float
    """By the clock."""
    processor: float
    """Processor time, with that of the processes it started."""
    megabytes: float
    """The most memory that it and the processes it started had at a time."""


class Memory(threading.Thread):
    """Watches how much memory a process has, with those that it started."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.most = 0
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(PAUSE):
            self.most = max(self.most, octets_of(self.pid))


def octets_of(pid):
    """Memory of a process and those that it started; what they share counts once."""
    with contextlib.suppress(OSError, ValueError):
        place = Path("/proc", str(pid))
        lines = (place / "smaps_rollup").read_text().splitlines()
        own = next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
        children = (place / "task" / str(pid) / "children").read_text().split()
        return own + sum(map(octets_of, children))
    return 0


def run(*command):
    """Run a process with its output thrown away, on the same build as this one."""
    # Without this `-m` would take the sources in the current directory.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    nowhere = subprocess.DEVNULL
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=environment)
    memory = Memory(process.pid)
    memory.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    memory.done.set()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed with {process.returncode}")
    # What was over before the first look is known by its largest process.
    most = max(memory.most, usage.ru_maxrss * 1024)
    return Run(seconds, usage.ru_utime + usage.ru_stime, most / (1 << 20))


class Rival:
    """A command that is run several times on a capture."""

    def __init__(self, name, command, path, frames):
        self.name = name
        self.command = (*command, path)
        self.frames = frames
        self.runs = []
        self.by_clock = True
        """Whether its speed is that of the clock, or by processor time."""

    @property
    def times(self):
        """The seconds of each run."""
        return [run.seconds if self.by_clock else run.processor for run in self.runs]

    @property
    def seconds(self):
        """The median of all runs."""
        return statistics.median(self.times)

    @property
    def speed(self):
        """Frames a second."""
        return self.frames / self.seconds

    @property
    def spread(self):
        """How far the runs lie apart, of the median; nothing for one run."""
        times = self.times
        return f"{(max(times) - min(times)) / self.seconds:.0%}" if len(times) > 1 else ""

    @property
    def megabytes(self):
        """The most memory that a run had at a time."""
        return max(run.megabytes for run in self.runs)


def measure(rivals, repeat):
    """Run each so many times, in turn: what disturbs one of them disturbs the others too."""
    for _ in range(repeat):
        for rival in rivals:
            rival.runs.append(run(*rival.command))
