"""A capture as connections in memory, cut at its frames: what can be taken apart and written again.

TLS and WebSocket are off already, so that what is written again is plain AMQP over TCP.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from amqpscope.analysis import Batch, Conversation
from amqpscope.capture.synthetic import ENDS, UNKNOWN, Exchange, Sent
from amqpscope.stream.carrier import note_carrier
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import BEYOND, Chunk, Connection, Gap, Piece

UNKNOWN_LOSS: Final = 1_000_000
"""Octets that stand for a loss whose size is not known."""


class Octets:
    """One direction of a connection: its octets, and where some are missing."""

    def __init__(self) -> None:
        self.base = -1
        """The offset of the first; -1: there are none yet."""
        self.data = bytearray()
        self.holes: list[tuple[int, int]] = []

    def take(self, piece: Chunk | Gap) -> None:
        """Keep the octets of a piece."""
        if self.base < 0:
            self.base = piece.offset
        if isinstance(piece, Chunk):
            self.data += bytes(max(0, piece.offset - self.base - len(self.data))) + piece.data
            return
        self.holes.append((piece.offset, max(piece.size, 0)))

    @property
    def stop(self) -> int:
        """Where the octets end."""
        return max(self.base, 0) + len(self.data)

    def between(self, start: int, stop: int) -> Iterator[tuple[bytes, int]]:
        """The octets from one offset to another: some, and how many are missing behind them."""
        at = start
        for hole, size in self.holes:
            inside = start <= hole <= stop if not size else hole < stop and hole + size > start
            if inside:
                begin, end = max(hole, at), min(hole + size, stop)
                data = bytes(self.data[at - self.base : begin - self.base])
                yield data, end - begin if size else UNKNOWN_LOSS
                at = max(at, end)
        if at < stop:
            yield bytes(self.data[at - self.base : stop - self.base]), 0


class Exchanges:
    """Collects the connections of a capture while a `Run` reads it, as its `tap` and its sink."""

    def __init__(self) -> None:
        self.octets: dict[Connection, list[Octets]] = {}
        self.frames: dict[int, list[tuple[int, Frame]]] = defaultdict(list)
        """By conversation: its frames, each with its place among all."""
        self.ends: dict[int, list[tuple[int, Sent]]] = defaultdict(list)
        self.conversations: dict[int, Conversation] = {}
        self.count = 0

    def tap(self, pieces: list[Piece]) -> None:
        """Keep the octets of the next pieces."""
        for piece in pieces:
            if isinstance(piece, Chunk | Gap):
                found = self.octets.get(piece.connection)
                if found is None:
                    found = self.octets[piece.connection] = [Octets(), Octets()]
                found[piece.sender].take(piece)

    def take(self, batch: Batch) -> None:
        """Keep where the frames of a batch are, and what ended."""
        for step in batch.steps:
            self.conversations[step.conversation.number] = step.conversation
            self.frames[step.conversation.number].append((self._next(), step.frame))
        end = batch.end
        if end is not None and end.reason in ENDS:
            order = self._next()
            sent = Sent(end.sender, end.time, end=end.reason, order=order)
            self.ends[end.conversation.number].append((order, sent))

    def _next(self) -> int:
        self.count += 2
        return self.count

    def finish(self) -> dict[int, Exchange]:
        """The connections by their numbers, in the order of their first frames."""
        return {number: self._exchange(number) for number in self.conversations}

    def _exchange(self, number: int) -> Exchange:
        conversation = self.conversations[number]
        connection = conversation.connection
        octets = self.octets[connection]
        sent: list[tuple[Sent, int, int]] = []
        whole = [True, True]
        reached = [max(each.base, 0) for each in octets]
        for order, frame in self.frames[number]:
            sent.extend(self._before(frame, octets, reached, whole, order))
            whole[frame.sender] = not frame.missing
            start, stop = frame.offset, frame.offset + len(frame.raw) + frame.missing
            lost = 0 if frame.cut else frame.missing
            one = Sent(frame.sender, frame.time, frame.raw, lost=lost, order=order)
            sent.append((one, stop, frame.ack))
            reached[frame.sender] = max(stop, start)
        sent.extend(self._behind(octets, reached, sent))
        for order, end in self.ends[number]:
            sent.append((replace(end, order=order), reached[end.sender], -1))
        sent.sort(key=lambda each: each[0].order)
        return Exchange(
            connection.client, connection.server, tuple(_with_knowledge(sent)),
            connection.complete, connection.opened, carrier=note_carrier(connection),
        )  # fmt: skip

    def _before(
        self, frame: Frame, octets: list[Octets], reached: list[int], whole: list[bool], order: int
    ) -> Iterator[tuple[Sent, int, int]]:
        """What is no frame before a frame."""
        start = reached[frame.sender]
        parts = list(octets[frame.sender].between(start, frame.offset))
        if frame.lost_before and whole[frame.sender] and not any(lost for _, lost in parts):
            parts.append((b"", UNKNOWN_LOSS))
        for data, lost in parts:
            sent = Sent(frame.sender, frame.time, data, lost=lost, order=order - 1)
            yield sent, frame.offset, frame.ack

    def _behind(
        self, octets: list[Octets], reached: list[int], sent: list[tuple[Sent, int, int]]
    ) -> Iterator[tuple[Sent, int, int]]:
        """What is no frame behind the last one of each direction."""
        time = sent[-1][0].time if sent else 0
        order = sent[-1][0].order if sent else 0
        for sender, each in enumerate(octets):
            stop = max(each.stop, *(hole + size for hole, size in each.holes), 0)
            if each.base >= 0:
                for data, lost in each.between(reached[sender], stop):
                    yield Sent(sender, time, data, lost=lost, order=order + 1), stop, -1


def _with_knowledge(sent: list[tuple[Sent, int, int]]) -> Iterator[Sent]:
    """What was sent, each with how many of its partner's its sender had read."""
    stops: list[list[int]] = [[], []]
    for each, stop, _ in sent:
        stops[each.sender].append(stop)
    passed = [0, 0]
    reading = [0, 0]
    for each, _, ack in sent:
        partner = 1 - each.sender
        if 0 <= ack < BEYOND:
            ends, count = stops[partner], reading[partner]
            while count < len(ends) and ends[count] <= ack:
                count += 1
            reading[partner] = count
            yield replace(each, read=count)
        else:
            yield replace(each, read=UNKNOWN if ack >= BEYOND else passed[partner])
        passed[each.sender] += 1
