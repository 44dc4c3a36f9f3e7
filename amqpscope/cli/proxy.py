"""The command `proxy`.

This process relays. A child of it analyses the recording and prints, so that nothing that happens
to the output can touch the traffic; when the relay ends, the child's verdict is the exit code.
"""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import click

from amqpscope.cli.inputs import make_selection
from amqpscope.cli.options import PROFILE, parse_filter
from amqpscope.cli.output import UNREADABLE, ascii_alone, complain, use_colours
from amqpscope.cli.read import screen_wanted
from amqpscope.cli.tls_options import make_tls, tls_options
from amqpscope.cli.web import WEB, WEB_PORT, page_options
from amqpscope.report.formats import FINDING_FORMATS

if TYPE_CHECKING:
    from amqpscope.proxy.process import Settings
    from amqpscope.runs.live import ProxyOutput

UNITS: Final = {
    # unit: octets, seconds
    "b": (1, 0),
    "kb": (10**3, 0),
    "mb": (10**6, 0),
    "gb": (10**9, 0),
    "kib": (2**10, 0),
    "mib": (2**20, 0),
    "gib": (2**30, 0),
    "s": (0, 1),
    "min": (0, 60),
    "h": (0, 3600),
    "d": (0, 86400),
}
LINT_FORMATS: Final = (*(name for name in FINDING_FORMATS if name != "text"), "html")
SMALLEST: Final = 100_000
"""Octets of a file, at least: a turn of the relay may write a megabyte at once."""


