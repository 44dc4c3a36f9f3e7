"""How a relay comes to life: from settings, in this process or in one of its own.

The command line relays in its own process and lets a child analyse. Programs that use amqpscope
have threads and state of their own, so there the relay is a fresh process: `start_process`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from amqpscope.proxy.address import (
    DEFAULT_LISTEN,
    AddressError,
    Upstream,
    loopback,
    parse_upstream,
    scheme_of,
    split_listen,
)
from amqpscope.proxy.clock import Limits
from amqpscope.proxy.control import Channel, Watch
from amqpscope.proxy.entrance import raise_descriptor_limit
from amqpscope.proxy.files import Files, RecordingError
from amqpscope.proxy.keylog_tail import KeyLog
from amqpscope.proxy.listening import listen_at, remove_paths
from amqpscope.proxy.metrics import MetricsServer
from amqpscope.proxy.record import Recording
from amqpscope.proxy.relay import Relay, Status
from amqpscope.proxy.route import Route
from amqpscope.proxy.tls import TlsError
from amqpscope.proxy.tls_policy import TlsOptions, TlsPolicy
from amqpscope.proxy.tunnel import Via, parse_via, via_of_environment

if TYPE_CHECKING:
    from amqpscope.proxy.faults import FaultSet

START_SECONDS: Final = 30.0
DIRECT: Final = "direct"
"""Of `via`: also where the environment names a proxy."""


class StartError(Exception):
    """A relay that cannot begin; one line says why."""


@dataclass(frozen=True)
class Settings:
    """All that a relay needs to know."""

    upstream: str
    write: str
    """The recording; a number is added to its name when it is rotated."""
    listen: tuple[str, ...] = (DEFAULT_LISTEN,)
    rotate_octets: int = 0
    rotate_seconds: float = 0.0
    keep: int = 0
    idle_seconds: float = 0.0
    tls: TlsOptions | None = None
    """None: TLS is passed on like anything else."""
    keylog: str | None = None
    """TLS secrets for the recording, from a peer that writes them there."""
    limits: Limits = field(default_factory=Limits)
    faults: tuple[dict[str, Any], ...] = ()
    """What is done to frames, as tables of a file with faults."""
    via: str = ""
    """The proxy on the way to the upstreams; empty: what the environment names for wss."""
    accept_proxy: bool = False
    """Clients begin with a PROXY header."""
    send_proxy: str = ""
    """The version of the PROXY header that upstreams get: v1, v2 or none."""
    metrics: str = ""
    """Where to serve metrics."""
    holdable: bool = False
    """A person may hold frames of any connection, at any moment."""


def make_relay(settings: Settings, tell: Callable[[str], None]) -> Relay:
    """Bind, create the recording, look up the upstream; StartError when one of them fails."""
    raise_descriptor_limit()
    listeners: list[socket.socket] = []
    try:
        faults = make_faults(settings.faults, settings.holdable)
        routes = make_routes(settings, listeners)
        metrics = listen_at(settings.metrics) if settings.metrics else []
        listeners.extend(metrics)
        files = Files(
            settings.write,
            octets=settings.rotate_octets,
            seconds=settings.rotate_seconds,
            keep=settings.keep,
        )
        # Last, so that no file is left behind by what cannot begin.
        recording = Recording(files)
    except (AddressError, RecordingError, StartError, TlsError) as error:
        remove_paths(listeners)
        for listener in listeners:
            listener.close()
        raise StartError(str(error)) from error
    for route in routes:
        if route.policy is not None:
            route.policy.prepare()
    keylog = None if settings.keylog is None else KeyLog(settings.keylog)
    relay = Relay(
        routes,
        recording,
        tell,
        settings.idle_seconds,
        keylog,
        settings.limits,
        faults,
        accept_proxy=settings.accept_proxy,
        send_proxy=settings.send_proxy,
    )
    if metrics:
        relay.metrics = MetricsServer(relay, metrics)
    return relay


def make_routes(settings: Settings, listeners: list[socket.socket]) -> list[Route]:
    """Listeners with their upstreams; those of one upstream are one route."""
    places: dict[str, list[str]] = {}
    for text in settings.listen:
        place, upstream = split_listen(text)
        places.setdefault(upstream or settings.upstream, []).append(place)
    routes = []
    for upstream, texts in places.items():
        own: list[socket.socket] = []
        target = parse_upstream(upstream)
        via = choose_via(settings.via, upstream, target)
        policy = make_policy(settings, target)
        for text in texts:
            found = listen_at(text)
            own.extend(found)
            listeners.extend(found)
        routes.append(Route(own, target, scheme_of(upstream), policy, via))
    return routes


def choose_via(text: str, upstream: str, target: Upstream) -> Via | None:
    """The proxy on the way to an upstream: the one that was asked for, or the environment's."""
    if text == DIRECT:
        return None
    if not text and scheme_of(upstream) == "wss":
        text = via_of_environment(target)
    if text and target.path:
        raise AddressError(f"--via has no use for {target}")
    return parse_via(text) if text else None


