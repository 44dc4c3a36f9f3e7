"""The kind of row that every family has; `v1_0.rows` and `v0_9.rows` have their own."""

from __future__ import annotations

from typing import NamedTuple


class Version(NamedTuple):
    """A version of the protocol as a protocol header announces it."""

    octets: bytes
    """The four octets after `AMQP`."""
    protocol: str
    """What users call it: `amqp-0-9-1`."""
    title: str
    """The header as people read it: `AMQP 0-9-1`, `SASL 1.0.0`."""
