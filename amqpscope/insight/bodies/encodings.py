"""What content-encoding did to a body, undone: at most so many octets of it."""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

GZIP: Final = b"\x1f\x8b\x08"
WINDOWS: Final = {
    # a content-encoding: the values of zlib's window size that may undo it
    "gzip": (31,),
    "x-gzip": (31,),
    "deflate": (15, -15),  # with zlib's header as HTTP has it, or without as many write it
}
NOTHING: Final = ("", "identity", "utf-8", "utf8", "binary", "7bit", "8bit")
"""Values that say that nothing was done, or that are about characters."""
MOST: Final = 4
"""Encodings of one body, one over the other."""


class Plain(NamedTuple):
    """Octets as they were before they were encoded, as far as that can be undone."""

    octets: bytes
    undone: tuple[str, ...]
    """The encodings that were undone, the last one first."""
    problem: str = ""
    """Why the rest could not be undone."""
    cut: bool = False
    """There are more octets than were wanted."""


def undo_encodings(data: bytes, encoding: str, most: int) -> Plain:
    """Undo what a content-encoding names, which may be several, up to so many octets."""
    names = [name.strip().lower() for name in encoding.split(",")]
    wanted = [name for name in names if name not in NOTHING]
    if len(wanted) > MOST:
        return Plain(data[:most], (), f"{len(wanted)} encodings are too many", len(data) > most)
    undone: list[str] = []
    cut, problem = False, ""
    for name in reversed(wanted):
        if name not in WINDOWS:
            problem = f"{name} cannot be decompressed"
            break
        made = inflate(data, WINDOWS[name], most)
        if made is None:
            problem = f"it is not {name}"
            break
        data, more, broken = made
        undone.append(name)
        cut = cut or more
        if broken:
            problem = f"the {name} stream is broken off"
            break
    return Plain(data[:most], tuple(undone), problem, cut or len(data) > most)


def inflate(data: bytes, windows: tuple[int, ...], most: int) -> tuple[bytes, bool, bool] | None:
    """Octets inflated, whether there are more, and whether they end too soon; None: they cannot."""
    for window in windows:
        made, rest, broken = b"", data, False
        while rest and len(made) < most:
            inflater = zlib.decompressobj(window)
            try:
                made += inflater.decompress(rest, most - len(made))
            except zlib.error:
                broken = True
                break
            broken = not inflater.eof
            rest = inflater.unused_data if inflater.eof else b""
        more = len(made) >= most
        if made or (data and not broken):
            return made, more, broken and not more
    return None
