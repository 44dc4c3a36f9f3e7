"""What a proxy costs: `python tests benchmarks.proxy [--quick]`.

The same AMQP traffic directly and through each relay in turn, several rounds, the best of each:

* round trip: one small transfer at a time, and the disposition that answers it;
* stream: small transfers, 100 of them under way, between peers that only count octets;
* messages: the same between a client and a server that are real, of qpid-proton;
* bulk: messages of a megabyte in frames of 32 KiB, one way.

For all but bulk, client, server and relay share one processor, for nothing else is as repeatable on
a small machine; the analysis of `amqpscope proxy` has another, as it would have when one is free.
Bulk is not tied to anything. Relays that are not installed are left out.
"""

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import Container

from dissectors.notation import parse
from kit import TESTS
from kit.benchmarks.traffic import CLIENT, DISPOSITION, SERVER, SETUP, TRANSFER, numbered

WINDOW = 100
PATIENCE = 20
SETUP_UNITS = [
    (sender, parse(unit.replace("link-credit=1000", "link-credit=2000000000")))
    for sender, unit in SETUP
]
FRAME = 32_000
FIRST = parse(
    "transfer handle=0 delivery-id=3735928559'70 delivery-tag=0xdeadbeef message-format=0"
    f' settled=true more=true | data(b"{"x" * FRAME}")'
)
MORE = parse(f'transfer handle=0 more=true | data(b"{"x" * FRAME}")')
LAST = parse(f'transfer handle=0 | data(b"{"x" * FRAME}")')
FRAMES_A_MESSAGE = 32


class Sizes(NamedTuple):
    """How much of each to measure in a round."""

    trips: int
    stream: int
    messages: int
    megabytes: int


FULL = Sizes(5_000, 100_000, 10_000, 400)
QUICK = Sizes(500, 5_000, 500, 20)
BULK = b"bulker"
"""The container-id of a client that wants no answers."""


def set_up(peer, own, name=b"sender"):
    """Hold the beginning of the conversation; all that the other side said in it."""
    heard = []
    for sender, raw in SETUP_UNITS:
        if sender == own:
            peer.sendall(raw.replace(b"sender", name))
        else:
            heard.append(peer.recv(len(raw), socket.MSG_WAITALL))
    return b"".join(heard)


