"""What the other peer did in the recording, and what of it has come or will not come any more."""

from __future__ import annotations

from collections.abc import Sequence

from amqpscope.protocols.replay_acts import Choices, Cue
from amqpscope.protocols.replay_differences import Differences
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import PEERS


class Expectations(Differences):
    """Cues, in the order in which they were recorded."""

    def __init__(self, side: int, choices: Choices) -> None:
        super().__init__(choices)
        self.side = side
        """Our own peer; the cues are those of the other one."""
        self.cues: list[Cue] = []
        self.moves = 0
        """Counts whatever got the conversation on."""
        self.ready = False
        """The connection is set up as far as acts need it."""
        self.closes = [False, False]
        """Who has sent a close or its answer: we, and the live peer."""
        self._met_all = 0
        """Up to which cue all have come."""

    def add_cue(self, frame: Frame, where: str, left: int = 1) -> Cue:
        """Expect something of the other peer."""
        cue = Cue(frame, where, len(self.cues), left=left)
        self.cues.append(cue)
        return cue

    @property
    def closed(self) -> bool:
        """Both peers have closed the connection."""
        return all(self.closes)

    def was_in_flight(self, kind: str) -> bool:
        """Whether a difference is only that something more came after our close."""
        return kind == "extra" and self.closes[0]

    def meet(self, cue: Cue | None) -> None:
        """Something expected has come."""
        self.moves += 1
        if cue is not None and cue.left > 0:
            cue.left -= 1

    def miss(self, cue: Cue, seen: str = "") -> None:
        """Something expected will not come any more."""
        if cue.left > 0:
            where, left = cue.where, cue.left
            if left < cue.count:
                where = f"{where} for {left} of {cue.count} messages"
            cue.left, cue.lost = 0, True
            self.diverge("missing", cue.frame, where, seen=seen)

    def is_moot(self, cue: Cue) -> bool:
        """Whether a cue cannot come because what it answers was never sent."""
        return False

    def abandon(self, cues: Sequence[Cue], seen: str = "", *, crossed: bool = False) -> None:
        """What will not come any more.

        It is not missed where we ended it first, as that depends on what was in flight then, nor
        where it answers what was never sent.
        """
        for cue in cues:
            if cue.left > 0:
                if crossed or self.is_moot(cue):
                    cue.left, cue.lost = 0, True
                else:
                    self.miss(cue, seen)

    def lose_peer(self) -> None:
        """The live peer has ended TCP: nothing more comes."""
        if not self.ready and self.first_missing() is not None and not self.divergences:
            self.refuse_setup("ends it")
        elif not self.closed:
            missing = [cue for cue in self.cues if cue.left > 0 and not self.is_moot(cue)]
            if missing:
                first, behind = missing[0], len(missing) - 1
                where = f"{first.where}, and {behind} behind it" if behind else first.where
                ends = f"the {PEERS[1 - self.side]} ends TCP"
                self.diverge("missing", first.frame, where, seen=ends)
            self.abandon(self.cues, crossed=True)

    def refuse_setup(self, what: str) -> None:
        """The live peer does not set up the connection: nothing of what was recorded comes."""
        who = PEERS[1 - self.side]
        self.diverge("stuck", None, f"the connection is not set up: the {who} {what}")
        self.abandon(self.cues, crossed=True)

    def next_frame(self) -> int:
        """The number of the first recorded frame that has not come yet; 0 where all have."""
        cue = self.first_missing()
        return 0 if cue is None else cue.frame.number

    def first_missing(self) -> Cue | None:
        """The first cue that has not come."""
        at = self._met_all
        while at < len(self.cues) and self.cues[at].left <= 0:
            at += 1
        self._met_all = at
        return self.cues[at] if at < len(self.cues) else None
