"""Programs that run on the same capture in turn: their processor time and memory."""

import os
import statistics
import subprocess
import sys
from typing import NamedTuple


class Run(NamedTuple):
    """A process that has ended."""

    seconds: float
    """Processor time, with that of the processes it started."""
    megabytes: float
    """The most memory that it had at a time."""


def run(*command):
    """Run a process with its output thrown away, on the same build as this one."""
    # Without this `-m` would take the sources in the current directory.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed with {process.returncode}")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


class Rival:
    """A command that is run several times on a capture."""

    def __init__(self, name, command, path, frames):
        self.name = name
        self.command = (*command, path)
        self.frames = frames
        self.runs = []

    @property
    def seconds(self):
        """The median of all runs."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def spread(self):
        """How far the runs lie apart, of the median; nothing for one run."""
        seconds = [run.seconds for run in self.runs]
        return f"{(max(seconds) - min(seconds)) / self.seconds:.0%}" if len(seconds) > 1 else ""

    @property
    def megabytes(self):
        """The most memory that a run had at a time."""
        return max(run.megabytes for run in self.runs)


def measure(rivals, repeat):
    """Run each so many times, in turn: what disturbs one of them disturbs the others too."""
    for _ in range(repeat):
        for rival in rivals:
            rival.runs.append(run(*rival.command))