def serve(port_file):
    """Answer every transfer with a disposition; the end of a bulk transfer with one octet."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    Path(port_file).write_text(str(listener.getsockname()[1]))
    room = bytearray(1 << 20)
    answers = numbered_block(DISPOSITION, 200_000)
    while True:
        peer, _ = listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with peer, contextlib.suppress(OSError):
            bulk = BULK in set_up(peer, SERVER)
            got = answered = 0
            while size := peer.recv_into(room):
                got += size
                count = got // len(TRANSFER)
                if not bulk and count > answered:
                    begin, end = answered * len(DISPOSITION), count * len(DISPOSITION)
                    peer.sendall(answers[begin:end])
                    answered = count
            if bulk:
                peer.sendall(got.to_bytes(8))


def numbered_block(template, count):
    """So many frames, their numbers counting up."""
    return memoryview(b"".join(numbered(template, number) for number in range(count)))


def connect(port):
    peer = socket.create_connection(("127.0.0.1", port), PATIENCE)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def round_trips(port, count):
    """Seconds of each round trip, sorted."""
    frames = numbered_block(TRANSFER, count)
    times = []
    with connect(port) as peer:
        set_up(peer, CLIENT)
        for number in range(count):
            frame = frames[number * len(TRANSFER) : (number + 1) * len(TRANSFER)]
            begun = time.perf_counter()
            peer.sendall(frame)
            peer.recv(len(DISPOSITION), socket.MSG_WAITALL)
            times.append(time.perf_counter() - begun)
    return sorted(times)


def stream(port, count):
    """Messages a second, of peers that do nothing with them."""
    frames = numbered_block(TRANSFER, count)
    with connect(port) as peer:
        set_up(peer, CLIENT)
        begun = time.perf_counter()
        sent = min(WINDOW, count)
        peer.sendall(frames[: sent * len(TRANSFER)])
        octets = 0
        while octets < count * len(DISPOSITION):
            octets += len(peer.recv(1 << 16))
            may = min(count, octets // len(DISPOSITION) + WINDOW)
            if may > sent:
                peer.sendall(frames[sent * len(TRANSFER) : may * len(TRANSFER)])
                sent = may
        return count / (time.perf_counter() - begun)


class Receiver(MessagingHandler):
    """A server that accepts what is sent to it."""

    def __init__(self, port):
        super().__init__(prefetch=WINDOW)
        self.port = port

    def on_start(self, event):
        event.container.listen(f"127.0.0.1:{self.port}")


class Sender(MessagingHandler):
    """A client that sends so many messages, as it gets credit, until all are accepted."""

    def __init__(self, port, count):
        super().__init__()
        self.port, self.left, self.accepted, self.count = port, count, 0, count
        self.message = Message(body="x" * 100)
        self.begun = self.seconds = 0

    def on_start(self, event):
        event.container.create_sender(f"amqp://127.0.0.1:{self.port}/q")

    def on_sendable(self, event):
        self.begun = self.begun or time.perf_counter()
        while self.left and event.sender.credit > 0:  # proton's is negative when it was reduced
            event.sender.send(self.message)
            self.left -= 1

    def on_accepted(self, event):
        self.accepted += 1
        if self.accepted == self.count:
            self.seconds = time.perf_counter() - self.begun
            event.connection.close()


def messages(port, count):
    """Messages a second, of a real client and server."""
    sender = Sender(port, count)
    Container(sender).run()
    return count / sender.seconds


def bulk(port, count):
    """Octets a second, in messages of a megabyte."""
    rest = MORE * (FRAMES_A_MESSAGE - 2) + LAST
    with connect(port) as peer:
        set_up(peer, CLIENT, BULK)
        begun = time.perf_counter()
        total = 0
        for number in range(count):
            message = numbered(FIRST, number) + rest
            peer.sendall(message)
            total += len(message)
        peer.shutdown(socket.SHUT_WR)
        told = int.from_bytes(peer.recv(8, socket.MSG_WAITALL))
        if told != total:
            sys.exit(f"{told} octets arrived of {total}")
        return total / (time.perf_counter() - begun)


class Relays:
    """Starts each of the relays on a port of its own."""

    def __init__(self, folder, target, mitmdump):
        self.folder = Path(folder)
        self.target = target
        self.mitmdump = mitmdump
        self.processes = []

    def all(self):
        """Name, port and process of everything that is there; None: no relay at all."""
        yield "direct", self.target, None
        for name, program, start in (
            ("socat", "socat", self.socat),
            ("haproxy", "haproxy", self.haproxy),
            ("mitmproxy", self.mitmdump, self.mitmproxy),
        ):
            found = shutil.which(program) or shutil.which(program, path="/usr/sbin")
            if found is None:
                print(f"{name} is not installed: left out", file=sys.stderr)
            else:
                port = free_port()
                yield name, port, self.started(port, start(found, port))
        for name, options in (
            ("amqpscope, recording alone", None),
            ("amqpscope, recording and analysis", ["--lint", "--fail-on", "never"]),
        ):
            port = free_port()
            yield name, port, self.started(port, self.amqpscope(port, options))

    def started(self, port, command):
        quiet = subprocess.DEVNULL
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
        self.processes.append(process)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return process
            time.sleep(0.05)
        sys.exit(f"{command[0]} does not listen")

    def socat(self, program, port):
        return [
            program,
            f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,nodelay",
            f"TCP:127.0.0.1:{self.target},nodelay",
        ]

    def haproxy(self, program, port):
        path = self.folder / f"haproxy-{port}.cfg"
        path.write_text(
            "global\n  nbthread 1\n"
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1m\n  timeout server 1m\n"
            f"listen relay\n  bind 127.0.0.1:{port}\n  server upstream 127.0.0.1:{self.target}\n"
        )
        return [program, "-f", path]

    def mitmproxy(self, program, port):
        mode = f"reverse:tcp://127.0.0.1:{self.target}@127.0.0.1:{port}"
        return [program, "-q", "--set", f"confdir={self.folder}", "--mode", mode]

    def amqpscope(self, port, options):
        path = self.folder / f"{port}.pcapng"
        listen = f"127.0.0.1:{port}"
        if options is None:
            code = (
                "from amqpscope.proxy.process import Settings, make_relay\n"
                f"settings = Settings('127.0.0.1:{self.target}', {str(path)!r}, ({listen!r},))\n"
                "make_relay(settings, print).run()\n"
            )
            return [sys.executable, "-c", code]
        upstream = f"127.0.0.1:{self.target}"
        proxy = [sys.executable, "-m", "amqpscope", "proxy", upstream, "--listen", listen]
        return [*proxy, "--write", str(path), *options]

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def children(pid):
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def place(processes, processors, analysis):
    """Tie client, server and relays to processors, and the analysis to its own."""
    for process in processes:
        for pid in (process, *children(process)):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(pid, processors)
    for pid in analysis:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(pid, os.sched_getaffinity(0) if not processors else ALL)
            if len(ALL) > 1 and len(processors) == 1:
                os.sched_setaffinity(pid, ALL - processors)


ALL = os.sched_getaffinity(0)


def wait_for_quiet(analysis):
    """Let the analysis of the last round come to its end: it is not to pay for another."""

    def ticks():
        return sum(
            sum(map(int, Path(f"/proc/{pid}/stat").read_text().split()[13:15])) for pid in analysis
        )

    before = -1
    while (now := ticks()) - before > 2:
        before = now
        time.sleep(0.5)


class Figures(NamedTuple):
    """What was measured of a relay: of all rounds, or the best of them."""

    p50: object
    p99: object
    stream: object
    messages: object
    bulk: object


def measure(targets, servers, rounds, sizes, mitmdump):
    """The best figures of each relay, after so many rounds."""
    best = {}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        # A recording that only grows would soon measure how fast the machine gets at more memory.
        with tempfile.TemporaryDirectory(prefix="amqpscope-benchmark-") as folder:
            sets = [Relays(folder, target, mitmdump) for target in targets]
            try:
                found = [list(relays.all()) for relays in sets]
                measure_once(found, servers, sizes, best)
            finally:
                for relays in sets:
                    relays.stop()
    return {
        name: Figures(min(each.p50), min(each.p99), *map(max, each[2:]))
        for name, each in best.items()
    }


def measure_once(found, servers, sizes, best):
    """One round of all relays."""
    analysis = [
        pid
        for name, _, process in chain(*found)
        if process is not None and "analysis" in name
        for pid in children(process.pid)
    ]
    relays = [process.pid for _, _, process in chain(*found) if process is not None]
    processes = [os.getpid(), *(server.pid for server in servers), *relays]
    place(processes, {min(ALL)}, analysis)
    for (name, port, _), (_, real, _) in zip(*found, strict=True):
        share = 1 if name != "mitmproxy" else 10
        figures = best.setdefault(name, Figures([], [], [], [], []))
        times = round_trips(port, sizes.trips // share)
        figures.p50.append(statistics.median(times))
        figures.p99.append(times[len(times) * 99 // 100])
        figures.stream.append(stream(port, sizes.stream // share))
        wait_for_quiet(analysis)
        figures.messages.append(messages(real, sizes.messages // share))
        wait_for_quiet(analysis)
    place(processes, ALL, analysis)
    for name, port, _ in found[0]:
        best[name].bulk.append(bulk(port, sizes.megabytes if name != "mitmproxy" else 20))
        wait_for_quiet(analysis)


def print_table(best):
    """Absolute figures, and each against socat."""
    print(f"{'':34} {'round trip':>17} {'stream':>9} {'messages':>9} {'bulk':>6}   against socat:")
    print(f"{'':34} {'p50':>8} {'p99':>8} {'a second':>9} {'a second':>9} {'MB/s':>6}   "
          f"{'added p50':>9} {'stream':>7} {'messages':>8} {'bulk':>6}")  # fmt: skip
    direct, socat = best["direct"], best.get("socat")
    for name, own in best.items():
        line = f"{name:34} {own.p50 * 1e6:5.0f} us {own.p99 * 1e6:5.0f} us {own.stream:9,.0f} "
        line += f"{own.messages:9,.0f} {own.bulk / 1e6:6,.0f}   "
        if socat is not None and name != "direct":
            added = (own.p50 - direct.p50) / (socat.p50 - direct.p50)
            line += f"{added:8.2f}x {own.stream / socat.stream:6.2f}x "
            line += f"{own.messages / socat.messages:7.2f}x {own.bulk / socat.bulk:5.2f}x"
        print(line.rstrip())


@contextlib.contextmanager
def server(what, folder):
    """A process that serves; it and its port."""
    port_file = Path(folder, what)
    process = subprocess.Popen(
        [sys.executable, TESTS, "benchmarks.proxy", f"--serve-{what}", port_file]
    )
    try:
        while not port_file.exists() or not port_file.read_text():
            time.sleep(0.05)
        yield process, int(port_file.read_text())
    finally:
        process.kill()


def serve_real(port_file):
    """Accept messages with qpid-proton."""
    port = free_port()
    Path(port_file).write_text(str(port))
    Container(Receiver(port)).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mitmdump", default="mitmdump", help="where mitmproxy's program is")
    parser.add_argument("--serve-octets", help=argparse.SUPPRESS)
    parser.add_argument("--serve-real", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve_octets:
        serve(arguments.serve_octets)
    elif arguments.serve_real:
        serve_real(arguments.serve_real)
    elif arguments.quick:
        print_table(figures(1, QUICK, arguments.mitmdump))
    else:
        print_table(figures(arguments.rounds, FULL, arguments.mitmdump))


def figures(rounds, sizes=FULL, mitmdump="mitmdump"):
    """The best figures of each relay that is installed."""
    with (
        tempfile.TemporaryDirectory(prefix="amqpscope-benchmark-") as folder,
        server("octets", folder) as (plain, port),
        server("real", folder) as (real, real_port),
    ):
        time.sleep(1)  # until the second one listens
        return measure((port, real_port), (plain, real), rounds, sizes, mitmdump)


if __name__ == "__main__":
    main()