def parse_rotate(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[int, float]:
    """Turn `100MB` and `1h` into octets and seconds."""
    octets, seconds = 0, 0.0
    for value in values:
        parts = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]+)", value.strip())
        unit = UNITS.get(parts[2].lower()) if parts else None
        if parts is None or unit is None or not float(parts[1]):
            raise click.BadParameter(f"{value!r}: expected a size or a time, as in 100MB or 1h")
        octets = int(float(parts[1]) * unit[0]) or octets
        seconds = float(parts[1]) * unit[1] or seconds
    if 0 < octets < SMALLEST:
        raise click.BadParameter(f"{octets} octets: expected at least 100kB")
    return octets, seconds


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("upstream", metavar="UPSTREAM")
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1)
@click.option(
    "--listen",
    "-l",
    metavar="HOST:PORT[=UPSTREAM]",
    multiple=True,
    help="Where clients connect, or unix:PATH. Repeatable; each may have its own upstream "
    "instead of UPSTREAM.  [default: 127.0.0.1:5673]",
)
@click.option(
    "--write", "-w", metavar="FILE", help="Record to this file; by default, to a temporary one."
)
@click.option(
    "--rotate",
    metavar="SIZE|TIME",
    multiple=True,
    callback=parse_rotate,
    help="Start a new file after this much: 100MB, 1h, or both.",
)
@click.option(
    "--keep", metavar="N", type=click.IntRange(1), help="Keep only the newest N rotated files."
)
@click.option(
    "--scrub",
    is_flag=True,
    help="At the end, also write a scrubbed copy, as `scrub` does: FILE.scrubbed.pcapng.",
)
@click.option(
    "--exit-when-idle",
    metavar="SECONDS",
    type=click.FloatRange(0, min_open=True),
    help="End once no connection has been open for this long, after the first one.",
)
@click.option(
    "--lint",
    "lint",
    is_flag=True,
    help="Print only the findings, at the end, and exit as `lint` does.",
)
@click.option(
    "--allow-empty",
    is_flag=True,
    help="With --lint: exit 0 even if no client connected or the upstream never answered.",
)
@click.option(
    "--connect-timeout",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="How long to wait for an upstream to accept a connection; 0: no limit.",
)
@click.option(
    "--handshake-timeout",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="How long to wait for a TLS handshake, on either side; 0: no limit.",
)
@click.option(
    "--idle-timeout",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=0.0,
    help="Close connections that have been silent for this long.  [default: never]",
)
@click.option(
    "--via",
    metavar="URL",
    default="",
    help="Reach upstreams through http://USER:PW@HOST:PORT (CONNECT) or socks5://...; that "
    "proxy resolves their names. Without it, HTTPS_PROXY and NO_PROXY apply to wss; `direct` "
    "ignores them too.",
)
@click.option(
    "--accept-proxy",
    is_flag=True,
    help="Expect a PROXY header (v1 or v2) from clients, and record the address in it.",
)
@click.option(
    "--send-proxy",
    type=click.Choice(("v1", "v2")),
    default=None,
    help="Send a PROXY header to upstreams, before TLS.",
)
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    default="",
    help="Serve http://HOST:PORT/metrics in the text format of Prometheus.",
)
@click.option(
    "--fault",
    multiple=True,
    metavar="RULE",
    help="Do something to frames: 'FILTER => ACTION [times=N] ...', or a preset such as @flaky; "
    "`amqpscope faults --help` has the language. Repeatable.",
)
@click.option("--faults", multiple=True, metavar="FILE", help="Faults from a TOML file.")
@click.option("--select", multiple=True, metavar="RULES", help="Check only these rules.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these.")
@click.option("--strict", is_flag=True, help="Treat SHOULD violations as errors.")
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "info", "never")),
    help="With --lint: from which severity on the exit code is 1.  [default: error]",
)
@click.option("--config", metavar="FILE", help="Instead of the nearest amqpscope.toml.")
@click.option("--no-tui", is_flag=True, help="Print lines to standard output, even on a terminal.")
@PROFILE
@WEB_PORT
@WEB
@click.option(
    "--format",
    "--output-format",
    "-T",
    "form",
    type=click.Choice(("text", "jsonl", *LINT_FORMATS)),
    default="text",
    help="jsonl: one JSON object per frame and per finding. The others are those of `lint`, "
    "and go with --lint.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="Print to this file instead of standard output (with a COMMAND: standard error).",
)
@click.option(
    "-Y",
    "--filter",
    "where",
    metavar="FILTER",
    callback=parse_filter,
    help="Print only frames that match; all frames are recorded.",
)
@click.option("-V", "tree", is_flag=True, help="Every field of every frame, as a tree.")
@click.option("-x", "octets", is_flag=True, help="The octets too.")
@click.option("--show-secrets", is_flag=True, help="Show passwords, tokens and signatures too.")
@click.option(
    "--color",
    "--colour",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="auto: on a terminal, unless NO_COLOR is set.",
)
@tls_options
def proxy(**options: Any) -> None:
    """Relay between clients and a broker; watch, record and check the traffic.

    \b
    amqpscope proxy amqp://broker:5672
    amqpscope proxy amqp://broker:5672 --listen [::1]:5673 --write run.pcapng
    amqpscope proxy amqps://broker --cafile ca.pem --format jsonl | jq .name
    amqpscope proxy amqp://broker --write run.pcapng --rotate 100MB --keep 10
    amqpscope proxy amqp://broker --lint --fail-on warning -- pytest tests/
    amqpscope proxy amqp://one --listen :5673 --listen :5674=amqps://two
    amqpscope proxy amqp://broker --web

    Point the client at 127.0.0.1:5673 instead of the broker. All traffic, AMQP or not, is passed
    on unchanged and recorded in a capture that Wireshark opens. The capture holds passwords and
    tokens as clients send them, so only you can read it: be careful where you upload it. Ctrl-C
    ends the proxy.

    With a COMMAND, the proxy runs it and ends with it. The command finds the proxy in
    AMQPSCOPE_PROXY_URL (amqp://, or ws:// for WebSocket; amqps:// and wss:// with --cert or
    --pass-tls), AMQPSCOPE_PROXY_HOST and AMQPSCOPE_PROXY_PORT. Standard output belongs to the
    command: the proxy prints to standard error, or to --output. The exit code is that of the
    command, unless that is 0 and --lint has found something. Ctrl-C lets the command clean up
    first.

    With --lint the exit code is 0 when nothing is found at or above --fail-on, 1 when something
    is, and 2 when some traffic could not be recorded or checked, no client connected, or the
    upstream never answered (the last two are allowed by --allow-empty). Without --lint it is 2
    when some traffic could not be recorded. """  # fmt: skip
    from amqpscope.check.selection import ConfigError
    from amqpscope.cli.proxy_run import ProxyRun
    from amqpscope.proxy.address import AddressError

    require_lint(options)
    try:
        settings, output = make_settings(options), make_output(options)
    except (ConfigError, AddressError) as error:
        complain(str(error))
        sys.exit(UNREADABLE)
    run = ProxyRun(settings, output, options["command"])
    if options["web"]:
        run.page_options = page_options(options["web_port"], output)
    sys.exit(run.run())


