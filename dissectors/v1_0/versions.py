"""The protocol headers of AMQP 1.0 (spec 2.2, 5.2.1, 5.3.1)."""

from __future__ import annotations

from typing import Final

from dissectors.rows import Version

NUMBERS: Final = b"\x01\x00\x00"
"""Major, minor and revision, behind any protocol id."""

# fmt: off
VERSIONS: Final = tuple(Version(*row) for row in (
    # octets               protocol    title
    (b"\x00\x01\x00\x00", "amqp-1.0", "AMQP 1.0.0"),
    (b"\x02\x01\x00\x00", "amqp-1.0", "TLS 1.0.0"),
    (b"\x03\x01\x00\x00", "amqp-1.0", "SASL 1.0.0"),
))
# fmt: on
