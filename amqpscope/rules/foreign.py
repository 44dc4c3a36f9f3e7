"""Clients of other protocols that come to a port of AMQP: probes, and TLS at the wrong door.

They have broken no rule of AMQP, for they do not use it; nothing is reported of their octets.
"""

from __future__ import annotations

from typing import Final

TLS_RECORD: Final = b"\x16\x03"
HTTP: Final = (b"GET ", b"HEAD ", b"OPTIONS ", b"POST ", b"PUT ", b"HTTP/", b"PRI * ")
STARTS: Final = (TLS_RECORD, *HTTP)


def speaks_otherwise(octets: bytes) -> bool:
    """Whether the first octets of a connection are known to be of another protocol."""
    return octets.startswith(STARTS)
