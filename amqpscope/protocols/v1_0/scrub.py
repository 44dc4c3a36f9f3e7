"""Which octets of frames and messages of 1.0 belong to their users."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, cast
from zlib import adler32, crc32

from amqpscope.model import event as shared
from amqpscope.model.v1_0.event import Event
from amqpscope.protocols import scrub
from amqpscope.protocols.media_types import is_usual_coding, is_usual_type
from amqpscope.protocols.prose import WORDS
from amqpscope.protocols.scrub import Fragment, Manner, ScrubMark, Secret
from amqpscope.protocols.v1_0.scrub_words import (
    CONDITION,
    FIELD_WORDS,
    KEYS,
    LOCALE,
    MECHANISM,
    OPEN_KEYS,
    SYMBOLS,
    VALUES,
)
from dissectors.tree import Node
from dissectors.v1_0.message import read_section, walk
from dissectors.v1_0.names import MESSAGE_FORMATS
from dissectors.v1_0.span import section_tree, unit_tree
from dissectors.v1_0.values import Map, Uint

TEXTS: Final = frozenset(("string", "symbol", "binary"))
BODIES: Final = frozenset(("data", "amqp-sequence", "amqp-value"))
KEPT_CODES: Final = frozenset((0x56, 0x73))
"""Fixed encodings of which not all octets are legal: a boolean and a character."""
ARRAYS: Final = 0xE0
BATCH: Final = next(code for code, name in MESSAGE_FORMATS.items() if "batch" in name) >> 8
FORMAT: Final = 8
"""Bits of a message-format's version, its last."""
SUMS: Final[dict[str, Callable[[bytes], int]]] = {"x-opt-crc-32": crc32, "x-opt-adler-32": adler32}
PREFIX: Final = re.compile(r"x-opt-|x-|com\.microsoft:|amqp:|rabbitmq:|qd\.|vhost:")
"""How names begin that their definers have marked as their own."""


class Where(NamedTuple):
    """What a value is in."""

    owner: str
    """The composite, or the section of a message."""
    field: str = ""
    key: str | None = None
    """The key of a map; None: it is in none."""
    is_key: bool = False
    body: bool = False
    """It is application data."""


class Rule(NamedTuple):
    """How the text of a field is taken."""

    kind: Secret
    manner: Manner = Manner.NAME
    stays: Callable[[str], object] | None = None
    """What may stay."""


# fmt: off
FIELDS: Final = {
    "container-id":           Rule(Secret.NAME),
    "name":                   Rule(Secret.NAME),
    "group-id":               Rule(Secret.NAME),
    "reply-to-group-id":      Rule(Secret.NAME),
    "user-id":                Rule(Secret.NAME),
    "hostname":               Rule(Secret.HOST),
    "address":                Rule(Secret.ADDRESS, Manner.ADDRESS),
    "to":                     Rule(Secret.ADDRESS, Manner.ADDRESS),
    "reply-to":               Rule(Secret.ADDRESS, Manner.ADDRESS),
    "outgoing-locales":       Rule(Secret.NAME, stays=LOCALE.fullmatch),
    "incoming-locales":       Rule(Secret.NAME, stays=LOCALE.fullmatch),
    "sasl-server-mechanisms": Rule(Secret.NAME, stays=MECHANISM.fullmatch),
    "mechanism":              Rule(Secret.NAME, stays=MECHANISM.fullmatch),
    "initial-response":       Rule(Secret.CREDENTIAL, Manner.LOGIN),
    "response":               Rule(Secret.CREDENTIAL, Manner.LOGIN),
    "challenge":              Rule(Secret.CREDENTIAL, Manner.LOGIN),
    "additional-data":        Rule(Secret.CREDENTIAL, Manner.LOGIN),
    "condition":              Rule(Secret.NAME, stays=CONDITION.fullmatch),
    "description":            Rule(Secret.TEXT, Manner.PROSE),
    "delivery-tag":           Rule(Secret.TAG),
    "unsettled":              Rule(Secret.TAG),
    "txn-id":                 Rule(Secret.TAG),
    "content-type":           Rule(Secret.PROPERTY, stays=is_usual_type),
    "content-encoding":       Rule(Secret.PROPERTY, stays=is_usual_coding),
}
KEYED: Final = {
    "network-host":       Rule(Secret.HOST),
    "hostname":           Rule(Secret.HOST),
    "address":            Rule(Secret.ADDRESS, Manner.ADDRESS),
    "name":               Rule(Secret.ADDRESS, Manner.ADDRESS),
    "container-id":       Rule(Secret.NAME),
    "status-description": Rule(Secret.TEXT, Manner.PROSE),
    "statusDescription":  Rule(Secret.TEXT, Manner.PROSE),
}
# fmt: on
OTHER: Final = Rule(Secret.PROPERTY)
SYMBOL: Final = Rule(Secret.PROPERTY, stays=SYMBOLS.__contains__)
KEY: Final = Rule(Secret.PROPERTY, stays=KEYS.__contains__)
VALUE: Final = Rule(Secret.PROPERTY, Manner.ADDRESS, stays=VALUES.__contains__)
BODY: Final = Rule(Secret.BODY, Manner.BODY)


