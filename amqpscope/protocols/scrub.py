"""Which octets of a frame belong to its users, before a capture is passed on.

A family marks them: where they are, what they are, and how they are to be replaced. What is not
marked is the protocol's own: sizes, numbers, descriptors, and words that specifications define.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from amqpscope.model.event import Event
from amqpscope.protocols.prose import WORDS


class Manner(StrEnum):
    """How octets are replaced; their number stays in all."""

    NAME = "name"
    """Word by word: letters by letters, digits by digits, what is between them stays."""
    ADDRESS = "address"
    """As a name, but for the parts of addresses that brokers define."""
    PROSE = "prose"
    """As a name, but for the words that brokers write in sentences."""
    LOGIN = "login"
    """As a name, but for what the mechanisms of SASL define."""
    BODY = "body"
    """All of it; text stays text."""
    OCTETS = "octets"
    """All of it."""


class Secret(StrEnum):
    """What octets are, as reports list them."""

    CREDENTIAL = "credential"
    BODY = "message body"
    NUMBER = "number in a body"
    ADDRESS = "address"
    NAME = "name"
    HOST = "host name"
    PROPERTY = "property"
    TAG = "delivery tag"
    TEXT = "text of an error"
    DAMAGE = "undecodable octets"
    PRODUCT = "product"
    """What software says of itself: it stays, unless a name of users is in it."""
    KEPT = "kept"


class ScrubMark(NamedTuple):
    """Octets that belong to users, or words that stay although they look so."""

    start: int
    stop: int
    kind: Secret
    manner: Manner = Manner.NAME


class Fragment(NamedTuple):
    """The part of a message that a frame has."""

    message: object
    """What all parts of one message share."""
    start: int
    stop: int


class Marker:
    """What is asked of a family; one without answers has all octets of its frames replaced."""

    def words(self) -> frozenset[str]:
        """Words that may stay in sentences, in small letters."""
        return WORDS

    def frame(self, event: Event) -> list[ScrubMark]:
        """What a frame has beside its part of a message."""
        if event.frame.unit.header is not None:
            return []
        return [ScrubMark(0, len(event.frame.raw), Secret.DAMAGE, Manner.OCTETS)]

    def fragment(self, event: Event) -> Fragment | None:
        """The part of a message that a frame has."""
        return None

    def message(self, octets: bytes, event: Event) -> list[ScrubMark]:
        """What a message has, of which a frame has the first part."""
        return [ScrubMark(0, len(octets), Secret.BODY, Manner.BODY)]

    def mend(self, before: bytes, after: bytearray) -> None:
        """Make right what a message says about its own octets, which were replaced."""
