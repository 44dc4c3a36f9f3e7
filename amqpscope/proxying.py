"""The proxy for programs and tests:

    with amqpscope.proxied("amqp://localhost:5672") as proxy:
        run_the_client(proxy.url)
    assert not proxy.findings

The relay is a process of its own. Findings are worked out here, from the recording, when they are
asked for: inside the block those of the traffic so far, after it all of them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen

from amqpscope.checked import Checked
from amqpscope.choice import Choice, resolve
from amqpscope.findings import Finding
from amqpscope.following import Follower, Gathered
from amqpscope.proxy.address import AddressError, parse_upstream
from amqpscope.proxy.channel import Watch
from amqpscope.proxy.process import Settings, StartError, start_process
from amqpscope.proxy.relay import Status
from amqpscope.proxy.tls_policy import TlsOptions

ANY_PORT = "127.0.0.1:0"


class Proxied:
    """A running proxy."""

    def __init__(self, process: Popen[bytes], watch: Watch, status: Status, choice: Choice) -> None:
        self.address = status.listening[0]
        """`HOST:PORT` to connect to."""
        host, _, port = self.address.rpartition(":")
        self.host = host.strip("[]")
        self.port = int(port)
        self.url = f"amqp://{self.address}"
        self.recording = status.first
        """The capture that is written; with rotation, its first file."""
        self.choice = choice
        self.process = process
        """That of the relay."""
        self._watch = watch
        self._first_status = status
        self._follower = Follower(status.first, choice)
        self._gathered = Gathered(self._follower)

    @property
    def status(self) -> Status:
        """How the relay is doing, or was at the end."""
        if not self._watch.ended:
            self._watch.status()
        return self._watch.latest or self._first_status

    @property
    def findings(self) -> list[Finding]:
        """Every violation in the traffic up to now."""
        return self.checked.findings

    @property
    def frames(self) -> int:
        """How many AMQP frames have passed up to now."""
        return self.checked.frames

    @property
    def checked(self) -> Checked:
        """All that is known of the traffic up to now, as `lint` reports it."""
        for batch in self._follower.catch_up(self.status.octets):
            self._gathered.take(batch)
        return self._gathered.result()

    @property
    def problems(self) -> list[str]:
        """What the relay complained of, one line each, since this was last asked."""
        return self._watch.told()

    def finish(self) -> None:
        """The relay has ended: take in the rest."""
        self._follower.finish()
        for batch in self._follower:
            self._gathered.take(batch)
        self._follower.close()


@contextmanager
def proxied(
    upstream: str,
    *,
    listen: str = ANY_PORT,
    write: str | os.PathLike[str] | None = None,
    select: tuple[str, ...] | list[str] = (),
    ignore: tuple[str, ...] | list[str] = (),
    choice: Choice | None = None,
    tls: TlsOptions | None = None,
) -> Iterator[Proxied]:
    """Relay to `upstream` inside the block; without `write` the recording is removed after it.

    `StartError` when it cannot begin: a port in use, a host that is not known.
    """
    if tls is None:
        try:
            target = parse_upstream(upstream)
        except AddressError as error:
            raise StartError(str(error)) from error
        tls = TlsOptions(target.tls, target.host, target.port)
    chosen = (choice or Choice()).merged(
        select=resolve(tuple(select)), ignore=resolve(tuple(ignore))
    )
    folder = None if write is not None else tempfile.mkdtemp(prefix="amqpscope-")
    path = os.fspath(write) if write is not None else os.path.join(str(folder), "proxied.pcapng")
    try:
        process, watch, status = start_process(Settings(upstream, path, (listen,), tls=tls))
        proxy = Proxied(process, watch, status, chosen)
        try:
            yield proxy
        finally:
            watch.stop()
            watch.wait_for_end()
            watch.close()
            process.kill()  # it has ended by now, or never will
            process.wait()
            proxy.finish()
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