def require_lint(options: dict[str, Any]) -> None:
    """Say so when an option without --lint would do nothing, unnoticed."""
    if options["lint"]:
        return
    for name in ("fail_on", "allow_empty"):
        if options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --lint")
    if options["form"] in LINT_FORMATS:
        raise click.UsageError(f"--format {options['form']} goes with --lint")


def make_settings(options: dict[str, Any]) -> Settings:
    """What the relay has to know."""
    from amqpscope.proxy.address import DEFAULT_LISTEN, parse_upstream
    from amqpscope.proxy.clock import Limits
    from amqpscope.proxy.process import Settings

    listen = options["listen"] or (DEFAULT_LISTEN,)
    tls = make_tls(parse_upstream(options["upstream"]), host_of(listen[0]), options)
    octets, seconds = options["rotate"]
    if options["write"] == "-":
        raise click.UsageError("--write needs a file, not standard output: the analysis reads it")
    if options["keep"] and not (octets or seconds):
        raise click.UsageError("--keep goes with --rotate")
    return Settings(
        options["upstream"],
        options["write"] or temporary(),
        listen,
        octets,
        seconds,
        options["keep"] or 0,
        options["exit_when_idle"] or 0.0,
        tls,
        options["keylog"] if tls is None else None,
        Limits(options["connect_timeout"], options["handshake_timeout"], options["idle_timeout"]),
        make_faults(options["fault"], options["faults"]),
        options["via"],
        options["accept_proxy"],
        options["send_proxy"] or "",
        options["metrics"],
    )


def host_of(listen: str) -> str:
    """The host of a listener, for certificates; none for a Unix socket."""
    from amqpscope.proxy.address import UNIX, parse_listen, split_listen

    place, _ = split_listen(listen)
    return "" if place.startswith(UNIX) else parse_listen(place)[0]


def make_faults(rules: tuple[str, ...], files: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """The faults as tables, each checked before anything begins."""
    if not rules and not files:
        return ()
    from amqpscope.proxy.faults import FaultSet, parse_fault, read_faults

    option = "--faults"
    try:
        found = [fault for path in files for fault in read_faults(path)]
        if rules:
            option = "--fault"
        found += [parse_fault(rule) for rule in rules]
        return tuple(fault.table() for fault in FaultSet(found).faults)
    except ValueError as error:
        raise click.UsageError(f"{option}:\n{error}") from error


def temporary() -> str:
    """A new name for a recording that nobody named."""
    import tempfile

    name = f"amqpscope-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.pcapng"
    return os.path.join(tempfile.gettempdir(), name)


def make_output(options: dict[str, Any]) -> ProxyOutput:
    """What is to be printed."""
    from amqpscope.report.look import Look
    from amqpscope.runs.live import ProxyOutput

    printed_to = sys.stderr if options["command"] else sys.stdout
    terminal = printed_to.isatty() and not options["output"]
    look = Look(
        width=os.get_terminal_size(printed_to.fileno()).columns if terminal else 0,
        colour=use_colours(options["color"], terminal),
        plain=ascii_alone(),
        show_secrets=options["show_secrets"],
        tree=options["tree"],
        octets=options["octets"],
    )
    printed = options["lint"] or options["command"] or options["output"]
    how = {name: options[name] for name in ("tree", "octets", "no_tui")}
    return ProxyOutput(
        make_selection(
            options["config"],
            **{name: options[name] for name in ("select", "ignore", "strict", "fail_on")},
        ),
        options["form"],
        look,
        options["where"],
        lint=options["lint"],
        temporary=not options["write"],
        screen=not printed and not options["web"] and screen_wanted(**how),
        allow_empty=options["allow_empty"],
        command=bool(options["command"]),
        path=options["output"] or "",
        metrics=bool(options["metrics"]),
        profile=options["profile"],
        scrub=options["scrub"],
    )
