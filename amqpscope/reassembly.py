"""TCP octets put back in order: segments in, pieces of streams out.

How it works. Each direction is a `_Flow` that knows the sequence number it expects and the stream
offset that number stands for. A segment that begins right there becomes a Chunk at once; that is
the whole of `_take` and nearly all traffic. Everything else goes to `_unusual`: segments ahead of a
hole wait in offset order without overlap, the first copy of an octet wins, and a hole becomes a Gap
when the peer has acknowledged it for a while, when too much waits behind it, or when the
connection or the capture ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Final

from amqpscope.stream import (
    ACK,
    CLIENT,
    FIN,
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

MAX_WAITING: Final = 8192
"""Segments of one direction behind a hole."""
MAX_HELD: Final = 8 << 20
"""Octets of one direction behind a hole."""
MAX_HELD_IN_ALL: Final = 64 << 20
HELD_OVERHEAD: Final = 200
"""What a waiting segment costs besides its octets."""

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

_SEQ_MASK: Final = 0xFFFFFFFF
_SEQ_HALF: Final = 0x80000000


class _Waiting:
    """A part of a segment that cannot be delivered yet."""

    __slots__ = ("ack", "data", "missing", "offset", "packet", "stop", "time")

    def __init__(
        self, offset: int, data: bytes, missing: int, packet: int, time: int, ack: int
    ) -> None:
        self.offset = offset
        self.data = data
        self.missing = missing
        self.stop = offset + len(data) + missing
        self.packet = packet
        self.time = time
        self.ack = ack


class _Flow:
    """One direction of a connection."""

    __slots__ = (
        "connection", "covered", "doubts", "ended", "fin", "held", "isn", "key", "known", "last",
        "offset", "peer", "peer_ack", "sender", "seq", "strays", "waiting", "zero",
    )  # fmt: skip

    def __init__(self, key: bytes, connection: Connection, sender: int) -> None:
        self.key = key
        self.connection = connection
        self.sender = sender
        self.peer: _Flow = self
        self.known = False
        """`seq` and `isn` mean something: a segment of this direction fixed them."""
        self.isn = 0
        """The sequence number before offset 0: that of the SYN, if there was one in the capture."""
        self.seq = 0
        """The sequence number expected next, and below it its offset."""
        self.offset = 0
        self.fin = -1
        """The offset of the FIN, once seen."""
        self.ended = False
        self.zero = False
        """The last window announced was zero."""
        self.waiting: list[_Waiting] = []
        self.held = 0
        self.doubts = 0
        """Packets in a row that acknowledge octets up to `covered` which we have not seen."""
        self.covered = 0
        self.peer_ack = -1
        """What the peer acknowledged before this direction was known."""
        self.strays = 0
        self.last = 0
        """The packet of the last segment."""

    def begin(self, seq: int) -> None:
        """Let `seq` be the sequence number of offset 0."""
        self.known = True
        self.seq = seq & _SEQ_MASK
        self.isn = (seq - 1) & _SEQ_MASK


def _distance(seq: int, expected: int) -> int:
    """How far `seq` lies ahead of `expected`, negative when behind (RFC 9293, 3.4)."""
    ahead = (seq - expected) & _SEQ_MASK
    return ahead if ahead < _SEQ_HALF else ahead - _SEQ_MASK - 1


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
        self._flows: dict[bytes, _Flow] = {}
        self._closed: deque[_Flow] = deque()
        self._open = 0
        self._held = 0
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
        behind = (peer.seq - segment.ack) & _SEQ_MASK
        if (
            segment.flags & (FIN | SYN | RST | ACK) != ACK
            or segment.seq != flow.seq
            or behind >= _SEQ_HALF
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
            flow.seq = (flow.seq + size) & _SEQ_MASK

    # Connections: how they begin, and who is the client.

    def _meet(self, segment: Segment, out: list[Piece]) -> _Flow | None:
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
        flow = _Flow(segment.key, connection, sender)
        peer = _Flow(_reverse(segment.key), connection, 1 - sender)
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

    def _give_up_idle(self, newest: _Flow, out: list[Piece]) -> None:
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

    def _forget(self, flow: _Flow) -> None:
        for side in (flow, flow.peer):
            if self._flows.get(side.key) is side:
                del self._flows[side.key]

    def _syn(self, flow: _Flow, segment: Segment, out: list[Piece]) -> _Flow:
        """The flow that this SYN belongs to: this one, or that of a new connection."""
        peer = flow.peer
        refused = flow.ended and flow.offset == 0 and peer.offset == 0
        if flow.known:
            if segment.seq == flow.isn and not refused:
                flow.connection.complete = True
                return flow
        elif not flow.ended:
            if segment.flags & ACK:
                answers = 0 <= _distance(segment.ack, peer.isn) - 1 <= peer.offset
            else:
                answers = peer.offset == 0 and flow.connection.complete
            if answers:
                flow.connection.complete = True
                flow.begin(segment.seq + 1)
                return flow
        for side in (flow, peer):
            if not side.ended:
                self._end(side, "reused", segment, out)
        new = self._meet(segment, out)
        return flow if new is None else new

    # Segments that are not simply the next one.

    def _unusual(self, flow: _Flow, segment: Segment, out: list[Piece]) -> None:
        flags = segment.flags
        if flags & SYN:
            flow = self._syn(flow, segment, out)
        flow.connection.seen[flow.sender] = True
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
        ahead = _distance(segment.seq, flow.seq)
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
        self._place(flow, start, segment, ack, out)
        if 0 <= flow.fin <= flow.offset:
            self._end(flow, "fin", segment, out)

    def _begin_midway(self, flow: _Flow, segment: Segment) -> None:
        seq = segment.seq
        if len(segment.payload) <= 1 and (seq + 1) & _SEQ_MASK == flow.peer_ack:
            seq += 1  # a keep-alive: its sequence number is one that the peer already has
        flow.begin(seq)

    def _acknowledge(self, flow: _Flow, segment: Segment, out: list[Piece]) -> int:
        """How many octets of the peer the segment acknowledges; -1: unknown."""
        peer = flow.peer
        if not peer.known:
            peer.peer_ack = segment.ack
            if not flow.connection.complete:
                return -1
            # The peer's SYN was not captured, but this acknowledges nothing beyond it.
            peer.begin(segment.ack)
            return 0
        ahead = _distance(segment.ack, peer.seq)
        if ahead <= 0 or ahead > REACH_AHEAD or peer.ended:
            peer.doubts = 0
            return max(0, peer.offset + min(ahead, 0))
        peer.doubts += 1
        peer.covered = peer.offset + ahead
        if 0 <= peer.fin < peer.covered:
            peer.covered = peer.fin
        covered = peer.covered
        if peer.doubts >= PATIENCE:
            self._lose(peer, covered, segment, out)
            peer.doubts = 0
            if 0 <= peer.fin <= peer.offset:
                self._end(peer, "fin", segment, out)
        return covered

    def _found_again(self, flow: _Flow, segment: Segment, out: list[Piece]) -> bool:
        """After enough segments out of reach: go on from this one."""
        if not segment.payload:
            return False
        flow.strays += 1
        if flow.strays < STRAYS:
            return False
        self._flush(flow, segment, out)
        out.append(Gap(flow.connection, flow.sender, flow.offset, -1, segment.packet, segment.time))
        flow.seq = segment.seq
        flow.doubts = 0
        flow.fin = -1
        return True

    def _end(self, flow: _Flow, reason: str, segment: Segment, out: list[Piece]) -> None:
        self._flush(flow, segment, out)
        out.append(End(flow.connection, flow.sender, reason, segment.packet, segment.time))
        flow.ended = True
        flow.doubts = 0
        if reason == "fin":
            flow.seq = (flow.seq + 1) & _SEQ_MASK
        if flow.peer.ended:
            self._open -= 1
            self._closed.append(flow)
            if len(self._closed) > MAX_CLOSED:
                self._forget(self._closed.popleft())

    # Order: what waits behind a hole, and when the hole is given up.

    def _place(self, flow: _Flow, start: int, segment: Segment, ack: int, out: list[Piece]) -> None:
        data = segment.payload
        missing = segment.missing
        old = flow.offset - start
        if len(data) + missing <= max(old, 0):
            return
        if old > 0:
            missing -= max(0, old - len(data))
            data = data[old:]
            start = flow.offset
        part = _Waiting(start, data, missing, segment.packet, segment.time, ack)
        if old >= 0 and not flow.waiting:
            self._deliver(flow, part, out)
            return
        self._hold(flow, part)
        self._release(flow, out)
        while flow.waiting and (
            len(flow.waiting) > MAX_WAITING or flow.held > MAX_HELD or self._held > MAX_HELD_IN_ALL
        ):
            self._lose(flow, flow.waiting[0].offset, segment, out)

    def _hold(self, flow: _Flow, part: _Waiting) -> None:
        """Keep those octets of `part` that do not wait already."""
        waiting = flow.waiting
        low = 0
        high = len(waiting)
        while low < high:
            middle = (low + high) // 2
            if waiting[middle].offset <= part.offset:
                low = middle + 1
            else:
                high = middle
        start = part.offset
        if low > 0:
            start = max(start, waiting[low - 1].stop)
        while start < part.stop:
            stop = part.stop
            if low < len(waiting):
                stop = min(stop, waiting[low].offset)
            if start < stop:
                piece = _cut(part, start, stop)
                waiting.insert(low, piece)
                flow.held += len(piece.data) + HELD_OVERHEAD
                self._held += len(piece.data) + HELD_OVERHEAD
                low += 1
            if low == len(waiting):
                return
            start = waiting[low].stop
            low += 1

    def _release(self, flow: _Flow, out: list[Piece]) -> None:
        """Deliver what waits no more for anything before it."""
        count = 0
        for part in flow.waiting:
            if part.offset != flow.offset:
                break
            self._deliver(flow, part, out)
            flow.held -= len(part.data) + HELD_OVERHEAD
            self._held -= len(part.data) + HELD_OVERHEAD
            count += 1
        if count:
            del flow.waiting[:count]

    def _deliver(self, flow: _Flow, part: _Waiting, out: list[Piece]) -> None:
        if part.data:
            out.append(
                Chunk(
                    flow.connection,
                    flow.sender,
                    flow.offset,
                    part.data,
                    part.packet,
                    part.time,
                    part.ack,
                )
            )
            self._advance(flow, len(part.data))
        if part.missing:
            self._gap(flow, part.missing, part.packet, part.time, out)

    def _lose(self, flow: _Flow, until: int, segment: Segment, out: list[Piece]) -> None:
        """Give up the holes before `until`, and deliver what waited behind them."""
        while flow.offset < until:
            stop = until
            if flow.waiting:
                stop = min(stop, flow.waiting[0].offset)
            elif until - flow.offset == 1:
                # One octet more than we saw is the FIN that the capture lost, not data.
                break
            self._gap(flow, stop - flow.offset, segment.packet, segment.time, out)
            self._release(flow, out)

    def _flush(self, flow: _Flow, segment: Segment, out: list[Piece]) -> None:
        """Give up every hole."""
        while flow.waiting:
            self._lose(flow, flow.waiting[0].offset, segment, out)
        if flow.fin > flow.offset:
            self._gap(flow, flow.fin - flow.offset, segment.packet, segment.time, out)
        elif flow.doubts:
            self._lose(flow, flow.covered, segment, out)

    def _gap(self, flow: _Flow, size: int, packet: int, time: int, out: list[Piece]) -> None:
        out.append(Gap(flow.connection, flow.sender, flow.offset, size, packet, time))
        self._advance(flow, size)

    def _advance(self, flow: _Flow, size: int) -> None:
        flow.offset += size
        flow.seq = (flow.seq + size) & _SEQ_MASK


def _cut(part: _Waiting, start: int, stop: int) -> _Waiting:
    """The octets of `part` from `start` to `stop`, captured or missing."""
    data = part.data[start - part.offset : stop - part.offset]
    missing = stop - start - len(data)
    return _Waiting(start, data, missing, part.packet, part.time, part.ack)
