"""Links: the handles that a peer gives them (LNK; spec 2.6.2, 2.7.3).

A handle belongs to the peer that attached it, so frames are judged by what their own sender has
attached and detached on that session; this needs no knowledge of the partner and cannot race.
"""

from __future__ import annotations

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.terms import RECEIVER
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, Reporter, rule
from dissectors.v1_0.bodies import Attach


@rule("LNK-001", "2.7.3", MUST, ERROR, on="attach", needs="!discarded !closed")
def handle_in_use(event: Event, report: Reporter, session: SessionEnd, link: LinkEnd) -> None:
    """An attach needs a handle that its sender does not use for another link of the session.

    The partner answers with amqp:session:handle-in-use or, worse, mixes the two links up. A handle
    is free again once its owner has sent detach; the partner's handles are another set, and so are
    those of other sessions.

    Bad (sending):
        client: attach[0] name="t" handle=0 role=sender source=source() target=target(address="r")
                initial-delivery-count=0   # <- LNK-001

    Good (sending):
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true
        client: attach[0] name="t" handle=0 role=sender source=source() target=target(address="r")
                initial-delivery-count=0
        server: attach[0] name="t" handle=0 role=receiver source=source() target=target(address="r")
    """
    if link.attach is None or not session.whole:
        return
    report.sure(
        event,
        f"attach uses handle {link.handle}, which this peer has given to link {link.label()}"
        " and not detached",
        "attach.handle",
        ((link.mark, "the attach of the link that has the handle"),),
    )


@rule("LNK-002", "2.7.7", IMPLIED, INFO, on="attach")
def handle_reuse_before_peer_detach(
    event: Event, report: Reporter, body: Attach, session: SessionEnd
) -> None:
    """A handle that goes to another link before the partner has detached the old may confuse it.

    The text is of two minds whether a handle is free at its owner's detach or when both sides have
    detached. We take the first reading, so this is a note for those who look for the reason why a
    partner mixes up two links. A link that is attached again under its name is not mentioned.

    Bad (sending):
        client: detach[0] handle=0 closed=true
        client: attach[0] name="t" handle=0 role=sender source=source() target=target(address="r")
                initial-delivery-count=0   # <- LNK-002
        server: detach[0] handle=0 closed=true
        server: attach[0] name="t" handle=0 role=receiver source=source() target=target(address="r")

    Good (sending):
        client: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: detach[0] handle=0
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
    """
    if body.handle is None:
        return
    old = session.detached.get(body.handle)
    if old is None or old.pair is None or event.knew(old.pair.detach_mark):
        return
    if old.name == body.name and old.role == body.role:
        return
    if session.pair is not None and session.pair.ended is not None:
        return
    report.suspect(
        event,
        f"attach uses handle {body.handle} again before the peer has detached"
        f" link {old.label()} that had it",
        "attach.handle",
        ((old.detach_mark, "this peer's detach of that link"),),
    )


def report_unattached(event: Event, report: Reporter, more: str = "") -> None:
    """Report a frame on a handle that its sender has not attached."""
    link, session = event.link, event.session
    if link is None or session is None or event.discarded or event.own.close is not None:
        return
    if event.damaged:
        return
    name = event.frame.unit.name
    old = session.detached.get(link.handle)
    if old is None:
        text = f"{name} on handle {link.handle}, which this peer has not attached"
        report.sure(event, text + more, f"{name}.handle")
        return
    text = f"{name} on handle {link.handle} after this peer has detached link {old.label()} there"
    report.sure(event, text, f"{name}.handle", ((old.detach_mark, "its detach"),))


@rule("LNK-004", "2.7.4", MUST, ERROR, on="flow unattached")
def flow_on_unattached_handle(event: Event, report: Reporter) -> None:
    """A flow with a handle names one that its sender has attached and not detached.

    The partner ends the session with amqp:session:unattached-handle. The usual cause is a receiver
    that still renews credit after its own detach; or a peer that uses its partner's handle number
    in place of its own.

    Bad (receiving):
        client: detach[0] handle=0 closed=true
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=20   # <- LNK-004

    Good (receiving):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:detach-forced
                description="moved")
        client~1: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=20
        client: detach[0] handle=0 closed=true
    """
    report_unattached(event, report)


@rule("LNK-005", "2.7.5", IMPLIED, ERROR, on="transfer unattached")
def transfer_on_unattached_handle(event: Event, report: Reporter) -> None:
    """A transfer names a handle that its sender has attached and not detached.

    The message cannot be given to any link; partners end the session or close the connection. That
    the partner has detached its own side is another matter: such a transfer crossed the detach.

    Bad (sending):
        client: transfer[0] handle=1 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- LNK-005

    Good (sending):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:detach-forced
                description="moved")
        client~1: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: detach[0] handle=0 closed=true
    """
    report_unattached(event, report)


@rule("LNK-006", "2.7.7", IMPLIED, ERROR, on="detach unattached")
def detach_on_unattached_handle(event: Event, report: Reporter) -> None:
    """A peer detaches only what it has attached, and only once.

    To refuse a link a peer first answers the attach (without a terminus of its own) and then
    detaches that handle; a bare detach leaves the partner waiting for the attach. When both
    sides detach at the same time each has sent its one detach and must not answer again.

    Bad (attaching_sender):
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-found
                description="no such queue")   # <- LNK-006

    Good (attaching_sender):
        server: attach[0] name="s" handle=0 role=receiver source=source()
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-found
                description="no such queue")
        client~1: detach[0] handle=0 closed=true
    """
    session = event.session
    waiting = [] if session is None or session.pair is None else session.pair.unpaired
    if waiting:
        report_unattached(
            event, report, f"; a refusal of {waiting[0].label()} begins with an attach"
        )
    else:
        report_unattached(event, report)


@rule("LNK-028", "2.7.5", IMPLIED, ERROR, on="odd-link first", needs="!discarded")
def transfer_by_receiver(event: Event, report: Reporter, link: LinkEnd) -> None:
    """Only the sender of a link sends transfers on it.

    A message on a receiver's handle usually means that a program mixes up the handles of two links
    that share a name.

    Bad (receiving):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")   # <- LNK-028

    Good (receiving):
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
    """
    if link.role is not RECEIVER:
        return
    if not report.once(link):
        return
    report.sure(
        event,
        f"transfer on handle {link.handle}, on which this peer is the receiver"
        f" of link {link.label()}",
        "transfer.handle",
        ((link.mark, "its attach"),),
    )
