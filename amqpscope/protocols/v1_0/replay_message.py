"""What of a message of AMQP 1.0 tells whether it is the one that was recorded.

Ids, times and what a broker adds are not compared: a run of the same program has others. Ids that
look made up are learned, so that what refers to them can be sent with the live ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dissectors.v1_0.bodies import Discharge, Header, Properties
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode, encode_message
from dissectors.v1_0.message import read_section, walk
from dissectors.v1_0.notation_text import text_value
from dissectors.v1_0.tables import SECTIONS
from dissectors.v1_0.values import Described, Map, Ulong, Value

IDS: Final = ("message-id", "correlation-id", "group-id", "reply-to-group-id")
ADDRESSES: Final = ("to", "reply-to")
TIMES: Final = ("creation-time", "absolute-expiry-time", "user-id", "group-sequence")
REFERENCES: Final = (*IDS, *ADDRESSES, "txn-id")
"""Fields whose values may be those of another run."""
BODY: Final = frozenset(("data", "amqp-sequence", "amqp-value"))
OWN: Final = "application-properties"
BARE: Final = BODY | {"properties", OWN}
_MADE_UP: Final = re.compile(r"[0-9a-fA-F]{4,}")
_LARGE: Final = 1_000_000
CODES: Final = {name: code for code, name in SECTIONS.items()}
Values = dict[Value, Value]
"""Live values by recorded ones."""


def looks_alike(one: Value, other: Value) -> bool:
    """Whether two ids differ only in parts that programs make up for each run."""
    if isinstance(one, int) and isinstance(other, int):
        return one >= _LARGE and other >= _LARGE
    if isinstance(one, str) and isinstance(other, str):
        return _MADE_UP.sub("*", one) == _MADE_UP.sub("*", other)
    return type(one) is type(other)


def sections_of(payload: bytes) -> list[tuple[str, Value]]:
    """The sections of a message, decoded, as far as they can be."""
    found, _ = walk(payload)
    return [(section.name, read_section(payload, section)[0]) for section in found]


def describe(payload: bytes, *, annotated: bool) -> dict[str, str]:
    """What tells of a message, by name; `annotated` with what only its own sender writes."""
    told: dict[str, str] = {}
    body: list[str] = []
    for name, value in sections_of(payload):
        if name in BODY:
            body.append(text_value(value))
        elif isinstance(value, Header) and annotated:
            told.update(fields_of(value, ("durable", "priority", "ttl")))
        elif isinstance(value, Properties):
            names = [each.name for each in value.row.fields]
            plain = [each for each in names if each not in (*IDS, *ADDRESSES, *TIMES)]
            told.update(fields_of(value, plain))
        elif name == OWN and isinstance(value, Map):
            told.update({f"{name}.{key}": text_value(item) for key, item in value})
    told["body"] = " ".join(body)
    return told


def fields_of(body: Body, names: object) -> dict[str, str]:
    """Some fields of a composite that are there, as text."""
    chosen = set(names) if isinstance(names, list | tuple) else set()
    return {
        field.name: text_value(value, field.type)
        for field, value in zip(body.row.fields, body, strict=False)
        if field.name in chosen and value is not None
    }


def request_text(payload: bytes) -> str:
    """What a message asks of a coordinator, without the id of the transaction (4.5)."""
    for name, value in sections_of(payload):
        if isinstance(value, Discharge):
            return f"discharge fail={str(bool(value.fail)).lower()}"
        if name == "amqp-value" and isinstance(value, Body):
            return value.row.name
    return "unknown"


def own_properties(payload: bytes) -> dict[str, Value]:
    """The properties that an application has added to a message, by the names of `describe`."""
    return {
        f"{OWN}.{key}": item
        for name, value in sections_of(payload)
        if name == OWN and isinstance(value, Map)
        for key, item in value
    }


def bare_message(payload: bytes) -> bytes:
    """What an intermediary passes on as it is (3.2)."""
    for section in walk(payload)[0]:
        if section.name in BARE:
            return payload[section.start :]
    return payload


def body_of(payload: bytes) -> bytes:
    """The body of a message, and what follows it."""
    for section in walk(payload)[0]:
        if section.name in BODY:
            return payload[section.start :]
    return b""


def properties_of(payload: bytes) -> Properties | None:
    """The properties of a message."""
    for section in walk(payload)[0]:
        if section.name == "properties":
            value = read_section(payload, section)[0]
            return value if isinstance(value, Properties) else None
    return None


def message_id(payload: bytes) -> Value:
    """The id of a message, which also brokers leave as it is that encode it anew."""
    found = properties_of(payload)
    return None if found is None else found.message_id


def ids_of(payload: bytes) -> set[Value]:
    """The ids and addresses that a message names."""
    found = properties_of(payload)
    return set() if found is None else {found.part_named(name) for name in (*IDS, *ADDRESSES)}


def compare_ids(
    recorded: bytes, live: bytes, values: Values, own: set[Value]
) -> dict[str, tuple[str, str]]:
    """Learn the ids and addresses of a live message; those that differ on purpose, by name.

    Those that our own messages name are not learned: they stay what they are.
    """
    one, other = properties_of(recorded), properties_of(live)
    differing: dict[str, tuple[str, str]] = {}
    for name in (*IDS, *ADDRESSES):
        old = None if one is None else one.part_named(name)
        new = None if other is None else other.part_named(name)
        if old == new and type(old) is type(new):
            continue
        known = values.get(old)
        if old is not None and new is not None:
            if known != new and not looks_alike(old, new):
                differing[name] = (text_value(old), text_value(new))
            if old not in own:
                values[old] = new
        else:
            differing[name] = (text_value(old), text_value(new))
    return differing


def substitute(payload: bytes, values: Values, names: dict[str, str]) -> bytes:
    """A message of ours with the live values of what it refers to, and the link that it names."""
    sections = sections_of(payload)
    if not any(
        needs_values(name, value, values) or names_link(name, value, names)
        for name, value in sections
    ):
        return payload
    changed: list[tuple[str, Value]] = []
    for name, value in sections:
        if isinstance(value, Properties | Discharge):
            value = with_values(value, values)
        elif name == OWN and isinstance(value, Map):
            value = Map((key, renamed(item, values)) for key, item in value)
        elif names_link(name, value, names):
            value = names[str(value)]
        if isinstance(value, Body) and name in BODY:
            # A composite in a body section is the section's value, and not the section itself.
            value = Described(Ulong(CODES[name]), value)
        changed.append((name, value))
    return b"".join(
        encode(value) if isinstance(value, Described) else encode_message([(name, value)])
        for name, value in changed
    )


def names_link(section: str, value: Value, names: dict[str, str]) -> bool:
    """Whether a body is nothing but the name of a link that is called otherwise now."""
    return section == "amqp-value" and isinstance(value, str) and value in names


def renamed(value: Value, values: Mapping[Value, Value]) -> Value:
    """What a name in a property of an application is called now; other values stay."""
    return values.get(value, value) if isinstance(value, str) else value


def needs_values(name: str, value: Value, values: Values) -> bool:
    """Whether a section refers to something that is called otherwise now."""
    if name == OWN and isinstance(value, Map):
        return any(renamed(item, values) != item for _, item in value)
    return isinstance(value, Properties | Discharge) and any(
        value.part_named(name) in values for name in REFERENCES
    )


def with_values(body: Body, values: Values) -> Body:
    """A composite in which what is called otherwise now has its live name."""
    items = [
        values.get(item, item) if field.name in REFERENCES else item
        for field, item in zip(body.row.fields, body, strict=False)
    ]
    return type(body)(values=items)
