"""What a peer granted, and which of it the other peer may have known or provably knew.

Knowledge of a partner's frames is a prefix of the partner's stream, since TCP keeps order. So it
is one number: an offset. For a frame f, `known` is the offset up to which its sender *may* have
read (by the TCP ACK number of the segment that began f, else everything that passed the tap before
it); `proved` is the offset up to which its sender's own frames *show* that it has read.

A limit that was changed by frames in flight is judged by the kindest view that its user may have
had: the most generous of the grants between the last proved and the last known one.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.mark import Mark

EVERYTHING: Final = (1 << 62) - 1  # the largest that mypyc keeps without an object
"""An offset past every stream: the sender may have known all that passed before."""
GRACE: Final = 1_000_000_000
"""Nanoseconds after which a frame that its receiver has not reacted to was probably read."""
MAX_UNREAD: Final = 1024
"""Frames of a peer whose ends are remembered until its partner has provably read them."""
MAX_GRANTS: Final = 32
"""Grants kept; of twice as many the older half becomes one with the best limit, which accuses
nobody."""


class Grant:
    """A limit that a peer announced: a window's end, or the delivery-count that credit reaches."""

    def __init__(self, limit: int, mark: Mark, amount: int) -> None:
        self.limit = limit
        """The first number that is not allowed, unwrapped."""
        self.amount = amount
        """The window or credit as it was on the wire; of merged ones the largest."""
        self.merged = False
        """It replaces older and smaller ones too."""
        self.mark = mark
        """The frame that announced it."""
        self.end = mark.end
        """From where on in the granter's stream it may be known."""


class Grants:
    """All that still may matter of what one peer granted in one place."""

    def __init__(self) -> None:
        self.entries: list[Grant] = []
        self.unsure = False
        """Grants may have been lost with missing octets: no verdict until a newer one is proved."""
        self.sure_from = 0

    def add(self, limit: int, mark: Mark, amount: int = 0) -> None:
        """A new announcement replaces the last, in the granter's own view."""
        entries = self.entries
        if self.unsure and not self.sure_from:
            self.sure_from = mark.end
        entries.append(Grant(limit, mark, amount))
        if len(entries) > 2 * MAX_GRANTS:
            self.merge(MAX_GRANTS)

    def merge(self, count: int) -> None:
        """Make one of the oldest: the best limit, known from where the oldest was."""
        entries = self.entries
        oldest = best = entries[0]
        amount = 0
        for entry in entries[:count]:
            amount = max(amount, entry.amount)
            if entry.limit >= best.limit:
                best = entry
        best.end = oldest.end
        best.amount = amount
        best.merged = True
        entries[:count] = [best]

    def lose(self) -> None:
        """Announcements may have been missed."""
        self.unsure = True
        self.sure_from = 0

    def settle(self, proved: int) -> None:
        """Forget what a proof of newer knowledge has made irrelevant."""
        entries = self.entries
        while len(entries) > 1 and entries[1].end <= proved:
            del entries[0]
        if self.unsure and self.sure_from and self.sure_from <= proved:
            self.unsure = False

    def best(self, known: int, proved: int = 0) -> Grant | None:
        """The most generous that the other peer may have gone by; None if it can know of none."""
        entries = self.entries
        if len(entries) > 1 or self.unsure:
            self.settle(proved)
            self.drop_outdone(known)
        found: Grant | None = None
        for entry in entries:
            if entry.end > known:
                break
            if found is None or entry.limit >= found.limit:
                found = entry
        return found

    def drop_outdone(self, known: int) -> None:
        """Forget what a newer grant outdoes that may be known: it is the best of both for good.

        The newer one then counts from where the older did, which is only kinder.
        """
        entries = self.entries
        count = 1
        while (
            count < len(entries)
            and entries[count].end <= known
            and entries[count].limit >= entries[count - 1].limit
        ):
            count += 1
        if count > 1:
            self.merge(count)

    def latest(self, known: int = EVERYTHING) -> Grant | None:
        """The last that the other peer may have known."""
        entries = self.entries
        if known == EVERYTHING:
            return entries[-1] if entries else None
        for entry in reversed(entries):
            if entry.end <= known:
                return entry
        return None
