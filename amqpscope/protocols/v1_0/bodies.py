"""The application data of a message of 1.0: its body sections, and the messages of a batch."""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.protocols.v1_0.json import json_value
from amqpscope.protocols.v1_0.secrets import secret_message
from amqpscope.protocols.voice import BodyPart
from dissectors.masking import masked
from dissectors.v1_0.bodies import Properties
from dissectors.v1_0.message import AMQP_SEQUENCE, AMQP_VALUE, DATA, Section, read_section, walk
from dissectors.values import Value

BATCH: Final = 0x80013700
"""The message format of Azure's batches: each data section is a whole message."""
BODIES: Final = (DATA, AMQP_SEQUENCE, AMQP_VALUE)
MOST: Final = 10_000
"""Messages of one batch that are looked into."""


def bodies(event: Event, show_secrets: bool) -> list[BodyPart]:
    """The body of a message, or those of a batch; nothing of a message with a token."""
    message, delivery = event.message, event.delivery
    if not message or (not show_secrets and secret_message(event)):
        return []
    form = 0 if delivery is None else delivery.message_format or 0
    if form == BATCH:
        return split(message, show_secrets)
    return [] if form >> 8 else parts(message, show_secrets)


def split(batch: bytes, show_secrets: bool) -> list[BodyPart]:
    """The bodies of the messages in a batch, each numbered and where its section is."""
    found: list[BodyPart] = []
    sections = [section for section in walk(batch)[0] if section.code == DATA]
    for place, section in enumerate(sections[:MOST], 1):
        value, _ = read_section(batch, section)
        if isinstance(value, bytes):
            found += [
                part._replace(
                    name=f"message {place} of {len(sections)}: {part.name}",
                    start=section.start,
                    stop=section.stop,
                )
                for part in parts(bytes(value), show_secrets) or unread(bytes(value))
            ]
    return found


def unread(octets: bytes) -> list[BodyPart]:
    """What a batch has in the place of a message, as it is, where no section can be read in it."""
    if not octets or walk(octets)[0]:
        return []
    return [BodyPart(octets, "", 0, 0, "", "not a message")]


def parts(message: bytes, show_secrets: bool) -> list[BodyPart]:
    """The body of one message: its data sections joined, or each of its values."""
    sections = walk(message)[0]
    kind, encoding = content_terms(message, sections)
    found: list[BodyPart] = []
    data: list[bytes] = []
    held = [section for section in sections if section.code in BODIES]
    for section in held:
        value, _ = read_section(message, section)
        if section.code == DATA:
            if isinstance(value, bytes):
                data.append(bytes(value))
            continue
        octets, typed = octets_of(value, show_secrets)
        part = BodyPart(octets, kind, section.start, section.stop, encoding, section.name, typed)
        found.append(part)
    if any(data):
        places = [section for section in held if section.code == DATA]
        start, stop = places[0].start, places[-1].stop
        found.insert(0, BodyPart(b"".join(data), kind, start, stop, encoding, "data"))
    return found


def octets_of(value: Value, show_secrets: bool) -> tuple[bytes, bool]:
    """A value as octets: a text or binary as it is, any other as JSON."""
    if type(value) is bytes:
        return value, False
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass"), False
    return json_value(value if show_secrets else masked(value)).encode(), True


def content_terms(message: bytes, sections: list[Section]) -> tuple[str, str]:
    """What a message says its body is, and how that is encoded."""
    for section in sections:
        if section.name == "properties":
            value, _ = read_section(message, section)
            if isinstance(value, Properties):
                kind, encoding = value.content_type, value.content_encoding
                return str(kind or "").lower(), str(encoding or "").lower()
    return "", ""
