"""Secrets covered: in values, in octets, and in the tree of a unit or a message.

What a secret is, `dissectors.secrets` says. Here is where it lies and what is put in its place, so
that a sink writes what it gets and need not know about secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dissectors.errors import Malformed
from dissectors.secret_signs import suspicious_octets
from dissectors.secrets import (
    MASK,
    Spans,
    clean_name,
    cleaned,
    harmless,
    joined,
    open_claim,
    secret_field,
    secret_key,
    secret_spans,
    starred,
    suspicious_body,
)
from dissectors.tree import Node
from dissectors.v0_9.encodings import AS_SPOKEN, KINDS, WIDTHS
from dissectors.v0_9.values import Content, FieldArray, Table, Unreadable
from dissectors.v1_0.bodies import Body, restore
from dissectors.v1_0.message import skip
from dissectors.v1_0.values import Array, Described, Uuid
from dissectors.values import Char, Map, Value

SECRET: Final = "secret"
"""The type of a node that hides what was there."""
CLAIMS: Final = "application-properties"
"""The section of a token's message that says what the token is for."""
LOOK_BACK: Final = 8192
"""Octets before a part of a message in which a secret may begin that goes on in the part."""
SHORT: Final = 256
"""Octets of a binary that is looked at closely; a longer one is a body."""
MAX_LOOSE: Final = 1 << 16
"""Octets of damaged tables that are searched for names; each may be the first of one."""
_LENGTHS: Final = {0xA0: 1, 0xA1: 1, 0xA3: 1, 0xB0: 4, 0xB1: 4, 0xB3: 4}
"""Octets of the length that follow the constructors of what can be a key."""
_CONSTRUCTOR: Final = re.compile(rb"[\xa0\xa1\xa3\xb0\xb1\xb3]")
_NAME: Final = re.compile(rb"[\x20-\x7e]{2,64}")
_SIZED: Final = {"longstr": 4, "bytes": 4, "table": 4, "array": 4, "shortstr": 1}
_BLANKS: Final = bytes(0x20 if octet < 0x20 or octet == 0x7F else octet for octet in range(256))
"""Control characters end a text among octets."""


def masked(value: Value) -> Value:
    """A value whose secrets are masked; itself where it has none and holds no others."""
    if isinstance(value, str):
        return _masked_text(value)
    if isinstance(value, bytes):
        return value if isinstance(value, Uuid) else masked_octets(value)
    if isinstance(value, Table):
        return Table([(clean_name(k), masked_under(k, v)) for k, v in value], value.letters)
    if isinstance(value, Map):
        return Map([(masked(key), masked_under(key, item)) for key, item in value])
    if isinstance(value, Array):
        return Array(value.code, map(masked, value), value.descriptors)
    if isinstance(value, FieldArray):
        return FieldArray(map(masked, value), value.letters)
    if isinstance(value, list):
        return list(map(masked, value))
    if isinstance(value, Described):
        return Described(masked(value.descriptor), masked(value.value))
    if isinstance(value, Body):
        return _masked_body(value)
    if isinstance(value, Content):
        return Content(value.reference, masked(value.value))
    return value


def masked_under(key: Value, value: Value) -> Value:
    """A value in a map or table, judged by its key too."""
    return MASK if secret_key(key) and not harmless(value) else masked(value)


def _masked_text(text: str) -> str:
    made = cleaned(text)
    if made is text or isinstance(text, Char):
        return text
    return made if isinstance(text, Unreadable) else type(text)(made)


def _masked_body(body: Body) -> Body:
    name = body.row.name
    fields = [field.name for field in body.row.fields]
    hidden = [secret_field(name, field) for field in fields]
    values = [
        MASK if place < len(hidden) and hidden[place] and item is not None else masked(item)
        for place, item in enumerate(body.values)
    ]
    wrong = {place: MASK if hidden[place] else masked(v) for place, v in body.wrong.items()}
    return restore(name, values, wrong)


def masked_octets(octets: bytes) -> bytes:
    """Octets in which the secrets of texts are starred."""
    spans = value_spans(octets)
    return starred(octets, spans) if spans else octets


def value_spans(octets: bytes) -> Spans:
    """Where in a binary value secrets are."""
    if len(octets) > SHORT and not suspicious_body(octets):
        return []
    return text_spans(octets)


def text_spans(octets: bytes) -> Spans:
    """Where among octets texts have secrets."""
    if not suspicious_octets(octets):
        return []
    return secret_spans(octets.translate(_BLANKS).decode("latin-1"))


def octet_spans(octets: bytes, before: bytes = b"") -> Spans:
    """Where in octets that nobody could decode secrets are; `before` are those ahead of them."""
    tail = before[-LOOK_BACK:]
    whole = tail + octets
    found = joined([*text_spans(whole), *_keyed(whole)])
    shift = len(tail)
    return [(max(start - shift, 0), end - shift) for start, end in found if end > shift]


def _keyed(octets: bytes) -> Iterator[tuple[int, int]]:
    """The values behind keys of 1.0 that are named like credentials."""
    done = 0
    for found in _CONSTRUCTOR.finditer(octets):
        width = _LENGTHS[octets[found.start()]]
        start = found.end() + width
        end = start + int.from_bytes(octets[found.end() : start], "big")
        if found.start() < done or not _secret_name(octets, start, end):
            continue
        done = _value_end(octets, end)
        yield end, done


def _secret_name(octets: bytes, start: int, end: int) -> bool:
    """Whether a name is there, and like that of a credential."""
    if not 2 <= end - start <= 64 or end >= len(octets):
        return False
    return _NAME.fullmatch(octets, start, end) is not None and secret_key(octets[start:end])


