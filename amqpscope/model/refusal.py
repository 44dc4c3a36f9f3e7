"""What a peer refuses and says so: a login, a message, a link, a channel, the whole connection.

None of it breaks the specification, so that no rule reports it; yet it is what most people who
open a capture are looking for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

LOGIN: Final = "login refused"
REJECTED: Final = "rejected"
REQUEUED: Final = "requeued"
NACKED: Final = "nacked"
RETURNED: Final = "returned"
ROLLED_BACK: Final = "rolled back"
ABORTED: Final = "aborted"
MESSAGES: Final = frozenset((REJECTED, REQUEUED, NACKED, RETURNED, ABORTED))
"""What is refused of messages, and not of what carries them."""
COUNTED: Final = MESSAGES | {ROLLED_BACK}
"""What may happen often on a link or channel, which goes on after it."""
UNDONE: Final = "What was sent and settled in the transaction is undone."


class Refusal(NamedTuple):
    """What was refused, and why."""

    what: str
    """`login refused`, `rejected`, `detached`, ..."""
    reason: str
    """The condition or code; empty where none was given."""
    text: str
    """What the peer said of it, in its own words."""
    meaning: str = ""
    """What the specification means by the reason, as a sentence; empty where it has none."""

    @property
    def brief(self) -> str:
        """In a few words."""
        reason = self.reason.rpartition(":")[2]
        return f"{self.what}: {reason}" if reason else self.what

    @property
    def full(self) -> str:
        """With the reason and the peer's own words."""
        words = " ".join(filter(None, (self.reason, self.text)))
        return f"{self.what}: {words}" if words else self.what
