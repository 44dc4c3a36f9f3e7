"""What faults cost where none acts: `python tests benchmarks.faults [--quick] [--rabbitmq PORT]`.

The same traffic through proxies that have no fault, a fault for another connection, and a fault
that watches this one and matches nothing: in turn, so that a busy machine is as busy for each. What
counts are the ratios to the proxy without faults, the medians over all rounds. With a RabbitMQ that
listens on a port, pika publishes to it too, so that 0-9-1 is seen as well as 1.0.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pika

from kit.benchmarks.proxy import Relays, free_port, messages, server, stream

ELSEWHERE = "transfer => drop connection=1000000"
WATCHED = 'transfer && link.address == "nowhere" => drop'
WATCHED_V0_9 = 'basic.publish && routing-key == "nowhere" => drop'
KINDS = (
    "no faults",
    "a fault for another connection",
    "a fault that watches and never acts",
)


class Column(NamedTuple):
    """A kind of traffic."""

    name: str
    port: int
    """Of its server."""
    watched: str
    """The fault that watches it."""
    measure: Callable[[int, int], float]
    """Messages a second through a port, of so many."""


def publish(port, count):
    """Messages a second that pika publishes, until RabbitMQ answers behind the last one."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        begun = time.perf_counter()
        for _ in range(count):
            channel.basic_publish("", queue, b"x" * 100)
        channel.queue_declare(queue, passive=True)
        return count / (time.perf_counter() - begun)


class Proxies:
    """A proxy of each kind before a server."""

    def __init__(self, folder, target, watched):
        self.relays = Relays(folder, target, "")
        self.ports, self.pids = [], []
        for rule in ("", ELSEWHERE, watched):
            port = free_port()
            options = ["--lint", "--fail-on", "never", "--rotate", "20MB", "--keep", "2"]
            options += ["--fault", rule] if rule else []
            process = self.relays.started(port, self.relays.amqpscope(port, options))
            self.ports.append(port)
            self.pids.append(process.pid)

    def memory(self):
        """Megabytes that each relay holds."""
        return [resident(pid) / 1e6 for pid in self.pids]


def resident(pid):
    """Octets of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def compare(columns, folder, *, rounds, count):
    """Messages a second of each round by kind, for each column; megabytes."""
    proxies = [Proxies(folder, each.port, each.watched) for each in columns]
    try:
        rates = [[] for _ in columns]
        memory = []
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            order = range(len(KINDS)) if number % 2 else reversed(range(len(KINDS)))
            found = [[0.0] * len(KINDS) for _ in rates]
            for kind in order:
                for column, each, row in zip(columns, proxies, found, strict=True):
                    row[kind] = column.measure(each.ports[kind], count)
            for rate, row in zip(rates, found, strict=True):
                rate.append(row)
            memory.append(
                [sum(sizes) for sizes in zip(*(each.memory() for each in proxies), strict=True)]
            )
        return rates, memory
    finally:
        for each in proxies:
            each.relays.stop()


def ratio(rate, kind):
    """Of a kind to the proxy without faults, the median of all rounds."""
    return statistics.median(row[kind] / row[0] for row in rate)


def print_table(columns, rates, memory):
    head = "".join(f" {each.name:>20}" for each in columns)
    print(f"{'':36}{head} {'memory, first and last':>24}")
    for kind, name in enumerate(KINDS):
        line = f"{name:36}"
        for rate in rates:
            median = statistics.median(row[kind] for row in rate)
            line += f" {median:12,.0f}/s {ratio(rate, kind):5.2f}x"
        print(f"{line} {memory[0][kind]:14.1f} {memory[-1][kind]:6.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rabbitmq", type=int, metavar="PORT", help="where a RabbitMQ listens")
    arguments = parser.parse_args()
    rounds, count = (1, 500) if arguments.quick else (arguments.rounds, 10_000)
    with (
        tempfile.TemporaryDirectory(prefix="amqpscope-benchmark-") as folder,
        server("octets", folder) as (_, counted),
        server("real", folder) as (_, real),
    ):
        time.sleep(1)  # until the second one listens
        columns = [
            Column("messages of proton", real, WATCHED, messages),
            Column("counted octets", counted, WATCHED, stream),
        ]
        if arguments.rabbitmq:
            columns.append(Column("messages of pika", arguments.rabbitmq, WATCHED_V0_9, publish))
        print_table(columns, *compare(columns, folder, rounds=rounds, count=count))


if __name__ == "__main__":
    main()
