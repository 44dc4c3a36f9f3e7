"""Metrics of a running proxy over HTTP, in the text format of Prometheus.

The relay counts connections, packets and faults itself; frames and findings are counted by the
analysis, which reports them once in a while. Nobody who scrapes can hold up the traffic.
"""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqpscope.proxy.address import name_of
from amqpscope.proxy.connection import IN, OUT

if TYPE_CHECKING:
    from amqpscope.proxy.relay import Relay

LONGEST: Final = 16 * 1024
"""Octets of a request."""
MOST: Final = 16
"""Scrapers at a time."""
TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """A row of the table of metrics."""

    name: str
    kind: str
    help: str


# fmt: off
ACCEPTED = Metric("connections_accepted_total",   "counter", "Connections that clients opened.")
REFUSED  = Metric("connections_refused_total",    "counter", "Connections that no upstream took.")
OPEN     = Metric("connections_open",             "gauge",   "Connections that are open now.")
PACKETS  = Metric("recorded_packets_total",       "counter", "Packets written to the recording.")
OCTETS   = Metric("recorded_octets_total",        "counter", "Octets written to the recording.")
LOST     = Metric("lost_packets_total",           "counter", "Packets that could not be recorded.")
MATCHED  = Metric("fault_matches_total",          "counter", "Frames that a fault matched.")
ACTED    = Metric("fault_actions_total",          "counter", "Frames on which a fault acted.")
FRAMES   = Metric("frames_total",                 "counter", "AMQP frames by their sender.")
SIZES    = Metric("frame_octets_total",           "counter", "Octets of AMQP frames by sender.")
FINDINGS = Metric("findings_total",               "counter", "Violations by rule and severity.")
LAG      = Metric("analysis_lag_octets",          "gauge",   "Octets recorded, not analysed yet.")
# fmt: on


def write_metric(metric: Metric, values: list[tuple[dict[str, str], int]]) -> list[str]:
    """The lines of a metric with its labels."""
    name = f"amqpscope_{metric.name}"
    lines = [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
    for labels, value in values:
        inside = ",".join(f'{key}="{escape(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{inside}}} {value}" if inside else f"{name} {value}")
    return lines


def escape(text: str) -> str:
    """The value of a label as the format wants it."""
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def write_metrics(relay: Relay) -> str:
    """All that is known by now."""
    recording, entrance = relay.recording, relay.entrance
    lines: list[str] = []
    for metric, value in (
        (ACCEPTED, entrance.accepted),
        (REFUSED, entrance.refused),
        (OPEN, len(relay.open)),
        (PACKETS, recording.packets),
        (OCTETS, recording.octets),
        (LOST, recording.lost),
    ):
        lines += write_metric(metric, [({}, value)])
    faults = [] if relay.faults is None else relay.faults.faults
    lines += write_metric(MATCHED, [({"fault": each.name}, each.matched) for each in faults])
    lines += write_metric(ACTED, [({"fault": each.name}, each.acted) for each in faults])
    if relay.analysis is not None:
        lines += write_analysis(relay.analysis, recording.octets)
    return "".join(f"{line}\n" for line in lines)


def write_analysis(table: dict[str, Any], octets: int) -> list[str]:
    """What the analysis has reported."""
    lines = write_metric(FRAMES, [({"from": who}, n) for who, n in table["frames"].items()])
    lines += write_metric(SIZES, [({"from": who}, n) for who, n in table["octets"].items()])
    found = [({"rule": rule, "severity": how}, n) for rule, how, n in table["findings"]]
    lines += write_metric(FINDINGS, found)
    return lines + write_metric(LAG, [({}, max(0, octets - table["position"]))])


def respond(relay: Relay, request: bytes) -> bytes:
    """The answer to a request."""
    words = request.split(None, 2)[:2]
    if words == [b"GET", b"/metrics"]:
        return response("200 OK", write_metrics(relay))
    if words[:1] == [b"GET"]:
        return response("404 Not Found", "expected /metrics\n")
    return response("405 Method Not Allowed", "expected GET\n")


def response(status: str, text: str) -> bytes:
    """A whole answer of HTTP/1.1, after which the connection closes."""
    body = text.encode("utf-8", "backslashreplace")
    head = f"HTTP/1.1 {status}\r\nContent-Type: {TYPE}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


class MetricsServer:
    """Answers scrapers from the relay's loop."""

    def __init__(self, relay: Relay, listeners: list[socket.socket]) -> None:
        self.relay = relay
        self.listeners = listeners
        self.name = name_of(listeners[0])
        self.clients: dict[int, tuple[socket.socket, bytearray]] = {}
        self.answers: dict[int, bytes] = {}
        """What a scraper has not taken yet."""
        for listener in listeners:
            relay.register(listener.fileno(), IN, partial(self.defer_accept, listener))

    def defer_accept(self, listener: socket.socket, _: int) -> None:
        """Accept after the turn: a descriptor that was closed in it may come again."""
        self.relay.later.append(partial(self.accept, listener))

    def accept(self, listener: socket.socket) -> None:
        """Take a scraper; the oldest one goes when there are too many."""
        try:
            client, _ = listener.accept()
        except OSError:
            return
        if len(self.clients) >= MOST:
            self.drop(next(iter(self.clients)))
        client.setblocking(False)
        fd = client.fileno()
        self.clients[fd] = client, bytearray()
        self.relay.register(fd, IN, partial(self.event, fd))

    def event(self, fd: int, _: int) -> None:
        """A scraper asks, or takes more of its answer: go on after the turn."""
        self.relay.later.append(partial(self.work, fd))

    def work(self, fd: int) -> None:
        """Take a request, or send more of its answer."""
        if fd not in self.clients:
            return
        client, received = self.clients[fd]
        try:
            if fd not in self.answers:
                octets = client.recv(LONGEST)
                received += octets
                if not octets or len(received) > LONGEST:
                    self.drop(fd)
                    return
                if b"\r\n\r\n" not in received:
                    return
                self.answers[fd] = respond(self.relay, bytes(received))
            self.answers[fd] = self.answers[fd][client.send(self.answers[fd]) :]
        except BlockingIOError:
            return
        except OSError:
            self.drop(fd)
            return
        if self.answers[fd]:
            self.relay.change(fd, OUT)
        else:
            self.drop(fd)

    def drop(self, fd: int) -> None:
        """Close a scraper's connection."""
        client, _ = self.clients.pop(fd)
        self.answers.pop(fd, None)
        self.relay.handlers.pop(fd, None)
        client.close()

    def forget(self) -> None:
        """Close it all."""
        for fd in list(self.clients):
            self.drop(fd)
        for listener in self.listeners:
            listener.close()
