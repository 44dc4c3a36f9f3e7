"""What holds each link of a 1.0 connection, or the connection before it has any."""

from __future__ import annotations

from collections.abc import Iterator

from amqpscope.model.constraint import FILTERED, OVER, STUCK, UNKNOWN, WAITS, Meaning
from amqpscope.model.v1_0.connection import Connection, ConnectionEnd
from amqpscope.model.v1_0.constraint import (
    CLOSED_WINDOW,
    DETACHED,
    DRAINING,
    ENDED,
    NO_CREDIT,
    UNSETTLED,
    WAITING_ATTACH,
    WAITING_BEGIN,
    constraint,
    flow_constraint,
)
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.refusal import refused_by
from amqpscope.protocols.stuck import (
    MEANINGS,
    NO_LINK,
    WAITING_PEER,
    Bound,
    Held,
    Refused,
    bound_of,
)
from amqpscope.stream.types import CLIENT, SERVER
from dissectors.v1_0.bodies import Source
from dissectors.v1_0.notation_text import text_value
from dissectors.values import Described, Map

# fmt: off
MEANINGS.update({
    NO_CREDIT:      Meaning(STUCK, "No delivery may begin until a flow grants link-credit."),
    CLOSED_WINDOW:  Meaning(STUCK, "No link of the session may send until a flow opens it."),
    WAITING_BEGIN:  Meaning(STUCK, "The begin was not answered."),
    WAITING_ATTACH: Meaning(STUCK, "The attach was not answered."),
    DRAINING:       Meaning(STUCK, "Credit has to be used, or given back in a flow."),
    UNSETTLED:      Meaning(WAITS, "There is credit, but deliveries have no outcome yet."),
    DETACHED:       Meaning(OVER,  ""),
    ENDED:          Meaning(OVER,  ""),
})
# fmt: on


def held_links(number: int, connection: Connection) -> Iterator[Held]:
    """The links of a connection, those that are gone too."""
    client, server = connection.ends
    seen: set[tuple[int, str, int, int]] = set()
    for end in (client, server):
        for link in link_ends(end):
            held = held_link(number, link)
            again = (held.channel, held.name, held.sender, link.mark.frame)
            pair = link.pair
            other = again if pair is None else (*again[:3], pair.mark.frame)
            if again not in seen and other not in seen:
                seen |= {again, other}
                yield held


def link_ends(end: ConnectionEnd) -> Iterator[LinkEnd]:
    """A peer's ends of links, attached ones first."""
    for session in (*end.channels.values(), *end.ended.values()):
        yield from session.handles.values()
        yield from session.detached.values()


def held_link(number: int, link: LinkEnd) -> Held:
    """What holds one link, or how it ended and what held it until then."""
    peer = link.session.owner.peer
    sender = link.pair if link.role else link
    sends = peer if sender is link else 1 - peer
    bound = with_filter(bound_of(constraint(sender if sender is not None else link)), sender)
    before = before_the_end(sender) if bound.rank == OVER and sender is not None else None
    # The client's channel is what both peers' ends have in common.
    session = link.session if peer == CLIENT or link.session.pair is None else link.session.pair
    return Held(number, "link", link.name, link.node(), sends, session.channel, bound, before,
                refused_link(link), link.mark.frame)  # fmt: skip


def before_the_end(sender: LinkEnd) -> Bound | None:
    """What held a link that is over, as far as credit, window and deliveries show."""
    receiver, other = sender.pair, sender.session.pair
    if receiver is None or other is None:
        return None
    found = flow_constraint(sender, receiver, other, over=True)
    return None if found is None else with_filter(bound_of(found), sender)


def with_filter(bound: Bound, sender: LinkEnd | None) -> Bound:
    """What holds a link, with the filter that nothing has passed, if that is why."""
    attach = None if sender is None else sender.attach
    source = None if attach is None else attach.source
    if bound.kind != FILTERED or not isinstance(source, Source):
        return bound
    found = source.filter if isinstance(source.filter, Map) else Map()
    words = [f"{key} {text_value(each.value if isinstance(each, Described) else each)}"
             for key, each in found]  # fmt: skip
    return bound._replace(detail=", ".join((bound.detail, *words)))


def refused_link(link: LinkEnd) -> Refused | None:
    """The error with which a link, its session or its connection was ended; the first of them."""
    found: list[Refused] = []
    for end in (link, link.pair):
        if end is None:
            continue
        owner = end.session.owner
        for body, mark in ((end.detach, end.detach_mark),
                           (end.session.ended, end.session.ended_mark),
                           (owner.close, owner.close_mark)):  # fmt: skip
            refusal = refused_by(body)
            if refusal is not None and mark is not None:
                found.append(Refused(refusal, mark.frame, mark.time, owner.peer))
    return min(found, key=lambda one: one.frame, default=None)


def opening(model: Connection) -> tuple[Bound, Refused | None]:
    """How far a connection came that has not ended, and what was refused."""
    client, server = model.ends
    sasl = model.sasl
    refused: Refused | None = None
    said = ((sasl.outcome, sasl.outcome_mark, SERVER), (client.close, client.close_mark, CLIENT),
            (server.close, server.close_mark, SERVER))  # fmt: skip
    for body, mark, peer in said:
        refusal = refused_by(body)
        if refusal is not None and body is sasl.outcome and sasl.init is not None:
            user = f', user "{sasl.user}"' if sasl.user else ""
            refusal = refusal._replace(text=f"(mechanism {sasl.init.mechanism}{user})")
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
