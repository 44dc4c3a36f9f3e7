"""Sessions: channels, begin and end (SES; spec 2.5, 2.7.2).

Each peer numbers its channels by itself, so what a peer sends on a channel is judged by its own
begins and ends.
"""

from __future__ import annotations

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.overdue import judging, owes, seconds, stands_for
from amqpscope.rules.v1_0.topics import BEGIN_UNANSWERED
from dissectors.v1_0.bodies import Attach, Begin, End


def astray(event: Event) -> bool:
    """A frame on a channel without a session, of which no other rule speaks."""
    own = event.own
    if own.open is None or own.close is not None or event.damaged:
        return False
    return not event.partner.discarding


@rule("SES-001", "2.5.5", IMPLIED, ERROR, on="unbegun")
def frame_on_unbegun_channel(event: Event, report: Reporter) -> None:
    """A peer sends the frames of a session only on a channel on which it has sent begin.

    Without a begin the partner has no session to give the frame to; most close the connection.
    Channels are numbered by each direction for itself: a session that the partner has begun on the
    same number is another one, and the two numbers of a session may well differ. A library that
    mixes up its own numbers with its partner's fails here.

    Bad (opened):
        client: begin[1] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] remote-channel=1 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0   # <- SES-001

    Good (opened):
        client: begin[1] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] remote-channel=1 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: attach[1] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
    """
    channel = event.frame.unit.channel
    if channel in event.own.ended or not astray(event):
        return
    name = event.frame.unit.name
    begun = sorted(number for number, one in event.own.channels.items() if not one.assumed)
    known = ", ".join(map(str, begun[:5])) or "none"
    report.sure(
        event,
        f"{name} on channel {channel}, on which this peer has begun no session"
        f" (its sessions are on: {known})",
        name,
    )


@rule("SES-002", "2.5.1", IMPLIED, ERROR, on="begin", needs="!closed !discarded")
def begin_on_used_channel(event: Event, report: Reporter, session: SessionEnd) -> None:
    """A begin needs a channel on which its sender has no session.

    A channel is in use from a peer's begin to that peer's own end; it need not wait for the
    partner's end.

    Bad (session):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9   # <- SES-002

    Good (session):
        client: end[0]
        client~0: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: end[0]
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
    """
    if not session.whole:
        return
    report.sure(
        event,
        f"begin on channel {session.channel}, where this peer's session has not ended",
        "begin",
        ((session.mark, "the begin of the session that is there"),),
    )


@rule("SES-007", "2.5.1", IMPLIED, WARNING, on="tick | finished")
def begin_answered(event: Event, report: Reporter) -> None:
    """A begin is answered by a begin, if need be with an end right after it.

    Until then the session can carry nothing back. Reported when 10 s have passed on a connection
    that neither side has closed.

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9   # <- SES-007
        @11s server: empty

    Good (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        @9s server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9
                outgoing-window=9
        @20s server: empty
    """
    if not judging(event):
        return
    for end in event.connection.ends:
        debtor = event.connection.ends[1 - end.peer]
        for session in end.unpaired:
            begin = session.begin
            if begin is None or begin.remote_channel is not None:
                continue
            if not owes(event, debtor, session.mark):
                # Those behind it are younger.
                break
            if stands_for(session, debtor.unpaired) is not None:
                continue
            if any(stands_for(other, [session]) is not None for other in debtor.unpaired):
                # The partner has answered, but did not say so: see SES-004.
                continue
            if not report.once(session, topic=BEGIN_UNANSWERED):
                continue
            report.suspect(
                event,
                f"begin on channel {session.channel} has no answer after"
                f" {seconds(event, session.mark)}",
                "begin",
                peer=debtor.peer,
                mark=session.mark,
                about=session,
            )


@rule("SES-009", "2.5.5", IMPLIED, ERROR, on="unbegun")
def frame_after_end(event: Event, report: Reporter) -> None:
    """After its own end a peer sends nothing more on that channel until it begins a new session.

    What a peer sends after its partner's end, and before its own, is another matter: it may have
    been on its way, and is legal.

    Bad (sending):
        client: end[0]
        client: detach[0] handle=0 closed=true   # <- SES-009

    Good (sending):
        client: end[0]
        server~1: detach[0] handle=0 closed=true
        server: end[0]
    """
    ended = event.own.ended.get(event.frame.unit.channel)
    if ended is None or isinstance(event.body, End) or not astray(event):
        return
    name = event.frame.unit.name
    report.sure(
        event,
        f"{name} on channel {ended.channel} after this peer's own end there",
        name,
        ((ended.ended_mark, "its end"),),
    )