def make_policy(settings: Settings, target: Upstream) -> TlsPolicy | None:
    """TLS for the clients of an upstream."""
    if settings.tls is None:
        return None
    if target == parse_upstream(settings.upstream):
        return TlsPolicy(settings.tls)
    own = dataclasses.replace(
        settings.tls,
        upstream_tls=target.tls and not settings.tls.in_band,
        upstream_host=target.host,
        upstream_port=target.port,
    )
    return TlsPolicy(own)


def make_faults(tables: tuple[dict[str, Any], ...], holdable: bool) -> FaultSet | None:
    """The faults of a relay; None where there are none, so that nothing for them is imported."""
    if not tables and not holdable:
        return None
    from amqpscope.proxy.faults import FaultSet, parse_table

    try:
        faults = FaultSet([parse_table(table, "fault:") for table in tables])
    except ValueError as error:
        raise StartError(str(error)) from error
    faults.watches_all = holdable
    return faults


def exposed_listeners(relay: Relay) -> list[str]:
    """The listeners that others than this machine can reach."""
    found = [each for each in relay.entrance.listeners if each.family != socket.AF_UNIX]
    names = [listener.getsockname()[:2] for listener in found]
    return [host for host, port in names if not loopback((host, port))]


def start_process(settings: Settings) -> tuple[subprocess.Popen[bytes], Watch, Status]:
    """A relay in a process of its own, listening by the time this returns."""
    ours, theirs = socket.socketpair()
    # Found where we were found, and nothing of the directory that we happen to be in.
    place = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-P", "-m", __name__, str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": path},
        )
    watch = Watch(ours)
    ours.sendall(json.dumps(dataclasses.asdict(settings)).encode() + b"\n")
    ready = watch.wait_for("ready", START_SECONDS)
    if ready is None:
        failed = watch.wait_for("failed", 0)
        watch.close()
        process.kill()
        process.wait()
        raise StartError(failed or "the relay's process did not start")
    return process, watch, Status(**ready)


def run_process(fd: int) -> None:
    """Be the process that `start_process` starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us decides when we end
    end = socket.socket(fileno=fd)
    with end.makefile("rb") as file:
        table = json.loads(file.readline())
    channel = Channel(end, lambda line: None)
    table["listen"] = tuple(table["listen"])
    table["faults"] = tuple(table["faults"])
    table["limits"] = Limits(*table["limits"])
    table["tls"] = table["tls"] and TlsOptions(**table["tls"])
    try:
        relay = make_relay(Settings(**table), channel.tell)
    except StartError as error:
        channel.send({"failed": str(error)})
        return
    channel.serve(relay, relay.stop)
    channel.send({"ready": relay.status()._asdict()})
    try:
        relay.run()
    finally:
        relay.close()
        channel.send({"ended": relay.status()._asdict()})


if __name__ == "__main__":
    run_process(int(sys.argv[1]))
