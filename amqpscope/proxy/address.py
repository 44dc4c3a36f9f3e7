"""Where to listen and where to connect, as users write it."""

from __future__ import annotations

import ipaddress
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


Target = tuple[int, tuple[str | int, ...]]
"""A family, and an address as `connect` and `bind` take it."""


class AddressError(Exception):
    """An address that does not parse, or a name that is not known."""


class Upstream(NamedTuple):
    """The server that clients want to reach."""

    host: str
    port: int
    tls: bool

    def __str__(self) -> str:
        return shown((self.host, self.port))


def parse_upstream(text: str) -> Upstream:
    """`amqp://broker:5672`, or just `broker:5672`; credentials and path are left to the client."""
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
    return text.partition("://")[0].lower() if "://" in text else "amqp"


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


def loopback(address: Address) -> bool:
    """Whether only this machine can reach an address."""
    return ipaddress.ip_address(address[0].partition("%")[0]).is_loopback


def shown(address: Address) -> str:
    """An address as people write it."""
    host, port = address[0], address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
