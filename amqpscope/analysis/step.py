"""What leaves the core: one frame with what it means, and the connection that it belongs to."""

from __future__ import annotations

from typing import Final

from amqpscope.findings import Finding
from amqpscope.model.event import Event
from amqpscope.protocols.talk import Talk
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import SERVER
from dissectors.native import mypyc_attr

NO_FAULTS: Final[list[tuple[str, str]]] = []
"""What nearly all units have; shared, so never added to."""
NOTHING: Final[list[Finding]] = []
"""What most units have; shared, so never added to."""


class Conversation:
    """One connection that uses AMQP."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.number = talk.number
        """From 1 in each capture, in the order in which they were recognised."""
        self.connection = talk.connection
        self.answer: Talk | None = None
        """How the server talks, where it does not know what its client asked for."""
        self.asked: Frame | None = None
        """The client's header."""
        self.gaps = 0
        self.labels: dict[int, str] = {}
        """Room for a sink to keep what it says of units over and over."""
        self.last: list[Frame | None] = [None, None]
        """The newest frame of each peer."""
        self.counted = False
        """Its frames are only counted: another process follows them, or nobody asks for them."""
        self.time = 0
        """When the newest frame of either peer passed; 0 before the first."""
        self.judged = True
        """Its frames are checked by the rules, where there are any."""

    @property
    def protocol(self) -> str:
        """What users call the protocol: `amqp-1.0`."""
        return self.talk.protocol

    @property
    def current(self) -> Talk:
        """Whose model knows how the connection goes on and ends."""
        return self.talk if self.answer is None else self.answer

    def talk_of(self, sender: int) -> Talk:
        """What a peer's octets are read by."""
        return self.current if sender == SERVER else self.talk


@mypyc_attr(free_list_len=1)
class Step:
    """One AMQP unit, where it belongs, and what is wrong with it."""

    def __init__(
        self, conversation: Conversation, talk: Talk, event: Event, findings: list[Finding]
    ) -> None:
        self.conversation = conversation
        self.talk = talk
        """What the unit was read by."""
        self.event = event
        self.frame: Frame = event.frame
        self.findings = findings
        """The rules that this unit breaks."""
        self.faults: list[tuple[str, str]] = NO_FAULTS
        """The faults of a proxy that acted here, by name, and what each did."""
        self.gap = -1
        """Nanoseconds since the frame before it on its connection; -1: it is the first."""
