"""TCP octets put back in order: segments in, pieces of streams out.

How it works. Each direction is a `Flow` (see `ordering`) that knows the sequence number it expects.
A segment that begins right there becomes a Chunk at once; that is the whole of `_take` and nearly
all traffic. Everything else goes to `_unusual`: segments ahead of a hole wait, and a hole becomes a
Gap when the peer has acknowledged it for a while, when too much waits behind it, or when the
connection or the capture ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Final

from amqpscope.ordering import SEQ_HALF, SEQ_MASK, Flow, Order, distance
from amqpscope.stream import (
    ACK,
    CLIENT,
    FIN,
    INSIDE_TLS,
    RST,
    SERVER,
    SYN,
    Chunk,
    Connection,
    End,
    Gap,
    Piece,
    Segment,
    Window,
)

SERVER_PORTS: Final = frozenset((5671, 5672))
"""Ports whose owner is the server when the capture did not see who connected."""

PATIENCE: Final = 8
"""Packets of the receiver that acknowledge octets we have not seen before these count as lost:
a capture of several queues may hold them a little later."""

MAX_OPEN: Final = 65536
"""Connections followed at the same time; then the longest idle ones are given up."""
MAX_CLOSED: Final = 1024
"""Closed connections remembered, so that late retransmissions are not taken for new ones."""

REACH_AHEAD: Final = 1 << 30
"""No TCP window is larger, so a segment further ahead is damage, or the capture slept."""
REACH_BACK: Final = 1 << 26
"""A retransmission is never this old."""
STRAYS: Final = 8
"""So many segments in a row out of reach mean that the capture slept: start anew there."""


def _endpoints(key: bytes) -> tuple[tuple[str, int], tuple[str, int]]:
    size = (len(key) - 4) // 2
    family = AF_INET if size == 4 else AF_INET6
    source = (inet_ntop(family, key[:size]), key[-4] << 8 | key[-3])
    destination = (inet_ntop(family, key[size : 2 * size]), key[-2] << 8 | key[-1])
    return source, destination


def _reverse(key: bytes) -> bytes:
    size = (len(key) - 4) // 2
    return key[size : 2 * size] + key[:size] + key[-2:] + key[-4:-2]


class Reassembler:
    """Puts the segments of a capture in order, connection by connection."""

    def __init__(self, server_ports: Iterable[int] = ()) -> None:
        self._ports = SERVER_PORTS | frozenset(server_ports)
        self._flows: dict[bytes, Flow] = {}
        self._closed: deque[Flow] = deque()
        self._open = 0
        self._order = Order()
        self._last = Segment(0, 0, b"", 0, 0, 0, 0, b"", 0)

    def feed(self, segment: Segment) -> list[Piece]:
        """Take the next segment of the capture; what it makes available, in order."""
        out: list[Piece] = []
        self._take(segment, out)
        return out

    def feed_all(self, segments: list[Segment]) -> list[Piece]:
        """Take many segments at once, as `feed` does each."""
        out: list[Piece] = []
        for segment in segments:
            self._take(segment, out)
        return out

    def finish(self) -> list[Piece]:
        """Give up every hole and end every open direction: the capture is over."""
        out: list[Piece] = []
        for flow in list(self._flows.values()):
            if not flow.ended:
                self._end(flow, "capture", self._last, out)
        self._flows.clear()
        self._closed.clear()
        self._open = 0
        return out

    def _take(self, segment: Segment, out: list[Piece]) -> None:
        self._last = segment
        flow = self._flows.get(segment.key)
        if flow is None:
            flow = self._meet(segment, out)
            if flow is None:
                return
        flow.last = segment.packet
        peer = flow.peer
        behind = (peer.seq - segment.ack) & SEQ_MASK
        if (
            segment.flags & (FIN | SYN | RST | ACK) != ACK
            or segment.seq != flow.seq
            or behind >= SEQ_HALF
            or flow.waiting
            or flow.fin >= 0
            or flow.ended
            or segment.missing
            or segment.window == 0
            or flow.zero
            or peer.doubts
            or not flow.known
            or not peer.known
        ):
            self._unusual(flow, segment, out)
            return
        flow.strays = 0
        data = segment.payload
        if data:
            ack = max(peer.offset - behind, 0)
            chunk = Chunk(
                flow.connection, flow.sender, flow.offset, data, segment.packet, segment.time, ack
            )
            out.append(chunk)
            size = len(data)
            flow.offset += size
            flow.seq = (flow.seq + size) & SEQ_MASK

    # Connections: how they begin, and who is the client.

    def _meet(self, segment: Segment, out: list[Piece]) -> Flow | None:
        flags = segment.flags
        if not flags & SYN and (flags & RST or not (segment.payload or segment.missing)):
            # An echo of a connection long gone: no octets, so nothing to follow.
            return None
        source, destination = _endpoints(segment.key)
        if flags & SYN:
            sender = SERVER if flags & ACK else CLIENT
        else:
            sender = self._guess_sender(source[1], destination[1])
        complete = flags & SYN != 0
        if sender == CLIENT:
            connection = Connection(source, destination, complete)
        else:
            connection = Connection(destination, source, complete)
        connection.seen = [sender == CLIENT, sender == SERVER]
        if complete:
            connection.opened = segment.time
        flow = Flow(segment.key, connection, sender)
        peer = Flow(_reverse(segment.key), connection, 1 - sender)
        flow.peer = peer
        peer.peer = flow
        flow.begin(segment.seq + 1 if flags & SYN else segment.seq)
        flow.last = segment.packet
        self._flows[flow.key] = flow
        self._flows[peer.key] = peer
        self._open += 1
        if self._open > MAX_OPEN:
            self._give_up_idle(flow, out)
        return flow

    def _guess_sender(self, source: int, destination: int) -> int:
        """Who sends from this port to that, when the capture did not see them connect."""
        if (source in self._ports) != (destination in self._ports):
            return SERVER if source in self._ports else CLIENT
        return SERVER if source < destination else CLIENT

    def _give_up_idle(self, newest: Flow, out: list[Piece]) -> None:
        """End the longest idle eighth of all connections, so that this is seldom needed."""
        clients = [flow for flow in self._flows.values() if flow.sender == CLIENT]
        idle = [(max(flow.last, flow.peer.last), flow.key) for flow in clients]
        idle.sort()
        for _, key in idle[: MAX_OPEN // 8]:
            flow = self._flows[key]
            if flow is newest or flow.peer is newest:
                continue
            for side in (flow, flow.peer):
                if not side.ended:
                    self._end(side, "idle", self._last, out)
            self._forget(flow)

    def _forget(self, flow: Flow) -> None:
        for side in (flow, flow.peer):
            if self._flows.get(side.key) is side:
                del self._flows[side.key]

    def _syn(self, flow: Flow, segment: Segment, out: list[Piece]) -> Flow:
        """The flow that this SYN belongs to: this one, or that of a new connection."""
        peer = flow.peer
        refused = flow.ended and flow.offset == 0 and peer.offset == 0
        if flow.known:
            if segment.seq == flow.isn and not refused:
                flow.connection.complete = True
                return flow
        elif not flow.ended:
            if segment.flags & ACK:
                answers = 0 <= distance(segment.ack, peer.isn) - 1 <= peer.offset
            else:
                answers = peer.offset == 0 and flow.connection.complete
            if answers:
                flow.connection.complete = True
                flow.connection.opened = segment.time
                flow.begin(segment.seq + 1)
                return flow
        for side in (flow, peer):
            if not side.ended:
                self._end(side, "reused", segment, out)
        new = self._meet(segment, out)
        return flow if new is None else new

    # Segments that are not simply the next one.

    def _unusual(self, flow: Flow, segment: Segment, out: list[Piece]) -> None:
        flags = segment.flags
        if flags & SYN:
            flow = self._syn(flow, segment, out)
        flow.connection.seen[flow.sender] = True
        if flags & INSIDE_TLS:
            flow.connection.encrypted = True
        if flow.ended and flow.peer.ended:
            return
        if flags & RST:
            for side in (flow, flow.peer):
                if not side.ended:
                    self._end(side, "rst", segment, out)
            return
        if not flow.known:
            self._begin_midway(flow, segment)
        ack = self._acknowledge(flow, segment, out) if flags & ACK else -1
        if (segment.window == 0) != flow.zero:
            flow.zero = not flow.zero
            out.append(
                Window(flow.connection, flow.sender, flow.zero, segment.packet, segment.time)
            )
        if flow.ended:
            return
        ahead = distance(segment.seq, flow.seq)
        if flags & SYN:
            ahead += 1
        if ahead > REACH_AHEAD or ahead < -REACH_BACK:
            if not self._found_again(flow, segment, out):
                return
            ahead = 0
        flow.strays = 0
        start = flow.offset + ahead
        if flags & FIN and flow.fin < 0:
            flow.fin = max(start + len(segment.payload) + segment.missing, flow.offset)
        self._order.place(flow, start, segment, ack, out)
        if 0 <= flow.fin <= flow.offset:
            self._end(flow, "fin", segment, out)

    def _begin_midway(self, flow: Flow, segment: Segment) -> None:
        seq = segment.seq
        if len(segment.payload) <= 1 and (seq + 1) & SEQ_MASK == flow.peer_ack:
            seq += 1  # a keep-alive: its sequence number is one that the peer already has
        flow.begin(seq)

    def _acknowledge(self, flow: Flow, segment: Segment, out: list[Piece]) -> int:
        """How many octets of the peer the segment acknowledges; -1: unknown."""
        peer = flow.peer
        if not peer.known:
            peer.peer_ack = segment.ack
            if not flow.connection.complete:
                return -1
            # The peer's SYN was not captured, but this acknowledges nothing beyond it.
            peer.begin(segment.ack)
            return 0
        ahead = distance(segment.ack, peer.seq)
        if ahead <= 0 or ahead > REACH_AHEAD or peer.ended:
            peer.doubts = 0
            return max(0, peer.offset + min(ahead, 0))
        peer.doubts += 1
        peer.covered = peer.offset + ahead
        if 0 <= peer.fin < peer.covered:
            peer.covered = peer.fin
        covered = peer.covered
        if peer.doubts >= PATIENCE:
            self._order.lose(peer, covered, segment, out)
            peer.doubts = 0
            if 0 <= peer.fin <= peer.offset:
                self._end(peer, "fin", segment, out)
        return covered

    def _found_again(self, flow: Flow, segment: Segment, out: list[Piece]) -> bool:
        """After enough segments out of reach: go on from this one."""
        if not segment.payload:
            return False
        flow.strays += 1
        if flow.strays < STRAYS:
            return False
        self._order.flush(flow, segment, out)
        out.append(Gap(flow.connection, flow.sender, flow.offset, -1, segment.packet, segment.time))
        flow.seq = segment.seq
        flow.doubts = 0
        flow.fin = -1
        return True

    def _end(self, flow: Flow, reason: str, segment: Segment, out: list[Piece]) -> None:
        self._order.flush(flow, segment, out)
        out.append(End(flow.connection, flow.sender, reason, segment.packet, segment.time))
        flow.ended = True
        flow.doubts = 0
        if reason == "fin":
            flow.seq = (flow.seq + 1) & SEQ_MASK
        if flow.peer.ended:
            self._open -= 1
            self._closed.append(flow)
            if len(self._closed) > MAX_CLOSED:
                self._forget(self._closed.popleft())
