"""Programs that run on the same capture in turn: their processor time and memory."""

import os
import statistics
import subprocess
import sys


class Rival:
    """A command that is run several times on a capture."""

    def __init__(self, name, command, path, frames):
        self.name = name
        self.command = (*command, path)
        self.frames = frames
        self.runs = []
        """Seconds of each run, with those of the processes it started, and its megabytes."""

    def run(self):
        """Run it once with its output thrown away, on the same build as this process."""
        # Without this `-m` would take the sources in the current directory.
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(self.command, stdout=nowhere, stderr=nowhere, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{self.command[0]} failed with {process.returncode}")
        self.runs.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))

    @property
    def seconds(self):
        """The median of all runs."""
        return statistics.median(seconds for seconds, _ in self.runs)

    @property
    def spread(self):
        """How far the runs lie apart, of the median; nothing for one run."""
        seconds = [each for each, _ in self.runs]
        return f"{(max(seconds) - min(seconds)) / self.seconds:.0%}" if len(seconds) > 1 else ""

    @property
    def megabytes(self):
        """The most memory that a run had at a time."""
        return max(megabytes for _, megabytes in self.runs)


def measure(rivals, repeat):
    """Run each so many times, in turn: what disturbs one of them disturbs the others too."""
    for _ in range(repeat):
        for rival in rivals:
            rival.run()