def _value_end(octets: bytes, at: int) -> int:
    """Where a value of 1.0 ends; one that goes on or makes no sense reaches to the end."""
    try:
        return skip(octets, at, len(octets))
    except Malformed:
        return len(octets)


def loose_spans(octets: bytes) -> Spans:
    """Where secrets are in octets of a damaged field table of 0-9."""
    found = text_spans(octets)
    at, limit = 0, min(len(octets), MAX_LOOSE)
    while at < limit:
        end = at + 1 + octets[at]
        if _secret_name(octets, at + 1, end):
            stop = _field_end(octets, end)
            found.append((end, stop))
            at = stop
        at += 1
    return joined(found)


def _field_end(octets: bytes, at: int) -> int:
    """Where the value behind a letter ends, at most where the octets do."""
    kind = AS_SPOKEN[octets[at]]
    width = _SIZED.get(KINDS[kind], 0)
    size = int.from_bytes(octets[at + 1 : at + 1 + width], "big") if width else WIDTHS[kind]
    return min(at + 1 + width + size, len(octets)) if kind else len(octets)


class Cover:
    """Covers the secrets in the trees of one unit; `spans` are the octets that are covered."""

    def __init__(
        self,
        raw: bytes,
        hidden: frozenset[str] = frozenset(),
        *,
        token: bool = False,
        before: bytes = b"",
    ) -> None:
        self.raw = raw
        self.hidden = hidden
        """Labels at the top of the tree under which all is secret."""
        self.token = token
        """It is a message with a token: only some claims may be shown."""
        self.before = before
        """Octets of the same message in the transfers before."""
        self._found: Spans = []

    @property
    def spans(self) -> Spans:
        """The octets that are covered."""
        return joined(self._found)

    def tree(self, root: Node) -> Node:
        """The tree without its secrets."""
        children = [
            self._hide(child) if child.label in self.hidden else self._node(child, child.label)
            for child in root.children
        ]
        return self._leaf(root) if not children else root._replace(children=tuple(children))

    def _hide(self, node: Node) -> Node:
        self._found.append((node.start, node.end))
        return Node(clean_name(node.label), SECRET, -1, node.start, node.end, None)

    def _node(self, node: Node, section: str) -> Node:
        if not node.children:
            return self._leaf(node)
        if node.type == "map":
            children = list(self._pairs(node, section))
        elif node.type == "table":
            children = [self._under(child.label, child, "") for child in node.children]
        else:
            owner = node.label if node.type in {"method", "content-header"} else node.type
            children = [
                self._hide(child)
                if secret_field(owner, child.label)
                else self._node(child, section)
                for child in node.children
            ]
        self._rest(node, node.children[-1])
        return node._replace(label=clean_name(node.label), children=tuple(children))

    def _rest(self, node: Node, last: Node) -> None:
        """What could not be read behind the last child of a node."""
        if node.end - last.end < 2:
            return
        if node.type == "map" and len(node.children) % 2 and secret_key(last.value):
            self._found.append((last.end, node.end))
        else:
            self._unread(last.end, node.end)

    def _unread(self, start: int, end: int) -> None:
        """Octets that nobody could read."""
        octets = self.raw[start:end]
        # What could not be read may begin inside of a name.
        before = self.raw[max(start - LOOK_BACK, 0) : start]
        found = [*octet_spans(octets, before), *loose_spans(octets)]
        self._found += [(start + first, start + last) for first, last in found]

    def _pairs(self, node: Node, section: str) -> Iterator[Node]:
        key: Value = None
        for place, child in enumerate(node.children):
            if place % 2 == 0:
                key = child.value
                yield self._node(child, section)
            else:
                yield self._under(key, child, section)

    def _under(self, key: Value, node: Node, section: str) -> Node:
        """The value under a key."""
        unread = not node.children and node.value is None and node.type not in {"null", "void"}
        hidden = secret_key(key) and (unread or not harmless(node.value))
        if self.token and section == CLAIMS and not open_claim(key, node.value):
            hidden = True
        return self._hide(node) if hidden else self._node(node, section)

    def _leaf(self, node: Node) -> Node:
        value = node.value
        if value is None and node.end - node.start > 2:
            self._unread(node.start, node.end)
        if isinstance(value, bytes) and not isinstance(value, Uuid):
            spans = self._octets(node, value)
        elif isinstance(value, str):
            spans = self._text(node, value)
            value = masked(value)
        else:
            return node._replace(value=masked(value), label=clean_name(node.label))
        self._found += spans
        if isinstance(value, bytes):
            first = node.end - len(value)
            value = starred(value, [(start - first, end - first) for start, end in spans])
        return node._replace(value=value, label=clean_name(node.label))

    def _octets(self, node: Node, value: bytes) -> Spans:
        """What to cover of octets: those that are a value, and those that nobody could read."""
        if node.code >= 0 or node.type != "octets":
            found = value_spans(value)
        elif node.label == "payload":
            found = octet_spans(value, self.before)
        else:
            self._unread(node.start, node.end)
            return self._within(node)
        first = node.end - len(value)
        return [(first + start, first + end) for start, end in found]

    def _within(self, node: Node) -> Spans:
        """What is covered already of a node's octets."""
        return [
            (max(start, node.start), min(end, node.end))
            for start, end in self._found
            if start < node.end and end > node.start
        ]

    def _text(self, node: Node, value: str) -> Spans:
        """What to cover of a string."""
        spans = secret_spans(value)
        octets = value.encode("utf-8", "surrogatepass")
        first = node.end - len(octets)
        if spans and self.raw[max(first, 0) : node.end] != octets:
            return [(node.start, node.end)]
        return [
            (
                first + len(value[:start].encode("utf-8", "surrogatepass")),
                first + len(value[:end].encode("utf-8", "surrogatepass")),
            )
            for start, end in spans
        ]
