"""What rules have reported of an object of the model and do not report again.

Only the reporter of the rules writes here (see `rules.reporter.Reporter.once`). The model reads the
topics below alone: after a wrong count of a peer was reported, what follows from that count is not
looked at for speed's sake (see `v1_0.fast_paths`); after an unmet request for an echo was reported,
the next request is the one to wait for; what two writers on a channel wrote is shown once.
"""

from __future__ import annotations

from typing import Final

from dissectors.native import mypyc_attr

WRONG_COUNT: Final = "a receiver's delivery-count"
WRONG_INCOMING_ID: Final = "next-incoming-id"
UNMET_ECHO: Final = "FLW-026"
SHARED_CHANNEL: Final = "A09-CHN-23"


class Ledger:
    """The topics that were reported of one object, each with the key that it was last for."""

    def __init__(self) -> None:
        self.keys: dict[str, object] | None = None
        """By topic: the id of a rule, or what several rules report in common."""

    def has(self, topic: str) -> bool:
        """Whether a topic was reported."""
        return self.keys is not None and topic in self.keys

    def key_of(self, topic: str) -> object:
        """The key for which a topic was last reported; None if it was not, or has none."""
        return None if self.keys is None else self.keys.get(topic)

    def record(self, topic: str, key: object) -> bool:
        """Note that a topic is reported; False if it was, and for the same key."""
        if self.keys is None:
            self.keys = {topic: key}
            return True
        if topic in self.keys and self.keys[topic] == key:
            return False
        self.keys[topic] = key
        return True


@mypyc_attr(allow_interpreted_subclasses=True)
class Subject:
    """Something that findings are about."""

    def __init__(self) -> None:
        self.reported = Ledger()
