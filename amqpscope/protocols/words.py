"""Sizes, texts and octets as people read them, on one line."""

from __future__ import annotations

from typing import Final

from dissectors.secrets import cleaned

PREVIEW: Final = 60
"""Characters of a message's body that are worth a place on the line."""
LOOKED_AT: Final = 4096
"""Octets of a body in which secrets are looked for before its start is shown."""

OPEN: Final = " unsettled"
"""How an outcome ends that leaves a delivery unsettled."""
SETTLED: Final = "settled"
"""The outcome that settles and says no more."""


def printable(text: str) -> str:
    """Captured text as it may be shown: its secrets masked, and escaped."""
    return escaped(cleaned(text))


def escaped(text: str) -> str:
    """Control characters and line breaks as escapes: captured text must not move the cursor."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def size(octets: int) -> str:
    """A number of octets as people say it."""
    if octets < 1000:
        return f"{octets} B"
    for unit, limit in (("kB", 1e6), ("MB", 1e9)):
        if octets < limit:
            return f"{octets * 1000 / limit:.3g} {unit}"
    return f"{octets / 1e9:.3g} GB"


def seconds(nanoseconds: int) -> str:
    """A duration in the unit that suits it."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds} ns"


def shortened(text: str, most: int) -> str:
    """A text, cut when it has more characters than this."""
    return text if len(text) <= most else text[:most] + "…"


def text_of(octets: bytes) -> str:
    """Octets as quoted text if they are that, else the first as hex."""
    head = octets[:PREVIEW]
    try:
        said = head.decode()
    except UnicodeDecodeError as error:
        said = head[: error.start].decode()
        if error.start < len(head) - 3:
            return "0x" + head[:16].hex()
    return f'"{said}"' if said.isprintable() else "0x" + head[:16].hex()


def channel_word(channel: int, usual: int) -> str:
    """A channel, where it is not the one that connections with a single one have."""
    return f"ch {channel}" if channel > usual else ""


def endpoint(address: tuple[str, int]) -> str:
    """An address with its port."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
