"""How fast the pipeline is: `python tests/benchmarks/spark_pipeline.py [--megabytes N]`.

One table: speed by the clock, then seconds of processor time, which a busy machine distorts less.
The single process is the replay that the pipeline runs, without Spark; each pipeline run is a
process of its own, from start to end, of which Spark's start (an empty run) is taken off.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from traffic import CLIENT, DISPOSITION, FLOW, NUMBER, SERVER, SETUP, TRANSFER, numbered

import amqpscope
from amqpscope.capture.write import CaptureWriter, Conversation
from amqpscope.spark.plan import File, Ring, Share, slice_up
from amqpscope.spark.shares import replay_whole
from amqpscope.spark.work import Work
from dissectors.notation import parse

FILE = 8_000_000
"""Octets of one file."""
LARGE = parse(
    f"transfer handle=0 delivery-id={NUMBER}'70 delivery-tag=0xdeadbeef message-format=0"
    f' | data(b"{"x" * 20_000}")'
)
START = 1_700_000_000_000_000_000


def write_files(folder, megabytes):
    """Files of a connection each, about so many megabytes in all; their octets."""
    folder.mkdir(parents=True)
    written = number = 0
    while written < megabytes * 1e6:
        path = folder / f"{number:05}" / "a.pcapng"
        path.parent.mkdir()
        with path.open("wb", buffering=1 << 20) as file:
            write_connection(file, 40000 + number % 20000, FILE)
        written += path.stat().st_size
        number += 1
    return written


def write_connection(file, port, octets, template=TRANSFER):
    """One connection of about so many octets."""
    talk = Conversation(CaptureWriter(file), ("10.0.0.1", port), ("10.0.0.2", 5672))
    talk.open(START)
    setup = [parse(unit) for _, unit in SETUP]
    for (sender, _), unit in zip(SETUP, setup, strict=True):
        talk.data(sender, START, unit)
    number = 0
    while file.tell() < octets:
        now = START + number * 50_000
        talk.data(CLIENT, now, numbered(template, number))
        talk.data(SERVER, now + 20_000, numbered(DISPOSITION, number) + numbered(FLOW, number + 1))
        number += 1
    for sender in (CLIENT, SERVER):
        talk.finish(sender, now + 30_000)


def single_process(folder):
    """Seconds and processor seconds of the plain replay of all files, one after the other."""
    work = Work()
    rules = work.choice.rules()
    begun, spent = time.perf_counter(), time.process_time()
    for path in sorted(folder.rglob("*.pcapng")):
        ring = Ring(str(path.parent), [File(str(path), path.stat().st_size, 0)])
        slice_up(ring, {})
        for _ in replay_whole(Share(ring.name, 0, ring.slices[0]), work, rules):
            pass
    return time.perf_counter() - begun, time.process_time() - spent


class Watch(threading.Thread):
    """The processor time of a process and all that it starts, and the memory of Python workers."""

    def __init__(self, parent):
        super().__init__(daemon=True)
        self.parent, self.done = parent, False
        self.megabytes = self.seconds = 0

    def run(self):
        tick = os.sysconf("SC_CLK_TCK")
        while not self.done:
            ticks = 0
            for pid in (self.parent, *descendants(self.parent)):
                try:
                    name = Path(f"/proc/{pid}/cmdline").read_bytes()
                    status = Path(f"/proc/{pid}/status").read_text()
                    # Its own time and that of its children which have ended.
                    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                ticks += sum(map(int, times[11:15]))
                if b"pyspark.daemon" in name and (found := re.search(r"VmHWM:\s+(\d+)", status)):
                    self.megabytes = max(self.megabytes, int(found[1]) / 1024)
            self.seconds = max(self.seconds, ticks / tick)
            time.sleep(0.1)


class Run(NamedTuple):
    """A run of the pipeline."""

    seconds: float
    processor: float
    megabytes: float


def descendants(pid):
    found = []
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return found
    for child in children:
        found += [int(child), *descendants(int(child))]
    return found


def pipeline(folder, out, master, *more):
    """A run: its seconds, its seconds of processor time, and the memory of its largest worker."""
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    command = [
        sys.executable, "-m", "amqpscope", "pipeline", "run", str(folder), "--out", str(out),
        "--master", master, "--fail-on", "never", *more,
    ]  # fmt: skip
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, env=environment)  # fmt: skip
    watch = Watch(process.pid)
    watch.start()
    told = process.communicate()[0]
    seconds = time.perf_counter() - begun
    watch.done = True
    if process.returncode:
        sys.exit(told)
    return Run(seconds, watch.seconds, watch.megabytes)


def measure(base, megabytes, giant):
    """The rows of the table: what, speed, processor time, comparison."""
    few = base / "few"
    few.mkdir()
    with (few / "a.pcapng").open("wb") as file:
        write_connection(file, 40000, 3000)
    start = pipeline(few, base / "out-few", "local[2]")
    yield "start and end of Spark, an empty run", f"{start.seconds:.1f} s", start.processor, ""
    size = write_files(base / "all", megabytes) / 1e6
    seconds, alone = single_process(base / "all")
    yield f"one process, {size:,.0f} MB of small files", f"{size / seconds:.2f} MB/s", alone, ""
    rates = {}
    for cores in (1, 2):
        done = pipeline(base / "all", base / f"out-{cores}", f"local[{cores}]")
        rates[cores] = size / (done.seconds - start.seconds)
        used = done.processor - start.processor
        told = f"{alone / used:.2f} of one process, per core; {done.megabytes:.0f} MB"
        yield f"pipeline, local[{cores}]", f"{rates[cores]:.2f} MB/s", used, told
    yield "local[2] against local[1]", f"{rates[2] / rates[1]:.2f} x", 0, ""
    quarter = write_files(base / "quarter", megabytes / 4) / 1e6
    done = pipeline(base / "quarter", base / "out-quarter", "local[2]")
    less = done.processor - start.processor
    rate = f"{quarter / (done.seconds - start.seconds):.2f} MB/s"
    told = f"{used / size / (less / quarter):.2f} x the cost a megabyte for {size / quarter:.0f} x"
    yield f"pipeline, local[2], {quarter:,.0f} MB", rate, less, told
    if giant:
        yield from measure_giant(base, giant, start)


def measure_giant(base, giant, start):
    """One connection in many slices."""
    folder = base / "giant"
    folder.mkdir()
    with (folder / "a.pcapng").open("wb", buffering=1 << 20) as file:
        write_connection(file, 40000, giant * 1e6, LARGE)
    done = pipeline(folder, base / "out-giant", "local[2]")
    rate = f"{giant / (done.seconds - start.seconds):.2f} MB/s"
    told = f"largest worker {done.megabytes:.0f} MB"
    yield f"one connection of {giant:,.0f} MB", rate, done.processor - start.processor, told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--giant", type=float, default=1000, help="0: not measured")
    options = parser.parse_args()
    print(f"amqpscope {amqpscope.__version__} ({amqpscope.build()}), {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as folder:
        for what, figure, used, comparison in measure(
            Path(folder), options.megabytes, options.giant
        ):
            print(f"{what:40} {figure:>12} {used:7.1f} s  {comparison}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
