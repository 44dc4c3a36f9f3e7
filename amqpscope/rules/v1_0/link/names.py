"""Links: one name, one link (LNK; spec 2.5, 2.6.1).

A link is known by its name and direction. Who attaches it a second time takes it over ("steals"
it), and the partner then closes the first attachment with amqp:link:stolen. So a second attach is
no fault; that both attachments go on is. That is known when one of them ends.
"""

from __future__ import annotations

from amqpscope.model.mark import Mark
from amqpscope.model.v1_0.connection import Rivals
from amqpscope.model.v1_0.event import FINISHED, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.link_pairing import awaits_partner
from amqpscope.rules.v1_0 import ERROR, MUST, WARNING, Reporter, rule
from amqpscope.rules.v1_0.topics import USED_TWICE
from dissectors.v1_0.bodies import Detach


def ending(event: Event, both: Rivals) -> bool:
    """This event is the end of one of two attachments, and not because the link was stolen."""
    body, ends = event.body, (both.old, both.new, both.old.pair, both.new.pair)
    if isinstance(body, Detach):
        error = body.error
        if error is not None and error.condition == "amqp:link:stolen":
            return False
        return event.link in ends
    session = event.session
    return session is None or any(end is not None and end.session is session for end in ends)


def accepted(both: Rivals) -> bool:
    """Both attachments were answered, and neither answer is a refusal."""
    return taken(both.old) and taken(both.new)


def taken(link: LinkEnd) -> bool:
    """The partner has answered an attach with a terminus of its own."""
    pair = link.pair
    return pair is not None and pair.terms.clear and not pair.terms.no_terminus


def user(both: Rivals) -> tuple[Mark, Mark] | None:
    """The frames by which the peer that attached twice has used both, after the second answer."""
    peer = both.new.session.owner.peer
    old, new = both.used_old[peer], both.used_new[peer]
    answer = both.new.pair
    if old is None or new is None or answer is None:
        return None
    return old, new


def answer_due(event: Event, both: Rivals) -> bool:
    """The peer that attached twice detaches one: the partner's detach will say whether stolen."""
    link = event.link
    if event.peer != both.new.session.owner.peer or not isinstance(event.body, Detach):
        return False
    return link is not None and awaits_partner(link)


def passed(event: Event, both: Rivals, used: tuple[Mark, Mark]) -> bool:
    """The partner has sent something since: a detach of the old one is not still on its way."""
    partner = 1 - both.new.session.owner.peer
    last = event.connection.ends[partner].last_mark.frame
    if event.peer == partner and not event.kinds & FINISHED:
        last = event.mark.frame
    return last > max(used[0].frame, used[1].frame)


def twice(event: Event, report: Reporter, other_session: bool) -> None:
    """Report what a peer has used twice, for the rule that fits."""
    if event.ahead or (event.kinds & FINISHED and not event.partner.finished):
        return
    for both in event.connection.rivals:
        used = user(both)
        if used is None or not ending(event, both) or not accepted(both):
            continue
        if answer_due(event, both) or not passed(event, both, used):
            continue
        if (both.old.session is not both.new.session) != other_session:
            continue
        if not report.once(both.new, topic=USED_TWICE):
            continue
        role = "receiver" if both.new.role else "sender"
        where = " on another session" if other_session else ""
        report.sure(
            event,
            f"{role} {both.new.label()} is attached a second time{where} (handle"
            f" {both.new.handle}) and both attachments stay in use",
            "attach.name",
            (
                (both.old.mark, "the first attach"),
                (used[0], "a use of the first attachment after the second was answered"),
                (used[1], "a use of the second attachment"),
            ),
            peer=both.new.session.owner.peer,
            mark=both.new.mark,
            about=both.new,
        )


