"""Names of numbers: frame types, and reply codes with what they close."""

from __future__ import annotations

from typing import Final

from dissectors.v0_9.framing import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    OOB_BODY,
    OOB_HEADER,
    OOB_METHOD,
    REQUEST,
    RESPONSE,
    TRACE,
)
from dissectors.v0_9.rows import Constant

FRAME_TYPES: Final = {
    METHOD: "method", HEADER: "header", BODY: "body",
    OOB_METHOD: "oob-method", OOB_HEADER: "oob-header", OOB_BODY: "oob-body",
    TRACE: "trace", HEARTBEAT: "heartbeat", REQUEST: "request", RESPONSE: "response",
}  # fmt: skip

_SOFT: Final = "soft-error"
_HARD: Final = "hard-error"
REPLY_CODES: Final = (
    # value, name,         level, dialects that have it (by the start of their names)
    (200, "reply-success",       "",    ("0-8", "0-9")),
    (310, "not-delivered",       _SOFT, ("0-8", "0-9=")),
    (311, "content-too-large",   _SOFT, ("0-8", "0-9")),
    (312, "no-route",            _SOFT, ("0-9=", "0-9-1-rabbit")),
    (313, "no-consumers",        _SOFT, ("0-9",)),
    (320, "connection-forced",   _HARD, ("0-8", "0-9")),
    (402, "invalid-path",        _HARD, ("0-8", "0-9")),
    (403, "access-refused",      _SOFT, ("0-8", "0-9")),
    (404, "not-found",           _SOFT, ("0-8", "0-9")),
    (405, "resource-locked",     _SOFT, ("0-8", "0-9")),
    (406, "precondition-failed", _SOFT, ("0-9",)),
    (501, "frame-error",         _HARD, ("0-8", "0-9")),
    (502, "syntax-error",        _HARD, ("0-8", "0-9")),
    (503, "command-invalid",     _HARD, ("0-8", "0-9")),
    (504, "channel-error",       _HARD, ("0-8", "0-9")),
    (505, "unexpected-frame",    _HARD, ("0-9-1",)),
    (506, "resource-error",      _HARD, ("0-8", "0-9")),
    (530, "not-allowed",         _HARD, ("0-8", "0-9")),
    (540, "not-implemented",     _HARD, ("0-8", "0-9")),
    (541, "internal-error",      _HARD, ("0-8", "0-9")),
)  # fmt: skip
"""`0-9=` is 0-9 and its variant, without 0-9-1."""


def reply_codes(dialect: str) -> tuple[Constant, ...]:
    """The reply codes that a dialect has."""
    return tuple(
        Constant(value, word, level)
        for value, word, level, where in REPLY_CODES
        if any(_has(dialect, start) for start in where)
    )


def _has(name: str, start: str) -> bool:
    if start.endswith("="):
        return name in {start[:-1], f"{start[:-1]}-qpid"}
    return name.startswith(start)
