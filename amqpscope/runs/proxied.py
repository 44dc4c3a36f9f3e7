"""The proxy for programs and tests:

    with amqpscope.proxied("amqp://localhost:5672", fail_on="error") as proxy:
        run_the_client(proxy.url)

The relay is a process of its own. Findings are worked out here, from the recording, when they are
asked for: inside the block those of the traffic so far, after it all of them.

A block that says nothing has checked something: it ends with `NotChecked` when no AMQP passed, or
not all of it was recorded and analysed, and with `Violation` when `fail_on` says so.
"""

from __future__ import annotations

import builtins
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from subprocess import Popen
from typing import Any

from amqpscope.check.result import CaptureResult, NotChecked
from amqpscope.check.selection import FAIL_ON, Selection, resolve
from amqpscope.findings import Finding
from amqpscope.proxy.address import AddressError, parse_upstream, scheme_of
from amqpscope.proxy.control import Watch
from amqpscope.proxy.process import Settings, StartError, start_process
from amqpscope.proxy.relay import Status
from amqpscope.proxy.tls_policy import TlsOptions
from amqpscope.report.lint_text import LintText
from amqpscope.runs.gate import emptiness, shortfalls
from amqpscope.runs.input import Input
from amqpscope.runs.live import LiveResult
from amqpscope.runs.run import Run

ANY_PORT = "127.0.0.1:0"


class Violation(AssertionError):
    """Something that passed breaks a rule that counts; the text is that of `lint`."""


