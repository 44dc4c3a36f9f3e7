"""Connections without a link or channel: how far they came, and what they were refused."""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope.analysis import Conversation
from amqpscope.insight.endings import talk_ending
from amqpscope.model.connection import Connection
from amqpscope.model.older.channel import Channel
from amqpscope.model.older.connection import OlderConnection
from amqpscope.model.older.stall import WAITING_REPLY
from amqpscope.model.stall import CLOSED, UNKNOWN
from amqpscope.report.refusals import closed, refused_by
from amqpscope.statistics import endpoint
from amqpscope.stream import CLIENT, SERVER
from amqpscope.tui.bounds import NO_LINK, WAITING_PEER, Bound, Held, Refused


def unlinked(talk: Conversation) -> Iterator[Held]:
    """A connection that carries nothing: how far it came, and what was refused."""
    if talk.older is not None:
        model = talk.older.tracker.connection
        bound, refused = older_opening(model), older_refused(model, None)
    else:
        bound, refused = opening(talk.tracker.connection)
    ending = talk_ending(talk)
    if ending is not None:
        bound = Bound(CLOSED, ending.mark.frame, ending.mark.time, ending.peer, "", ending)
    sender = max(bound.peer, CLIENT)  # of what another connection ended, nobody is known
    yield Held(talk.number, "connection", f"connection {talk.number}",
               endpoint(talk.connection.server), sender, 0, bound, None, refused)  # fmt: skip


def opening(model: Connection) -> tuple[Bound, Refused | None]:
    """How far a connection of 1.0 came that has not ended, and what was refused."""
    client, server = model.ends
    sasl = model.sasl
    refused: Refused | None = None
    said = ((sasl.outcome, sasl.outcome_mark, SERVER), (client.close, client.close_mark, CLIENT),
            (server.close, server.close_mark, SERVER))  # fmt: skip
    for body, mark, peer in said:
        refusal = refused_by(body)
        if refusal is not None and body is sasl.outcome and sasl.init is not None:
            refusal = refusal._replace(text=f"(mechanism {sasl.init.mechanism})")
        if refusal is not None and mark is not None and refused is None:
            refused = Refused(refusal, mark.frame, mark.time, peer)
    newest = max((client.last_mark, server.last_mark), key=lambda mark: mark.frame)
    kind, peer, detail = NO_LINK, CLIENT, ""
    if not (client.anchored and server.anchored):
        kind = UNKNOWN
    elif not server.headers:
        kind, peer, detail = WAITING_PEER, SERVER, "no answer to the header"
    elif sasl.begun[SERVER] and sasl.outcome is None and client.open is None:
        peer = CLIENT if sasl.init is None and sasl.mechanisms is not None else SERVER
        kind, detail = WAITING_PEER, "the login is not finished"
    elif client.open is None or server.open is None:
        peer = CLIENT if client.open is None else SERVER
        kind, detail = WAITING_PEER, "no open"
    return Bound(kind, newest.frame, newest.time, peer, detail), refused


def older_opening(model: OlderConnection) -> Bound:
    """How far a connection of the older protocols came that has not ended."""
    pending = [(peer, each) for peer in (CLIENT, SERVER) for each in model.zero.pending[peer]]
    if pending:
        peer, request = pending[0]
        mark = request.mark
        return Bound(WAITING_REPLY, mark.frame, mark.time, 1 - peer, f"to {request.name}")
    newest = max((end.last_mark for end in model.ends), key=lambda mark: mark.frame)
    return Bound(NO_LINK, newest.frame, newest.time, CLIENT, "")


def older_refused(model: OlderConnection, channel: Channel | None) -> Refused | None:
    """The fault because of which a channel, or its connection, was closed."""
    closes = [] if channel is None else [*enumerate(channel.closes)]
    words = ["channel closed"] * len(closes) + ["connection closed"] * 2
    for what, (peer, close) in zip(
        words, [*closes, *((end.peer, end.close) for end in model.ends)], strict=True
    ):
        refusal = None if close is None else closed(what, close.code, close.text)
        if close is not None and refusal is not None:
            return Refused(refusal, close.mark.frame, close.mark.time, peer)
    return None
