"""How fast, in how much memory, against whom: `python tests benchmarks [--quick]`.

One table, measured in one run on one machine, on captures that are made for it, and what the proxy
costs beside other relays. Each row is the median of several runs, in turn with those that it is
compared with; its spread is how far they lie apart. What counts are the ratios in the last column.
Times are by the clock and on all cores, so nothing else may run; on a busy machine, compare what
one core needs.

    python tests benchmarks --save before.json      keep the ratios
    python tests benchmarks --against before.json   fail where one is more than a tenth worse
    python tests benchmarks --processor             by processor time, with one process
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import timeit
from pathlib import Path

import amqpscope
from amqpscope.capture.pieces import Pieces
from dissectors.v1_0.framing import decode_unit
from kit.benchmarks.running import Rival, measure, run
from kit.benchmarks.traffic import (
    ONE,
    SHORT,
    SHORT_ONES,
    TRAFFIC,
    TRANSFER,
    write_capture,
    write_short,
)

FRAMES = 400_000
QUICK = 20_000
REPEAT = 5
MAX_LOSS = 0.10
"""How much worse than before a ratio may be."""
PYSHARK = """
import sys, pyshark
capture = pyshark.FileCapture(sys.argv[1], display_filter="amqp")
frames = 0
for packet in capture:
    frames += sum(layer.layer_name == "amqp" for layer in packet.layers)