class ProxyFaults:
    """The faults of a running proxy."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def list(self) -> list[dict[str, Any]]:
        """Each fault as a table, with how often it has `matched` and `acted`."""
        return list(self._ask({"do": "list"})["faults"])

    def add(self, rule: str, name: str = "") -> str:
        """Let a fault act on connections to come; its name. ValueError shows what is wrong."""
        return str(self._ask({"do": "add", "rule": rule, "name": name})["added"]["name"])

    def remove(self, name: str) -> None:
        """Let a fault act no more; ValueError if there is none of that name."""
        self._ask({"do": "remove", "name": name})

    def count(self, name: str) -> int:
        """How often a fault has acted; ValueError if there is none of that name."""
        for fault in self.list():
            if fault["name"] == name:
                return int(fault["acted"])
        raise ValueError(f"there is no fault {name}")

    def held(self) -> builtins.list[dict[str, Any]]:
        """The frames that wait for a decision (action `hold`), as `faults held` shows them."""
        return builtins.list(self._ask({"do": "held"})["held"])

    def decide(self, number: int, action: str, frame: str = "") -> None:
        """Let a frame that waits go: `resume`, `edit` with a frame, or any action of a fault."""
        self._ask({"do": "decide", "number": number, "action": action, "frame": frame})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        answer = self._watch.ask_about_faults(question)
        if answer is None:
            raise RuntimeError("the relay does not answer")
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer


class Proxied:
    """A running proxy."""

    def __init__(
        self,
        process: Popen[bytes],
        watch: Watch,
        status: Status,
        selection: Selection,
        scheme: str = "amqp",
    ) -> None:
        self.address = status.listening[0]
        """`HOST:PORT` to connect to."""
        host, _, port = self.address.rpartition(":")
        self.host = host.strip("[]")
        self.port = int(port)
        self.url = f"{scheme}://{self.address}"
        self.recording = status.first
        """The capture that is written; with rotation, its first file."""
        self.selection = selection
        self.process = process
        """That of the relay."""
        self._watch = watch
        self._first_status = status
        self._run = Run(Input(status.first, follow=True), selection)
        self._live = LiveResult(self._run)
        self.faults = ProxyFaults(watch)

    @property
    def status(self) -> Status:
        """How the relay is doing, or was at the end."""
        if not self._watch.ended:
            self._watch.status()
        status = self._watch.latest or self._first_status
        if self._watch.ended and not self._watch.in_order and status.problem is None:
            return status._replace(problem="the relay has died")
        return status

    @property
    def findings(self) -> list[Finding]:
        """Every violation in the traffic up to now."""
        return self.checked.findings

    @property
    def frames(self) -> int:
        """How many AMQP frames have passed up to now."""
        return self.checked.frames

    @property
    def checked(self) -> CaptureResult:
        """All that is known of the traffic up to now, as `lint` reports it."""
        for batch in self._run.catch_up(self.status.octets):
            self._live.take(batch)
        return self._live.so_far()

    @property
    def problems(self) -> list[str]:
        """What the relay complained of, one line each, since this was last asked."""
        return self._watch.new_lines()

    def finish(self) -> None:
        """The relay has ended: take in the rest."""
        self._run.finish()
        for batch in self._run:
            self._live.take(batch)
        self._run.close()

    def shortfalls(self, *, allow_empty: bool = False) -> list[str]:
        """Why not all of the traffic counts as checked, after the block; a line each."""
        checked, watch = self.checked, self._watch
        status = watch.latest or self._first_status
        short = shortfalls(checked, status, in_order=watch.in_order)
        if not allow_empty:
            empty = emptiness(checked, status, answered=self._live.answered)
            short.extend([f"{empty}: nothing was checked"] if empty else [])
        return short

    def judge(self) -> None:
        """Raise Violation if a finding is bad enough for `fail_on`."""
        checked = self.checked
        if any(map(self.selection.fails, checked.findings)):
            raise Violation("\n" + "\n".join(LintText().lines([checked])))


def make_table(rule: str) -> dict[str, Any]:
    """A fault as a table; ValueError shows what is wrong with it."""
    from amqpscope.proxy.faults import parse_fault

    return parse_fault(rule).table()


@contextmanager
def proxied(
    upstream: str,
    *,
    listen: str = ANY_PORT,
    write: str | os.PathLike[str] | None = None,
    select: tuple[str, ...] | list[str] = (),
    ignore: tuple[str, ...] | list[str] = (),
    selection: Selection | None = None,
    tls: TlsOptions | None = None,
    faults: Iterable[str] = (),
    fail_on: str | None = None,
    allow_empty: bool = False,
) -> Iterator[Proxied]:
    """Relay to `upstream` inside the block; without `write` the recording is removed after it.

    `faults` are rules as `--fault` takes them; more can be added while it runs: `proxy.faults`.
    `fail_on` is a severity (error, warning, info): the block ends with `Violation` if there is a
    finding like that, or worse. `StartError` when it cannot begin: a port in use, a host that is
    not known. `NotChecked` at the end when not all was recorded and analysed; also when no AMQP
    passed or the upstream never answered, unless `allow_empty`.
    """
    if fail_on is not None and fail_on not in FAIL_ON:
        raise ValueError(f"fail_on={fail_on!r}: expected one of {', '.join(FAIL_ON)}")
    if tls is None:
        try:
            target = parse_upstream(upstream)
        except AddressError as error:
            raise StartError(str(error)) from error
        tls = TlsOptions(target.tls, target.host, target.port)
    chosen = (selection or Selection()).merged(
        select=resolve(tuple(select)), ignore=resolve(tuple(ignore)), fail_on=fail_on
    )
    folder = None if write is not None else tempfile.mkdtemp(prefix="amqpscope-")
    path = os.fspath(write) if write is not None else os.path.join(str(folder), "proxied.pcapng")
    try:
        tables = tuple(make_table(rule) for rule in faults)
        settings = Settings(upstream, path, (listen,), tls=tls, faults=tables)
        process, watch, status = start_process(settings)
        scheme = "ws" if scheme_of(upstream) in ("ws", "wss") else "amqp"
        proxy = Proxied(process, watch, status, chosen, scheme + "s" * (tls.cert is not None))
        try:
            yield proxy
        finally:
            watch.stop()
            watch.wait_for_end()
            watch.close()
            process.kill()  # it has ended by now, or never will
            process.wait()
            proxy.finish()
        if short := proxy.shortfalls(allow_empty=allow_empty):
            raise NotChecked("; ".join(short))
        if fail_on is not None:
            proxy.judge()
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
