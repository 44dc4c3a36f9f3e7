"""The screen of `proxy`, and the terminal under it."""

from __future__ import annotations

import contextlib
import sys
import termios
from time import monotonic
from typing import Any, Final

from amqpscope.cli.output import UNREADABLE, complain
from amqpscope.proxy.control import Watch
from amqpscope.runs.live import ProxyOutput
from amqpscope.wording import plural

RECOVERED: Final = "takes connections again"
REFUSING: Final = "; clients get a reset"
"""What the relay says of an upstream that answers again, and of one that does not."""
LASTING: Final = 30.0
"""Seconds for which a trouble is shown that has no end of its own."""


def show_screen(path: str, watch: Watch, output: ProxyOutput) -> int:
    """Open the screen on the recording; when the user leaves it, the relay ends too."""
    from amqpscope.tui import run
    from amqpscope.tui.interception import Remote

    told: list[str] = []
    trouble_now = RelayTrouble()
    shown = 0

    def poll() -> dict[str, Any]:
        fresh = watch.new_lines()
        told.extend(fresh)
        trouble_now.take(fresh)
        watch.ask()
        watch.ask_for_held()
        return {} if watch.ended else watch.held

    def news() -> list[str]:
        nonlocal shown
        shown, before = len(told), shown
        return told[before:]

    where = "" if output.where is None else output.where.text
    trouble, _ = run(
        path,
        follow=True,
        where=where,
        show_secrets=output.look.show_secrets,
        profile=output.profile,
        status=lambda: status_words(watch, trouble_now.text),
        begun=watch.reading,
        remote=Remote(
            watch.ask_about_faults, poll, news, lambda: (invitation(watch), trouble_now.text)
        ),
    )
    watch.stop()
    watch.wait_for_end()
    for line in (*told, *watch.new_lines(), trouble):
        if line:
            complain(line)
    whole = watch.latest is None or watch.latest.problem is None
    return UNREADABLE if trouble or not watch.in_order or not whole else 0


class RelayTrouble:
    """What is wrong with the relay now; what it spoke of before is over."""

    def __init__(self) -> None:
        self.last = ""
        self.since = 0.0

    def take(self, lines: list[str]) -> None:
        """Take what the relay has to say; that the upstream answers again ends a trouble."""
        for line in lines:
            self.last = "" if line.endswith(RECOVERED) else line
            self.since = monotonic()

    @property
    def text(self) -> str:
        """The trouble; an upstream that does not answer is one until it does."""
        lasts = REFUSING in self.last or monotonic() - self.since < LASTING
        return self.last if lasts else ""


def invitation(watch: Watch) -> str:
    """Where to point a client."""
    status = watch.latest
    if status is None:
        return "waiting for frames ..."
    places = " or ".join(map(str, status.listening))
    return f"Waiting for clients: connect one to {places}, which leads to {status.upstream}."


def status_words(watch: Watch, trouble: str) -> str:
    """How the relay stands, in a few words; its trouble first."""
    status = watch.latest
    if watch.ended or status is None:
        return "the relay has ended" if watch.ended else ""
    connections = plural(status.open, "connection")
    words = f"{status.listening[0]} to {status.upstream}, {connections} open"
    return f"✗ {trouble} | {words}" if trouble else words


class Terminal:
    """The state of the terminal, for when the screen dies and leaves it as it was for itself."""

    def __init__(self, *, wanted: bool) -> None:
        self.state: list[Any] | None = None
        if wanted:
            with contextlib.suppress(termios.error, OSError):
                self.state = termios.tcgetattr(sys.stdin.fileno())

    def restore(self) -> None:
        """As it was; and off the second page, with a cursor, and no reports of the mouse."""
        if self.state is None:
            return
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self.state)
            sys.stdout.write("\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?2004l")
            sys.stdout.flush()
