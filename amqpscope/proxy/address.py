"""Where to listen and where to connect, as users write it."""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from amqpscope.proxy.record import Address

DEFAULT_LISTEN: Final = "127.0.0.1:5673"
SCHEMES: Final = {
    # scheme: port, whether it means TLS
    "amqp": (5672, False),
    "amqps": (5671, True),
    "ws": (80, False),
    "wss": (443, True),
}


LONGEST_PATH: Final = 107
"""Octets of the path of a Unix socket, as Linux has it."""
UNIX: Final = "unix:"
"""Before the path of a Unix socket."""
UNIX_HOST: Final = "127.0.0.1"
"""The address of a Unix socket as the recording has it."""

Target = tuple[int, tuple[str | int, ...]]
"""A family, and an address as `connect` and `bind` take it; a path alone is a Unix socket's."""


class AddressError(Exception):
    """An address that does not parse, or a name that is not known."""


class Upstream(NamedTuple):
    """The server that clients want to reach."""

    host: str
    port: int
    tls: bool
    path: str = ""
    """Of its Unix socket, where it has one."""

    def __str__(self) -> str:
        return f"{UNIX}{self.path}" if self.path else address_text((self.host, self.port))

    def name_at(self, address: Address) -> str:
        """The upstream with the address at which it was tried."""
        name, tried = str(self), address_text(address)
        return name if self.path or name == tried else f"{name} ({tried})"


def parse_upstream(text: str) -> Upstream:
    """`amqp://broker:5672`, `broker:5672` or `unix:/path`; credentials are left to the client."""
    if text.startswith(UNIX):
        return Upstream(UNIX_HOST, SCHEMES["amqp"][0], False, socket_path(text))
    scheme = scheme_of(text)
    named = hidden(text)
    try:
        parts = urlsplit(text if "://" in text else f"{scheme}://{text}")
        host = parts.hostname
    except ValueError as error:
        # What the error quotes may be part of a password.
        raise AddressError(f"{named!r}: not a URL, expected amqp://HOST:PORT") from error
    if scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise AddressError(f"{scheme}:// is not known, expected one of {known}")
    if not host:
        raise AddressError(f"{named!r} names no host, expected amqp://HOST:PORT")
    default, tls = SCHEMES[scheme]
    try:
        port = default if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise AddressError(f"{named!r}: port out of range or no number, expected 1 to 65535")
    return Upstream(host, port, tls)


def scheme_of(text: str) -> str:
    """`amqps` of `amqps://broker`; a URL without a scheme is meant for AMQP."""
    if text.startswith(UNIX) or "://" not in text:
        return "amqp"
    return text.partition("://")[0].lower()


def hidden(text: str) -> str:
    """A URL as it may be shown: without credentials, and without what may be one."""
    scheme, there, rest = text.rpartition("://") if "://" in text else ("", "", text)
    if "@" in rest:
        rest = "***@" + rest.rpartition("@")[2]
    host, colon, port = rest.partition("/")[0].rpartition(":")
    if colon and not rest.endswith("]") and not (port.isascii() and port.isdigit()):
        rest = f"{host}:***"
    return f"{scheme}{there}{rest}"


def parse_listen(text: str) -> Address:
    """`127.0.0.1:5673`, `[::1]:5673`, `:5673` for all addresses, or just a port."""
    host, colon, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise AddressError(f"{text!r}: expected HOST:PORT, as in {DEFAULT_LISTEN}")
    if not colon:
        host = "127.0.0.1"
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError(f"{text!r}: an IPv6 address stands in brackets, as in [::1]:5673")
    return host, int(port)


def split_listen(text: str) -> tuple[str, str]:
    """Where to listen, and the upstream behind it: `:5674=amqp://other`; empty for the usual."""
    listen, _, upstream = text.partition("=")
    return listen, upstream


def socket_path(text: str) -> str:
    """The path of `unix:/run/broker.sock`."""
    path = text.removeprefix(UNIX)
    path = path.removeprefix("//") if path.startswith("///") else path
    if not path or len(os.fsencode(path)) > LONGEST_PATH:
        raise AddressError(f"{text!r}: expected a path of 1 to {LONGEST_PATH} octets")
    return path


def resolve(host: str, port: int, *, passive: bool = False) -> list[Target]:
    """The addresses of a host, with their families, in the order in which to try them."""
    flags = socket.AI_PASSIVE if passive else 0
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no host name"
        raise AddressError(f"{host}: {str(reason).lower()}") from error
    known: dict[Target, None] = {}
    for family, _, _, _, address in found:
        if isinstance(address[0], str):
            # An IPv6 address with a scope has two parts more, which connect() wants to see.
            known[int(family), (address[0], int(address[1]), *map(int, address[2:]))] = None
    return list(known)


def resolve_upstream(upstream: Upstream) -> list[Target]:
    """Where to connect for an upstream."""
    if upstream.path:
        return [(int(socket.AF_UNIX), (upstream.path,))]
    return resolve(upstream.host, upstream.port)


def is_literal(host: str) -> bool:
    """Whether a host is an address, so that there is nothing to look up."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def address_of(endpoint: socket.socket, number: int = 0) -> Address:
    """Our own address of a socket; that of a Unix socket goes by the connection's number."""
    if endpoint.family == socket.AF_UNIX:
        return UNIX_HOST, unix_port(number + 32_000)
    host, port = endpoint.getsockname()[:2]
    return host, port


def unix_port(number: int) -> int:
    """A port for the peer behind a Unix socket, which has none: another one for each connection."""
    return 1024 + number % 64_000


def name_of(listener: socket.socket) -> str:
    """Where a listener listens, as people write it."""
    name = listener.getsockname()
    return f"{UNIX}{name}" if listener.family == socket.AF_UNIX else address_text(name)


def loopback(address: Address) -> bool:
    """Whether only this machine can reach an address."""
    return ipaddress.ip_address(address[0].partition("%")[0]).is_loopback


def address_text(address: Address) -> str:
    """An address as people write it."""
    host, port = address[0], address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
