"""The command `replay`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import click

from amqpscope.cli.inputs import Inputs, ReaderOptions
from amqpscope.cli.options import reader_options
from amqpscope.cli.output import INTERRUPTED, UNREADABLE, complain, printing

if TYPE_CHECKING:
    from amqpscope.protocols.replay_acts import Choices
    from amqpscope.replay.outcome import Outcome
    from amqpscope.replay.stage import Settings, Stage

DIVERGED: Final = 1
WORDS: Final = {"recorded": 1.0, "max": 0.0}


def parse_speed(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """`recorded`, `max`, or how many times as fast as recorded."""
    if value in WORDS:
        return WORDS[value]
    try:
        speed = float(value)
    except ValueError:
        speed = -1.0
    if not 0 < speed < float("inf"):
        raise click.BadParameter(f"{value!r}: expected recorded, max, or a factor such as 10")
    return speed


@click.command()
@click.argument("capture", metavar="CAPTURE[#N]")
@click.option("--to", "-t", "to", metavar="URL", help="Play the clients against this server.")
@click.option(
    "--listen",
    "-l",
    metavar="HOST:PORT",
    help="Play the server for clients there, over TCP or WebSocket.",
)
@click.option(
    "--connection",
    "-c",
    "connections",
    type=click.IntRange(1),
    multiple=True,
    metavar="N",
    help="Only this connection; may be given again.",
)
@click.option(
    "--speed",
    metavar="recorded|max|N",
    default="max",
    show_default=True,
    callback=parse_speed,
    help="With the recorded timing, without waiting, or N times as fast.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="At most N messages a second on each connection.",
)
@click.option(
    "--loop",
    "loop",
    type=click.IntRange(0),
    default=1,
    metavar="N",
    help="Play it N times; 0: until Ctrl-C.",
)
@click.option("--strict", is_flag=True, help="Stop at the first difference.")
@click.option(
    "--exact",
    is_flag=True,
    help="Play violations as they were: illegal frames too, and without waiting for credit.",
)
@click.option(
    "--ignore", multiple=True, metavar="FIELD", help="Do not compare this field, such as body."
)
@click.option("--all", "everything", is_flag=True, help="Show every difference, not only ten.")
@click.option("--write", "-w", metavar="FILE", help="Record what passes, for lint and the others.")
@click.option("--diff", is_flag=True, help="Compare the whole run with the recording too.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="How much longer than in the recording to wait for a frame.",
)
@click.option(
    "--secrets-from-capture", "secrets", is_flag=True, help="Log in as the recorded client did."
)
@click.option("--cafile", metavar="FILE", help="Trust these CAs (PEM), not the system's.")
@click.option(
    "--client-cert", metavar="FILE", help="Client certificate for a server that asks for one."
)
@click.option("--client-key", metavar="FILE", help="Its key, if not in the same file.")
@click.option("--sni", metavar="NAME", help="Server name to ask for, and to verify.")
@click.option("--insecure", is_flag=True, help="Do not verify the certificate of the server.")
@click.option("--tls", is_flag=True, help="With --listen: clients use TLS (see: amqpscope ca).")
@click.option("--cert", metavar="FILE", help="With --listen: TLS with this certificate.")
@click.option("--key", metavar="FILE", help="The key of --cert, if not in the same file.")
@reader_options
def replay(capture: str, **options: Any) -> None:
    """Play one side of a recorded conversation against a live peer.

    \b
    amqpscope replay bug.pcapng --to amqp://guest:guest@localhost:5672
    amqpscope replay bug.pcapng#2 --to amqps://broker --cafile ca.pem
    amqpscope replay broker.pcapng --listen 127.0.0.1:5673
    amqpscope replay broker.pcapng --listen :5673 --loop 0 --write run.pcapng
    amqpscope replay load.pcapng --to amqp://broker --rate 500 --loop 10
    amqpscope replay bug.pcapng --to wss://broker/amqp --diff

    With --to, the recorded clients run again. With --listen, the recorded server answers clients
    that run the recorded program again. Numbers, names, credit, windows and frame sizes are those
    of the live peer; a recorded frame is sent as soon as everything before it has happened again
    and the peer allows it.

    Passwords come from the URL, never from the capture unless asked; a server that has to check a
    proof (SCRAM, CRAM-MD5) needs USER:PASSWORD@ too. Where the live peer does something else than
    in the recording, a line says so and shows both frames. The exit code is 0 when all went as
    recorded, 1 when something did not, and 2 when the capture cannot be played. """  # fmt: skip
    if bool(options["to"]) == bool(options["listen"]):
        raise click.UsageError("expected one of --to and --listen")
    chosen = ReplayOptions(**options)
    refuse_unused(chosen)
    try:
        sys.exit(run_replay(capture, chosen))
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(ReaderOptions):
    """The options of `replay`, by the same names."""

    to: str | None
    listen: str | None
    connections: tuple[int, ...]
    speed: float
    rate: float | None
    loop: int
    strict: bool
    exact: bool
    ignore: tuple[str, ...]
    everything: bool
    write: str | None
    diff: bool
    timeout: float
    secrets: bool
    cafile: str | None
    client_cert: str | None
    client_key: str | None
    sni: str | None
    insecure: bool
    tls: bool
    cert: str | None
    key: str | None


def refuse_unused(options: ReplayOptions) -> None:
    """Options for TLS where there is none would be passed over without a word."""
    secured = (options.to or "").partition("://")[0] in ("amqps", "wss")
    for name in ("cafile", "client_cert", "client_key", "sni", "insecure"):
        if getattr(options, name) and not secured:
            raise click.UsageError(f"--{name.replace('_', '-')} is for amqps:// and wss://")
    for name in ("tls", "cert", "key"):
        if getattr(options, name) and not options.listen:
            raise click.UsageError(f"--{name} is for --listen")


def run_replay(capture: str, options: ReplayOptions) -> int:
    """Read, play and report; the exit code."""
    inputs = Inputs(options)
    if inputs.failed:
        return UNREADABLE
    with ExitStack() as stack:
        if options.diff and options.write is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="amqpscope-replay-"))
            options = replace(options, write=f"{folder}/run.pcapng")
        code = play_capture(capture, options, inputs)
        if options.diff and options.write is not None and code != UNREADABLE:
            print_diff(capture, options, inputs)
    return code


def play_capture(capture: str, options: ReplayOptions, inputs: Inputs) -> int:
    """Read, play and report how it went; the exit code."""
    from amqpscope.proxy.address import AddressError
    from amqpscope.proxy.tls import TlsError
    from amqpscope.replay.stage import ReplayError, Settings
    from amqpscope.replay.trace import Trace
    from amqpscope.runs.input import Input, split_connection
    from amqpscope.runs.replayed import read_conversations
    from amqpscope.wording import reason_of

    try:
        source = Input(capture, inputs.keylogs, options.decode_as)
        settings = Settings(
            read_conversations(source, options.connections, complain),
            make_choices(options),
            make_patience(options),
            strict=options.strict,
            trace=None if options.write is None else Trace(options.write),
            loop=options.loop,
            report=complain,
        )
        stage = asyncio.run(play(settings, options))
    except (ReplayError, AddressError, TlsError) as error:
        complain(str(error))
        return UNREADABLE
    except OSError as error:
        complain(f"{options.write}: {reason_of(error)}")
        return UNREADABLE
    finally:
        if "settings" in locals() and settings.trace is not None:
            settings.trace.close()
    return report(split_connection(capture)[0], stage.outcomes, everything=options.everything)


def print_diff(capture: str, options: ReplayOptions, inputs: Inputs) -> None:
    """Print what the run did differently, frame by frame, as `diff` does."""
    from amqpscope.cli.diff import as_text, read_side
    from amqpscope.insight.diff.differences import Scope
    from amqpscope.runs.diff import DiffSettings, compare_recordings

    settings = DiffSettings(Scope((), options.ignore), show_secrets=options.show_secrets)
    recorded = read_side(capture, inputs, settings)
    played = read_side(options.write or "", inputs, settings)
    if recorded is None or played is None:
        return
    wanted, result = options.connections, recorded[1]
    chosen = [each for each in recorded[0] if not wanted or each.number in wanted]
    found = compare_recordings((chosen, result), played, settings)
    with printing():
        click.echo(as_text(found, "text", options.color, None), nl=False)


def make_patience(options: ReplayOptions) -> Any:
    """How long to wait."""
    from amqpscope.replay.player import Patience

    return Patience(min(3.0, options.timeout), options.timeout)


def make_choices(options: ReplayOptions) -> Choices:
    """How the parts are played."""
    from amqpscope.protocols.replay_acts import Choices

    url = options.to or options.listen or ""
    parts = urlsplit(url if "://" in url else f"//{url}")
    path = parts.path.lstrip("/") if not parts.scheme.startswith("ws") else ""
    return Choices(
        user=None if parts.username is None else unquote(parts.username),
        password=unquote(parts.password or ""),
        vhost=unquote(path) if path else None,
        host=options.sni or parts.hostname or "",
        secrets=options.secrets,
        show_secrets=options.show_secrets,
        exact=options.exact,
        speed=options.speed,
        rate=options.rate or 0.0,
        ignore=frozenset(options.ignore),
    )


async def play(settings: Settings, options: ReplayOptions) -> Stage:
    """Play as the clients, or as the server."""
    from amqpscope.replay.stage import ClientStage, ServerStage

    if options.to:
        host, port = set_up_client(settings, options, options.to)
        stage = ClientStage(settings, host, port)
        await stage.run()
        return stage
    server = ServerStage(settings)
    await listen(server, options)
    return server


def set_up_client(settings: Settings, options: ReplayOptions, url: str) -> tuple[str, int]:
    """Where to connect, with TLS if the URL says so."""
    from amqpscope.proxy.address import parse_upstream, scheme_of
    from amqpscope.proxy.tls_policy import TlsOptions, TlsPolicy

    upstream = parse_upstream(url)
    if scheme_of(url) in ("ws", "wss"):
        settings.websocket = urlsplit(url).path or "/"
    if upstream.tls:
        tls = TlsOptions(
            True, upstream.host, upstream.port, options.cafile, options.client_cert,
            options.client_key, options.sni, options.insecure,
        )  # fmt: skip
        settings.tls = TlsPolicy(tls).client_context()
        settings.server_name = options.sni or upstream.host
    return upstream.host, upstream.port


async def listen(stage: Any, options: ReplayOptions) -> None:
    """Serve clients until all is played, or Ctrl-C."""
    from amqpscope.proxy.address import address_text, parse_listen
    from amqpscope.proxy.tls_policy import TlsOptions, TlsPolicy

    host, port = parse_listen((options.listen or "").rpartition("@")[2])
    if options.tls or options.cert:
        policy = TlsPolicy(TlsOptions(cert=options.cert, key=options.key))
        stage.settings.tls = policy.server_context(host)
    address = await stage.open(host, port)
    complain(f"listening on {address_text(address)}")
    try:
        await stage.done.wait()
    except asyncio.CancelledError:
        if options.loop:
            stage.report_absent()
    await stage.close(1.0)


def report(capture: str, outcomes: list[Outcome], *, everything: bool) -> int:
    """Print what was not as recorded, and what passed; the exit code."""
    from amqpscope.wording import plural

    sent = [sum(outcome.messages[side] for outcome in outcomes) for side in (0, 1)]
    with printing():
        for outcome in outcomes:
            for line in outcome.lines(capture, 0 if everything else 10):
                click.echo(line)
        diverged = sum(len(outcome.divergences) + outcome.uncounted for outcome in outcomes)
        result = f"{plural(diverged, 'difference')} from" if diverged else "as recorded:"
        click.echo(
            f"{capture}: {result} {plural(len(outcomes), 'connection')}, "
            f"{plural(sent[0], 'message')} from the client, {sent[1]:,} from the server"
        )
    return DIVERGED if diverged else 0
