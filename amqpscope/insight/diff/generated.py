"""Parts of texts that programs and libraries make up for each run: ids, pids, times, signatures."""

from __future__ import annotations

import re
from typing import Any, Final

MARK: Final = "*"
"""What stands for such a part."""

_GENERATED: Final = re.compile(
    "|".join((
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        r"sig=[^&\s\"']+",
        r"(?<![A-Za-z0-9])(?=[0-9a-fA-F]*[0-9])(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}",
        r"[0-9]{9,}",
        # base64 and its kin: long, with capitals, small letters and digits
        r"(?=[A-Za-z0-9_+/-]*[0-9])(?=[A-Za-z0-9_+/-]*[a-z])(?=[A-Za-z0-9_+/-]*[A-Z])"
        r"[A-Za-z0-9_+/-]{20,}=*",
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?",
    ))
)  # fmt: skip


def without_generated(text: str) -> str:
    """A text with a mark for each part that was made up."""
    return _GENERATED.sub(MARK, text)


def is_generated(value: Any) -> bool:
    """Whether a name has a part that was made up."""
    return isinstance(value, str) and _GENERATED.search(value) is not None


def settled_value(value: Any) -> Any:
    """A value as it would be in another run: without times and parts that were made up."""
    if isinstance(value, str):
        return without_generated(value)
    if isinstance(value, list):
        return [settled_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, inner),) = value.items()
        if tag in ("timestamp", "uuid"):
            return {tag: MARK}
        if tag == "binary" and isinstance(inner, str):
            return {tag: _settled_octets(inner)}
    return {without_generated(name): settled_value(item) for name, item in value.items()}


def _settled_octets(octets: str) -> str:
    """Octets in hexadecimal; where they are text, that text without what was made up."""
    try:
        text = bytes.fromhex(octets).decode("utf-8")
    except ValueError:
        return octets
    settled = without_generated(text)
    return octets if settled == text else settled