capture.close()
"""
AMQPSCOPE = (sys.executable, "-m", "amqpscope")
LINT = (*AMQPSCOPE, "lint", "--format", "json", "--fail-on", "never")
JSONL = (*AMQPSCOPE, "read", "--format", "jsonl")
TSHARK_JSON = ("tshark", "-T", "json", "-r")


def tshark_fields(field):
    return ("tshark", "-Y", "amqp", "-T", "fields", "-e", "frame.number", "-e", field, "-r")


class Table:
    """Prints rows as they are measured, and keeps their ratios."""

    def __init__(self, repeat, by_clock):
        self.repeat = repeat
        self.by_clock = by_clock
        self.ratios = {}
        self.speeds = {}

    def row(self, what, figure, spread="", memory="", comparison=""):
        print(f"{what:51} {figure:>18} {spread:>6} {memory:>8}  {comparison}".rstrip(), flush=True)

    def rate(self, rival, comparison=""):
        """A row about a program that has run."""
        speed = f"{rival.speed:,.0f} frames/s"
        self.row(rival.name, speed, rival.spread, f"{rival.megabytes:.0f} MB", comparison)

    def compare(self, own, theirs, *, memory=False):
        """Rows about a program of ours and one of others on the same capture."""
        own.by_clock = theirs.by_clock = self.by_clock
        measure((own, theirs), self.repeat)
        self.rate(own)
        self.speeds[own.name] = own.speed
        speed = self.ratios[f"{own.name}: speed"] = theirs.seconds / own.seconds
        text = f"{speed:.1f} x the speed"
        if memory:
            share = own.megabytes / theirs.megabytes
            # Kept so that more is better, as of all ratios.
            self.ratios[f"{own.name}: memory"] = 1 / share
            text += f", {share:.2f} x the memory"
        self.rate(theirs, text)


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


def fill(table, directory, frames):
    """All rows of the table, one by one."""
    table.row("decode one transfer", f"{decode_seconds() * 1e6:.2f} us")
    show_start(table, directory)
    small = os.path.join(directory, "small")
    counted = write_capture(small, frames)
    speed = os.path.getsize(small) / 1e6 / reassemble_seconds(small)
    table.row("read and reassemble TCP", f"{speed:,.0f} MB/s")
    show_growth(table, directory, small, counted)
    if shutil.which("tshark") is None:
        table.row("tshark", "not installed")
        return
    alone = () if table.by_clock else ("-j", "1")
    for kind, (write, field) in TRAFFIC.items():
        path = os.path.join(directory, "traffic")
        count = write(path, frames)
        for name, ours, form, theirs in (
            ("lint", LINT, "fields", tshark_fields(field)),
            ("read --format jsonl", JSONL, "json", TSHARK_JSON),
        ):
            table.compare(
                Rival(f"{kind}: {name}", (*ours, *alone), path, count),
                Rival(f"{kind}: tshark -T {form}", theirs, path, count),
                memory=True,
            )
    show_short(table, directory, frames)
    few = os.path.join(directory, "few")
    little = write_capture(few, max(frames // 200, 100))
    table.compare(
        Rival(f"read --format jsonl, {little:,} frames", JSONL, few, little),
        Rival(f"pyshark, {little:,} frames", (sys.executable, "-c", PYSHARK), few, little),
    )


def show_start(table, directory):
    """How long it takes to begin, in processor time."""
    tiny = os.path.join(directory, "tiny")
    write_capture(tiny, 20)
    for name, command in (("--help", (*AMQPSCOPE, "--help")), ("lint, 20 frames", (*LINT, tiny))):
        seconds = [run(*command).processor for _ in range(table.repeat)]
        table.row(name, f"{statistics.median(seconds) * 1e3:.0f} ms")


def show_short(table, directory, frames):
    """What a frame of a short connection takes beside others, and what stays of a connection."""
    short, long = (table.speeds[f"{kind}: lint"] for kind in (SHORT_ONES, ONE))
    share = table.ratios["lint, a frame of a short connection: speed"] = short / long
    table.row("lint, a frame of a short connection", f"{share:.2f} x a long one's")
    sizes = []
    for count in (frames, 2 * frames):
        path = os.path.join(directory, "traffic")
        connections = write_short(path, count) / len(SHORT)
        sizes.append((connections, run(*LINT, "-j", "1", path).megabytes))
    (few, before), (many, after) = sizes
    kept = max(after - before, 0) * 1024 / (many - few)
    table.row("lint, left of a short connection", f"{kept:.2f} kB")


def show_proxy(table):
    """What a relay costs, ours beside others."""
    try:
        from kit.benchmarks import proxy
    except ImportError:
        table.row("proxy", "needs qpid-proton")
        return
    best = proxy.figures(rounds=table.repeat)
    direct, own = best["direct"], best["amqpscope, recording and analysis"]
    for name in ("socat", "haproxy"):
        other = best.get(name)
        if other is None:
            table.row(f"proxy: {name}", "not installed")
            continue
        for what, figure, ratio in (
            ("round trip adds", f"{(own.p50 - direct.p50) * 1e6:.0f} us",
             (other.p50 - direct.p50) / (own.p50 - direct.p50)),
            ("stream", f"{own.stream:,.0f} a second", own.stream / other.stream),
            ("messages", f"{own.messages:,.0f} a second", own.messages / other.messages),
            ("bulk", f"{own.bulk / 1e6:,.0f} MB/s", own.bulk / other.bulk),
        ):  # fmt: skip
            table.ratios[f"proxy, {what}: {name}"] = ratio
            table.row(f"proxy: {what}", figure, comparison=f"{ratio:.2f} x {name}'s speed")


def show_growth(table, directory, path, frames):
    """How memory grows with the capture."""
    part = os.path.join(directory, "quarter")
    quarter = write_capture(part, frames // 4)
    pair = (
        Rival(f"read --format jsonl, {quarter:,} frames", JSONL, part, quarter),
        Rival(f"read --format jsonl, {frames:,} frames", JSONL, path, frames),
    )
    measure(pair, 1)
    table.rate(pair[0])
    grown = pair[1].megabytes / pair[0].megabytes
    table.rate(pair[1], f"{grown:.2f} x the memory for 4 x the frames")


def losses(before, now):
    """A line for each ratio that got worse by more than may be."""
    for name, old in before.items():
        new = now.get(name)
        if new is not None and new < old * (1 - MAX_LOSS):
            yield f"{name}: {old:.2f} before, {new:.2f} now ({new / old - 1:+.0%})"


def show_against(before, now):
    """Both runs side by side; the exit code."""
    print()
    for name, new in now.items():
        old = before.get(name)
        change = "" if old is None else f"{old:8.2f} {new / old - 1:+7.0%}"
        print(f"{name:45} {new:8.2f} {change}".rstrip())
    worse = list(losses(before, now))
    for line in worse:
        print(f"worse: {line}")
    return 1 if worse else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} frames, each run once")
    parser.add_argument("--frames", type=int, help=f"default: {FRAMES:,}")
    parser.add_argument("--repeat", type=int, help=f"runs of each, default: {REPEAT}")
    parser.add_argument(
        "--processor", action="store_true", help="by processor time, with one process"
    )
    parser.add_argument("--without-proxy", action="store_true", help="leave the proxy out")
    parser.add_argument("--save", type=Path, help="write the ratios to this file")
    parser.add_argument("--against", type=Path, help="compare with ratios that were saved")
    options = parser.parse_args()
    frames = options.frames or (QUICK if options.quick else FRAMES)
    before = json.loads(options.against.read_text()) if options.against else None
    print(
        f"amqpscope {amqpscope.__version__} ({amqpscope.build()}), Python {sys.version.split()[0]}"
    )
    table = Table(options.repeat or (1 if options.quick else REPEAT), not options.processor)
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as directory:
        fill(table, directory, frames)
    if not (options.quick or options.without_proxy):
        show_proxy(table)
    if options.save:
        options.save.write_text(json.dumps(table.ratios, indent=2) + "\n")
    return 0 if before is None else show_against(before, table.ratios)


if __name__ == "__main__":
    sys.exit(main())
