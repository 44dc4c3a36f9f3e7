"""Words of the notation that every family has: strings, octets, times, numbers, brackets."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_HIDDEN = re.compile(r"[\"\\\x00-\x1f\x7f-\xa0\xad\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
_HIDDEN_OCTET = re.compile(rb"[^\x20-\x7e]|[\"\\]")
_FEW_ESCAPES = 0.25
"""Binary with more unprintable octets than this part is written in hex."""


def quoted(text: str, limit: int = 0) -> str:
    """A string in double quotes, one line, nothing invisible."""
    cut = limit and len(text) > limit
    inner = _HIDDEN.sub(_escape, text[:limit] if cut else text)
    return f'"{inner}"…({len(text)} characters)' if cut else f'"{inner}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    point = ord(character)
    escape = f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"
    return _ESCAPES.get(character, escape)


def binary(octets: bytes, limit: int = 0) -> str:
    """Binary as text where it mostly is text, else in hex."""
    cut = limit and len(octets) > limit
    shown = bytes(octets[:limit] if cut else octets)
    hidden = len(_HIDDEN_OCTET.findall(shown))
    if hidden <= 1 or hidden < len(shown) * _FEW_ESCAPES:
        text = f'b"{_HIDDEN.sub(_escape, shown.decode("latin-1"))}"'
        if any(octet > 0x7E for octet in shown):
            text = re.sub(r"[\x7f-\xff]", lambda found: f"\\x{ord(found[0]):02x}", text)
        return f"{text}…({len(octets)} octets)" if cut else text
    return hex_text(octets, limit)


def hex_text(octets: bytes, limit: int = 0) -> str:
    """Octets in hex."""
    if limit and len(octets) > limit:
        return f"0x{octets[:limit].hex()}…({len(octets)} octets)"
    return f"0x{octets.hex()}"


def time_text(since: timedelta, timespec: str) -> str:
    """ISO 8601, by how long it is since 1970; raises OverflowError past the calendar."""
    moment = EPOCH + since
    return moment.replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def float_text(value: float) -> str:
    """The shortest decimal that gives the same binary32."""
    octets = struct.pack(">f", value)
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack(">f", float(text)) == octets:
                return text
        except OverflowError:
            continue  # rounded up past the largest
    return f"{value:.9g}"


def double_text(value: float) -> str:
    """The shortest decimal that gives the same binary64."""
    return repr(float(value))


def list_text(items: Iterable[str]) -> str:
    """A list from its items' texts."""
    return f"[{' '.join(items)}]"


def map_text(pairs: Iterable[tuple[str, str]]) -> str:
    """A map or table from its pairs' texts."""
    return f"{{{' '.join(f'{key}={value}' for key, value in pairs)}}}"
