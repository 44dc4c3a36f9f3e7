"""TCP octets put back in order: segments in, pieces of streams out.

How it works. Each direction is a `Flow` that knows the sequence number it expects.
A segment that begins right there becomes a Chunk at once; that is the whole of `_take` and nearly
all traffic. Everything else goes to `_unusual`: segments ahead of a hole wait, and a hole becomes a
Gap when the peer has acknowledged it for a while, when too much waits behind it, or when the
connection or the capture ends. A segment that acknowledges what has not come yet waits for it (see
`causality`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from amqpscope.stream.carrier import read_carrier
from amqpscope.stream.causality import pass_on, release_all, settle
from amqpscope.stream.flow import SEQ_HALF, SEQ_MASK, Flow, distance
from amqpscope.stream.marks import CARRIER, Marks
from amqpscope.stream.ordering import MAX_WAITING, Order
from amqpscope.stream.roles import (
    LATE_SYN,
    SERVER_PORTS,
    endpoints,
    is_guess,
    opener,
    reverse,
    sender_of,
    waited_enough,
)
from amqpscope.stream.types import (
    ACK,
    BEYOND,
    CLIENT,
    FIN,
    INSIDE_TLS,
    MARKED,
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

# Octets that the receiver acknowledges and we have not seen are lost, but a capture of several
# queues or clocks may hold them a little later. How long to wait for them:
PATIENCE: Final = 8
"""Packets that acknowledge them before they count as lost, if PATIENCE_TIME has passed too."""
PATIENCE_TIME: Final = 50_000_000
"""Nanoseconds since the first of these packets."""
PATIENCE_AT_MOST: Final = 512
"""Packets after which they count as lost, however little time has passed."""
LONG_TIME: Final = 1_000_000_000
"""Nanoseconds after which two such packets are enough, or octets behind the missing ones."""

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
        last = self._last
        for flow in list(self._flows.values()):
            self._decide(flow, out)
        for flow in list(self._flows.values()):
            if not flow.ended:
                self._end(flow, "capture", last, out)
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
        if segment.flags & MARKED:
            self._mark(flow, segment)
        peer = flow.peer
        behind = (peer.seq - segment.ack) & SEQ_MASK
        ack = peer.offset - behind
        if (
            segment.flags & (FIN | SYN | RST | ACK) != ACK
            or segment.seq != flow.seq
            or behind >= SEQ_HALF
            or not segment.ack
            or ack < flow.acked
            or flow.waiting
            or flow.fin >= 0
            or flow.ended
            or segment.missing
            or segment.window == 0
            or flow.zero
            or flow.doubts
            or peer.doubts
            or not flow.known
            or not peer.known
            or (segment.flags & INSIDE_TLS and not flow.connection.encrypted)
        ):
            self._unusual(flow, segment, out)
            return
        flow.strays = 0
        flow.acked = ack
        data = segment.payload
        if data:
            chunk = Chunk(
                flow.connection, flow.sender, flow.offset, data, segment.packet, segment.time, ack
            )
            out.append(chunk)
            size = len(data)
            flow.offset += size
            flow.seq = (flow.seq + size) & SEQ_MASK

    def _mark(self, flow: Flow, segment: Segment) -> None:
        """Keep what was noted about a packet."""
        connection = flow.connection
        if segment.comment.startswith(CARRIER):
            read_carrier(connection, segment.comment)
            return
        if connection.marks is None:
            connection.marks = Marks()
        connection.marks.add(segment.packet, flow.sender, segment.comment)

    # Connections: how they begin, and who is the client.

    def _meet(self, segment: Segment, out: list[Piece]) -> Flow | None:
        flags = segment.flags
        if not flags & SYN and (flags & RST or not (segment.payload or segment.missing)):
            # An echo of a connection long gone: no octets, so nothing to follow.
            return None
        sender = sender_of(segment, self._ports)
        client, server = endpoints(segment.key if sender == CLIENT else reverse(segment.key))
        connection = Connection(client, server, False)
        flow = Flow(segment.key, connection, sender)
        peer = Flow(reverse(segment.key), connection, 1 - sender)
        flow.peer = peer
        peer.peer = flow
        if flags & SYN:
            self._anchor(flow, segment)
        elif is_guess(segment, self._ports):
            flow.pending = peer.pending = []
            connection.guessed = True
        else:
            flow.begin(segment.seq)
        flow.last = segment.packet
        self._flows[flow.key] = flow
        self._flows[peer.key] = peer
        self._open += 1
        if self._open > MAX_OPEN:
            self._give_up_idle(flow, out)
        return flow

    def _anchor(self, flow: Flow, segment: Segment) -> None:
        """This SYN begins the direction."""
        connection = flow.connection
        connection.anchored[flow.sender] = True
        connection.opened = segment.time
        if flow.sender != sender_of(segment, self._ports):
            connection.guessed = True  # ports were misleading, and what has passed cannot be undone
        if not flow.known:
            flow.begin(segment.seq + 1)

    def _wait_for_syn(
        self, flow: Flow, pending: list[Segment], segment: Segment, out: list[Piece]
    ) -> None:
        """Keep the first segments of a connection until it is known who is the client."""
        pending.append(segment)
        if waited_enough(pending):
            self._decide(flow, out)

    def _decide(self, flow: Flow, out: list[Piece]) -> None:
        """Take the segments that waited; a SYN among them says who is the client."""
        pending, peer = flow.pending, flow.peer
        if pending is None:
            return
        flow.pending = peer.pending = None
        client = opener(pending) if pending else b""
        if client:
            self._set_client(flow if flow.key == client else peer)
            self._anchor(flow if flow.key == pending[-1].key else peer, pending[-1])
        for segment in pending:
            self._take(segment, out)

    def _set_client(self, client: Flow) -> None:
        """A SYN says who is the client, before any octet was passed on."""
        connection = client.connection
        connection.guessed = False
        connection.client, connection.server = endpoints(client.key)
        client.sender, client.peer.sender = CLIENT, SERVER

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
        connection = flow.connection
        refused = flow.ended and flow.offset == 0 and peer.offset == 0
        if flow.known:
            if segment.seq == flow.isn and not refused:
                self._anchor(flow, segment)
                return flow
            if not connection.anchored[flow.sender] and self._is_late(flow, segment):
                return flow
        elif not flow.ended:
            if segment.flags & ACK:
                answers = 0 <= distance(segment.ack, peer.isn) - 1 <= peer.offset
            else:
                answers = peer.offset == 0 and connection.anchored[peer.sender]
            if answers:
                self._anchor(flow, segment)
                return flow
        for side in (flow, peer):
            if not side.ended:
                self._end(side, "reused", segment, out)
        new = self._meet(segment, out)
        return flow if new is None else new

    def _is_late(self, flow: Flow, segment: Segment) -> bool:
        """A SYN that comes after octets of its connection, the first of which we did not see."""
        if segment.flags & ACK and flow.connection.anchored[flow.peer.sender]:
            return distance(segment.ack, flow.peer.isn) == 1
        return 0 < distance(flow.isn, segment.seq) <= LATE_SYN

    # Segments that are not simply the next one.

    def _unusual(self, flow: Flow, segment: Segment, out: list[Piece]) -> None:
        flags = segment.flags
        if flow.pending is not None:
            self._wait_for_syn(flow, flow.pending, segment, out)
            return
        if flags & SYN:
            flow = self._syn(flow, segment, out)
        if flags & INSIDE_TLS:
            flow.connection.encrypted = True
        if flow.ended and flow.peer.ended:
            return
        if flags & RST:
            self._reset(flow, segment, out)
            return
        if not flow.known:
            self._begin_midway(flow, segment)
        ack = self._acknowledge(flow, segment, out) if flags & ACK else -1
        if (segment.window == 0) != flow.zero:
            flow.zero = not flow.zero
            window = Window(flow.connection, flow.sender, flow.zero, segment.packet, segment.time)
            pass_on(flow, window, flow.offset, out)
        if not flow.ended:
            self._place(flow, segment, ack, out)

    def _reset(self, flow: Flow, segment: Segment, out: list[Piece]) -> None:
        """A RST ends both directions; its numbers show what is missing before it."""
        self._lose_until(flow, segment.seq, segment, out)
        if segment.flags & ACK:
            self._lose_until(flow.peer, segment.ack, segment, out)
        for side in (flow, flow.peer):
            if not side.ended:
                self._end(side, "rst", segment, out)

    def _lose_until(self, side: Flow, seq: int, segment: Segment, out: list[Piece]) -> None:
        """Give up the octets before a sequence number; zero is none that a peer has reached."""
        ahead = distance(seq, side.seq)
        if seq and side.known and not side.ended and 0 < ahead <= REACH_BACK:
            self._order.lose(side, side.offset + ahead, segment, out)

    def _place(self, flow: Flow, segment: Segment, ack: int, out: list[Piece]) -> None:
        """Take the octets and the FIN of a segment."""
        flags = segment.flags
        ahead = distance(segment.seq, flow.seq)
        if flags & SYN:
            ahead += 1
        if ahead > REACH_AHEAD or ahead < -REACH_BACK:
            if not self._found_again(flow, segment, out):
                return
            ahead = 0
        flow.strays = 0
        start = flow.offset + ahead
        if segment.payload == b"\0" and flow.doubts and flow.offset <= start < flow.covered:
            return  # a keep-alive: the peer had this octet, and its value is made up
        if flags & FIN and flow.fin < 0:
            flow.fin = max(start + len(segment.payload) + segment.missing, flow.offset)
            flow.fin_segment = segment
        self._order.place(flow, start, segment, ack, out)
        if flow.doubts and flow.waiting and segment.time - flow.doubted >= LONG_TIME:
            self._order.lose(flow, flow.covered, segment, out)
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
        if segment.ack == 0:
            # Programs that write captures leave it out. Then their order has to do, if it is one.
            # Where other segments have it, sequence numbers may just have wrapped to zero.
            ordered = not flow.numbered and not flow.connection.disordered
            return -1 if ordered else BEYOND
        flow.numbered = True
        if not peer.known:
            peer.peer_ack = segment.ack
            if flow.connection.anchored[flow.sender] and segment.seq == flow.isn + 1 & SEQ_MASK:
                # The peer's SYN was not captured, or not yet: it came before this number.
                peer.begin(segment.ack)
                return 0
            return -1
        ahead = distance(segment.ack, peer.seq)
        if ahead > REACH_AHEAD or ahead < -REACH_BACK:
            self._misplaced(peer, segment, out)
            return -1
        if ahead <= 0 or peer.ended:
            if peer.doubts and distance(segment.seq, peer.doubter) >= 0:
                # Sent later, it acknowledges less: the number that we wait for is damage.
                peer.doubts = 0
                peer.excused = max(peer.excused, peer.covered)
            ack = max(peer.offset + min(ahead, 0), 0)
            if segment.seq == flow.seq and not flow.waiting:
                flow.acked = max(flow.acked, ack)
            return ack
        return self._doubt(peer, peer.offset + ahead, segment, out)

    def _doubt(self, peer: Flow, covered: int, segment: Segment, out: list[Piece]) -> int:
        """The segment acknowledges octets of the peer that we have not seen."""
        if 0 <= peer.fin < covered:
            covered = peer.fin
            if covered <= peer.offset:
                return covered
        if not peer.doubts:
            peer.doubted = segment.time
            peer.covered = 0
        peer.doubts += 1
        if covered >= peer.covered:
            peer.covered = covered
            peer.doubter = (segment.seq + len(segment.payload) + segment.missing) & SEQ_MASK
        waited = segment.time - peer.doubted
        if (
            (peer.doubts >= PATIENCE and waited >= PATIENCE_TIME)
            or (peer.doubts >= 2 and waited >= LONG_TIME)
            or peer.doubts >= PATIENCE_AT_MOST
            or len(peer.peer.delayed) > MAX_WAITING
        ):
            self._order.lose(peer, peer.covered, segment, out)
            if 0 <= peer.fin <= peer.offset and not peer.ended:
                self._end(peer, "fin", segment, out)
        return covered

    def _misplaced(self, peer: Flow, segment: Segment, out: list[Piece]) -> None:
        """A segment acknowledges nothing of what we follow as the peer's stream.

        One such number is damage; but where only a SYN was seen of the peer, it was a stray one.
        """
        if peer.connection.anchored[peer.sender] and not peer.offset and not peer.waiting:
            peer.connection.anchored[peer.sender] = False
            gap = Gap(peer.connection, peer.sender, 0, -1, segment.packet, segment.time)
            pass_on(peer, gap, 0, out)
            peer.known = False

    def _found_again(self, flow: Flow, segment: Segment, out: list[Piece]) -> bool:
        """After enough segments out of reach: go on from this one."""
        if not segment.payload:
            return False
        flow.strays += 1
        # A SYN that nobody answered, with a stream elsewhere, was that of an earlier connection.
        answered = flow.connection.anchored[flow.peer.sender]
        if flow.strays < STRAYS and (flow.offset or flow.waiting or answered):
            return False
        self._order.flush(flow, segment, out)
        gap = Gap(flow.connection, flow.sender, flow.offset, -1, segment.packet, segment.time)
        pass_on(flow, gap, flow.offset, out)
        flow.connection.anchored[flow.sender] = False
        flow.seq = segment.seq
        flow.doubts = 0
        flow.fin = -1
        return True

    def _end(self, flow: Flow, reason: str, segment: Segment, out: list[Piece]) -> None:
        self._decide(flow, out)
        if flow.ended:
            return
        if flow.waiting or flow.fin != flow.offset:
            self._order.flush(flow, segment, out)
        peer = flow.peer
        if not peer.ended and (peer.doubts or peer.excused > peer.offset):
            flow.connection.unseen[peer.sender] = True
        last = segment if reason != "fin" or flow.fin_segment is None else flow.fin_segment
        end = End(flow.connection, flow.sender, reason, last.packet, last.time)
        pass_on(flow, end, flow.offset, out)
        flow.ended = True
        if flow.doubts:
            # What acknowledges this FIN has waited for it.
            flow.doubts = 0
            flow.excused = max(flow.excused, flow.covered)
            settle(flow, out)
        if flow.peer.ended:
            release_all(flow, out)
            flow.shrink()
            peer.shrink()
            self._open -= 1
            self._closed.append(flow)
            if len(self._closed) > MAX_CLOSED:
                self._forget(self._closed.popleft())
