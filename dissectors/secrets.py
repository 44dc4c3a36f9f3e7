"""What is a secret: the one place that decides it, for all protocols and all outputs.

A secret is one of these, and nothing else is:

* a field that the protocol itself defines to hold a credential (`sasl-init.initial-response`);
* a message to the node that takes tokens, `$cbs`, or one that asks for `put-token`;
* a value in a map or table whose key is named like a credential (`password`, `x-api-key`);
* a part of a text: the password of a URL, a parameter named like a credential (`sig=...`), an
  HTTP authorization, a JSON web token.

Outputs show `MASK` in its place, and how long it was where they have room for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from dissectors.values import Value

MASK: Final = "********"
STAR: Final = b"*"
"""What replaces an octet of a secret where octets are shown one by one."""

Spans = list[tuple[int, int]]
"""Begins and ends, in order and apart from each other."""

# fmt: off
FIELDS: Final = frozenset((
    # composite or method         field
    # What the server says, its challenge and additional-data, lets nobody in.
    ("sasl-init",                "initial-response"),
    ("sasl-response",            "response"),
    ("connection.start-ok",      "response"),
    ("connection.secure-ok",     "response"),
    ("connection.update-secret", "new-secret"),
    ("message.transfer",         "security-token"),
))

# Names are compared in lower case, without anything between letters and without a number last.
WHOLE: Final = frozenset((
    "auth", "cookie", "jwt", "pass", "passcode", "pin", "pw", "sas", "sig", "xauth",
))
"""A key that is called so is a credential."""
WITHIN: Final = (
    "accesskey", "accountkey", "apikey", "authkey", "authorization", "clientkey",
    "connectionstring", "credential", "passphrase", "passwd", "password", "passwort",
    "privatekey", "secret", "sharedkey", "signingkey",
)
"""A key that has such a word in it is a credential."""
LAST: Final = ("bearer", "cookie", "jwt", "pwd", "signature", "token")
"""A key that ends with one of these is a credential."""
HARMLESS: Final = (
    # Names of locks and of places to go on from: they let nobody in.
    "cancellationtoken", "continuationtoken", "deliverytoken", "locktoken", "nexttoken",
    "pagetoken", "sequencetoken", "statetoken", "synctoken",
    # What is said about a credential.
    "expiration", "expiry", "length", "name", "type",
)
IN_QUERIES: Final = frozenset(("code", "key"))
"""Further names in the query of a URL; anywhere else a `key` is one to route by."""

OPEN_CLAIMS: Final = frozenset((
    "expiration", "status-code", "status-description", "statusCode", "statusDescription",
))
"""Application properties of requests to `$cbs`, and of replies, that hold no secret."""
OPEN_VALUES: Final = {
    "operation": frozenset(("put-token", "delete-token")),
    "type": frozenset((
        "amqp:jwt", "amqp:swt", "jwt", "servicebus.windows.net:sastoken", "amqp:saml",
    )),
}
"""Values of further application properties there that hold no secret, by property."""
# fmt: on

CBS_NODE: Final = "$cbs"
"""The node that takes tokens (claims-based security); a longer address can have it as a part."""
PUT_TOKEN: Final = b"put-token"
"""The operation that a request to it names."""

MAX_KNOWN: Final = 4096
"""Names of each kind whose verdict is kept: they come from a small vocabulary."""
MAX_NAME: Final = 64
"""Characters of such a name; a longer one is looked at again."""

_METHODS: Final = frozenset(owner for owner, _ in FIELDS)
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")
_TO_CBS: Final = re.compile(rb"\$[cC][bB][sS]|%24[cC][bB][sS]")
_AUDIENCE: Final = re.compile(r"(?:sb|amqps?|https?)://")
# Each begins where no earlier try can have begun, so that a long text is walked once.
_PARAMETER: Final = re.compile(r"(?<![\w.%-])([\w.%-]{1,64}+)=([^&;\s]+)")
_AUTHORIZATION: Final = re.compile(r"(?i)\b(?:bearer|basic)[ :]{1,4}+(?=\S{0,64}[\d=._])(\S{8,})")
_WEB_TOKEN: Final = re.compile(r"(?<![\w-])eyJ[\w-]{5,}+\.[\w-]*+(?:\.[\w-]*+)?")
_SIGN: Final = re.compile(
    rb"=(?:(?<=[sS][iI][gG]=)|(?<=[kK][eE][yY]=)|(?<=[kK][eE][nN]=)|(?<=[rR][eE][tT]=)"
    rb"|(?<=[oO][rR][dD]=)|(?<=[sS][wW][dD]=)|(?<=[pP][wW][dD]=)|(?<=[uU][rR][eE]=))"
)
"""The ends of `sig`, `key`, `token`, `secret`, `password`, `passwd`, `pwd` and `signature`."""
_PORT: Final = re.compile(r"\d{1,5}(?=[/?#,)\s]|$)")
_BARE_LOGIN: Final = re.compile(r"([^\s/:@=?&]{1,256}+):([^\s/@]{1,4096}+)@[\w.\-]{1,255}+[:/]")
_NO_LOGIN: Final = frozenset(("id", "mailto", "queue", "sip", "sips", "topic", "urn", "xmpp"))
"""What precedes a colon in names that are no user and password."""
_BEHIND: Final = "\"'`)]},.>…"
"""What may follow a text that is quoted in a sentence."""

_keys: Final[dict[str, bool]] = {}
_nodes: Final[dict[str, bool]] = {}
_names: Final[dict[str, str]] = {}


def secret_field(owner: str, field: str) -> bool:
    """Whether this field of a composite or a method holds a credential."""
    return (owner, field) in FIELDS


def secret_method(method: str) -> bool:
    """Whether a method holds one in some field, or anywhere if it is damaged."""
    return method in _METHODS


def secret_node(address: str) -> bool:
    """Whether what is sent to an address is a token."""
    known = _nodes.get(address)
    if known is None:
        path = re.split(r"[?#;]", address, maxsplit=1)[0]
        known = CBS_NODE in [part.strip() for part in unquote(path).lower().split("/")]
        if len(_nodes) < MAX_KNOWN and len(address) <= MAX_NAME:
            _nodes[address] = known
    return known


def names_cbs(message: bytes) -> bool:
    """Whether octets of a message name the node that takes tokens, as in its `to`."""
    return _TO_CBS.search(message) is not None


def open_claim(key: Value, value: Value) -> bool:
    """Whether an application property of a token's message, or of the reply, may be shown."""
    if not isinstance(key, str):
        return False
    if key == "name":  # the audience
        return isinstance(value, str) and _AUDIENCE.match(value) is not None
    if key in OPEN_VALUES:
        return isinstance(value, str) and value in OPEN_VALUES[key]
    return key in OPEN_CLAIMS


