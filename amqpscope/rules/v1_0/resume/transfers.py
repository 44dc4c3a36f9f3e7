"""Which deliveries are resumed, and which not, on a link that comes back (RES; spec 2.6.13, 2.7.5).

Both lists of unsettled deliveries decide it; the sender knows its own, and has read the receiver's
when it has the credit that followed it.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import CONTINUATION, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.link_pairing import attached_still
from amqpscope.rules.v1_0 import ERROR, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.delivery.transfers import placed_link
from amqpscope.rules.v1_0.overdue import judging
from amqpscope.rules.v1_0.resume.links import lists, tag_of
from dissectors.v1_0.bodies import Detach, Transfer

PATIENCE: Final = 10_000_000_000
"""Nanoseconds after which a detach that is owed is missed."""


@rule("RES-005", "2.7.5", MUST, ERROR, on="listed", needs="!discarded !damaged anchored")
def resume_flag_missing(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd, pair: LinkEnd
) -> None:
    """The first transfer of a delivery that both peers list as unsettled has its resume flag set.

    Without it the receiver takes the message for a new one and has it twice. A delivery that only
    the sender lists is rightly sent again without the flag.

    Bad (resuming):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0
                | data(b"7")   # <- RES-005

    Good (resuming server.unsettled={}):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 | data(b"7")
    """
    if body.resume:
        return
    tag = body.delivery_tag
    if tag is None or link.attach is None or pair.attach is None:
        return
    if link.attach.incomplete_unsettled or pair.attach.incomplete_unsettled:
        return
    if tag in link.sending.resumed or not event.knew(pair.mark):
        return
    if lists(link.attach.unsettled, tag) and lists(pair.attach.unsettled, tag):
        report.sure(
            event,
            f"delivery {tag_of(tag)}, which both peers list as unsettled, is sent without resume",
            "transfer.resume",
            ((link.mark, "the sender's list"), (pair.mark, "the receiver's list")),
        )


@rule("RES-006", "2.7.5", MUST, ERROR, on="resume", needs="!discarded")
def resume_unknown_tag(event: Event, report: Reporter, body: Transfer, link: LinkEnd) -> None:
    """A sender resumes only deliveries that are in its own list of unsettled ones.

    Reported when the list is there and complete, or when the link was never attached before and so
    can have nothing to resume. Once resumed, a delivery is in use again, and not to be resumed a
    second time. It says so on its first transfer; what began as a new one cannot become another
    later.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")   # <- RES-006

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 more=true
                | data(b"7")
        client: transfer[0] handle=0 resume=true | data(b"8")   # <- RES-006

    Bad (resuming):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")   # <- RES-006

    Good (resuming):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")
    """
    if link.attach is None:
        return
    if event.kinds & CONTINUATION:
        resumed_midway(event, report)
        return
    tag, own = body.delivery_tag, link.attach.unsettled
    if tag is None or event.damaged or not link.terms.clear or link.attach.incomplete_unsettled:
        return
    if own is None:
        # A link that was there before, on another connection too, may remember more.
        fresh = not link.again and event.own.anchored and not link.sending.lost
        if not fresh or (link.pair is not None and link.pair.terms.lists_unsettled):
            return
        where = "the link is new and lists none"
    elif lists(own, tag):
        if tag not in link.sending.resumed or link.sending.lost or not event.own.anchored:
            return
        where = "it has been resumed on this attachment before"
    else:
        where = f"its list has {len(own)} other(s)"
    report.sure(
        event,
        f"delivery {tag_of(tag)} is resumed, which the sender does not list as unsettled: {where}",
        "transfer.resume",
        ((link.mark, "the sender's attach"),),
    )


def resumed_midway(event: Event, report: Reporter) -> None:
    """Report a delivery that was begun as a new one and is resumed by a later transfer."""
    delivery, link = event.delivery, placed_link(event)
    if link is None or delivery is None or delivery.resumed or not delivery.transfers:
        return
    if report.once(link):
        report.sure(
            event,
            f"sender {link.label()} sets resume on a later transfer of a delivery that it began"
            " without it",
            "transfer.resume",
            ((delivery.mark, "the first transfer"),),
        )


@rule("RES-009", "2.6.13", MUST, WARNING, on="detach")
def both_unsettled_must_resume(
    event: Event, report: Reporter, body: Detach, link: LinkEnd, pair: LinkEnd
) -> None:
    """A sender resumes every delivery that both peers list as unsettled.

    What it leaves out stays in doubt for the receiver. Judged when the sender detaches, and only if
    it had credit to resume with; sure when it closes the link without an error.

    Bad (resuming):
        client: detach[0] handle=0 closed=true   # <- RES-009
        server: detach[0] handle=0 closed=true

    Good (resuming):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                settled=true | data(b"7")
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true
    """
    if link.role is not False:
        return
    if not link.terms.lists_unsettled:
        return
    if pair.detach is not None or body.error is not None:
        return
    if not pair.terms.lists_unsettled:
        return
    own = None if link.attach is None else link.attach.unsettled
    other = None if pair.attach is None else pair.attach.unsettled
    grant = pair.receiving.credit.latest(event.known)
    if own is None or other is None or grant is None or event.discarded or not event.own.anchored:
        return
    left = [
        key
        for key, _ in own
        if type(key) is bytes and key not in link.sending.resumed and lists(other, key)
    ]
    count = link.sending.count_high
    if not left or count is None or grant.limit < count + len(left):
        return
    text = (
        f"sender {link.label()} leaves without resuming {len(left)} deliveries that both peers"
        f" list as unsettled, the first {tag_of(left[0])}"
    )
    evidence = ((link.mark, "the sender's list"), (pair.mark, "the receiver's list"))
    if body.closed:
        report.sure(event, text, "attach.unsettled", evidence)
    else:
        report.suspect(event, text, "attach.unsettled", evidence)


@rule("RES-010", "2.7.3", MUST, ERROR, on="listed", needs="!discarded !damaged anchored")
def new_delivery_while_peer_incomplete(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd, pair: LinkEnd
) -> None:
    """A sender sends nothing new to a receiver whose list of unsettled deliveries is incomplete.

    What is not in such a list may yet be unsettled, so both go on with resuming only, and attach
    anew until the lists are complete. The receiver answers a new delivery with an error.

    Bad (resuming server.incomplete-unsettled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"8" message-format=0
                | data(b"8")   # <- RES-010

    Good (resuming server.incomplete-unsettled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")
    """
    if body.resume:
        return
    if pair.attach is None or not pair.attach.incomplete_unsettled:
        return
    if not event.knew(pair.mark) or link.sending.lost:
        return
    report.sure(
        event,
        f"sender {link.label()} begins a new delivery although the receiver's list of unsettled"
        " ones is incomplete",
        "transfer.resume",
        ((pair.mark, "the incomplete list"),),
    )


@rule("RES-011", "2.7.3", MUST, ERROR, on="listed", needs="!discarded !damaged")
def new_delivery_while_self_incomplete(
    event: Event, report: Reporter, body: Transfer, link: LinkEnd
) -> None:
    """A sender that could not list all its unsettled deliveries sends nothing new either.

    It resumes and settles, detaches, and attaches again until its list is complete.

    Bad (resuming client.incomplete-unsettled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"8" message-format=0
                | data(b"8")   # <- RES-011

    Good (resuming client.incomplete-unsettled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")
    """
    if body.resume or link.attach is None:
        return
    pair = link.pair
    if pair is not None and pair.attach is not None and pair.attach.incomplete_unsettled:
        return
    if not link.attach.incomplete_unsettled:
        return
    if event.own.anchored and not link.sending.lost:
        report.sure(
            event,
            f"sender {link.label()} begins a new delivery although its own list of unsettled ones"
            " is incomplete",
            "transfer.resume",
            ((link.mark, "the incomplete list"),),
        )


@rule("RES-012", "2.7.3", MUST, WARNING, on="detach | finished")
def incomplete_receiver_detaches(event: Event, report: Reporter) -> None:
    """A receiver whose list is incomplete answers a new delivery by detaching with an error.

    Bad (resuming server.incomplete-unsettled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"8" message-format=0
                | data(b"8")   # <- RES-010 RES-012
        @30s server: END

    Good (resuming server.incomplete-unsettled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                | data(b"7")
        @30s server: END
    """
    body = event.body
    if isinstance(body, Detach):
        link = event.link
        if link is None or link.receiving.breach is None or link.role is not True or event.damaged:
            return
        breach = link.receiving.breach
        answers = event.since(breach) > PATIENCE and event.knew(breach)
        if answers and body.error is None and (link.pair is None or link.pair.detach is None):
            report_unrefused(event, report, link, "detaches without an error")
    elif event.own.finished == "capture":
        for session in event.own.channels.values():
            for link in session.handles.values():
                if event.since(link.receiving.breach) > PATIENCE:
                    report_unrefused(event, report, link, "does not detach")


def report_unrefused(event: Event, report: Reporter, link: LinkEnd, what: str) -> None:
    """A receiver did not refuse what it may not take."""
    breach = link.receiving.breach
    if breach is None or not event.own.anchored or not event.partner.anchored:
        return
    if link.session.ended is not None or (link.pair is not None and link.pair.detach is not None):
        return
    if not report.once(link, breach.frame):
        return
    report.suspect(
        event,
        f"receiver {link.label()} {what} after a new delivery that its incomplete list forbids",
        "detach",
        ((link.mark, "the incomplete list"),),
        mark=breach,
    )


@rule("RES-013", "2.6.13", MUST, WARNING, on="tick | finished", needs="anchored partner-anchored")
def incomplete_then_reattach(event: Event, report: Reporter) -> None:
    """A link whose list of unsettled deliveries is incomplete is detached and attached once more.

    When all that it lists is resumed and settled, the rest comes with the next list. Until the
    lists are complete nothing new may be sent, so a link that lives on without it stands still.
    When it should detach is not said, so this is a suspicion, after ten seconds.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=null} incomplete-unsettled=true
                initial-delivery-count=0   # <- RES-013
        server: attach[0] name="s" handle=0 role=receiver source=source()
                target=target(address="q")
                unsettled={b"7"=received(section-number=0 section-offset=0)}
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                settled=true | data(b"7")
        @15s server: empty

    Good (resuming client.incomplete-unsettled=true):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 resume=true
                settled=true | data(b"7")
        client: detach[0] handle=0
        server: detach[0] handle=0
        @15s server: empty
    """
    if not judging(event):
        return
    for end in event.connection.ends:
        for session in end.channels.values():
            for link in session.handles.values():
                if not link.terms.lists_unsettled:
                    continue
                if stays(event, report, link):
                    if not report.once(link):
                        continue
                    report.suspect(
                        event,
                        f"link {link.label()} lives on although all deliveries of its incomplete"
                        " list are resumed and settled",
                        "attach.incomplete-unsettled",
                        peer=end.peer,
                        mark=link.mark,
                        about=link,
                    )


def breached(report: Reporter, link: LinkEnd) -> bool:
    """A new delivery came that the receiver's incomplete list forbids, and RES-012 waits."""
    breach = link.receiving.breach
    return breach is not None and not report.has_reported("RES-012", link, breach.frame)


def stays(event: Event, report: Reporter, link: LinkEnd) -> bool:
    """A link with an incomplete list has nothing more to resume, and neither peer detaches it."""
    attach, pair = link.attach, link.pair
    if attach is None or pair is None or not attached_still(link) or not attach.unsettled:
        return False
    if not attach.incomplete_unsettled or breached(report, link) or breached(report, pair):
        return False
    sender = pair if link.role else link
    mark = sender.sending.last_mark
    if mark is None or event.since(mark) < PATIENCE:
        return False
    tags = [key for key, _ in attach.unsettled if type(key) is bytes]
    sending = sender.sending
    return all(tag in sending.resumed and tag not in sending.unsettled for tag in tags)
