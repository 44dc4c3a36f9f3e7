"""What methods of 0-9 refuse: messages, a channel, the connection."""

from __future__ import annotations

from typing import Final

from amqpscope.model.refusal import (
    NACKED,
    REJECTED,
    REQUEUED,
    RETURNED,
    ROLLED_BACK,
    UNDONE,
    Refusal,
)
from amqpscope.stream.types import CLIENT
from dissectors.v0_9.codec import Method

FINE: Final = 300
"""Reply codes below this report no fault."""
CLOSES: Final = {
    "connection.close": "connection closed",
    "channel.close": "channel closed",
    "basic.return": RETURNED,
}


def refused_by(name: str, method: Method, peer: int) -> Refusal | None:
    """What a method from a peer refuses; mostly nothing."""
    what = CLOSES.get(name)
    if what is not None:
        code, text = method.get("reply-code"), method.get("reply-text")
        return refusal_of_close(what, code if isinstance(code, int) else 0, str(text or ""))
    if name == "basic.reject" or name == "basic.nack":
        if peer != CLIENT:
            return Refusal(NACKED, "", "")
        return Refusal(REQUEUED if method.get("requeue") else REJECTED, "", "")
    if name == "tx.rollback":
        return Refusal(ROLLED_BACK, "", "", UNDONE)
    return None


def refusal_of_close(what: str, code: int, text: str) -> Refusal | None:
    """A close or return; None where its code reports no fault."""
    return Refusal(what, str(code), text) if code >= FINE else None
