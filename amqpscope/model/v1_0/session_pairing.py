"""Begin and end, and which session ends belong together (spec 2.5.1 to 2.5.4).

Each peer numbers channels by itself, and a begin names the channel that it answers. Whether the
session there has been ended meanwhile does not matter: the answer was on its way.
"""

from __future__ import annotations

from amqpscope.model.knowledge import EVERYTHING
from amqpscope.model.mark import NOWHERE
from amqpscope.model.v1_0 import flows, link_pairing, states
from amqpscope.model.v1_0.connection import MAX_UNPAIRED
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.session import SessionEnd
from dissectors.v1_0.bodies import Begin, End


def begin(event: Event, body: Begin) -> SessionEnd:
    """A new session end of this peer, paired with the one that it answers."""
    own = event.own
    channel = event.frame.unit.channel
    session = SessionEnd(own, channel, body, event.mark)
    session.known_then = event.known
    session.whole = not event.damaged
    old = own.channels.get(channel)
    if old is not None:
        leave_links(event, old)
        if old.whole:
            # Begun twice, with no end missing: nobody will answer the first one any more.
            own.unpaired = [other for other in own.unpaired if other is not old]
    own.channels[channel] = session
    pair = take_unpaired(event, body)
    if pair is None and body.remote_channel is None:
        pair = assumed_answer(event, old)
    if pair is None:
        own.unpaired.append(session)
        if len(own.unpaired) > MAX_UNPAIRED:
            del own.unpaired[0]
    else:
        session.replied = not pair.replied
        if session.replied and event.knew(pair.mark):
            own.prove(pair.mark.end)
        pair_sessions(session, pair)
    return session


def end(event: Event, session: SessionEnd, body: End) -> None:
    """This peer ends a session; its channel is free for it at once."""
    own, pair = event.own, session.pair
    session.set_end(body, event.mark)
    own.channels.pop(session.channel, None)
    if not session.assumed or session.channel not in own.ended:
        own.ended[session.channel] = session
    leave_links(event, session)
    if pair is not None and session.state == states.UNMAPPED:
        session.deliveries.live.clear()
        pair.deliveries.live.clear()
    elif pair is not None and not pair.whole:
        doubt(pair)


def leave_links(event: Event, session: SessionEnd) -> None:
    """The links of a session are not attached by this peer any more."""
    for link in session.handles.values():
        link_pairing.let_go(event.connection, event.peer, link)


def doubt(session: SessionEnd) -> None:
    """Its peer may have ended a session, or begun another, in octets that are missing."""
    channels = session.owner.channels
    if channels.get(session.channel) is session:
        channels[session.channel] = SessionEnd(session.owner, session.channel, None, NOWHERE)


def pair_sessions(session: SessionEnd, pair: SessionEnd) -> None:
    """Two session ends belong together, and so do the links that they have attached so far."""
    session.pair = pair
    pair.pair = session
    if not session.owner.anchored or not pair.owner.anchored:
        # Another begin on that channel may be missing, and be the one that was answered.
        session.sending.miscounted = pair.sending.miscounted = True
    flows.open_window(session, pair)
    flows.open_window(pair, session)
    waiting, session.unpaired = session.unpaired, []
    for link in waiting:
        link_pairing.pair_link(session, link)


def take_unpaired(event: Event, body: Begin) -> SessionEnd | None:
    """The partner's session that a begin answers, taken from those that wait."""
    channel, partner = body.remote_channel, event.partner
    waiting = partner.unpaired
    if channel is None:
        early = early_answer(event, waiting) if waiting else None
        if early is not None or not event.damaged or not waiting:
            return early
        return waiting.pop(0)
    here = [other for other in waiting if other.channel == channel]
    if here:
        return take_oldest(event, here)
    if partner.anchored:
        # A wrong number: most likely the one meant is that which waits longest.
        for place, other in enumerate(waiting):
            if event.knew(other.mark):
                return waiting.pop(place)
        return None
    # Its begin may have been lost, or made before the capture began.
    there = partner.channels.get(channel)
    if there is None or there.pair is not None:
        there = partner.channels[channel] = SessionEnd(partner, channel, None, NOWHERE)
    return there


def take_oldest(event: Event, here: list[SessionEnd]) -> SessionEnd | None:
    """The first that waits on a channel; None where missing octets leave more than one."""
    found = here[0]
    if found.doubtful:
        # It may have had its answer, and then gives way to one that has not.
        sure = [one for one in here if not one.doubtful and event.knew(one.mark)]
        if sure:
            found = sure[0]
        elif len(here) > 1 or found.is_ended:
            return None
    gone = here[: here.index(found) + 1]
    event.partner.unpaired = [one for one in event.partner.unpaired if one not in gone]
    return found


def early_answer(event: Event, waiting: list[SessionEnd]) -> SessionEnd | None:
    """The partner's begin that answers this one although it was captured before it.

    Its ACK number covers this begin, so its sender had read what only now passes the tap.
    """
    for place, other in enumerate(waiting):
        if answers_early(event, other):
            other.replied = True
            return waiting.pop(place)
    return None


def assumed_answer(event: Event, old: SessionEnd | None) -> SessionEnd | None:
    """The partner's begin that answers this one and seemed to answer one from before the capture.

    `old` is the session that was assumed for it.
    """
    if old is None or not old.assumed or old.pair is None or not answers_early(event, old.pair):
        return None
    old.pair.replied = True
    return old.pair


def answers_early(event: Event, other: SessionEnd) -> bool:
    """Whether a begin of the partner names the channel of this one, and its sender had read it."""
    begin = other.begin
    if begin is None or begin.remote_channel != event.frame.unit.channel:
        return False
    return event.mark.end <= other.known_then < EVERYTHING