class Marker(scrub.Marker):
    """Marks frames and messages."""

    def words(self) -> frozenset[str]:
        """What brokers write, and what fields are called."""
        return WORDS | FIELD_WORDS

    def frame(self, event: shared.Event) -> list[ScrubMark]:
        """The fields of a performative, and what is left of a damaged frame."""
        frame = event.frame
        if frame.unit.header is not None:
            return []
        taken = self.fragment(event)
        marks: list[ScrubMark] = []
        for node in unit_tree(frame.raw, frame.missing).children:
            if node.type != "octets":
                marks.extend(_value(node, Where(node.type), frame.raw))
            elif isinstance(node.value, bytes) and (taken is None or node.start < taken.start):
                marks.append(ScrubMark(node.start, node.end, Secret.DAMAGE, Manner.OCTETS))
        return marks

    def fragment(self, event: shared.Event) -> Fragment | None:
        """The payload of a transfer."""
        own, raw = cast(Event, event), event.frame.raw
        start = own.unit.payload
        if own.unit.name != "transfer" or not 0 < start < len(raw):
            return None
        return Fragment(own.frame if own.delivery is None else own.delivery, start, len(raw))

    def message(self, octets: bytes, event: shared.Event) -> list[ScrubMark]:
        """The sections of a message; all of one whose format is not known."""
        delivery = cast(Event, event).delivery
        form = 0 if delivery is None else (delivery.message_format or 0) >> FORMAT
        if form not in (0, BATCH):
            return super().message(octets, event)
        return list(_message(octets, 0, batch=form == BATCH))

    def mend(self, before: bytes, after: bytearray) -> None:
        """Bring checksums in the footer up to date that were right before."""
        sections, _ = walk(before)
        if not sections or sections[-1].name != "footer" or len(sections) < 2:
            return
        footer, _ = read_section(before, sections[-1])
        bare = [each for each in sections if each.name in {"properties", "application-properties"}]
        bare += [each for each in sections if each.name in BODIES]
        if not isinstance(footer, Map) or not bare:
            return
        start, stop = min(each.start for each in bare), sections[-1].start
        for key, compute in SUMS.items():
            said = footer.get(key)
            if isinstance(said, Uint) and said == compute(before[start:stop]):
                old, new = (
                    compute(octets).to_bytes(4, "big")
                    for octets in (before[start:stop], bytes(after[start:stop]))
                )
                at = before.find(old, stop)
                after[at : at + 4] = new


