"""The conversations of a capture, as they are played: whole, or as far as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from amqpscope.analysis import Batch, Conversation
from amqpscope.protocols.protocol import HEADER_SIZE, Protocol
from amqpscope.protocols.registry import of_voice
from amqpscope.protocols.replay import Part
from amqpscope.protocols.replay_acts import Choices
from amqpscope.replay.guard import Guard, live_connection
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import BEYOND, PEERS

DROPPED: Final = ("fin", "rst")


class Recorded:
    """One conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.number = conversation.number
        self.conversation = conversation
        self.frames: list[Frame] = []
        self.ends: list[str] = ["", ""]
        """How each peer's direction of TCP ended."""
        self.ended_first = -1
        """The peer that ended its direction before the other one."""
        self.problem = ""
        """Why it is not played to its end."""

    @property
    def protocol(self) -> Protocol:
        """The family."""
        return of_voice(self.conversation.talk.voice)

    @property
    def begin(self) -> int:
        """When its first frame passed, in nanoseconds."""
        return self.frames[0].time if self.frames else 0

    @property
    def end(self) -> int:
        """When its last frame passed, in nanoseconds."""
        return self.frames[-1].time if self.frames else 0

    def take(self, frame: Frame) -> None:
        """Take the next frame, unless something was missing before."""
        if self.problem:
            return
        if frame.missing or frame.lost_before or frame.beheaded:
            if not frame.cut or frame.lost_before:
                self.problem = f"octets are missing at frame {frame.number}"
            return
        self.frames.append(frame)

    def end_direction(self, sender: int, reason: str) -> None:
        """A peer has ended its direction of TCP."""
        if not any(self.ends):
            self.ended_first = sender
        if not self.ends[sender]:
            self.ends[sender] = reason

    def trim(self) -> None:
        """Leave out what a peer said when it had octets of the other that the capture lacks."""
        ends = [
            max((each.offset + len(each.raw) for each in self.frames if each.sender == peer),
                default=0)
            for peer in (0, 1)
        ]  # fmt: skip
        lossy = bool(self.problem or self.conversation.gaps)
        for at, frame in enumerate(self.frames):
            other = 1 - frame.sender
            if frame.ack >= BEYOND or (lossy and frame.ack > ends[other]):
                del self.frames[at:]
                self.problem = (
                    f"octets of the {PEERS[other]} are missing before frame {frame.number}"
                )
                return

    def part(self, side: int, choices: Choices) -> Part:
        """One side of it, to be played once."""
        dropped = side == self.ended_first and self.ends[side] in DROPPED
        ending = self.ends[side] if dropped else ""
        talk = self.conversation.talk
        part = self.protocol.part(talk, self.frames, side, choices, ending)
        if not choices.exact:
            first = self.frames[0].raw
            version = first[4:HEADER_SIZE] if self.frames[0].unit.header is not None else b""
            live = self.protocol.talk(1, live_connection(), talk.protocol, version, [False, False])
            part.guard = Guard(live, side)
        return part

    @property
    def is_copy(self) -> bool:
        """It is what a proxy with faults made of another conversation, for the broker."""
        marks = self.conversation.connection.marks
        return marks is not None and marks.copied > 0

    @property
    def playable(self) -> str:
        """Why it cannot be played at all; empty if it can."""
        connection = self.conversation.connection
        if self.conversation.answer is not None:
            return "the server answers in another protocol than it is asked"
        if not connection.complete:
            missing = [PEERS[peer] for peer in (0, 1) if not connection.anchored[peer]]
            return f"its beginning is not in the capture (of the {' and the '.join(missing)})"
        if not self.frames:
            return self.problem or "it has no frames"
        return ""


class Recording:
    """All conversations of a capture."""

    def __init__(self) -> None:
        self.conversations: dict[int, Recorded] = {}

    def take(self, batch: Batch) -> None:
        """Take what comes next of the capture."""
        for step in batch.steps:
            self.of(step.conversation).take(step.frame)
        end = batch.end
        if end is not None:
            self.of(end.conversation).end_direction(end.sender, end.reason)

    def of(self, conversation: Conversation) -> Recorded:
        """What is kept of a conversation."""
        found = self.conversations.get(conversation.number)
        if found is None:
            found = self.conversations[conversation.number] = Recorded(conversation)
        return found

    def choose(self, wanted: Iterable[int]) -> list[Recorded]:
        """The conversations of these numbers, or all, in the order in which they began.

        Where a proxy has recorded both of its sides, the client's alone is that of a client.
        """
        for each in self.conversations.values():
            each.trim()
        numbers = set(wanted)
        return [
            each
            for number, each in sorted(self.conversations.items())
            if number in numbers or not (numbers or each.is_copy)
        ]
