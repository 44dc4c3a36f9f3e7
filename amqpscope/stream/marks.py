"""What a proxy noted in its recording: where a fault acted, and which packets are copies.

A connection on which a fault has acted is recorded as two. In each of them the proxy plays one of
the peers, and says so by comments on packets that it sent itself: `amqpscope fault NAME: ACTION`.
The second begins with what both have in common: packets with the comment `amqpscope copy`.
"""

from __future__ import annotations

from typing import Final

FAULT: Final = "amqpscope fault "
COPY: Final = "amqpscope copy"
CARRIER: Final = "amqpscope carrier "
"""What was around a connection that is written without it, see `carrier`."""
LEGAL: Final = frozenset((
    "accept", "cancel", "channel.close", "close", "delay", "detach", "end", "hold", "modify",
    "nack", "rate", "reject", "release", "resume", "return", "slice", "stall",
))  # fmt: skip
"""Actions after which both peers still see a legal conversation; one that puts a message in takes
credit away that its sender may use before it hears of that."""


class Marks:
    """The comments of one connection."""

    def __init__(self) -> None:
        self.copied = 0
        """The last packet that is a copy."""
        self.proxy = -1
        """Which peer the proxy plays: who sent the packets with comments; -1: not known."""
        self.faults: list[tuple[int, str, bool]] = []
        """From which packet on, by which fault, and whether the real peer may go by it."""
        self.actions: list[str] = []
        """What each of them did."""
        self.shown = 0
        """How many of them have been shown at a frame."""

    def add(self, packet: int, sender: int, text: str) -> None:
        """Take the comment of a packet."""
        if text == COPY:
            self.copied = packet
            return
        self.proxy = sender
        name, _, action = text[len(FAULT) :].partition(": ")
        kind = action.partition(" ")[0]
        self.faults.append((packet, name, kind in LEGAL))
        self.actions.append(action)

    def take(self, packet: int) -> list[tuple[str, str]]:
        """The faults that acted up to a packet and were not taken before: names and actions.

        A fault that sent or changed a frame is noted on its packet; one that took a frame away, on
        a packet without octets before the next frame.
        """
        taken: list[tuple[str, str]] = []
        while self.shown < len(self.faults) and self.faults[self.shown][0] <= packet:
            taken.append((self.faults[self.shown][1], self.actions[self.shown]))
            self.shown += 1
        return taken

    def fault_behind(self, packet: int, peer: int) -> str:
        """The fault that what a peer does in a packet may rest on; empty for none.

        What the proxy sends in a peer's place rests on the newest fault. A real peer that sees a
        legal conversation answers for itself, also when it was forged.
        """
        found = ""
        for first, name, legal in self.faults:
            if first > packet:
                break
            if peer == self.proxy or not legal:
                found = name
        return found

    def fault_between(self, packet: int, later: int, peer: int) -> str:
        """The fault that is behind what is found later about an earlier packet; empty for none.

        That is what the later packet itself was forged by, or the newest between the two after
        which the peer may be expected to do anything: the one that the proxy plays may always.
        """
        found = ""
        for first, name, legal in self.faults:
            free = not legal or peer == self.proxy
            if first == later or (packet < first < later and free):
                found = name
        return found
