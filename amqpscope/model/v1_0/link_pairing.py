"""Attach and detach, and which link ends belong together (spec 2.6.1 to 2.6.6).

Each peer numbers handles by itself. An attach answers the oldest unanswered one of its name and of
the opposite role on the same session. Whether the one that is answered has been detached meanwhile
does not matter: the answer was on its way.
"""

from __future__ import annotations

from amqpscope.model.v1_0 import credit, states
from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0.connection import MAX_NAMES, MAX_RIVALS, MAX_UNPAIRED, Connection, Rivals
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.expectations import Watch, active_filters
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.stream.types import BEYOND
from dissectors.v1_0.bodies import Attach, Detach, Source, Target


def attach(event: Event, body: Attach) -> LinkEnd | None:
    """A new link end of this peer, paired with the partner's if that is there."""
    session = event.session
    if session is None:
        return None
    if body.handle is None:
        # It is attached to a handle that we cannot read.
        session.whole = False
        return None
    link = LinkEnd(session, body.handle, body, event.mark)
    link.known_then = event.known
    link.terms.clear = not event.damaged
    if link.terms.clear and link.role is not None:
        link.terms.no_terminus = link.odd = body.wire(6 if link.role else 5) is None
    old = session.handles.get(body.handle)
    if old is not None:
        let_go(event.connection, event.peer, old)
    if body.unsettled and link.role is False:
        recall(session, link)
    session.handles[body.handle] = link
    session.detached.pop(body.handle, None)
    pair_link(session, link)
    if session.pair is None and not event.partner.anchored:
        link.doubtful = True
    name_link(event, link)
    if link.replied and link.terms.clear and without_address(link):
        waiting = [each for each in event.connection.nameless if each.detach is None]
        event.connection.nameless = [*waiting[-MAX_UNPAIRED:], link]
    return link


def recall(session: SessionEnd, link: LinkEnd) -> None:
    """A sender comes back with deliveries that it has not settled: know what they were."""
    for old in session.detached.values():
        if old.named and old.name == link.name and old.role == link.role and old.sending.unsettled:
            link.sending.watch = Watch()
            link.sending.watch.before = old.sending.unsettled


def without_address(link: LinkEnd) -> bool:
    """Its own terminus is a dynamic node that has no address."""
    attach = link.attach
    if attach is None:
        return False
    own = attach.target if link.role else attach.source
    return isinstance(own, (Source, Target)) and own.dynamic is True and own.address is None


def pair_link(session: SessionEnd, link: LinkEnd) -> None:
    """Find the partner's end of a link, or let it wait for that."""
    partner = None if session.pair is None else take_unpaired(session.pair, link)
    if partner is None:
        # What it answers may not have been seen.
        link.doubtful = session.pair is not None and not session.pair.whole
        session.unpaired.append(link)
        if len(session.unpaired) > MAX_UNPAIRED:
            del session.unpaired[0]
        return
    link.pair = partner
    if not session.whole or not partner.session.whole:
        # Another attach of that name may be missing, and be the one that was answered.
        link.again = partner.again = True
    # An answer may be captured before what it answers: then its ACK number covers that.
    early = link.mark.end <= partner.known_then < BEYOND
    link.replied = not early
    partner.replied = partner.replied or early
    partner.pair = link
    if partner.is_detached:
        link.odd = True
    receiver, sender = (link, partner) if link.role else (partner, link)
    filters = active_filters(sender.attach, receiver.attach)
    if filters and sender.terms.clear and receiver.terms.clear:
        sender.sending.watch = sender.sending.watch or Watch()
        sender.sending.watch.filters = filters
    credit.grant_early_credit(receiver, sender)


def take_unpaired(session: SessionEnd, link: LinkEnd) -> LinkEnd | None:
    """The oldest link end of the same name and the opposite role that has no partner.

    None where missing octets leave more than one.
    """
    here = [own for own in session.unpaired if answers(link, own)]
    if not here:
        return None
    found = here[0]
    if found.doubtful:
        # It may have had its answer in missing octets, and then gives way to one that has not.
        sure = [own for own in here if not own.doubtful and own.mark.end <= link.known_then]
        if sure:
            found = sure[0]
        elif len(here) > 1 or not found.live:
            return None
    gone = here[: here.index(found) + 1]
    session.unpaired = [own for own in session.unpaired if own not in gone]
    return found


def answers(link: LinkEnd, own: LinkEnd) -> bool:
    """Whether two ends can belong together; a name or role that is missing fits any."""
    if link.role is not None and link.role == own.role:
        return False
    return link.name == own.name or not link.named or not own.named


