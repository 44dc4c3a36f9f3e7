"""The options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from amqpscope.cli.output import UNREADABLE, complain
from amqpscope.report.formats import FRAME_FORMATS


def parse_decode_as(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[int, str]:
    """Turn `PORT=PROTOCOL` into a table."""
    if not values:
        return {}
    from amqpscope.protocols.registry import parse_port

    try:
        return dict(map(parse_port, values))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


class DecodeAs(click.Option):
    """`--decode-as`, whose help names the protocols that there are."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option, and what it is for."""
        from amqpscope.protocols.registry import names

        self.help = (
            "The protocol of a port on which a connection began before the capture did: "
            f"5673={names()[0]}. A protocol header takes precedence. PROTOCOL is one of "
            f"{', '.join(names())}."
        )
        return super().get_help_record(ctx)


def parse_filter(context: click.Context, parameter: click.Parameter, value: str | None) -> object:
    """Compile a display filter, or show where it is wrong."""
    if value is None:
        return None
    from amqpscope.filter import FilterError, compile_filter

    try:
        return compile_filter(value)
    except FilterError as error:
        complain(f"the filter does not parse\n{error}")
        context.exit(UNREADABLE)


def check_profile(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse a profile that is not there."""
    if value:
        from amqpscope.tui.profiles import ProfileError, load_profile

        try:
            load_profile(value, must_exist=True)
        except ProfileError as error:
            raise click.BadParameter(str(error)) from error
    return value


PROFILE = click.option(
    "--profile",
    metavar="NAME",
    default="",
    callback=check_profile,
    help="Look of the screen: columns, colours, times. Press P in the screen to create profiles.",
)


def reader_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that all commands share which read captures."""
    decorators: Iterable[Callable[[Callable[..., Any]], Callable[..., Any]]] = (
        click.option(
            "--keylog",
            metavar="FILE",
            multiple=True,
            envvar="SSLKEYLOGFILE",
            help="TLS secrets in the NSS key log format.  [env: SSLKEYLOGFILE]",
        ),
        click.option(
            "--decode-as",
            metavar="PORT=PROTOCOL",
            multiple=True,
            callback=parse_decode_as,
            cls=DecodeAs,
        ),
        click.option(
            "--show-secrets", is_flag=True, help="Show passwords, tokens and signatures too."
        ),
        click.option(
            "--color",
            "--colour",
            type=click.Choice(("auto", "always", "never")),
            default="auto",
            help="auto: on a terminal, unless NO_COLOR is set.",
        ),
    )
    for decorator in decorators:
        command = decorator(command)
    return command


def jobs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option of how many processes work side by side."""
    return click.option(
        "--jobs",
        "-j",
        type=click.IntRange(1),
        metavar="N",
        help="Processes to use, also for one large capture.  [default: one per processor]",
    )(command)


def ring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of how several captures are one."""
    decorators: Iterable[Callable[[Callable[..., Any]], Callable[..., Any]]] = (
        click.option(
            "--as-given",
            is_flag=True,
            help="With --ring: take the files in the order given, not sorted by name.",
        ),
        click.option(
            "--ring",
            is_flag=True,
            help="Read the captures of a directory, or the files given, as one rotated "
            "capture, in the natural order of their names: x.pcap9 before x.pcap10.",
        ),
    )
    for decorator in decorators:
        command = decorator(command)
    return command


def shown_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of how frames are shown."""
    decorators: Iterable[Callable[[Callable[..., Any]], Callable[..., Any]]] = (
        click.option("-x", "octets", is_flag=True, help="The octets too, with the fields marked."),
        click.option("-V", "tree", is_flag=True, help="Every field of every frame, as a tree."),
        click.option(
            "-Y",
            "--filter",
            "where",
            metavar="FILTER",
            callback=parse_filter,
            help='Only frames that match: transfer && link.address contains "orders".',
        ),
        click.option(
            "--format",
            "--output-format",
            "-T",
            "form",
            type=click.Choice((*FRAME_FORMATS, "html")),
            default="text",
            help="jsonl: one JSON object per frame; html: a report with ladders and plots.",
        ),
    )
    for decorator in decorators:
        command = decorator(command)
    return command
