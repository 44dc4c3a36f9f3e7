"""Media types and codings that anybody may use, so that they say nothing of who does."""

from __future__ import annotations

import re
from typing import Final

USUAL: Final = re.compile(
    r"(?:text/(?:plain|html|xml|csv|json)"
    r"|application/(?:json|xml|octet-stream|x-protobuf|protobuf|avro|x-avro|cbor|msgpack|x-msgpack"
    r"|problem\+json|cloudevents\+json|x-java-serialized-object|python-pickle|x-python-serialize"
    r"|data|text|x-yaml|yaml|atom\+xml|soap\+xml|gzip|zip|pdf)"
    r"|image/(?:png|jpeg|gif)|json|string)?"
    r"(?: ?; ?charset=(?:utf-?8|utf-?16|us-ascii|iso-8859-1))?",
    re.IGNORECASE,
)
CODINGS: Final = frozenset((
    "aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "identity",
    "pack200-gzip", "x-compress", "x-gzip", "zstd", "utf-8", "utf8", "utf-16", "utf16", "us-ascii",
    "ascii", "iso-8859-1", "latin1", "windows-1252", "base64", "7bit", "8bit", "binary",
    "quoted-printable",
))  # fmt: skip


def is_usual_type(text: str) -> bool:
    """Whether a content-type says nothing of who uses it."""
    return USUAL.fullmatch(text) is not None


def is_usual_coding(text: str) -> bool:
    """Whether a content-encoding says nothing of who uses it."""
    return all(one.strip().lower() in CODINGS for one in text.split(","))
