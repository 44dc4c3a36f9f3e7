"""Which octets of frames of 0-9 belong to their users."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, cast

from amqpscope.model import event as shared
from amqpscope.model.v0_9.event import Event
from amqpscope.protocols import scrub
from amqpscope.protocols.media_types import is_usual_coding, is_usual_type
from amqpscope.protocols.prose import WORDS
from amqpscope.protocols.scrub import Fragment, Manner, ScrubMark, Secret
from amqpscope.protocols.v0_9.tree import HEADS
from dissectors.tree import Node
from dissectors.v0_9.dialects import DEFAULT, dialect
from dissectors.v0_9.span import unit_tree

WIDTHS: Final = {"shortstr": 1, "longstr": 4, "bytes": 4}
"""Octets of the size before a text, by its type."""
PRODUCT: Final = frozenset(("product", "version", "platform", "copyright", "information"))
"""Keys of peers' properties whose values are about software, and may stay."""
KEYS: Final = PRODUCT | frozenset((
    "capabilities", "cluster_name", "connection_name", "publisher_confirms", "basic.nack",
    "exchange_exchange_bindings", "consumer_cancel_notify", "connection.blocked",
    "consumer_priorities", "authentication_failure_close", "per_consumer_qos", "direct_reply_to",
    "x-match", "x-message-ttl", "x-expires", "x-max-length", "x-max-length-bytes", "x-overflow",
    "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-dead-letter-strategy",
    "x-max-priority", "x-queue-mode", "x-queue-type", "x-queue-version",
    "x-queue-master-locator", "x-queue-leader-locator", "x-single-active-consumer",
    "x-delivery-limit", "x-delivery-count", "x-quorum-initial-group-size", "x-max-age",
    "x-stream-max-segment-size-bytes", "x-stream-offset", "x-stream-filter",
    "x-stream-match-unfiltered", "x-priority", "x-cancel-on-ha-failover", "x-delayed-type",
    "x-delay", "x-death", "x-first-death-exchange", "x-first-death-queue",
    "x-first-death-reason", "x-last-death-exchange", "x-last-death-queue", "x-last-death-reason",
    "alternate-exchange", "CC", "BCC", "count", "reason", "queue", "time", "exchange",
    "routing-keys", "original-expiration", "LOGIN", "PASSWORD", "qpid.max_count", "qpid.max_size",
))  # fmt: skip
"""Keys of tables that brokers define."""
VALUES: Final = frozenset((
    "all", "any", "all-with-x", "any-with-x", "classic", "quorum", "stream", "default", "lazy",
    "drop-head", "reject-publish", "reject-publish-dlx", "at-most-once", "at-least-once", "first",
    "last", "next", "expired", "rejected", "maxlen", "delivery_limit", "direct", "fanout", "topic",
    "headers", "min-masters", "client-local", "random", "balanced",
))  # fmt: skip
"""Values of tables that brokers define."""
TYPE: Final = re.compile(r"direct|fanout|topic|headers|system|x-[a-z-]+")
REALM: Final = re.compile(r"/data|/admin")
LOCALE: Final = re.compile(r"[a-z]{2}_[A-Z]{2}(?: [a-z]{2}_[A-Z]{2})*")
MECHANISMS: Final = re.compile(r"[A-Z][A-Z0-9_-]*(?: [A-Z][A-Z0-9_-]*)*")
DIGITS: Final = re.compile(r"[+]?[0-9]+")
PREFIX: Final = re.compile(
    r"amq\.(?:gen-|ctag-|rabbitmq\.reply-to(?:\.|$)|rabbitmq\.(?:trace|log|event)$"
    r"|(?:direct|fanout|topic|headers|match)$)?|x-"
)
"""How names begin that brokers make or have from the start."""


class Rule(NamedTuple):
    """How the text of a field is taken."""

    kind: Secret
    manner: Manner = Manner.NAME
    stays: Callable[[str], object] | None = None
    """What may stay."""


# fmt: off
FIELDS: Final = {
    "exchange":         Rule(Secret.ADDRESS),
    "source":           Rule(Secret.ADDRESS),
    "destination":      Rule(Secret.ADDRESS),
    "queue":            Rule(Secret.ADDRESS),
    "routing-key":      Rule(Secret.ADDRESS),
    "reply-to":         Rule(Secret.ADDRESS),
    "virtual-host":     Rule(Secret.NAME),
    "path":             Rule(Secret.NAME),
    "consumer-tag":     Rule(Secret.NAME),
    "user-id":          Rule(Secret.NAME),
    "host":             Rule(Secret.HOST),
    "known-hosts":      Rule(Secret.HOST),
    "cluster-id":       Rule(Secret.HOST),
    "type":             Rule(Secret.PROPERTY, stays=TYPE.fullmatch),
    "realm":            Rule(Secret.PROPERTY, stays=REALM.fullmatch),
    "mechanism":        Rule(Secret.PROPERTY, stays=MECHANISMS.fullmatch),
    "mechanisms":       Rule(Secret.PROPERTY, stays=MECHANISMS.fullmatch),
    "locale":           Rule(Secret.PROPERTY, stays=LOCALE.fullmatch),
    "locales":          Rule(Secret.PROPERTY, stays=LOCALE.fullmatch),
    "expiration":       Rule(Secret.PROPERTY, stays=DIGITS.fullmatch),
    "content-type":     Rule(Secret.PROPERTY, stays=is_usual_type),
    "content-encoding": Rule(Secret.PROPERTY, stays=is_usual_coding),
    "reply-text":       Rule(Secret.TEXT, Manner.PROSE),
    "details":          Rule(Secret.TEXT, Manner.PROSE),
    "reason":           Rule(Secret.TEXT, Manner.PROSE),
    "response":         Rule(Secret.CREDENTIAL, Manner.LOGIN),
    "challenge":        Rule(Secret.CREDENTIAL, Manner.LOGIN),
    "new-secret":       Rule(Secret.CREDENTIAL, Manner.LOGIN),
    "security-token":   Rule(Secret.CREDENTIAL, Manner.LOGIN),
}
# fmt: on
OTHER: Final = Rule(Secret.PROPERTY)
VALUE: Final = Rule(Secret.PROPERTY, stays=VALUES.__contains__)
INTRODUCTIONS: Final = frozenset(("server-properties", "client-properties"))


