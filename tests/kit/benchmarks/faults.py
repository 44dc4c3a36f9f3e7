"""What faults cost where none acts: `python tests benchmarks.faults [--quick]`.

The same traffic through proxies that have no fault, a fault for another connection, and a fault
that watches this one and matches nothing: in turn, so that a busy machine is as busy for each. What
counts are the ratios to the proxy without faults, the medians over all rounds.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from kit.benchmarks.proxy import Relays, free_port, messages, server, stream

ELSEWHERE = "transfer => drop connection=1000000"
WATCHED = 'transfer && link.address == "nowhere" => drop'
KINDS = (
    # what the proxy has, its options
    ("no faults", ()),
    ("a fault for another connection", ("--fault", ELSEWHERE)),
    ("a fault that watches and never acts", ("--fault", WATCHED)),
)


class Proxies:
    """A proxy of each kind before a server."""

    def __init__(self, folder, target):
        self.relays = Relays(folder, target, "")
        self.ports, self.pids = [], []
        for _, options in KINDS:
            port = free_port()
            options = ["--lint", "--fail-on", "never", "--rotate", "20MB", "--keep", "2", *options]
            process = self.relays.started(port, self.relays.amqpscope(port, options))
            self.ports.append(port)
            self.pids.append(process.pid)

    def memory(self):
        """Megabytes that each relay holds."""
        return [resident(pid) / 1e6 for pid in self.pids]


def resident(pid):
    """Octets of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def compare(real_port, counted_port, folder, *, rounds, count):
    """Messages a second of each round by kind, for real peers and counted octets; megabytes."""
    real, counted = Proxies(folder, real_port), Proxies(folder, counted_port)
    try:
        rates = [[], []]
        memory = []
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            order = range(len(KINDS)) if number % 2 else reversed(range(len(KINDS)))
            found = [[0.0] * len(KINDS) for _ in rates]
            for kind in order:
                found[0][kind] = messages(real.ports[kind], count)
                found[1][kind] = stream(counted.ports[kind], count)
            for rate, row in zip(rates, found, strict=True):
                rate.append(row)
            memory.append([sum(each) for each in zip(real.memory(), counted.memory(), strict=True)])
        return rates, memory
    finally:
        real.relays.stop()
        counted.relays.stop()


def ratio(rate, kind):
    """Of a kind to the proxy without faults, the median of all rounds."""
    return statistics.median(row[kind] / row[0] for row in rate)


def print_table(rates, memory):
    print(
        f"{'':36} {'messages of proton':>20} {'counted octets':>22} {'memory, first and last':>24}"
    )
    for kind, (name, _) in enumerate(KINDS):
        line = f"{name:36}"
        for rate in rates:
            median = statistics.median(row[kind] for row in rate)
            line += f" {median:12,.0f}/s {ratio(rate, kind):5.2f}x"
        print(f"{line} {memory[0][kind]:14.1f} {memory[-1][kind]:6.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    rounds, count = (1, 500) if arguments.quick else (arguments.rounds, 10_000)
    with (
        tempfile.TemporaryDirectory(prefix="amqpscope-benchmark-") as folder,
        server("octets", folder) as (_, counted),
        server("real", folder) as (_, real),
    ):
        time.sleep(1)  # until the second one listens
        print_table(*compare(real, counted, folder, rounds=rounds, count=count))


if __name__ == "__main__":
    main()
