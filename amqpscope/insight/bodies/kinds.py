"""The kinds of body: what they are called, which content-types name them, how files of them end."""

from __future__ import annotations

from typing import Final, NamedTuple


class Kind(NamedTuple):
    """One kind of body."""

    name: str
    suffix: str
    types: tuple[str, ...]
    """Content-types, or how they end (`+json`) or begin (`text/`)."""


JSON: Final = Kind("JSON", ".json", ("application/json", "text/json", "+json"))
XML: Final = Kind("XML", ".xml", ("application/xml", "text/xml", "+xml"))
CBOR: Final = Kind("CBOR", ".cbor", ("application/cbor", "application/cbor-seq", "+cbor"))
MESSAGEPACK: Final = Kind(
    "MessagePack",
    ".msgpack",
    ("application/msgpack", "application/x-msgpack", "application/vnd.msgpack", "+msgpack"),
)
PROTOBUF: Final = Kind(
    "protobuf",
    ".pb",
    (
        "application/protobuf",
        "application/x-protobuf",
        "application/vnd.google.protobuf",
        "application/x-google-protobuf",
        "application/grpc+proto",
        "+protobuf",
    ),
)
IMAGE: Final = Kind("image", ".img", ("image/",))
TEXT: Final = Kind("text", ".txt", ("text/",))
OCTETS: Final = Kind("octets", ".bin", ())
KINDS: Final = (JSON, XML, CBOR, MESSAGEPACK, PROTOBUF, IMAGE, TEXT)


def named_kind(content_type: str) -> Kind | None:
    """The kind that a content-type names; None: none that we know."""
    essence = content_type.partition(";")[0].strip().lower()
    for kind in KINDS:
        for name in kind.types:
            begins = name.endswith("/") and essence.startswith(name)
            ends = name.startswith("+") and essence.endswith(name)
            if essence == name or begins or ends:
                return kind
    return None
