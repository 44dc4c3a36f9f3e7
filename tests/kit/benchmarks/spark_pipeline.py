"""How fast the pipeline is: `python tests benchmarks.spark_pipeline [--only ratio]`.

ratio   `lint` in one process and in two, and the pipeline on one core and on two, over files of
        8 MB, each of which is a ring of its own; Spark has been started, and had a first run
linear  the pipeline on two cores over ever more of these; here and below each run is a process of
        its own, timed from start to end, and processor time that of all its processes
giant   one connection in one file, on two cores: it has to be shuffled, and one worker replays it
"""

import argparse
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import amqpscope
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from dissectors.notation import parse
from kit import TESTS
from kit.benchmarks.traffic import (
    CLIENT,
    DISPOSITION,
    FLOW,
    NUMBER,
    SERVER,
    SETUP,
    TRANSFER,
    numbered,
)

FILE = 8_000_000
"""Octets of one file."""
DIFFERENT = 8
"""Files that are made; further ones are copies, told apart by a block that says nothing."""
LARGE = parse(
    f"transfer handle=0 delivery-id={NUMBER}'70 delivery-tag=0xdeadbeef message-format=0"
    f' | data(b"{"x" * 20_000}")'
)
CLOSE = parse("close")
CUSTOM = 0x40000BAD
"""A block of pcapng that readers pass over."""
START = 1_700_000_000_000_000_000


def write_files(folder, megabytes, template):
    """Files of a connection each, about so many megabytes in all."""
    folder.mkdir(parents=True)
    for number in range(max(round(megabytes * 1e6 / FILE), 1)):
        path = folder / f"{number:05}" / "a.pcapng"
        path.parent.mkdir()
        if number < DIFFERENT:
            with path.open("wb", buffering=1 << 20) as file:
                write_connection(file, 40000 + number, FILE, template)
        else:
            shutil.copy(folder / f"{number % DIFFERENT:05}" / "a.pcapng", path)
            with path.open("ab") as file:
                file.write(struct.pack("<IIIII", CUSTOM, 20, 0, number, 20))


def write_connection(file, port, octets, template):
    """One connection of about so many octets."""
    talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", port), ("10.0.0.2", 5672))
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
    # In order, so that there is nothing to find: lint reads again for what it must show.
    for sender in (CLIENT, SERVER):
        talk.data(sender, now + 30_000, CLOSE)
    for sender in (CLIENT, SERVER):
        talk.finish(sender, now + 40_000)


def lint(folder, jobs):
    """`lint` of all files, so many at a time."""
    command = [sys.executable, "-m", "amqpscope", "lint", str(folder), "--jobs", str(jobs),
               "--fail-on", "never"]  # fmt: skip
    return timed(command)


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
    """All processes below one; each thread has children of its own."""
    found = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            found += [child, *descendants(child)]
    return found


def timed(command):
    """Run a command: its seconds, its processor time, and the memory of its largest worker."""
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
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


class Session:
    """A Spark that is running, as in a notebook or on a cluster: told what to do, line by line."""

    def __init__(self, master):
        command = [sys.executable, TESTS, "benchmarks.spark_pipeline", "--session", master]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self):
        return self

    def run(self, folder):
        """The seconds that the pipeline takes."""
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def __exit__(self, *args):
        self.process.stdin.close()
        self.process.wait()


def serve(master):
    """What the process of a Session does."""
    from amqpscope.spark import Where, run_pipeline, start

    # Workers would find the sources in the current directory, ahead of what is installed.
    os.environ["PYTHONSAFEPATH"] = "1"
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as folder:
        spark = start(Where(master=master, log=f"{folder}/log"))
        for number, line in enumerate(sys.stdin):
            begun = time.perf_counter()
            run_pipeline(spark, [line.strip()], f"{folder}/{number}", ring="directory")
            print(time.perf_counter() - begun, flush=True)
            shutil.rmtree(f"{folder}/{number}")
        spark.stop()


