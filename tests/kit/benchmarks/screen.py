"""How quick the screen is on a large capture: `python tests benchmarks.screen [CAPTURE]`.

Opens the installed program in a terminal of its own, presses keys, and waits for what is painted.
Times are of the clock, so let the machine do nothing else.
"""

import argparse
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

from kit.benchmarks.traffic import write_capture

FRAMES = 500_000
SIZE = (50, 160)
PAGE_DOWN = b"\x1b[6~"
PLACE = re.compile(rb" ([\d,]+)/[\d,]+ ")
"""Where the cursor is, at the right of the line at the bottom."""
REST = 0.15
"""Seconds between two keys."""


class Terminal:
    """The program in a terminal."""

    def __init__(self, path):
        self.begun = time.monotonic()
        self.output = b""
        self.pid, self.file = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", PYTHONSAFEPATH="1")
            os.execv(sys.executable, [sys.executable, "-m", "amqpscope", "read", path])
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))

    def read(self, seconds):
        """Take output until there is none for some time."""
        while select.select([self.file], [], [], seconds)[0]:
            try:
                self.output += os.read(self.file, 1 << 16)
            except OSError:
                return

    def wait_for(self, pattern, seconds=30):
        """Until something is painted; seconds since the start."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.output):
            if time.monotonic() > end:
                sys.exit(f"{pattern!r} was not painted within {seconds} s")
            self.read(0.01)
        return time.monotonic() - self.begun

    def place(self):
        """The frame at the cursor, as it was painted last."""
        found = PLACE.findall(self.output)
        return found[-1] if found else b""

    def press(self, key):
        """Milliseconds from a key until the cursor is painted elsewhere.

        Output alone would not do: while a filter runs, its count is painted all the time.
        """
        end = time.monotonic() + REST
        while time.monotonic() < end:
            self.read(0.01)
        before = self.place()
        self.output = b""
        begun = time.monotonic()
        os.write(self.file, key)
        while self.place() in (b"", before) and time.monotonic() < begun + 5:
            if select.select([self.file], [], [], 1)[0]:
                self.output += os.read(self.file, 1 << 16)
        return (time.monotonic() - begun) * 1000

    def children(self):
        """The processes that read and look."""
        found = subprocess.run(
            ["pgrep", "-P", str(self.pid)], capture_output=True, text=True, check=False
        )
        return [int(number) for number in found.stdout.split()]

    def megabytes(self):
        """Memory of all our processes, what they share counted once."""
        total = 0
        for pid in (self.pid, *self.children()):
            try:
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                    total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
            except OSError:
                pass
        return total / 1024


def measure(path):
    """All rows of the table."""
    terminal = Terminal(path)
    yield "first rows", f"{terminal.wait_for(rb'header.*AMQP'):.2f} s"
    keys = {"j": (b"j",), "PgDn": (PAGE_DOWN,), "G and g": (b"G", b"g")}
    most = 0.0
    for when in ("while reading", "afterwards", "while a filter runs"):
        if when == "afterwards":
            while terminal.children():
                most = max(most, terminal.megabytes())
                terminal.read(0.2)
            yield "all frames read", f"{time.monotonic() - terminal.begun:.1f} s"
        if when == "while a filter runs":
            os.write(terminal.file, b"/transfer\r")
            terminal.wait_for(b"filter: transfer")
        for name, turns in keys.items():
            times = sorted(terminal.press(key) for key in turns * (8 // len(turns)))
            yield f"{name} {when}", f"{times[4]:.0f} ms, at most {times[-1]:.0f} ms"
        most = max(most, terminal.megabytes())
    size = os.path.getsize(path) / 1e6
    yield "memory", f"{most:.0f} MB of a capture of {size:.0f} MB"
    os.write(terminal.file, b"q")
    os.waitpid(terminal.pid, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture", nargs="?")
    chosen = parser.parse_args().capture
    with tempfile.TemporaryDirectory() as folder:
        path = chosen or os.path.join(folder, "large.pcapng")
        if not chosen:
            write_capture(path, FRAMES)
        for name, value in measure(path):
            print(f"{name:28} {value}", flush=True)


if __name__ == "__main__":
    main()