class Marker(scrub.Marker):
    """Marks frames and bodies."""

    def words(self) -> frozenset[str]:
        """What brokers write, and what methods and arguments are called."""
        plans = dialect(DEFAULT).methods.values()
        names = [name for plan in plans for name in (plan.name, *plan.names)]
        return WORDS.union(*(re.split(r"[.-]", name) for name in names))

    def frame(self, event: shared.Event) -> list[ScrubMark]:
        """The arguments of a method, the properties of a content, and what could not be read."""
        frame, own = event.frame, cast(Event, event)
        unit = own.unit
        if unit.header is not None:
            return []
        head = unit.head if unit.head in HEADS else HEADS[0]
        taken = self.fragment(event)
        marks: list[ScrubMark] = []
        for node in unit_tree(frame.raw, unit.dialect, frame.missing, head).children:
            if taken is None or node.start != taken.start:
                marks.extend(_node(node, frame.raw, node.start, ""))
        return marks

    def fragment(self, event: shared.Event) -> Fragment | None:
        """The octets of a body frame."""
        own, raw = cast(Event, event), event.frame.raw
        unit = own.unit
        if unit.label != "content-body" or unit.header is not None or len(raw) <= unit.head:
            return None
        stop = min(len(raw), unit.head + unit.size)
        message = own.frame if own.content is None else own.content
        return Fragment(message, unit.head, stop) if stop > unit.head else None


def _node(node: Node, raw: bytes, at: int, table: str) -> Iterator[ScrubMark]:
    """What a part of a frame has.

    Its value begins at `at`, behind the name and letter of a table's field; `table` is the argument
    that it is in, if that is a table.
    """
    if node.type == "octets":
        if isinstance(node.value, bytes):
            yield from _rest(at, node.end)
    elif node.type in WIDTHS:
        yield from _text(node, raw, min(at + WIDTHS[node.type], node.end), table)
    elif node.type in ("method", "content-header"):
        for child in node.children:
            yield from _node(child, raw, child.start, "")
    elif node.type == "content":
        # A message that is an argument: how it is given, its size, and itself.
        yield ScrubMark(min(at + 5, node.end), node.end, Secret.BODY, Manner.BODY)
    elif node.type in ("table", "array"):
        yield from _fields(node, raw, at, table or node.label)


def _fields(node: Node, raw: bytes, at: int, table: str) -> Iterator[ScrubMark]:
    """The names and values of a table, or the items of an array."""
    at += 4
    for child in node.children:
        start = child.start
        if node.type == "table":
            name = start + 1
            start = min(name + raw[child.start], child.end)
            yield from _field_name(raw, name, start)
        yield from _node(child, raw, start + 1, table)
        at = child.end
    yield from _rest(at, node.end)


def _rest(start: int, stop: int) -> Iterator[ScrubMark]:
    """Octets that could not be read: the first of them stays, for the rules to find it."""
    if stop - start > 1:
        yield ScrubMark(start + 1, stop, Secret.DAMAGE, Manner.OCTETS)


def _field_name(raw: bytes, start: int, stop: int) -> Iterator[ScrubMark]:
    """The name of a field."""
    text = raw[start:stop].decode("utf-8", "replace")
    if text in KEYS:
        yield ScrubMark(start, stop, Secret.KEPT)
        return
    yield from _behind_prefix(text, start, stop, Rule(Secret.PROPERTY))


def _text(node: Node, raw: bytes, start: int, table: str) -> Iterator[ScrubMark]:
    """A text: what it is, and whether it stays."""
    text = raw[start : node.end].decode("utf-8", "replace")
    rule = FIELDS.get(node.label, OTHER) if not table else VALUE
    if table in INTRODUCTIONS and node.label in PRODUCT:
        rule = Rule(Secret.PRODUCT)
    if rule.stays is not None and rule.stays(text):
        yield ScrubMark(start, node.end, Secret.KEPT)
    elif rule.manner != Manner.NAME:
        yield ScrubMark(start, node.end, rule.kind, rule.manner)
    else:
        yield from _behind_prefix(text, start, node.end, rule)


def _behind_prefix(text: str, start: int, stop: int, rule: Rule) -> Iterator[ScrubMark]:
    """A name, of which the broker's prefix stays."""
    prefix = PREFIX.match(text)
    if prefix is not None and prefix.end():
        yield ScrubMark(start, start + prefix.end(), Secret.KEPT)
        start += prefix.end()
    yield ScrubMark(start, stop, rule.kind, rule.manner)
