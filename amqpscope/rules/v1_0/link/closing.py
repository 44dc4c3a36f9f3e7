"""Links that one peer closes and the other only detaches (LNK-024; spec 2.6.6).

The two detaches may have crossed. Then the peer that did not close attaches once more and closes,
so what it owes is only certain when the session or the connection is over.
"""

from __future__ import annotations

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.event import FINISHED, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.rules.v1_0 import ERROR, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.overdue import ANSWER, seconds
from amqpscope.rules.v1_0.topics import HALF_CLOSED
from dissectors.v1_0.bodies import Detach, End


@rule("LNK-024", "2.6.6", MUST, WARNING, on="detach | end | close | finished")
def closing_detach_answered_closed(event: Event, report: Reporter) -> None:
    """A detach that closes a link is answered by one that closes it too.

    A client that waits for its link to be closed hangs on any other answer. A detach that does not
    close may have crossed the closing one; its sender then attaches again and closes. So it is
    judged when the session or the connection ends and that has not come: an error where its sender
    has provably read the closing detach and ends them itself, a warning after a second, and a note
    where it had less time. An answer that comes a second late is suspect at once.

    Bad (sending):
        client: detach[0] handle=0 closed=true
        @2s server: detach[0] handle=0   # <- LNK-024

    Bad (sending):
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0   # <- LNK-024
        @20s client: close
        server: close

    Bad (sending):
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0   # <- LNK-024
        client: begin[1] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        server: begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=100 outgoing-window=100
        server: end[0]
        client: end[0]

    Good (sending):
        client: detach[0] handle=0 closed=true
        server~1: detach[0] handle=0
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: detach[0] handle=0 closed=true
        @20s client: close
        server: close
    """
    connection, body = event.connection, event.body
    if isinstance(body, Detach):
        answered_late(event, report, body)
        return
    if not connection.unclosed:
        return
    for link in connection.unclosed:
        over = not isinstance(body, End) or of_session(event, link)
        if over and report.once(link, topic=HALF_CLOSED):
            never_closed(event, report, link)


def answered_late(event: Event, report: Reporter, body: Detach) -> None:
    """Report an answer that does not close a link and had the time to."""
    link = event.link
    if link is None or link.pair is None or event.damaged or body.closed or link.attach is None:
        return
    pair, session = link.pair, event.session
    if pair.detach is None or not pair.detach.closed:
        return
    if not event.knew(pair.detach_mark) or event.partner.close is not None:
        return
    if session is None or session.pair is None or session.pair.ended is not None:
        return
    if event.since(pair.detach_mark) >= GRACE:
        if not report.once(link):
            return
        report.suspect(
            event,
            f"the closing detach of link {link.label()} is answered by a detach that does not"
            " close it",
            "detach.closed",
            ((pair.detach_mark, "the closing detach"),),
        )


def of_session(event: Event, link: LinkEnd) -> bool:
    """A link belongs to the session of an event, whose ever end that is."""
    session = event.session
    return session is not None and (link.session is session or link.session is session.pair)


def never_closed(event: Event, report: Reporter, link: LinkEnd) -> None:
    """Report a link that is left half closed when it is too late to close it."""
    pair, owner, mark = link.pair, link.session.owner, link.detach_mark
    if pair is None or mark is None or owner.damaged:
        return
    if not owner.anchored or not link.session.whole or link.detach is None or link.detach.wrong:
        return
    if event.connection.attached.get((owner.peer, link.name, bool(link.role))):
        return
    if not report.once(link):
        return
    asked = pair.detach_mark
    text = (
        f"the closing detach of link {link.label()} is answered by a detach that does not close it"
    )
    if event.since(asked) >= GRACE:
        text += f", and no attach with a closing detach followed in {seconds(event, asked)}"
    own_doing = event.peer == owner.peer and not event.kinds & FINISHED
    related = ((asked, "the closing detach"),)
    proved = own_doing and event.surely_knew(asked)
    if proved or (event.since(asked) >= ANSWER and not captured_only(event)):
        report.sure(
            event,
            text,
            "detach.closed",
            related,
            severity=ERROR if proved else WARNING,
            peer=owner.peer,
            mark=mark,
            about=link,
        )
    elif asked is not None and asked.end <= link.detach_known:
        report.suspect(
            event,
            text,
            "detach.closed",
            related,
            severity=WARNING if event.since(asked) >= GRACE else INFO,
            peer=owner.peer,
            mark=mark,
            about=link,
        )


def captured_only(event: Event) -> bool:
    """It is the capture that ends here, and what is owed may still come."""
    return bool(event.kinds & FINISHED) and event.own.finished == "capture"
