"""What a message says about its contents (MSG; spec 3.2.4, 3.2.8, 3.2.9).

Most of it is advice: the octets are right, but somebody will be surprised. Advice is given where
a message is published, not again where a broker hands it on, and mostly once on a link.
"""

from __future__ import annotations

import re
from typing import Final
from zlib import adler32, crc32

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.message import AMQP_VALUE, DATA, FOOTER, PROPERTIES, Message
from amqpscope.rules.v1_0 import (
    ADVISORY,
    ERROR,
    IMPLIED,
    INFO,
    MUST,
    SHOULD,
    WARNING,
    Reporter,
    rule,
)
from amqpscope.rules.v1_0.message._flaws import passed_on, report_section
from amqpscope.rules.v1_0.parameters import properties_of
from dissectors.v1_0.bodies import Properties
from dissectors.v1_0.names import descriptor_name, descriptor_note
from dissectors.v1_0.tables import SECTIONS
from dissectors.v1_0.values import Described, Map, Uint

CONTENT_TYPE: Final = "properties.content-type"
CONTENT_ENCODING: Final = "properties.content-encoding"

_MEDIA_TYPE: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+/[\w!#$%&'*+.^`|~-]+[ \t]*(?:;.*)?", re.DOTALL)

CODINGS: Final = frozenset(
    ("aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "identity",
     "pack200-gzip", "x-compress", "x-gzip", "zstd")
)  # fmt: skip
"""Content codings of HTTP."""
OTHER_WORDS: Final = frozenset(
    ("utf-8", "utf8", "utf-16", "utf16", "us-ascii", "ascii", "iso-8859-1", "latin1",
     "windows-1252", "base64", "7bit", "8bit", "binary", "quoted-printable")
)  # fmt: skip
"""Charsets and transfer encodings, which are something else."""
MAGIC: Final = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
"""The first octets of what a coding makes."""


def codings(properties: Properties) -> list[str]:
    """The codings that content-encoding lists, in small letters."""
    listed = properties.content_encoding
    return [] if listed is None else [one.strip().lower() for one in listed.split(",")]


@rule("MSG-037", "3.2.4", IMPLIED, WARNING, on="content")
def content_type_malformed(event: Event, report: Reporter) -> None:
    """A content-type is a media type: two tokens with a slash between, then parameters.

    Receivers choose a deserialiser by it, and most compare it with a list of known ones; a word
    without a slash matches nothing. An empty symbol is taken for unset.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-type=:json) data(b"{}")   # <- MSG-037

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-type=:"application/problem+json; charset=utf-8") data(b"{}")
    """
    properties = properties_of(event)
    kind = None if properties is None else properties.content_type
    if kind and not _MEDIA_TYPE.fullmatch(kind):
        text = f'content-type "{kind}" is not a media type'
        report_section(event, report, PROPERTIES, text, CONTENT_TYPE)


@rule("MSG-038", "3.2.4", SHOULD, INFO, on="content")
def content_type_on_non_data_body(event: Event, report: Reporter, link: LinkEnd) -> None:
    """A content-type is for bodies of data sections.

    A value already says what it is by its AMQP type. Sending a string value as text/plain is so
    common all the same that it is only noted, once for a link.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-type=:text/plain) amqp-value("x")   # <- MSG-038

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-type=:text/plain) data(b"x")
    """
    message, properties = event.parts, properties_of(event)
    if message is None or properties is None or not properties.content_type or passed_on(event):
        return
    if message.body not in (0, DATA) and report.once(link):
        text = f"has a content-type, but its body is an {SECTIONS[message.body]}"
        report_section(event, report, PROPERTIES, text, CONTENT_TYPE)


@rule("MSG-040", "3.2.4", MUST, ERROR, on="content")
def content_encoding_on_non_data_body(event: Event, report: Reporter) -> None:
    """A content-encoding is set only where the body is data.

    Only octets can be compressed; a receiver that undoes the coding has nothing to apply it to. An
    empty symbol is taken for unset, and a message without a body is reported by MSG-003.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:gzip) amqp-value("x")   # <- MSG-040

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:gzip) data(0x1f8b08)
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | properties(content-encoding=:"") amqp-value("x")
    """
    message, properties = event.parts, properties_of(event)
    if message is None or properties is None or not properties.content_encoding:
        return
    if message.body not in (0, DATA):
        coding, body = properties.content_encoding, SECTIONS[message.body]
        text = f'has the content-encoding "{coding}", but its body is an {body}'
        report_section(event, report, PROPERTIES, text, CONTENT_ENCODING)


@rule("MSG-041", "3.2.4", MUST, ERROR, on="content")
def content_encoding_identity(event: Event, report: Reporter) -> None:
    """The coding `identity` is never named: what is not encoded has no content-encoding.

    HTTP knows the word for negotiation only, and AMQP has nothing to negotiate. A receiver may
    fail on it as on any coding that it does not have.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:identity) data(b"x")   # <- MSG-041

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-type=:text/plain) data(b"x")
    """
    properties = properties_of(event)
    if properties is not None and "identity" in codings(properties):
        text = 'has the content-encoding "identity"'
        report_section(event, report, PROPERTIES, text, CONTENT_ENCODING)


@rule("MSG-042", "3.2.4", SHOULD, INFO, on="content")
def content_encoding_compress(
    event: Event, report: Reporter, link: LinkEnd, properties: Properties
) -> None:
    """The coding `compress` is left to messages that came from HTTP or mail.

    Hardly anything can undo it today. Whether a message was bridged cannot be seen, so it is
    a note, made once on a link.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:x-compress) data(0x1f9d90)   # <- MSG-042

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:deflate) data(0x789c)
    """
    if passed_on(event):
        return
    for coding in codings(properties):
        if coding in ("compress", "x-compress") and report.once(link):
            text = f'has the content-encoding "{coding}", which is for bridged messages'
            report_section(event, report, PROPERTIES, text, CONTENT_ENCODING)


@rule("MSG-043", "3.2.4", SHOULD, INFO, on="content")
def content_encoding_multiple(
    event: Event, report: Reporter, link: LinkEnd, properties: Properties
) -> None:
    """One coding is enough, but for messages that came from HTTP or mail.

    Receivers compare the whole value with the codings that they know. Noted once on a link.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:"deflate, gzip") data(0x1f8b08)   # <- MSG-043

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:gzip) data(0x1f8b08)
    """
    if passed_on(event):
        return
    listed = codings(properties)
    if len(listed) > 1 and report.once(link):
        text = f"has {len(listed)} content-encodings: {', '.join(listed)}"
        report_section(event, report, PROPERTIES, text, CONTENT_ENCODING)


@rule("MSG-044", "3.2.4", IMPLIED, WARNING, on="content")
def content_encoding_not_a_coding(event: Event, report: Reporter, link: LinkEnd) -> None:
    """A content-encoding is one of HTTP's codings, such as gzip, and not a charset.

    "utf-8" or "base64" in this place is read as an unknown compression, and receivers
    refuse the message or hand on the octets with a warning. The charset is a parameter of the
    content-type. The list of codings grows, so an unknown name is only noted.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:UTF-8) data(b"x")   # <- MSG-044

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-type=:"text/plain; charset=utf-8" content-encoding=:br)
                data(b"x")
    """
    message, properties = event.parts, properties_of(event)
    if message is None or properties is None or message.body != DATA:
        return
    for coding in codings(properties):
        if coding in OTHER_WORDS:
            text = f'has the content-encoding "{coding}", which is not a content coding'
            report_section(event, report, PROPERTIES, text, CONTENT_ENCODING, False)
        elif coding and coding not in CODINGS and not passed_on(event) and report.once(link):
            text = f'has the content-encoding "{coding}", which is not a registered one'
            report_section(event, report, PROPERTIES, text, CONTENT_ENCODING, False, INFO)


@rule("MSG-045", "3.2.4", IMPLIED, INFO, on="content")
def content_encoding_body_mismatch(event: Event, report: Reporter, link: LinkEnd) -> None:
    """A body is encoded as its content-encoding says.

    gzip and zstd begin with octets of their own; a body without them cannot be decompressed. It
    may be encrypted on top, so this is a note.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:gzip) data(b"plain text")   # <- MSG-045

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | properties(content-encoding=:gzip) data(0x1f) data(0x8b08)
    """
    message, properties = event.parts, properties_of(event)
    if message is None or properties is None or message.body != DATA or passed_on(event):
        return
    listed = codings(properties)
    magic = MAGIC.get(listed[0], b"") if len(listed) == 1 else b""
    if not magic:
        return
    start = beginning(message, len(magic))
    if start and not magic.startswith(start) and report.once(link):
        text = f"has the content-encoding {listed[0]}, but its body begins with 0x{start.hex()}"
        report_section(event, report, DATA, text, CONTENT_ENCODING, False)


def beginning(message: Message, size: int) -> bytes:
    """The first octets of a body of data sections."""
    start = b""
    for section in message.sections:
        if section.code == DATA and len(start) < size:
            value = message.value(section)
            start += value[: size - len(start)] if isinstance(value, bytes) else b""
    return start


@rule("MSG-054", "3.2.9", IMPLIED, WARNING, on="footer")
def footer_checksum_mismatch(event: Event, report: Reporter) -> None:
    """A checksum in the footer is that of the bare message.

    RabbitMQ's Erlang client writes x-opt-crc-32 and x-opt-adler-32 over properties, application
    properties and body as encoded. A checksum that differs means that somebody has changed or
    re-encoded the message; another product might compute it in another way, so it is only
    suspected.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"x") footer({:x-opt-crc-32=uint 1})   # <- MSG-054

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | header(durable=true) data(b"x") footer({:x-opt-crc-32=uint 204329273})
    """
    message = event.parts
    section = None if message is None else message.find(FOOTER)
    if message is None or section is None or event.discarded:
        return
    footer = message.value(section)
    bare = [part for part in message.sections if PROPERTIES <= part.code <= AMQP_VALUE]
    if not isinstance(footer, Map) or not bare or bare[-1].stop != section.start:
        return
    octets = message.data[bare[0].start : bare[-1].stop]
    for key, sum in (("x-opt-crc-32", crc32(octets)), ("x-opt-adler-32", adler32(octets))):
        said = footer.get(key)
        if isinstance(said, Uint) and said != sum:
            text = f"{key} is 0x{int(said):08x} in the footer, 0x{sum:08x} by the octets"
            report_section(event, report, FOOTER, text, f"footer.{key}", False)


@rule("MSG-060", "3.2.8", ADVISORY, INFO, on="odd-message", needs="!discarded")
def amqp_value_unknown_described_type(
    event: Event, report: Reporter, message: Message, link: LinkEnd
) -> None:
    """A body in a described type of one's own is for those who know the type.

    Libraries that serialise objects of their language in this way talk to themselves only. Noted
    once on a link.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-value(@:example:order:list [1])   # <- MSG-060

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | amqp-value([1])
    """
    if message.body != AMQP_VALUE or passed_on(event):
        return
    section = message.find(AMQP_VALUE)
    if section is None or message.data[section.content] != 0:
        return
    value = message.value(section)
    if not isinstance(value, Described) or descriptor_note(value.descriptor):
        return
    if report.once(link):
        text = f"its body is of the unknown type {descriptor_name(value.descriptor)}"
        report_section(event, report, AMQP_VALUE, text, "amqp-value")
