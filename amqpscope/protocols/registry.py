"""The protocol families that are read: a row each, in the order in which they are tried.

A family of somebody else is registered by a module that is named in AMQPSCOPE_PROTOCOLS (several
are separated by commas) and calls `register` when it is imported.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final

from amqpscope.protocols.protocol import HEADER_SIZE, Protocol
from amqpscope.protocols.v0_9.protocol import PROTOCOL as V0_9
from amqpscope.protocols.v1_0.protocol import PROTOCOL as V1_0
from amqpscope.protocols.voice import Voice

VARIABLE: Final = "AMQPSCOPE_PROTOCOLS"

PROTOCOLS: Final[list[Protocol]] = [V1_0, V0_9]
"""The first also reads headers with a version that no family knows."""


def register(protocol: Protocol) -> None:
    """Add a family, unless it is there already."""
    if all(each.name != protocol.name for each in PROTOCOLS):
        PROTOCOLS.append(protocol)


def load() -> None:
    """Import the modules that register further families."""
    for module in filter(None, os.environ.get(VARIABLE, "").split(",")):
        import_module(module.strip())


def names() -> list[str]:
    """All that `--decode-as` takes."""
    return [name for protocol in PROTOCOLS for name in protocol.names]


def parse_port(word: str) -> tuple[int, str]:
    """A word PORT=PROTOCOL of `--decode-as`; ValueError says what is wrong with it."""
    port, _, protocol = word.partition("=")
    if not (port.isascii() and port.isdigit() and protocol) or not 0 < int(port) < 65536:
        raise ValueError(f"{word!r}: expected PORT=PROTOCOL, as in 5673={names()[0]}")
    if protocol not in names():
        raise ValueError(f"{protocol!r}: expected one of {', '.join(names())}")
    return int(port), protocol


def find_protocol(name: str) -> Protocol | None:
    """The family of a name that `--decode-as` takes."""
    for protocol in PROTOCOLS:
        if name in protocol.names:
            return protocol
    return None


def is_header_only(name: str) -> bool:
    """Whether nothing but the header is read of what is called so."""
    return any(name in protocol.header_only() for protocol in PROTOCOLS)


def of_voice(voice: Voice) -> Protocol:
    """The family that is shown by a voice."""
    for protocol in PROTOCOLS:
        if protocol.voice is voice:
            return protocol
    return PROTOCOLS[0]


def may_become_header(data: bytes) -> bool:
    """Whether octets are the beginning of a header that is not whole yet."""
    if len(data) >= HEADER_SIZE:
        return False
    return any(data[:4] == protocol.magic[: len(data)] for protocol in PROTOCOLS)


def is_header(data: bytes, anchored: bool) -> bool:
    """Whether octets begin with a header; in mid-stream `AMQP` may be part of `AMQPLAIN`."""
    if len(data) < HEADER_SIZE:
        return False
    for protocol in PROTOCOLS:
        if data[:4] == protocol.magic and (anchored or protocol.knows(data[4:HEADER_SIZE])):
            return True
    return False


def by_header(header: bytes) -> tuple[Protocol, str]:
    """The family that a header announces, and what its version is called."""
    version = header[4:HEADER_SIZE]
    for protocol in PROTOCOLS:
        name = protocol.version_name(version) if header[:4] == protocol.magic else ""
        if name:
            return protocol, name
    return PROTOCOLS[0], PROTOCOLS[0].name


load()
