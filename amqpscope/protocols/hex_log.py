"""Octets in hexadecimal with a direction: `2026-11-18T12:00:00.5Z [a] -> 41 4d 51 50 00 01 00 00`.

Time and name are optional. `->`, `SEND`, `SENT`, `OUT` and `TX` are what the program that wrote the
log sent; `<-`, `RECV`, `IN` and `RX` are what it received.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in

_OUT = "->|SEND|SENT|OUT|TX"
_IN = "<-|RECV|IN|RX"


class HexLog(LogFormat):
    """Hexadecimal octets with a direction."""

    name = "octets in hexadecimal"
    sign = re.compile(
        rf"^(?P<before>[^<>]*?)(?:\[(?P<connection>[^\]]+)\]\s*)?"
        rf"(?:(?P<out>{_OUT})|(?:{_IN})):?\s+(?P<octets>(?:[0-9A-Fa-f]{{2}}[ :]?){{8,}})\s*$"
    )

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The octets of a line."""
        octets = bytes.fromhex(re.sub("[ :]", "", found["octets"]))
        outgoing = found["out"] is not None
        yield LogEntry(found["connection"] or "", outgoing, time_in(found["before"]), octets)
