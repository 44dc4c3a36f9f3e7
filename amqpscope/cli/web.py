"""`--web`: the screen in a browser."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.output import UNREADABLE, complain
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.capture.ring import Readable
    from amqpscope.runs.live import ProxyOutput

FLAG: Final = "--web"
PORT: Final = "--web-port"
PROXY: Final = "--of-proxy"
DRIVER: Final = "TEXTUAL_DRIVER"
"""Set in the processes that draw for a browser."""

WEB = click.option(
    FLAG, is_flag=True, help="Show the screen in a browser: prints an address on this machine."
)
WEB_PORT = click.option(
    PORT,
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="The port of --web.  [default: one that is free]",
)

OF_PROXY = click.option(PROXY, default="", hidden=True, help="The proxy that writes the capture.")


def is_served() -> bool:
    """Whether this process draws for a browser."""
    return bool(os.environ.get(DRIVER))


def serve_screen(captures: Sequence[Readable], port: int, *, follow: bool) -> int:
    """Serve the screen of this very command line until Ctrl-C; the exit code."""
    from amqpscope.tui import unreadable

    for path in captures:
        why = "standard input can be read once only" if str(path) == "-" else ""
        if why := why or unreadable(path, follow):
            complain(f"{path}: {why}")
            return UNREADABLE
    title = ", ".join(os.path.basename(str(path)) for path in captures)
    return serve(without_web(sys.argv[1:]), f"{title} - amqpscope", port)


def page_options(port: int, output: ProxyOutput) -> tuple[str, ...]:
    """The options of the command that shows a proxy's recording in a browser, as it grows."""
    found = [FLAG, f"{PORT}={port}", "--follow"]
    if output.where is not None:
        found += ["-Y", output.where.text]
    if output.look.show_secrets:
        found.append("--show-secrets")
    if output.profile:
        found += ["--profile", output.profile]
    return tuple(found)


def ways_to_ask(proxy: str) -> dict[str, Any]:
    """How a screen asks the proxy of this name how it is doing; nothing without a name."""
    if not proxy:
        return {}
    from amqpscope.cli.proxy_page import ProxyPage

    page = ProxyPage(proxy)
    page.start()
    return {"status": page.words, "invite": page.invite}


def serve(arguments: Sequence[str], title: str, port: int) -> int:
    """Serve the screen of a command until Ctrl-C; the exit code."""
    try:
        from amqpscope.tui.web import WebScreen
    except ImportError:
        complain("--web needs textual-serve: pip install 'amqpscope[web]'")
        return UNREADABLE
    # Without a shell between, it notices when the server is gone.
    command = "exec " + shlex.join([sys.executable, "-m", "amqpscope", *arguments])
    try:
        screen = WebScreen(command, title, port)
    except OSError as error:
        complain(f"port {port} cannot be listened on: {reason_of(error)}")
        return UNREADABLE
    complain(f"open {screen.url} in a browser; Ctrl-C ends it")
    screen.run()
    return 0


def without_web(arguments: Sequence[str]) -> list[str]:
    """The arguments of the command that draws."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if not skip and argument not in (FLAG, PORT) and not argument.startswith(f"{PORT}="):
            kept.append(argument)
        skip = argument == PORT and not skip
    return kept
