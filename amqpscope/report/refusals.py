"""What a peer refuses and says so: a login, a message, a link, a channel, the whole connection.

None of it breaks the specification, so that no rule speaks of it; yet it is what most people who
open a capture are looking for.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from amqpscope.analysis import Step
from amqpscope.model.older.event import OlderEvent
from amqpscope.report.summary import short
from amqpscope.report.words import printable
from amqpscope.stream import CLIENT
from dissectors.v1_0.bodies import (
    Body,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Rejected,
    SaslOutcome,
    TransactionalState,
)
from dissectors.v1_0.names import CONDITIONS
from dissectors.v1_0.types import choice
from dissectors.v1_0.values import Value

LOGIN: Final = "login refused"
REJECTED: Final = "rejected"
NACKED: Final = "nacked"
RETURNED: Final = "returned"
MESSAGES: Final = frozenset((REJECTED, NACKED, RETURNED))
"""What is refused of messages, and not of what carries them."""
FINE: Final = 300
"""Reply codes of the older protocols below this tell of no fault."""

SASL_CODES: Final = {
    # 5.3.3.6 sasl-code
    "auth":     "the server does not accept the name or the password",
    "sys":      "the server failed while it checked the login",
    "sys-perm": "the server cannot check logins until somebody mends it",
    "sys-temp": "the server cannot check logins now, and may be able to later",
}  # fmt: skip


class Refusal(NamedTuple):
    """What was refused, and why."""

    what: str
    """`login refused`, `rejected`, `detached`, ..."""
    reason: str
    """The condition or code; empty where none was given."""
    text: str
    """What the peer said of it, in its own words."""

    @property
    def brief(self) -> str:
        """In a few words."""
        reason = self.reason.rpartition(":")[2]
        return f"{self.what}: {reason}" if reason else self.what

    @property
    def told(self) -> str:
        """In full."""
        words = " ".join(filter(None, (self.reason, self.text)))
        return f"{self.what}: {words}" if words else self.what

    @property
    def meaning(self) -> str:
        """What the reason means, as a sentence; or nothing."""
        found = CONDITIONS.get(self.reason) or SASL_CODES.get(self.reason, "")
        return f"{found[0].upper()}{found[1:]}." if found else ""


class Refusals:
    """The frames in which a peer refuses something, by their numbers."""

    def __init__(self) -> None:
        self.frames: array[int] = array("I")

    def __len__(self) -> int:
        return len(self.frames)

    def __contains__(self, number: int) -> bool:
        place = bisect_left(self.frames, number)
        return place < len(self.frames) and self.frames[place] == number

    def after(self, number: int) -> int:
        """The next one behind a frame; 0 if there is none."""
        place = bisect_right(self.frames, number)
        return self.frames[place] if place < len(self.frames) else 0

    def before(self, number: int) -> int:
        """The last one before a frame; 0 if there is none."""
        place = bisect_left(self.frames, number)
        return self.frames[place - 1] if place else 0


def refusal(step: Step) -> Refusal | None:
    """What a unit refuses; mostly nothing."""
    if step.older is not None:
        return older_refusal(step.older)
    return refused_by(step.frame.unit.body)


def refused_by(body: Body | None) -> Refusal | None:
    """What a body refuses."""
    if isinstance(body, SaslOutcome):
        if body.code is None or not body.code:
            return None
        return Refusal(LOGIN, choice("sasl-code", body.code) or str(body.code), "")
    if isinstance(body, Disposition):
        state = body.state.outcome if isinstance(body.state, TransactionalState) else body.state
        return failed(REJECTED, state.error) if isinstance(state, Rejected) else None
    for kind, what in ((Detach, "detached"), (End, "session ended"), (Close, "closed")):
        if isinstance(body, kind):
            return None if body.error is None else failed(what, body.error)
    return None


def failed(what: str, error: Value) -> Refusal:
    """A refusal with an error, as far as there is one."""
    if not isinstance(error, Error):
        return Refusal(what, "", "")
    said = "" if error.description is None else short(error.description)
    return Refusal(what, printable(str(error.condition or "")), printable(said))


def older_refusal(event: OlderEvent) -> Refusal | None:
    """What a method of the older protocols refuses."""
    method, name = event.unit.method, event.name
    if method is None:
        return None
    if name in ("connection.close", "channel.close", "basic.return"):
        code, text = method.get("reply-code"), method.get("reply-text")
        what = {"basic.return": RETURNED}.get(name, f"{name.partition('.')[0]} closed")
        return closed(what, code if isinstance(code, int) else 0, str(text or ""))
    if name in ("basic.reject", "basic.nack"):
        return Refusal(REJECTED if event.peer == CLIENT else NACKED, "", "")
    return None


def closed(what: str, code: int, text: str) -> Refusal | None:
    """A close or return of the older protocols; None where it tells of no fault."""
    return Refusal(what, str(code), printable(text)) if code >= FINE else None
