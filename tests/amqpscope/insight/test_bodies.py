"""Bodies as what they are, whatever they are said to be; and hostile ones soon and small."""

import gzip
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpscope.insight.bodies import read_body
from amqpscope.insight.bodies.kinds import KINDS
from amqpscope.protocols.voice import BodyPart

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0"
JPEG = b"\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x11\x08\1\xe0\2\x80"
TIFF = b"II*\0\x08\0\0\0\2\0" + b"\0\1\3\0\1\0\0\0\7\0\0\0" + b"\1\1\4\0\1\0\0\0\t\0\0\0"


def body(data, content_type="", encoding="", **more):
    return read_body(BodyPart(data, content_type, 0, len(data), encoding, **more))


# content-type, octets, what it is taken for, lines
SHOWN = (
    ("application/json", b'{"a":[1,2.50],"a":{}}', "JSON",
     ["{", '  "a": [', "    1,", "    2.50", "  ],", '  "a": {}', "}"]),
    ("", b'{"a": 1}', "JSON", ["{", '  "a": 1', "}"]),
    ("application/cloudevents+json; charset=utf-8", b"[]", "JSON", ["[]"]),
    ("text/xml", b'<?xml version="1.0"?><a x="1>2"><b>x</b><c/><d><e/></d></a>', "XML",
     ['<?xml version="1.0"?>', '<a x="1>2">', "  <b>x</b>", "  <c/>", "  <d>", "    <e/>",
      "  </d>", "</a>"]),
    ("application/cbor", bytes.fromhex("a2616101626262d82045123456789a"), "CBOR",
     ["{", '  "a": 1,', "  \"bb\": 32(h'123456789a')", "}"]),
    ("application/cbor", bytes.fromhex("9f01f5f6f93e003903e77f616162ff"), "CBOR",
     ["[", "  1,", "  true,", "  null,", "  1.5,", "  -1000,", "  [", '    "a"', "  ]", "]",
      "... octet 14: 2 octets are expected, 1 remain"]),
    ("application/cbor", bytes.fromhex("c249010000000000000000"), "CBOR", ["0x10000000000000000"]),
    ("application/x-msgpack", bytes.fromhex("83a7636f6d70616374c3a163cb3ff8000000000000a1658fd4"),
     "MessagePack", ["{", '  "compact": true,', '  "c": 1.5,', '  "e": {}', "}"]),
    ("application/msgpack", bytes.fromhex("92ffd40561"), "MessagePack",
     ["[", "  -1,", "  ext 5(h'61')", "]"]),
    ("application/x-protobuf", bytes.fromhex("089601120774657374696e671a03089601"), "protobuf",
     ["1 varint: 150", '2 string: "testing"', "3 message: {", "  1 varint: 150", "}"]),
    ("application/protobuf", bytes.fromhex("0b10010c1d0000803f"), "protobuf",
     ["1 group: {", "  2 varint: 1", "}", "3 fixed32: 1065353216 (or 1.0)"]),
    ("text/plain; charset=iso-8859-1", "grün\tx".encode("latin-1"), "text", ["grün\tx"]),
    ("", b"one\ntwo", "text", ["one", "two"]),
    ("", b"\x00\x01\xff", "octets, 3 B", ["00 01 ff"]),
    ("image/png", PNG, "PNG image, 640 x 480 pixels, 24 B", []),
    ("", JPEG, "JPEG image, 640 x 480 pixels, 17 B", []),
    ("", b"GIF89a\x10\0\x20\0", "GIF image, 16 x 32 pixels, 10 B", []),
    ("", b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x0f\0\0\x1f\0\0",
     "WebP image, 16 x 32 pixels, 30 B", []),
    ("", b"BM" + bytes(16) + b"\x10\0\0\0\xe0\xff\xff\xff\0",
     "BMP image, 16 x 32 pixels, 27 B", []),
    ("image/tiff", TIFF, "TIFF image, 7 x 9 pixels, 34 B", []),
)  # fmt: skip


@pytest.mark.parametrize(("content_type", "data", "kind", "lines"), SHOWN)
def test_a_body_is_shown_as_what_it_is(content_type, data, kind, lines):
    found = body(data, content_type)
    assert (found.kind, found.lines[: len(lines)]) == (kind, lines)


