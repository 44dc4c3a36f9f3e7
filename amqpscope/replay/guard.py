"""What keeps a replayed peer legal: the rules judge each frame before it is sent.

The live conversation is followed as `lint` would follow its recording. A frame of ours that would
be an error there is refused; whoever wanted to send it mends it, or leaves it out.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from amqpscope.check.selection import Selection
from amqpscope.findings import ERROR, SURE, Finding
from amqpscope.protocols.replay_acts import Judge
from amqpscope.protocols.talk import Talk
from amqpscope.rules.dispatch import RuleSet
from amqpscope.stream.types import PEERS, Chunk, Connection

HERE: Final = ("127.0.0.1", 50000), ("127.0.0.1", 5672)
NANOSECONDS: Final = 1_000_000_000


@cache
def default_rules() -> RuleSet:
    """The rules that `lint` runs unless it is asked for others."""
    return Selection().rules()


def live_connection() -> Connection:
    """A connection that is followed from its first octet on."""
    return Connection(*HERE, complete=True)


class Guard(Judge):
    """Follows one live connection."""

    def __init__(self, talk: Talk, side: int) -> None:
        self.talk = talk
        self.side = side
        self._rules = default_rules()
        self._passed = [0, 0]
        """Octets, by peer."""
        self._frames = 0

    def hear(self, octets: bytes) -> None:
        """Take octets of the live peer."""
        self._take(1 - self.side, octets, self._rules)
        self.talk.findings()

    def refusal(self, raw: bytes) -> Finding | None:
        """Why a frame may not be sent; None: it counts as sent from now on."""
        talk, side = self.talk, self.side
        frame = talk.framers[side].make_frame(
            raw, self._passed[side], 0, self._frames, self._time(), self._passed[1 - side]
        )
        frame.number = self._frames + 1
        for finding in talk.consider(frame, self._rules):
            if (
                finding.severity == ERROR
                and finding.certainty == SURE
                and finding.frame == frame.number
                and finding.peer == PEERS[side]
            ):
                return finding
        self._take(side, raw, None)
        return None

    def _take(self, sender: int, octets: bytes, rules: RuleSet | None) -> None:
        chunk = Chunk(
            self.talk.connection, sender, self._passed[sender], octets, self._frames, self._time(),
            self._passed[1 - sender],
        )  # fmt: skip
        self._passed[sender] += len(octets)
        for frame in self.talk.chunk(chunk):
            self._frames += 1
            frame.number = self._frames
            self.talk.take(frame, rules)

    def _time(self) -> int:
        return NANOSECONDS + int(self.now * NANOSECONDS)
