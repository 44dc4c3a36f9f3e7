"""Images by their first octets: what kind they are, and how large."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

Size = tuple[int, ...] | None
SIZES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG's markers of segments that have the size of the image."""
WIDTH, HEIGHT = 256, 257
"""TIFF's tags."""


def png_size(data: bytes) -> Size:
    """The size in the header of a PNG."""
    return read(">II", data, 16) if data[12:16] == b"IHDR" else None


def jpeg_size(data: bytes) -> Size:
    """The size in the first frame of a JPEG."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in SIZES:
            found = read(">HH", data, at + 5)
            return None if found is None else (found[1], found[0])
        if marker == 0xFF:
            at += 1
        else:
            at += 2 + max(int.from_bytes(data[at + 2 : at + 4], "big"), 2)
    return None


def webp_size(data: bytes) -> Size:
    """The size in the first chunk of a WebP."""
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        parts = data[24:27], data[27:30]
        width, height = (int.from_bytes(part, "little") + 1 for part in parts)
        return width, height
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    found = read("<HH", data, 26) if kind == b"VP8 " else None
    return None if found is None else (found[0] & 0x3FFF, found[1] & 0x3FFF)


def bmp_size(data: bytes) -> Size:
    """The size in the header of a BMP, whose height may be negative."""
    found = read("<ii", data, 18)
    return None if found is None else (abs(found[0]), abs(found[1]))


def tiff_size(data: bytes) -> Size:
    """The size among the first tags of a TIFF."""
    order = "<" if data[:2] == b"II" else ">"
    places = read(f"{order}I", data, 4)
    counts = None if places is None else read(f"{order}H", data, places[0])
    if places is None or counts is None:
        return None
    found: dict[int, int] = {}
    for place in range(min(counts[0], 64)):
        at = places[0] + 2 + 12 * place
        entry = read(f"{order}HH", data, at)
        if entry is not None and entry[0] in (WIDTH, HEIGHT):
            value = read(f"{order}{'H' if entry[1] == 3 else 'I'}", data, at + 8)
            found[entry[0]] = 0 if value is None else value[0]
    return (found[WIDTH], found[HEIGHT]) if len(found) == 2 else None


def read(form: str, data: bytes, at: int) -> Size:
    """Numbers at a place; None where the octets end before."""
    end = at + struct.calcsize(form)
    return struct.unpack(form, data[at:end]) if end <= len(data) else None


class Format(NamedTuple):
    """One kind of image."""

    name: str
    suffix: str
    magic: bytes
    size: Callable[[bytes], Size]


FORMATS: Final = (
    Format("PNG", ".png", b"\x89PNG\r\n\x1a\n", png_size),
    Format("JPEG", ".jpg", b"\xff\xd8\xff", jpeg_size),
    Format("GIF", ".gif", b"GIF8", lambda data: read("<HH", data, 6)),
    Format("WebP", ".webp", b"RIFF", webp_size),
    Format("BMP", ".bmp", b"BM", bmp_size),
    Format("TIFF", ".tiff", b"II*\x00", tiff_size),
    Format("TIFF", ".tiff", b"MM\x00*", tiff_size),
)


def image_format(data: bytes) -> Format | None:
    """The kind of an image; None: it is none, or one that we do not know."""
    for each in FORMATS:
        if data.startswith(each.magic) and (each.magic != b"RIFF" or data[8:12] == b"WEBP"):
            return each if each.magic != b"BM" or len(data) > 26 else None
    return None


def image_words(data: bytes, found: Format) -> str:
    """An image in a few words."""
    size = found.size(data)
    return f"{found.name} image" + (f", {size[0]} x {size[1]} pixels" if size else "")
