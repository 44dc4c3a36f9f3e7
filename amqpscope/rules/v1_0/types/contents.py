"""What fields hold: maps and their keys, descriptors, language tags (TYP; spec 1.5, 1.6.23, 2.8).

These look into values at any depth, so they run only on frames that come seldom.
"""

from __future__ import annotations

import re
from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.field_checks import FITNESS
from amqpscope.model.v1_0.message import key_text
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, WARNING, Reporter, rule
from amqpscope.rules.v1_0.parameters import Parts, performative
from amqpscope.rules.v1_0.types.values import error_of, type_name
from dissectors.v1_0.bodies import Body, Open
from dissectors.v1_0.names import EXTENSIONS, descriptor_name
from dissectors.v1_0.tables import COMPOSITES, RESTRICTED
from dissectors.v1_0.values import Array, Described, Map, Symbol, Ulong, Value

LANGUAGE_TAG: Final = re.compile(r"(?:[a-z]{2,8}|[ix](?=-))(?:-[a-z0-9]{1,8})*", re.IGNORECASE)
"""The outer shape of RFC 5646, which private and grandfathered tags have too."""


KNOWN_SYMBOLS: Final = frozenset(
    (*(row.symbol for row in EXTENSIONS), *(row.symbol for row in (*COMPOSITES, *RESTRICTED)))
)


@rule("TYP-012", "1.5", IMPLIED, WARNING, on="attach | open | begin")
def descriptor_type_reserved(event: Event, report: Reporter, parts: Parts) -> None:
    """A descriptor is a symbol or an ulong; other types are kept for later use.

    Receivers that look descriptors up in a table of symbols and numbers cannot find it there, and
    some fail to decode the frame. Seen where an application builds a filter by hand.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target() source=source(address="q"
                filter={:f=@"apache.org:selector-filter:string" "a = 1"})   # <- TYP-012

    Good (session):
        client: attach[0] name="r" handle=0 role=receiver target=target() source=source(address="q"
                filter={:f=@:apache.org:selector-filter:string "a = 1"
                        :g=@ulong 0x468C00000003 list[]})
    """
    for path, value in parts:
        if isinstance(value, Described) and not isinstance(value.descriptor, (Ulong, Symbol)):
            kind = type_name(value.descriptor)
            report.sure(event, f"{path} has {kind} as its descriptor, not a symbol or ulong", path)


@rule("TYP-013", "1.5", IMPLIED, INFO, on="attach | open | begin")
def descriptor_domain_unknown(event: Event, report: Reporter, parts: Parts) -> None:
    """A descriptor lies in a domain of who defined it: a vendor's, or the standard's own names.

    A number below 2^32 and a symbol that begins with amqp: are the standard's, and one of these
    that nobody knows is likely a slip. So is a symbol without a domain before a colon.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target() source=source(address="q"
                filter={:f=@:amqp:selector-filtre:string "a = 1"})   # <- TYP-013

    Good (session):
        client: attach[0] name="r" handle=0 role=receiver target=target() source=source(address="q"
                filter={:f=@:example.com:own-filter "a = 1"})
    """
    for path, value in parts:
        if isinstance(value, Described) and unknown_domain(value.descriptor):
            name = descriptor_name(value.descriptor)
            report.suspect(event, f"{path} has an unknown descriptor: {name}", path)


def unknown_domain(descriptor: Value) -> bool:
    """A descriptor in the standard's domain, or in none, that no specification has."""
    if isinstance(descriptor, Ulong):
        return descriptor_name(descriptor).startswith("amqp:0x")
    if isinstance(descriptor, Symbol):
        if str(descriptor) in KNOWN_SYMBOLS:
            return False
        return ":" not in descriptor or descriptor.startswith("amqp:")
    return False


@rule(
    "TYP-016", "1.6.23", IMPLIED, ERROR, on="open | begin | attach | detach | end | close | wrong"
)
def map_duplicate_key(event: Event, report: Reporter, parts: Parts) -> None:
    """No key appears twice in a map.

    Which of the two values counts is up to the receiver, so two stacks read two things. Keys are
    the same when type and value are: the string "a" and the symbol a differ, and so do int 1 and
    long 1, while one number in two encodings is the same key.

    Bad (headers):
        client: open container-id="c" properties={:product="a" :product="b"}   # <- TYP-016

    Good (headers):
        client: open container-id="c" properties={:product={"a"=1 :a=2 int 1=3 uint 1=4}}
    """
    for path, value in parts:
        if isinstance(value, Map):
            key = repeated_key(value)
            if key:
                report.sure(event, f"{path} has the key {key} twice", path)


def repeated_key(pairs: Map) -> str:
    """The first key that was there before, with its type; or nothing."""
    seen: set[str] = set()
    for key, _ in pairs:
        token = key_text(key)
        if token and token in seen:
            return token
        seen.add(token)
    return ""


@rule("TYP-018", "2.8.13", IMPLIED, ERROR, on="wrong")
def fields_key_not_symbol(event: Event, report: Reporter) -> None:
    """Every key of a properties or info map is a symbol.

    Receivers look their keys up as symbols, and a string of the same letters is not found.

    Bad (headers):
        client: open container-id="c" properties={"product"="p"}   # <- TYP-018

    Good (headers):
        client: open container-id="c" properties={:product="p" :inner={"a"=1}}
    """
    body = performative(event)
    if body is None:
        return
    check_keys(event, report, body, body.row.name)
    error = error_of(body)
    if error is not None:
        check_keys(event, report, error, f"{body.row.name}.error")


def check_keys(event: Event, report: Reporter, body: Body, path: str) -> None:
    """Look at the keys of a body's maps."""
    for place in FITNESS[type(body)].keyed:
        fields: Value = body[place]
        if not isinstance(fields, Map):
            continue
        odd = [key for key, _ in fields if type(key) is not Symbol]
        if odd:
            whole = f"{path}.{body.row.fields[place].name}"
            first = f"{type_name(odd[0])} ({odd[0]!r})"
            report.sure(event, f"{whole} has {first} as a key, not a symbol", whole)


@rule("TYP-022", "2.8.12", IMPLIED, WARNING, on="open")
def language_tag_malformed(event: Event, report: Reporter) -> None:
    """A locale is a language tag as RFC 5646 writes it: en-US, not en_US.

    Bad (headers):
        client: open container-id="c" incoming-locales=[:en_US]   # <- TYP-022

    Good (headers):
        client: open container-id="c" outgoing-locales=:de incoming-locales=[:en-US :zh-Hans :x-a]
    """
    body = performative(event)
    if not isinstance(body, Open):
        return
    for name, value in (
        ("outgoing-locales", body.outgoing_locales),
        ("incoming-locales", body.incoming_locales),
    ):
        for tag in value if isinstance(value, Array) else () if value is None else (value,):
            if isinstance(tag, str) and LANGUAGE_TAG.fullmatch(tag) is None:
                report.sure(
                    event, f'open.{name} has "{tag}", which is not a language tag', f"open.{name}"
                )
