"""An answer never passes before what it answers: pieces wait for what they acknowledge.

A capture may hold the two directions in another order than they happened: two network queues, two
clocks, a hole that is being waited for. The ACK number of a segment shows it: so much of the peer
its sender had read when it sent the segment. So a chunk that acknowledges octets of the peer which
have not been passed on waits for them, and all that follows in its direction waits behind it.

Both directions can wait for each other only when an ACK number is not that of the first
transmission (a retransmission carries a newer one). Then the older packet goes first.
"""

from __future__ import annotations

from amqpscope.stream.flow import Flow
from amqpscope.stream.types import BEYOND, Chunk, Gap, Piece


def pass_on(flow: Flow, piece: Piece, offset: int, out: list[Piece]) -> None:
    """Give the next piece of a direction, which begins at `offset`, or let it wait."""
    if flow.delayed:
        flow.delayed.append(piece)
    elif octets_needed(piece) > flow.peer.passed():
        flow.stopped = offset
        flow.delayed.append(piece)
    else:
        out.append(piece)


def octets_needed(piece: Piece) -> int:
    """Octets of the other direction that have to be passed on before this piece."""
    if isinstance(piece, Chunk) and piece.ack < BEYOND:
        return piece.ack
    return 0


def settle(flow: Flow, out: list[Piece]) -> None:
    """Give what waits no more, now that either direction got further."""
    peer = flow.peer
    while flow.delayed or peer.delayed:
        if flow.delayed and octets_needed(flow.delayed[0]) <= peer.passed():
            release(flow, out)
        elif peer.delayed and octets_needed(peer.delayed[0]) <= flow.passed():
            release(peer, out)
        elif flow.delayed and peer.delayed:
            release(flow if flow.delayed[0].packet < peer.delayed[0].packet else peer, out)
        else:
            return


def release(flow: Flow, out: list[Piece]) -> None:
    """Give the first piece that waits."""
    piece = flow.delayed.pop(0)
    if isinstance(piece, Chunk):
        flow.stopped = piece.offset + len(piece.data)
    elif isinstance(piece, Gap):
        flow.stopped = piece.offset + max(piece.size, 0)
    out.append(piece)


def release_all(flow: Flow, out: list[Piece]) -> None:
    """Give everything that waits in a connection: nothing more comes that it could wait for."""
    peer = flow.peer
    settle(flow, out)
    while flow.delayed:
        release(flow, out)
    while peer.delayed:
        release(peer, out)