def name_link(event: Event, link: LinkEnd) -> None:
    """Note by its name that a link is attached, and whether it was so already."""
    if link.role is None or not link.named:
        return
    connection = event.connection
    key = (event.peer, link.name, link.role)
    seen = connection.links.get(key, 0)
    link.again = link.again or seen > 0
    connection.links[key] = seen + 1
    if len(connection.links) > MAX_NAMES:
        del connection.links[next(iter(connection.links))]
    others = connection.attached.setdefault(key, [])
    # Who answers has no choice of the name.
    if others and not link.replied and rivals(event, others[-1]):
        connection.rivals.append(Rivals(others[-1], link))
        del connection.rivals[:-MAX_RIVALS]
    others.append(link)


def rivals(event: Event, old: LinkEnd) -> bool:
    """An older attachment is still there, as far as the peer that attaches it again may know."""
    session = old.session
    if not session.whole or (old.pair is not None and event.knew(old.pair.detach_mark)):
        return False
    return session.pair is None or not event.knew(session.pair.ended_mark)


def let_go(connection: Connection, peer: int, link: LinkEnd) -> None:
    """A peer has a link attached no more."""
    if link.role is None:
        return
    key = (peer, link.name, link.role)
    others = connection.attached.get(key)
    if others is not None:
        others = [other for other in others if other is not link]
        if others:
            connection.attached[key] = others
        else:
            del connection.attached[key]


def follow_rivals(event: Event) -> None:
    """Note which of two attachments of one link is used, and forget those that are resolved."""
    kept: list[Rivals] = []
    for both in event.connection.rivals:
        old, new = both.old, both.new
        if not attached_still(old) or not attached_still(new):
            if awaits_partner(old) and awaits_partner(new):
                kept.append(both)
            continue
        kept.append(both)
        if new.pair is None or not event.kinds & (kinds.LINK_FLOW | kinds.FIRST):
            continue
        if event.peer == new.session.owner.peer and not event.knew(new.pair.mark):
            continue
        end = event.link
        if end is old or end is old.pair:
            both.used_old[event.peer] = event.mark
        elif end is new or end is new.pair:
            both.used_new[event.peer] = event.mark
    event.connection.rivals = kept


def attached_still(link: LinkEnd) -> bool:
    """Neither peer has detached a link or ended its session."""
    return link.live and (link.pair is None or link.pair.live)


def awaits_partner(link: LinkEnd) -> bool:
    """The partner has not detached a link that it has answered: it may yet call it stolen."""
    return link.pair is not None and link.pair.live


def detach(event: Event, body: Detach) -> None:
    """This peer detaches a link; its handle is free for it at once."""
    session, link = event.session, event.link
    if session is None:
        return
    if link is None:
        # Some handle is free now, and we cannot read which.
        session.whole = False
        return
    if link.attach is None and session.pair is not None and session.pair.unpaired:
        # A refusal without an attach, most likely of the attach that waits longest.
        session.pair.unpaired[0].refused = True
    link.set_detach(body, event.mark, event.known)
    session.handles.pop(link.handle, None)
    if link.attach is not None or link.handle not in session.detached:
        session.detached[link.handle] = link
    let_go(event.connection, event.peer, link)
    doubt_partner(link)
    half_closed(event.connection, link)
    link.sending.open_delivery = None
    if body.error is not None:
        link.odd = True
        if link.pair is not None:
            link.pair.odd = True
    if body.closed or body.error is not None or body.wrong:
        for delivery in link.sending.unsettled.values():
            session.deliveries.finish(delivery)
        link.sending.unsettled = {}
        if link.role is not None:
            # A link of that name would be another one, with counts of its own.
            event.connection.links.pop((event.peer, link.name, link.role), None)


def half_closed(connection: Connection, link: LinkEnd) -> None:
    """Note a link that one peer has closed and the other has only detached."""
    if connection.unclosed and link.named:
        # Attached and detached once more: whatever it owed, that was the answer.
        connection.unclosed = [
            old for old in connection.unclosed if old.name != link.name or old.role != link.role
        ]
    if link.attach is not None and link.state == states.CLOSE_OWED:
        waiting = [old for old in connection.unclosed if not old.session.is_ended]
        if len(waiting) < MAX_UNPAIRED:
            waiting.append(link)
        connection.unclosed = waiting


def doubt_partner(link: LinkEnd) -> None:
    """The partner may have detached too, or given its handle away, in octets that are missing."""
    pair = link.pair
    if pair is None or pair.is_detached or pair.session.whole:
        return
    handles = pair.session.handles
    if handles.get(pair.handle) is pair:
        handles[pair.handle] = LinkEnd(pair.session, pair.handle, None, pair.mark)