@pytest.mark.parametrize(
    ("content_type", "data", "title"),
    [
        ("application/json", b"{no json", "text, not JSON: Expecting property name"),
        ("application/json", b"\xff\xfe\x00", "octets, 3 B, not JSON: it is not text"),
        ("application/cbor", b"\x1c", "octets, 1 B, not CBOR: octet 1: additional information"),
        ("application/msgpack", b"\xc1", "octets, 1 B, not MessagePack: octet 1: 0xc1"),
        ("application/protobuf", b"\x07", "octets, 1 B, not protobuf: 0 is not a field number"),
        ("image/png", b"no image", "octets, 8 B, not image: of no format that is known"),
        ("text/xml", b"no tag", "text, not XML: it does not begin with a tag"),
        ("text/plain; charset=hex", b"61", "octets, 2 B, not text"),
    ],
)
def test_what_is_not_as_its_content_type_says_is_shown_with_the_reason(content_type, data, title):
    assert body(data, content_type).title.startswith(title)


@pytest.mark.parametrize(
    ("encoding", "data", "title"),
    [
        ("gzip", gzip.compress(b"x", mtime=0), "text, gzip decompressed"),
        ("", gzip.compress(b"x", mtime=0), "text, gzip decompressed"),
        ("deflate", zlib.compress(b"x"), "text, deflate decompressed"),
        ("deflate", zlib.compress(b"x", wbits=-15), "text, deflate decompressed"),
        (
            "deflate, gzip",
            gzip.compress(zlib.compress(b"x"), mtime=0),
            "text, gzip decompressed, deflate decompressed",
        ),
        (
            "gzip",
            gzip.compress(b"x", mtime=0) + gzip.compress(b"y", mtime=0),
            "text, gzip decompressed",
        ),
        (
            "gzip",
            gzip.compress(b"x", mtime=0)[:-2],
            "text, gzip decompressed, the gzip stream is broken off",
        ),
        ("gzip", b"x", "text, it is not gzip"),
        ("utf-8", b"x", "text"),
        ("zstd", b"x", "text, zstd cannot be decompressed"),
    ],
)
def test_what_encoded_a_body_is_undone(encoding, data, title):
    found = body(data, "text/plain", encoding)
    assert found.title == title
    assert found.lines[0][0] == "x"


BOMBS = {
    "gzip over gzip": (
        gzip.compress(gzip.compress(bytes(30_000_000))), "text/plain", "gzip, gzip",
    ),
    "arrays inside arrays": (b"\x81" * 300_000, "application/cbor", ""),
    "endless arrays": (b"\x9f" * 300_000, "application/cbor", ""),
    "an array that claims all memory": (b"\xdd\xff\xff\xff\xff\x01", "application/msgpack", ""),
    "messages inside messages": (b"\x0a\x7e" * 100_000, "application/protobuf", ""),
    "groups inside groups": (b"\x0b" * 300_000, "application/protobuf", ""),
    "lists inside lists": (b"[" * 300_000, "application/json", ""),
    "tags inside tags": (b"<a>" * 100_000, "text/xml", ""),
    "quotes without end": (b"<a b='" * 50_000, "text/xml", ""),
    "a JPEG of empty segments": (b"\xff\xd8\xff" + b"\xff" * 300_000, "image/jpeg", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_body_is_shown_soon_and_small(name):
    begin = time.monotonic()
    found = body(*BOMBS[name])
    assert time.monotonic() - begin < 2
    assert len(found.lines) <= 2001
    assert sum(map(len, found.lines)) < 1_000_000


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([kind.types[0] for kind in KINDS]))
def test_any_octets_are_shown_somehow(data, content_type):
    found = body(data, content_type)
    assert found.kind
    assert all("\n" not in line for line in found.lines)


def test_secrets_are_covered_below_an_encoding_too():
    data = gzip.compress(b"user=me password=hunter2", mtime=0)
    assert "hunter2" not in body(data, "text/plain", "gzip").lines[0]
    part = BodyPart(data, "text/plain", 0, len(data), "gzip")
    assert "hunter2" in read_body(part, show_secrets=True).lines[0]


def test_a_long_body_is_clipped():
    found = body(b"x\n" * 5000)
    assert len(found.lines) == 2001
    assert found.lines[-1] == "... 3,000 more lines"
    assert body(b"x" * 300_000).note == ", the first 262,144 octets"
