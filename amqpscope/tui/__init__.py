"""The terminal interface: `run` opens it. Textual is imported only there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.tui.interception import Remote

STDIN: Final = "-"


def run(
    given: Readable,
    *,
    follow: bool = False,
    where: str = "",
    keylogs: tuple[str, ...] = (),
    decode_as: dict[int, str] | None = None,
    show_secrets: bool = False,
    status: Callable[[], str] | None = None,
    begun: Callable[[int], None] | None = None,
    place: str = "",
    remote: Remote | None = None,
    profile: str = "",
    invite: Callable[[], tuple[str, str]] | None = None,
) -> tuple[str, int]:
    """Show a capture until the user leaves.

    `follow` goes on as the file grows; `status` says in a few words how its writer is doing;
    `begun` is called with the number of each file of a rotated recording that is begun; `place`
    says which of several captures it is; `remote` is the proxy that writes it; `profile` names how
    the screen looks; `invite` says where to point a client, while there are no frames. Returns why
    it could not be read (or nothing), and whether the user wants the next capture (1), the one
    before (-1), or has seen enough (0).
    """
    from amqpscope.runs.collector import calm_collector
    from amqpscope.tui.opening import OpenedCapture, ReaderProcess
    from amqpscope.tui.processes import settle_collector

    calm_collector()
    path, files = str(given), () if isinstance(given, str) else given.files
    source = OpenedCapture(
        path, follow, keylogs, decode_as or {}, show_secrets, free_stdin(path), files
    )
    reading = ReaderProcess(source)
    # All the rest is imported while the capture is read.
    from amqpscope.tui.app import Scope
    from amqpscope.tui.profiles import DEFAULT, Profile, ProfileError, load_profile
    from amqpscope.tui.store import Store

    store = Store(reading)
    warning = ""
    try:
        look = load_profile(profile or DEFAULT, must_exist=True)
    except ProfileError as error:
        look, warning = Profile(profile or DEFAULT), str(error)
    shown: dict[str, Any] = {"where": where, "status": status, "begun": begun, "place": place}
    shown |= {"profile": look, "invite": invite}
    if remote is None:
        app = Scope(store, **shown)
    else:
        from amqpscope.tui.proxy_app import ProxyScope

        app = ProxyScope(store, remote, **shown)
    app.warning = warning
    settle_collector()
    turn = app.run()
    return app.fault or store.trouble, turn or 0


def run_all(captures: Sequence[Readable], *, follow: bool, **options: Any) -> list[str]:
    """Show some captures, one at a time; returns what could not be read, one line each."""
    troubles = {str(path): why for path in captures if (why := unreadable(path, follow))}
    captures = tuple(path for path in captures if str(path) not in troubles)
    at, turn = 0, 1
    while turn and captures:
        place = f"{at + 1}/{len(captures)}" if len(captures) > 1 else ""
        trouble, turn = run(captures[at], follow=follow, place=place, **options)
        if trouble:
            troubles[str(captures[at])] = trouble
        at = (at + turn) % len(captures)
    return [f"{path}: {trouble}" for path, trouble in troubles.items()]


def unreadable(path: Readable, follow: bool) -> str:
    """Why a capture cannot be read at all, asked before a screen is opened for it; or nothing."""
    from amqpscope.capture.reader import open_capture
    from amqpscope.capture.source import CaptureError

    if isinstance(path, str) and (
        path == STDIN or (os.path.exists(path) and not os.path.isfile(path))
    ):
        return ""  # a pipe can be read once only
    try:
        open_capture(path, follow=follow).close()
    except CaptureError as error:
        return error.message
    return ""


def free_stdin(path: str) -> int:
    """Where a capture on standard input is read from; keys then come from the terminal itself."""
    if path != STDIN or sys.stdin.isatty():
        return -1
    kept = os.dup(0)
    terminal = os.open(os.ctermid(), os.O_RDONLY)
    os.dup2(terminal, 0)
    os.close(terminal)
    return kept
