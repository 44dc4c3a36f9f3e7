"""The screen of `proxy`, and the terminal under it."""

from __future__ import annotations

import contextlib
import sys
import termios
from typing import Any

from amqpscope.cli.output import UNREADABLE, complain
from amqpscope.proxy.control import Watch
from amqpscope.proxy.relay import Status
from amqpscope.runs.live import ProxyOutput
from amqpscope.wording import plural


def show_screen(path: str, watch: Watch, output: ProxyOutput) -> int:
    """Open the screen on the recording; when the user leaves it, the relay ends too."""
    from amqpscope.tui import run
    from amqpscope.tui.interception import Remote

    told: list[str] = []
    shown = 0

    def poll() -> dict[str, Any]:
        told.extend(watch.new_lines())
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
        status=lambda: status_words(watch.latest, ended=watch.ended),
        begun=watch.reading,
        remote=Remote(watch.ask_about_faults, poll, news),
        invite=lambda: invitation(watch.latest),
    )
    watch.stop()
    watch.wait_for_end()
    for line in (*told, *watch.new_lines(), trouble):
        if line:
            complain(line)
    whole = watch.latest is None or watch.latest.problem is None
    return UNREADABLE if trouble or not watch.in_order or not whole else 0


def invitation(status: Status | None) -> tuple[str, str]:
    """Where to point a client, and why that would not help now."""
    if status is None:
        return "waiting for frames ...", ""
    places = " or ".join(map(str, status.listening))
    return (
        f"Waiting for clients: connect one to {places}, which leads to {status.upstream}.",
        status.trouble,
    )


def status_words(status: Status | None, *, ended: bool) -> str:
    """How the relay is doing, in a few words; its trouble first."""
    if ended or status is None:
        return "the relay has ended" if ended else ""
    connections = plural(status.open, "connection")
    words = f"{status.listening[0]} to {status.upstream}, {connections} open"
    return f"✗ {status.trouble} | {words}" if status.trouble else words


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
