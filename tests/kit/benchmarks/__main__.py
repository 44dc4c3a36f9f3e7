"""How fast, in how much memory, against whom: `python tests benchmarks [--quick]`.

One table, measured in one run on one machine, on a capture that is made for it. Seconds are of
processor time, which a busy machine distorts less; what counts is the last column.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from typing import NamedTuple

import amqpscope
from amqpscope.capture.pieces import Pieces
from dissectors.v1_0.framing import decode_unit
from kit.benchmarks.traffic import TRANSFER, write_capture, write_v0_9

FRAMES = 400_000
QUICK = 20_000
PYSHARK = """
import sys, pyshark
capture = pyshark.FileCapture(sys.argv[1], display_filter="amqp")
frames = 0
for packet in capture:
    frames += sum(layer.layer_name == "amqp" for layer in packet.layers)
capture.close()
"""


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


def jsonl(path):
    return run(sys.executable, "-m", "amqpscope", "read", "--format", "jsonl", path)


def lint(path):
    options = ("--format", "json", "--fail-on", "never")
    return run(sys.executable, "-m", "amqpscope", "lint", *options, path)


def decode_seconds():
    """One typical transfer, the best of several tries."""
    timer = timeit.Timer(lambda: decode_unit(TRANSFER), timer=time.process_time)
    return min(timer.repeat(number=20_000, repeat=7)) / 20_000


def reassemble_seconds(path):
    """From the file to streams of octets."""
    begun = time.process_time()
    with Pieces(path) as pieces:
        for _ in pieces:
            pass
    return time.process_time() - begun


def measure(directory, frames):
    """All rows of the table, one by one: what, figure, memory, comparison."""
    names = ("all", "quarter", "few", "rich", "v0_9")
    path, part, few, rich, v0_9 = (os.path.join(directory, name) for name in names)
    frames = write_capture(path, frames)
    full = write_capture(rich, frames, rich=True)
    quarter = write_capture(part, frames // 4)
    little = write_capture(few, max(frames // 200, 100))

    yield "decode one transfer", f"{decode_seconds() * 1e6:.2f} us", "", ""
    size = os.path.getsize(path) / 1e6
    seconds = reassemble_seconds(path)
    yield "read and reassemble TCP", f"{size / seconds:,.0f} MB/s", "", ""
    small, own = jsonl(part), jsonl(path)
    yield rate(f"read --format jsonl, {quarter:,} frames", quarter, small)
    grown = f"{own.megabytes / small.megabytes:.2f} x the memory for 4 x the frames"
    yield rate(f"read --format jsonl, {frames:,} frames", frames, own, grown)
    checked = lint(path)
    yield rate(f"lint, all rules, {frames:,} frames", frames, checked)
    if shutil.which("tshark") is None:
        yield "tshark", "not installed", "", ""
        return
    theirs = run("tshark", "-r", path, "-T", "json")
    times = f"amqpscope: {theirs.seconds / own.seconds:.1f} x the speed, "
    times += f"{own.megabytes / theirs.megabytes:.2f} x the memory"
    yield rate(f"tshark -T json, {frames:,} frames", frames, theirs, times)
    fields = ("-T", "fields", "-e", "frame.number", "-e", "amqp.performative")
    theirs = run("tshark", "-r", path, "-Y", "amqp", *fields)
    times = f"lint: {theirs.seconds / checked.seconds:.1f} x the speed, "
    times += f"{checked.megabytes / theirs.megabytes:.2f} x the memory"
    yield rate(f"tshark -T fields, {frames:,} frames", frames, theirs, times)
    yield from compared("rich messages", rich, full, "amqp.performative")
    yield from compared("0-9-1", v0_9, write_v0_9(v0_9, frames), "amqp.method.method")
    slow = run(sys.executable, "-c", PYSHARK, few)
    ratio = (frames / own.seconds) / (little / slow.seconds)
    yield rate(f"pyshark, {little:,} frames", little, slow, f"amqpscope: {ratio:,.0f} x the speed")


def compared(kind, path, frames, field):
    """The same two comparisons on other traffic."""
    own, checked = jsonl(path), lint(path)
    theirs = run("tshark", "-r", path, "-T", "json")
    times = f"read --format jsonl: {theirs.seconds / own.seconds:.1f} x the speed"
    yield rate(f"{kind}: tshark -T json, {frames:,}", frames, theirs, times)
    fields = ("-T", "fields", "-e", "frame.number", "-e", field)
    theirs = run("tshark", "-r", path, "-Y", "amqp", *fields)
    times = f"lint: {theirs.seconds / checked.seconds:.1f} x the speed"
    yield rate(f"{kind}: tshark -T fields, {frames:,}", frames, theirs, times)


def rate(what, frames, done, comparison=""):
    speed = f"{frames / done.seconds:,.0f} frames/s"
    return what, speed, f"{done.megabytes:.0f} MB", comparison


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} frames only")
    parser.add_argument("--frames", type=int, help=f"default: {FRAMES:,}")
    options = parser.parse_args()
    frames = options.frames or (QUICK if options.quick else FRAMES)
    print(
        f"amqpscope {amqpscope.__version__} ({amqpscope.build()}), Python {sys.version.split()[0]}"
    )
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as directory:
        for what, figure, memory, comparison in measure(directory, frames):
            print(f"{what:42} {figure:>18} {memory:>8}  {comparison}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