@rule("SES-010", "2.5.2", IMPLIED, ERROR, on="unbegun end")
def end_repeated(event: Event, report: Reporter) -> None:
    """A peer ends a session once.

    The answer to the partner's end is this peer's own, so where both end at the same time each
    has sent its one and must not answer again.

    Bad (session):
        client: end[0]
        server~1: end[0]
        client: end[0]   # <- SES-010

    Good (session):
        client: end[0]
        server~1: end[0]
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: end[0]
        server: end[0]
    """
    ended = event.own.ended.get(event.frame.unit.channel)
    if ended is None or not astray(event):
        return
    report.sure(
        event,
        f"second end on channel {ended.channel}: this peer has ended the session already",
        "end",
        ((ended.ended_mark, "its first end"),),
    )


@rule("SES-011", "2.5.2-2.5.5", IMPLIED, WARNING, on="tick | finished")
def end_answered(event: Event, report: Reporter) -> None:
    """An end is answered by an end.

    A session that only one side has ended keeps its channel at the other. Reported when 10 s have
    passed on a connection that neither side has closed.

    Bad (session):
        client: end[0]   # <- SES-011
        @11s server: empty

    Good (session):
        client: end[0]
        server~1: end[0]
        @11s server: empty
    """
    if not judging(event):
        return
    for debtor in event.connection.ends:
        for session in debtor.channels.values():
            pair = session.pair
            if pair is None or pair.ended is None:
                continue
            if session.assumed or not owes(event, debtor, pair.ended_mark):
                continue
            if not report.once(pair):
                continue
            report.suspect(
                event,
                f"end on channel {pair.channel} has no answer after"
                f" {seconds(event, pair.ended_mark)}",
                "end",
                peer=debtor.peer,
                mark=pair.ended_mark,
                about=pair,
            )


@rule("SES-016", "2.7.2", MUST, ERROR, on="attach | begin")
def handle_max_exceeded(event: Event, report: Reporter) -> None:
    """A peer attaches no handle above the handle-max that its partner's begin states.

    The limit is for the partner's incoming handles, so each direction has its own. To exceed it
    closes the connection (amqp:connection:framing-error). An attach that was sent before the
    partner's begin could be known is reported as suspect: its sender took a risk.

    Bad (session server.handle-max=0):
        client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q")
                initial-delivery-count=0   # <- SES-016

    Good (attaching_sender attach.handle=1):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
    """
    body = event.body
    if isinstance(body, Begin):
        pipelined_handles(event, body, report)
        return
    session = event.session
    if not isinstance(body, Attach) or session is None or session.pair is None:
        return
    limit = None if session.pair.begin is None else session.pair.begin.handle_max
    if limit is None or body.handle is None or body.handle <= limit or event.discarded:
        return
    text = f"attach uses handle {body.handle}, the peer's handle-max is {limit}"
    related = ((session.pair.mark, "the begin that states handle-max"),)
    if event.knew(session.pair.mark):
        report.sure(event, text, "attach.handle", related)
    else:
        report.suspect(event, text, "attach.handle", related)


def pipelined_handles(event: Event, body: Begin, report: Reporter) -> None:
    """Handles that were used before the begin that forbids them was there."""
    limit, channel = body.handle_max, body.remote_channel
    if limit is None or channel is None:
        return
    for session in event.partner.unpaired:
        if session.channel != channel:
            continue
        for link in session.handles.values():
            if link.handle > limit and link.attach is not None:
                report.suspect(
                    event,
                    f"attach uses handle {link.handle}; the begin that answers allows {limit}",
                    "attach.handle",
                    ((event.mark, "the begin that states handle-max"),),
                    peer=event.partner.peer,
                    mark=link.mark,
                    about=link,
                )
        return


@rule("SES-021", "2.5.6", IMPLIED, INFO, on="begin")
def initial_window_zero(event: Event, report: Reporter) -> None:
    """A begin with an incoming-window of 0 lets no transfer in until a flow opens the window.

    That is allowed, and a common reason why a receiver gets nothing although it has given credit.

    Bad (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=0 outgoing-window=9   # <- SES-021
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9

    Good (opened):
        client: begin[0] next-outgoing-id=0 incoming-window=1 outgoing-window=0
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
    """
    body = event.body
    if isinstance(body, Begin) and body.incoming_window == 0:
        report.sure(
            event,
            "begin states an incoming-window of 0: no transfer may come until a flow opens it",
            "begin.incoming-window",
        )
