"""Links: how one is refused (LNK; spec 2.6.3).

A peer that does not want a link answers the attach all the same, without a terminus of its own, and
detaches at once, with the reason.
"""

from __future__ import annotations

from amqpscope.model.knowledge import GRACE
from amqpscope.model.v1_0.event import FINISHED, TICK, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, Reporter, rule
from amqpscope.rules.v1_0.overdue import judging, owes, seconds
from dissectors.v1_0.bodies import Detach, Flow, Transfer


def refused(link: LinkEnd) -> bool:
    """A link end that was attached only to say that there is no terminus."""
    return link.replied and link.terms.no_terminus


@rule("LNK-012", "2.6.3", MUST, ERROR, on="odd-link | tick | finished")
def refuse_then_detach(event: Event, report: Reporter) -> None:
    """An answer without a terminus of one's own is a refusal, and a detach follows at once.

    It is how a link is refused: a receiver answers with a null target, a sender with a null source,
    and then detaches. To grant credit or send on such a link contradicts it; without the detach the
    partner is left with half a link. What the answer says of the partner's terminus does not
    matter, and neither does a null terminus in the attach that asks.

    Bad (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source()
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10   # <- LNK-012

    Bad (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source()   # <- LNK-012
        @11s server: empty

    Good (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source()
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-found
                description="no such queue")
        client: detach[0] handle=0 closed=true
    """
    body, link = event.body, event.link
    using = isinstance(body, Transfer) or (isinstance(body, Flow) and bool(body.link_credit))
    if using and link is not None and refused(link):
        used_after_refusal(event, link, report)
    if event.kinds & (TICK | FINISHED) and judging(event):
        for end in event.connection.ends:
            for session in end.channels.values():
                kept_after_refusal(event, session, report)


def used_after_refusal(event: Event, link: LinkEnd, report: Reporter) -> None:
    """A transfer or credit on a link that its sender has refused."""
    if event.discarded or link.pair is None:
        return
    if not report.once(link):
        return
    terminus = "target" if link.role else "source"
    doing = "grants credit" if link.role else "sends a message"
    text = f"{doing} on link {link.label()}, which it refused by a null {terminus} in its attach"
    path = "flow.link-credit" if link.role else "transfer"
    related = ((link.mark, "the attach that refuses"), (link.pair.mark, "the attach it answers"))
    if link.session.replied and link.pair.mark.end <= link.known_then:
        report.sure(event, text, path, related)
    else:
        # Both may have attached at the same time, each asking, neither refusing.
        report.suspect(event, text, path, related)


def kept_after_refusal(event: Event, session: SessionEnd, report: Reporter) -> None:
    """Refused links that were not detached in good time."""
    if not session.whole or (session.pair is not None and session.pair.ended is not None):
        return
    for link in session.handles.values():
        if not refused(link):
            continue
        if not owes(event, session.owner, link.mark):
            continue
        if link.pair is None or link.pair.mark.end > link.known_then:
            continue
        if not report.once(link):
            continue
        terminus = "target" if link.role else "source"
        report.suspect(
            event,
            f"link {link.label()} was refused by a null {terminus}, but no detach followed in"
            f" {seconds(event, link.mark)}",
            "attach",
            ((link.pair.mark, "the attach it answers"),),
            peer=session.owner.peer,
            mark=link.mark,
            about=link,
        )


@rule("LNK-013", "2.6.3 (fig 2.33)", IMPLIED, INFO, on="detach", needs="!damaged")
def refusal_not_closing(event: Event, report: Reporter, body: Detach, link: LinkEnd) -> None:
    """The detach that ends a refusal is a closing one and says why.

    Without an error the client can only report that the link failed; without `closed` some wait for
    the link to come back.

    Bad (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source()
        server: detach[0] handle=0 closed=true   # <- LNK-013

    Good (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source()
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-found
                description="no such queue")
    """
    if not refused(link):
        return
    if link.pair is not None and event.knew(link.pair.detach_mark):
        return
    lacks = []
    if not body.closed:
        lacks.append("does not close it")
    if body.wire(2) is None:
        lacks.append("gives no reason")
    if lacks:
        report.sure(
            event,
            f"the detach that refuses link {link.label()} {' and '.join(lacks)}",
            "detach",
            ((link.mark, "the attach that refuses"),),
        )


@rule("LNK-014", "2.6.3", IMPLIED, INFO, on="detach")
def refusal_terminus_not_null(
    event: Event, report: Reporter, body: Detach, link: LinkEnd, pair: LinkEnd
) -> None:
    """Who refuses a link leaves its own terminus null in the attach.

    With a terminus the attach says that the link is up, and the application at the other end is
    told so a moment before it fails. The terminus may have failed just then, so this is a note.

    Bad (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-found
                description="no such queue")   # <- LNK-014

    Good (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:resource-deleted
                description="queue deleted")
    """
    if body.error is None or not link.terms.clear:
        return
    used = link.flow is not None or link.sending.delivery_total
    if not link.replied or link.terms.no_terminus or used:
        return
    if pair.flow is not None or pair.sending.delivery_total or pair.detach is not None:
        return
    if event.since(link.mark) < GRACE and body.error.condition != "amqp:link:stolen":
        terminus = "target" if link.role else "source"
        report.suspect(
            event,
            f"link {link.label()} is detached with {body.error.condition} right after an attach"
            f" that names a {terminus}; a refusal leaves it null",
            "detach",
            ((link.mark, "the attach that seemed to accept"),),
        )