def secret_key(key: Value) -> bool:
    """Whether what is stored under a key is a credential, judged by the key."""
    if isinstance(key, bytes):
        key = key.decode("latin-1")
    if not isinstance(key, str):
        return False
    known = _keys.get(key)
    if known is None:
        known = _like_a_credential(_BETWEEN.sub("", key.lower()).rstrip("0123456789"))
        if len(_keys) < MAX_KNOWN and len(key) <= MAX_NAME:
            _keys[str(key)] = known
    return known


def _like_a_credential(name: str) -> bool:
    if name.endswith(HARMLESS):
        return False
    return name in WHOLE or name.endswith(LAST) or any(word in name for word in WITHIN)


def harmless(value: Value) -> bool:
    """Whether a value says nothing even under the key of a secret."""
    return value is None or value is True or value is False


def suspicious(text: str) -> bool:
    """Whether a text may have a secret in it: quick, and right when it says no."""
    login = "@" in text and ":" in text
    return login or "=" in text or "eyJ" in text or "earer" in text or "asic" in text


def suspicious_body(octets: bytes) -> bool:
    """Whether a body, which often is long, may have a secret: by the plainest signs alone."""
    return (
        (b"://" in octets and b"@" in octets)
        or _SIGN.search(octets) is not None
        or b"eyJ" in octets
        or b"earer " in octets
    )


def secret_spans(text: str) -> Spans:
    """Where in a text secrets are."""
    if not suspicious(text):
        return []
    found: Spans = []
    if "=" in text:
        found += _parameters(text)
    if "@" in text:
        found += _logins(text)
    for pattern, group in ((_AUTHORIZATION, 1), (_WEB_TOKEN, 0)):
        found += [_without_quote(text, *each.span(group)) for each in pattern.finditer(text)]
    return joined(found)


def joined(spans: Spans) -> Spans:
    """Spans in order, those that touch as one."""
    made: Spans = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        elif end > start:
            made.append((start, end))
    return made


def _without_quote(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without what closes a quotation at its end."""
    while end > start and text[end - 1] in _BEHIND:
        end -= 1
    return start, end


def _parameters(text: str) -> Iterator[tuple[int, int]]:
    """The values of `name=value` where the name is one of a credential."""
    for found in _PARAMETER.finditer(text):
        before = text[found.start() - 1 : found.start()]
        name = unquote(found[1])
        asked = before in ("?", "&", ";") and name.lower() in IN_QUERIES
        if asked or secret_key(name):
            yield _without_quote(text, *found.span(2))


def _logins(text: str) -> Iterator[tuple[int, int]]:
    """The passwords of `scheme://user:password@host`, also where they have an odd character."""
    found = _BARE_LOGIN.match(text)
    if found is not None and found[1].lower() not in _NO_LOGIN and "//" not in found[0]:
        yield found.span(2)
    for word in re.finditer(r"\S+", text):
        marks = [mark.end() for mark in re.finditer("://", word[0])]
        for start, stop in zip(marks, [*marks[1:], len(word[0])], strict=False):
            at = word[0].rfind("@", start, stop)
            colon = word[0].find(":", start, stop)
            if word[0].startswith("[", start) or not start <= colon < at:
                continue
            if not _PORT.match(word[0], colon + 1, stop):
                yield word.start() + colon + 1, word.start() + at


def cleaned(text: str) -> str:
    """A text with its secrets masked."""
    spans = secret_spans(text)
    if not spans:
        return text
    made, at = [], 0
    for start, end in spans:
        made += [text[at:start], MASK]
        at = end
    return "".join([*made, text[at:]])


def clean_name(name: str) -> str:
    """A name or address with its secrets masked, remembered since it comes over and over."""
    known = _names.get(name)
    if known is None:
        known = cleaned(name)
        if len(_names) < MAX_KNOWN and len(name) <= MAX_NAME:
            _names[str(name)] = known
    return known


def starred(octets: bytes, spans: Spans) -> bytes:
    """Octets with some of them covered."""
    made = bytearray(octets)
    for start, end in spans:
        made[start:end] = STAR * (end - start)
    return bytes(made)
