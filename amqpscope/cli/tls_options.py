"""The options of `amqpscope proxy` about TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from amqpscope.proxy.address import Upstream
    from amqpscope.proxy.tls_policy import TlsOptions


def tls_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All options about TLS, from the last to the first."""
    decorators: Iterable[Callable[[Callable[..., Any]], Callable[..., Any]]] = (
        click.option(
            "--keylog",
            metavar="FILE",
            help="Write the TLS secrets of both sides here, for Wireshark. "
            "With --pass-tls: read them, from a client or server that logs its own.",
        ),
        click.option(
            "--pass-tls",
            is_flag=True,
            help="Pass TLS through unopened; frames are visible only with its secrets (--keylog).",
        ),
        click.option("--key", metavar="FILE", help="The key of --cert, if not in the same file."),
        click.option(
            "--cert",
            metavar="FILE",
            help="Present this certificate to clients, instead of one signed by the local CA "
            "(see: amqpscope ca).",
        ),
        click.option(
            "--in-band-tls",
            is_flag=True,
            help="Start TLS to the upstream with AMQP's own TLS header.",
        ),
        click.option("--insecure", is_flag=True, help="Do not verify the upstream's certificate."),
        click.option(
            "--sni", metavar="NAME", help="Server name to ask the upstream for, and to verify."
        ),
        click.option(
            "--client-key", metavar="FILE", help="The key of --client-cert, if not in that file."
        ),
        click.option(
            "--client-cert",
            metavar="FILE",
            help="Client certificate for an upstream that asks for one.",
        ),
        click.option(
            "--cafile",
            metavar="FILE",
            help="Trust these CAs (PEM file or directory) for the upstream, instead of the "
            "system's.",
        ),
    )
    for decorator in decorators:
        command = decorator(command)
    return command


_ENDING = ("cafile", "client_cert", "client_key", "sni", "insecure", "in_band_tls", "cert", "key")
"""Parameters that make no sense where TLS is passed on."""


def make_tls(upstream: Upstream, listen_host: str, options: dict[str, Any]) -> TlsOptions | None:
    """Take the options about TLS out of a command's; None when TLS is to be passed on as it is.

    `keylog` stays: where TLS is passed on it is for the recording.
    """
    from amqpscope.proxy.tls_policy import TlsOptions

    passed = options.pop("pass_tls")
    ending = {name: options.pop(name) for name in _ENDING}
    if passed:
        wrong = next((name for name, value in ending.items() if value), None)
        if wrong is not None:
            spelled = wrong.replace("_", "-")
            raise click.UsageError(f"--{spelled} has no use with --pass-tls: TLS is passed on")
        return None
    in_band = ending.pop("in_band_tls")
    return TlsOptions(
        upstream_tls=upstream.tls and not in_band,
        upstream_host=upstream.host,
        upstream_port=upstream.port,
        in_band=in_band,
        keylog=options["keylog"],
        listen_host=listen_host,
        **ending,
    )
