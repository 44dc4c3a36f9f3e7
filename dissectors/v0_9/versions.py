"""The protocol headers of 0-8, 0-9, 0-9-1 and the draft before them."""

from __future__ import annotations

from typing import Final

from dissectors.rows import Version

# fmt: off
VERSIONS: Final = tuple(Version(*row) for row in (
    # octets               protocol      title
    (b"\x00\x00\x09\x01", "amqp-0-9-1", "AMQP 0-9-1"),
    (b"\x01\x01\x00\x09", "amqp-0-9",   "AMQP 0-9"),
    (b"\x01\x01\x08\x00", "amqp-0-8",   "AMQP 0-8"),
    # as the examples in the texts of 0-8 and 0-9 have it
    (b"\x01\x01\x09\x01", "amqp-0-8",   "AMQP 0-8 (1.1.9.1)"),
    (b"\x01\x01\x0a\x03", "amqp-10-3",  "AMQP 10-3"),
))
# fmt: on

DIALECT_OF: Final = {row.octets: row.protocol.removeprefix("amqp-") for row in VERSIONS}
"""The dialect that a version is read by until the server names its product."""
