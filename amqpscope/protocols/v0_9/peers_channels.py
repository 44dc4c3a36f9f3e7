"""Channels of 0-9-1 as both peers see them, and how far their numbers differ."""

from __future__ import annotations

from amqpscope.protocols.peers import Action, Output
from amqpscope.protocols.peers_numbers import NumberMap
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v0_9.framing import Unit

MOST_UNSETTLED = 1_000_000
"""Messages of a channel that are remembered until they are answered."""


class Content:
    """A message on its way: a method, a header and bodies."""

    def __init__(self, unit: Unit, number: int) -> None:
        self.unit = unit
        """The method."""
        self.number = number
        """Its delivery-tag, or its place among what was published; 0: it has none."""
        self.left: int | None = None
        """Octets of body that are missing; None before the header."""
        self.withheld = False
        self.answer: Action | None = None
        """What it is answered with when it is whole."""
        self.copied = False
        """It is to be passed on twice."""
        self.frames: list[bytes] = []
        """Its header and bodies, where they are needed again."""

    @property
    def kept(self) -> bool:
        """Whether its frames are needed again."""
        return self.copied or (self.answer is not None and self.answer.kind == "return")


class Channel:
    """One channel; lists have the client's value first."""

    def __init__(self) -> None:
        self.contents: list[Content | None] = [None, None]
        self.later: list[list[Output]] = [[], []]
        """What is sent when a peer's content is whole, and not within it."""
        self.gone = [False, False]
        """Which peers the proxy has sent a channel.close, and has not been answered by."""
        self.parked: list[Frame] = []
        """What one peer sends while the other has not answered the close."""
        self.closing: Action | None = None
        """What closes it for both peers as soon as no message is under way."""
        self.confirms = False
        self.published = 0
        """Messages of the client since it asked for confirms."""
        self.tag = 0
        """The server's newest delivery-tag."""
        self.maps = [NumberMap(), NumberMap()]
        """By who sends: the places of what is published, and the delivery-tags."""
        self.unsettled: list[dict[int, None]] = [{}, {}]
        """By who sent them: messages that the other peer got and has not answered."""
        self.unacknowledged: dict[str, bool] = {}
        """Consumers by tag, and whether their deliveries need no acknowledgement."""
        self.asked: list[bool] = []
        """Whether consumers without a tag of the server yet need no acknowledgement."""
        self.get_unacknowledged = False
        self.cancelled: set[str] = set()
        """Consumers that the proxy has cancelled."""

    def next_number(self, sender: int) -> int:
        """The number of the next message of a peer, as it counts."""
        return (self.published if sender == CLIENT else self.tag) + 1

    def remember(self, sender: int, number: int) -> None:
        """The other peer gets a message that it has to answer."""
        if number and len(self.unsettled[sender]) < MOST_UNSETTLED:
            self.unsettled[sender][number] = None

    def settle_covered(self, owner: int, number: int, multiple: bool) -> list[int]:
        """The messages that an answer is about, as their sender counts; they are settled now."""
        numbers, unsettled = self.maps[owner], self.unsettled[owner]
        if not multiple:
            found = numbers.to_sender(number)
            settled = [] if found is None else [found]
        else:
            settled = []
            for each in unsettled:
                seen = numbers.to_receiver(each)
                if seen is not None and 0 < number < seen:
                    break
                if seen is not None:
                    settled.append(each)
        for each in settled:
            unsettled.pop(each, None)
        return settled

    def needs_answer(self, unit: Unit) -> bool:
        """Whether the sender of a message waits for an answer to it."""
        if unit.method is None:
            return False
        if unit.name == "basic.publish":
            return self.confirms
        if unit.name == "basic.get-ok":
            return not self.get_unacknowledged
        tag = unit.method.get("consumer-tag")
        return unit.name == "basic.deliver" and not self.unacknowledged.get(str(tag), False)


def owner_of_answer(sender: int) -> int:
    """Whose messages a basic.ack, nack or reject of this peer is about."""
    return SERVER if sender == CLIENT else CLIENT
