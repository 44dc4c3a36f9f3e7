"""Which protocol a header announces: the versions of all families in one table.

Each family states its own rows in its `versions` module. This one joins them.
"""

from __future__ import annotations

from typing import Final

from dissectors.rows import Version
from dissectors.v0_9 import versions as v0_9
from dissectors.v1_0 import versions as v1_0

AMQP_0_10: Final = Version(b"\x01\x01\x00\x0a", "amqp-0-10", "AMQP 0-10")
"""A protocol with frames and types of its own: recognised, not decoded."""

VERSION_OF: Final = {row.octets: row for row in (*v1_0.VERSIONS, *v0_9.VERSIONS, AMQP_0_10)}
"""The version by the four octets after `AMQP`."""


def known_version(octets: bytes) -> bool:
    """Whether these octets after `AMQP` make a protocol header; 1.0 may have any protocol id."""
    return octets in VERSION_OF or octets[1:] == v1_0.NUMBERS