@rule("LNK-007", "2.6.1", MUST, ERROR, on="detach | end | close | finished")
def attach_name_collision(event: Event, report: Reporter) -> None:
    """A link name is used once among the links of one direction between two containers.

    A partner that keeps links by their names mixes the two up or closes the connection. A second
    attach of the same name and role is legal as such: it takes the link over, and the old
    attachment is then closed as stolen. It is an error when the peer goes on to use both. The same
    name with the opposite role is another link.

    Bad (sending):
        client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="r")
                initial-delivery-count=0   # <- LNK-007
        server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="r")
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=1 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
        client: close
        server: close

    Good (sending):
        client: attach[0] name="s" handle=1 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen
                description="attached again")
        server: attach[0] name="s" handle=1 role=receiver source=source() target=target(address="q")
        client: detach[0] handle=0 closed=true
        client: close
        server: close

    Good (sending):
        client: attach[0] name="s" handle=1 role=receiver source=source(address="q")
                target=target()
        server: attach[0] name="s" handle=1 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                outgoing-window=100 handle=1 delivery-count=0 link-credit=10
        client: close
        server: close
    """
    if event.connection.rivals:
        twice(event, report, False)


@rule("LNK-008", "2.6.1", MUST, WARNING, on="detach | end | close | finished")
def link_stolen_closed(event: Event, report: Reporter) -> None:
    """A peer that accepts a second attach of a link closes the first as amqp:link:stolen.

    Otherwise the side that lost its connection and came back has two attachments and cannot tell
    which one messages will take. To refuse the second attach is allowed. Reported when the peer
    uses the old attachment after it has accepted the new one and never closes it.

    Bad (receiving):
        client: attach[0] name="r" handle=1 role=receiver source=source(address="q")
                target=target()
        server: attach[0] name="r" handle=1 role=sender source=source(address="q") target=target()
                initial-delivery-count=0   # <- LNK-008
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: close
        server: close

    Good (receiving):
        client: attach[0] name="r" handle=1 role=receiver source=source(address="q")
                target=target()
        server: attach[0] name="r" handle=1 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen
                description="attached again")
        client: detach[0] handle=0 closed=true
        client: close
        server: close
    """
    for both in event.connection.rivals:
        answer, peer = both.new.pair, 1 - both.new.session.owner.peer
        used = both.used_old[peer]
        if used is None or answer is None or user(both) is not None:
            continue
        if not ending(event, both) or not accepted(both):
            continue
        if not report.once(answer):
            continue
        report.suspect(
            event,
            f"link {answer.label()} was attached a second time and accepted, but its first"
            " attachment stays in use and is not closed with amqp:link:stolen",
            "attach",
            (
                (both.old.mark, "the first attach"),
                (both.new.mark, "the second attach"),
                (used, "a use of the first attachment after the second was accepted"),
            ),
            peer=peer,
            mark=answer.mark,
            about=answer,
        )


@rule("LNK-009", "2.5", MUST, ERROR, on="detach | end | close | finished")
def link_in_two_sessions(event: Event, report: Reporter) -> None:
    """A link is attached to one session at a time.

    Delivery-ids belong to a session, so the messages of a link on two sessions cannot be settled
    with certainty. Between an attach that takes a link over and the detach of the old attachment
    both are there, which is legal; to go on using both is not.

    Bad (sending):
        client: begin[1] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        server: begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=100 outgoing-window=100
        client: attach[1] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0   # <- LNK-009
        server: attach[1] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[1] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: transfer[1] handle=0 delivery-id=0 delivery-tag=b"1" message-format=0 settled=true
                | data(b"1")
        client: close
        server: close

    Good (sending):
        client: begin[1] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        server: begin[1] remote-channel=1 next-outgoing-id=0 incoming-window=100 outgoing-window=100
        client: detach[0] handle=0
        client: attach[1] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: detach[0] handle=0
        server: attach[1] name="s" handle=0 role=receiver source=source() target=target(address="q")
        client: close
        server: close
    """
    if event.connection.rivals:
        twice(event, report, True)
