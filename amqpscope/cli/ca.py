"""The command about the local CA: `ca`, with `export` and `renew`."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from amqpscope.cli.output import UNREADABLE, complain, printing
from amqpscope.wording import reason_of

if TYPE_CHECKING:
    from amqpscope.proxy.ca import LocalCa

HOW_TO_TRUST: Final = """\
Clients that speak TLS to `amqpscope proxy` have to trust this certificate:

  qpid-proton    ssl_domain.set_trusted_ca_db("{path}")
  Python ssl     ssl.create_default_context(cafile="{path}")
  Node.js        NODE_EXTRA_CA_CERTS={path} node client.js
  Go, OpenSSL    SSL_CERT_FILE={path} ./client
  Java           keytool -importcert -noprompt -alias amqpscope \\
                   -file {path} \\
                   -keystore trust.p12 -storepass changeit
                 java -Djavax.net.ssl.trustStore=trust.p12 ...
  Debian         cp {path} \\
                   /usr/local/share/ca-certificates/amqpscope.crt
                 update-ca-certificates

Whoever has the key beside it can pose as any server to those clients, so
trust it where you debug and nowhere else."""


@click.group(invoke_without_command=True)
@click.pass_context
def ca(context: click.Context) -> None:
    """Show the local CA, which signs for TLS clients of the proxy.

    It is created when first needed, with a key that never leaves your
    configuration directory.

    \b
    amqpscope ca                      where it is, until when, how to trust it
    amqpscope ca export ca.pem        its certificate, never its key
    amqpscope ca export - | openssl x509 -noout -text
    amqpscope ca renew                a new one in its place
    """
    if context.invoked_subcommand is None:
        found = _ready()
        with printing():
            if found.made:
                click.echo("A new local CA was made.\n")
            _show(found)
            click.echo(f"\n{HOW_TO_TRUST.format(path=found.path)}")


@ca.command()
@click.argument("file")
def export(file: str) -> None:
    """Write the CA's certificate (PEM) to FILE, or to standard output for -.

    \b
    amqpscope ca export ca.pem
    """
    found = _ready()
    text = found.authority.pem()
    if file == "-":
        with printing():
            click.echo(text, nl=False)
        return
    with _telling(file):
        _write(Path(file), text)
    with printing():
        click.echo(f"{file}: {_subject(found)}, valid until {found.expires:%Y-%m-%d}")


@ca.command()
def renew() -> None:
    """Make a new CA in place of the one that is there.

    \b
    amqpscope ca renew
    """
    from amqpscope.proxy.ca import CaError, config_directory, renew_ca

    try:
        found = renew_ca(config_directory(), _now())
    except CaError as error:
        complain(str(error))
        sys.exit(UNREADABLE)
    with printing():
        _show(found)
        click.echo(
            "\nClients have to be given this certificate in place of the old one;\n"
            "proxies that run go on with the old one until they are started again."
        )


def _ready() -> LocalCa:
    from amqpscope.proxy.ca import CaError, config_directory, load_or_make_ca

    try:
        return load_or_make_ca(config_directory(), _now())
    except CaError as error:
        complain(str(error))
        sys.exit(UNREADABLE)


def _show(found: LocalCa) -> None:
    fingerprint = found.authority.fingerprint
    half = len(fingerprint) // 2 + 1
    click.echo(f"name         {_subject(found)}")
    click.echo(f"certificate  {found.path}")
    click.echo(f"SHA-256      {fingerprint[:half]}\n             {fingerprint[half:]}")
    click.echo(f"valid        {found.begins:%Y-%m-%d} to {found.expires:%Y-%m-%d}, {_left(found)}")


def _left(found: LocalCa) -> str:
    from amqpscope.proxy.ca import LAST_DAYS

    left = found.days_left(_now())
    if left < 0:
        return "EXPIRED: amqpscope ca renew"
    hint = ": amqpscope ca renew" if left < LAST_DAYS else ""
    return f"{left} days left{hint}"


def _subject(found: LocalCa) -> str:
    return str(next(iter(found.authority.certificate.subject)).value)


def _write(path: Path, text: bytes) -> None:
    """Write a certificate, over another certificate but over nothing else."""
    try:
        with path.open("xb") as file:
            file.write(text)
            return
    except FileExistsError:
        old = path.read_bytes() if path.is_file() else text
    if old and not old.lstrip().startswith(b"-----BEGIN CERTIFICATE-----"):
        raise FileExistsError(0, "exists already and is not a certificate", str(path))
    path.write_bytes(text)


@contextmanager
def _telling(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        complain(f"{file}: {reason_of(error)}")
        sys.exit(UNREADABLE)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