class Bench:
    """The captures, and what was measured of them."""

    def __init__(self, folder, large=False):
        self.folder = folder
        self.large = large

    def files(self, megabytes):
        """So many megabytes of files, made if they are not there; where, and their size."""
        folder = self.folder / f"{megabytes:g}{'-large' if self.large else ''}"
        if not folder.is_dir():
            write_files(folder, megabytes, LARGE if self.large else TRANSFER)
        return folder, sum(path.stat().st_size for path in folder.rglob("*.pcapng")) / 1e6

    def giant(self, megabytes, template, name):
        """One connection of so many megabytes."""
        folder = self.folder / f"{name}-{megabytes:g}"
        if not folder.is_dir():
            folder.mkdir()
            with (folder / "a.pcapng").open("wb", buffering=1 << 20) as file:
                write_connection(file, 40000, megabytes * 1e6, template)
        return folder

    def pipeline(self, folder, master):
        """A run of its own."""
        with tempfile.TemporaryDirectory(prefix="amqpscope-") as out:
            return timed(
                [
                    sys.executable, "-m", "amqpscope", "pipeline", "run", str(folder), "--out", out,
                    "--master", master, "--fail-on", "never", "--log", f"{out}.log",
                ]
            )  # fmt: skip

    def ratio(self, megabytes, rounds):
        """One process, one core, two cores: in turn, for a machine is not as fast all the time."""
        folder, size = self.files(megabytes)
        with Session("local[1]") as one, Session("local[2]") as two:
            turns = {
                "lint, one process": lambda: lint(folder, 1).seconds,
                "pipeline, local[1]": lambda: one.run(folder),
                "lint, two processes": lambda: lint(folder, 2).seconds,
                "pipeline, local[2]": lambda: two.run(folder),
            }
            done = [[run() for run in turns.values()] for _ in range(rounds + 1)][1:]
        for what, seconds in zip(turns, zip(*done, strict=True), strict=True):
            middle = statistics.median(seconds)
            yield f"{what:20} {size:,.0f} MB  {middle:5.1f} s  {size / middle:5.1f} MB/s"
        for what, over, under in (
            ("pipeline, local[1] against lint, one process", 0, 1),
            ("pipeline, local[2] against lint, two processes", 2, 3),
            ("pipeline, local[2] against local[1]", 1, 3),
            ("lint, two processes against one", 0, 2),
        ):
            found = sorted(each[over] / each[under] for each in done)
            yield f"{what:48} {statistics.median(found):.2f} x  ({found[0]:.2f} to {found[-1]:.2f})"

    def linear(self, sizes):
        """More and more."""
        before = None
        for wanted in sizes:
            folder, size = self.files(wanted)
            done = self.pipeline(folder, "local[2]")
            rate = 0 if before is None else (size - before[1]) / (done.seconds - before[0].seconds)
            yield row(f"pipeline, local[2], {size:,.0f} MB", done, rate)
            before = done, size

    def one(self, megabytes):
        """One connection in many slices; with small messages a tenth of it is enough."""
        for template, size, what in (
            (LARGE, megabytes, "20 kB"),
            (TRANSFER, megabytes / 10, "small"),
        ):
            done = self.pipeline(self.giant(size, template, what), "local[2]")
            yield row(f"one connection of {size:,.0f} MB, {what} messages", done)


def row(what, run, rate=0):
    """A line of the table."""
    speed = f"{rate:6.2f} MB/s" if rate else ""
    memory = f"largest worker {run.megabytes:.0f} MB" if run.megabytes else ""
    return (
        f"{what:40} {run.seconds:6.1f} s {run.processor:6.1f} s processor  {speed:11}  {memory}"
    ).rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=200, help="for the ratios")
    parser.add_argument("--rounds", type=int, default=9, help="for the ratios; the median counts")
    parser.add_argument("--sizes", default="100,500,2000", help="megabytes, for the linear cost")
    parser.add_argument("--giant", type=float, default=1000, help="megabytes of one connection")
    parser.add_argument("--large", action="store_true", help="files have messages of 20 kB")
    parser.add_argument("--only", default="ratio,linear,giant", help="which of them")
    parser.add_argument("--captures", help="where to make the captures, or find them; kept")
    parser.add_argument("--session", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.session:
        serve(options.session)
        return
    print(f"amqpscope {amqpscope.__version__} ({amqpscope.build()}), {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as temporary:
        bench = Bench(Path(options.captures or temporary), options.large)
        sizes = [float(size) for size in options.sizes.split(",")]
        lines = {
            "ratio": bench.ratio(options.megabytes, options.rounds),
            "linear": bench.linear(sizes),
            "giant": bench.one(options.giant),
        }
        chosen = [lines[name] for name in options.only.split(",")]
        for line in chain.from_iterable(chosen):
            print(line, flush=True)


if __name__ == "__main__":
    main()