def _message(octets: bytes, base: int, *, batch: bool) -> Iterator[ScrubMark]:
    """The sections of a message, which begins at `base` of what is marked."""
    for node in section_tree(octets).children:
        if node.label == "octets":
            yield ScrubMark(base + node.start, base + node.end, Secret.BODY, Manner.OCTETS)
            continue
        for mark in _value(node, Where(node.label, body=node.label in BODIES), octets):
            inner = octets[mark.start : mark.stop]
            if batch and node.label == "data" and walk(inner)[0]:
                yield from _message(inner, base + mark.start, batch=False)
            else:
                yield mark._replace(start=base + mark.start, stop=base + mark.stop)


def _value(node: Node, where: Where, raw: bytes, *, element: bool = False) -> Iterator[ScrubMark]:
    """What a value has; an element of an array has no constructor of its own."""
    if node.children:
        yield from _compound(node, where, raw)
    elif node.type in TEXTS:
        width = 1 if node.code < 0xB0 else 4
        start = min(node.start + width + (0 if element else 1), node.end)
        yield from _text(raw, start, node.end, where, node.type)
    elif node.type == "uuid" or (where.body and 0x50 <= node.code < 0xA0):
        if node.code not in KEPT_CODES:
            kind = Secret.PROPERTY if node.type == "uuid" else Secret.NUMBER
            yield ScrubMark(node.start + (0 if element else 1), node.end, kind, Manner.OCTETS)
    elif 0x80 <= node.code < 0xA0:
        yield ScrubMark(node.start + (0 if element else 1), node.end, Secret.KEPT)
    elif node.type == "unknown" and node.end - node.start > 1:
        yield ScrubMark(node.start + 1, node.end, Secret.DAMAGE, Manner.OCTETS)


def _compound(node: Node, where: Where, raw: bytes) -> Iterator[ScrubMark]:
    """What a list, map, array or described value has, and what could not be read of it."""
    key = ""
    for place, child in enumerate(node.children):
        if child.label == "descriptor":
            if child.type == "symbol":
                yield from _value(child, Where("descriptor"), raw)
            continue
        inner = where
        if node.composite:
            inner = Where(node.type, child.label)
        elif node.type == "map":
            inner = where._replace(key=key, is_key=place % 2 == 0)
            key = str(child.value) if place % 2 == 0 else key
        yield from _value(child, inner, raw, element=node.code >= ARRAYS)
    at = node.children[-1].end
    if node.end - at > 1:
        # The first of them is what could not be read: it stays, for the rules to find it.
        yield ScrubMark(at + 1, node.end, Secret.DAMAGE, Manner.OCTETS)


def _text(raw: bytes, start: int, stop: int, where: Where, type: str) -> Iterator[ScrubMark]:
    """A string, symbol or binary: what it is, and whether it stays."""
    rule = _rule(where, type)
    octets = raw[start:stop]
    text = octets.decode("utf-8", "replace")
    if rule.stays is not None and rule.stays(text):
        yield ScrubMark(start, stop, Secret.KEPT)
        return
    manner = rule.manner
    if manner == Manner.BODY or manner == Manner.LOGIN:
        yield ScrubMark(start, stop, rule.kind, manner)
        return
    if type == "binary" and not (octets.isascii() and text.isprintable()):
        manner = Manner.OCTETS
    prefix = PREFIX.match(text) if manner == Manner.NAME else None
    if prefix is not None:
        yield ScrubMark(start, start + prefix.end(), Secret.KEPT)
        start += prefix.end()
    yield ScrubMark(start, stop, rule.kind, manner)


def _rule(where: Where, type: str) -> Rule:
    """How a text is taken, by what it is in."""
    if where.body:
        return BODY
    if where.is_key and where.field != "unsettled":
        return KEY
    if where.key is not None:
        if where.owner == "open" and where.key in OPEN_KEYS:
            return Rule(Secret.PRODUCT)
        return KEYED.get(where.key, VALUE if type != "symbol" else SYMBOL)
    found = FIELDS.get(where.field)
    return (SYMBOL if type == "symbol" else OTHER) if found is None else found
