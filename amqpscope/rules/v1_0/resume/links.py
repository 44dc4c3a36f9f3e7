"""Suspended links and their unsettled deliveries (RES; spec 2.6.3, 2.6.13, 2.7.3).

When a link comes back, each peer's attach lists the deliveries that it has not forgotten. What is
in both lists is resumed; what only the sender lists is sent again as new; what only the receiver
lists is settled. A list that does not fit into a frame may be incomplete: then nothing new is sent.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.delivery import Delivery
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from dissectors.v1_0.bodies import Attach, Body, End, Error, Source, Target
from dissectors.v1_0.values import Described, Map, Value, type_of

MAX_TAG: Final = 32
FRAME_SIZE_TOO_SMALL: Final = "amqp:frame-size-too-small"


def tag_of(tag: bytes) -> str:
    """A delivery-tag as it is shown."""
    return f"0x{tag.hex()}"


def lists(unsettled: Map | None, tag: bytes) -> bool:
    """Whether a list of unsettled deliveries has a tag."""
    return unsettled is not None and any(type(key) is bytes and key == tag for key, _ in unsettled)


def earlier(event: Event, body: Attach) -> LinkEnd | None:
    """The link of the same name and role that the peer has detached on this session."""
    session = event.session
    if session is None or body.name is None:
        return None
    for link in session.detached.values():
        if link.named and link.name == body.name and link.role is body.role:
            return link
    return None


@rule("RES-001", "2.6.3", MUST, WARNING, on="attach", needs="!damaged")
def unsettled_omitted_on_resume(event: Event, report: Reporter, body: Attach) -> None:
    """A peer that attaches a link again lists what was left unsettled on it.

    Without the list nobody can tell which messages were lost on the way. Reported only when the
    link was detached on the same session, without closing it, while deliveries were unsettled on
    both sides. Many brokers keep nothing of a detached link and make a new one, hence a suspicion.

    Bad (sent):
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=1   # <- RES-001

    Good (sent):
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"0"=null} initial-delivery-count=1
    """
    if body.unsettled is not None:
        return
    old = earlier(event, body)
    if old is None or old.pair is None or event.discarded or not event.own.anchored:
        return
    if old.detach is None or old.detach.closed or old.detach.error is not None:
        return
    other = old.pair.detach
    if other is None or other.closed or other.error is not None or expires(old):
        return
    unsettled = sender_of(old).sending.unsettled
    left = [each for each in unsettled.values() if remembered(each, body.role)]
    if left and event.partner.anchored:
        tag = left[0].tag or b""
        report.suspect(
            event,
            f"link {old.label()} comes back without a list of unsettled deliveries;"
            f" {len(left)} were left, the first with tag {tag_of(tag)}",
            "attach.unsettled",
            ((left[0].mark, "the delivery"), (old.detach_mark, "the detach")),
        )


def sender_of(link: LinkEnd) -> LinkEnd:
    """The sending end of a link."""
    return link if link.role is False or link.pair is None else link.pair


def remembered(delivery: Delivery, receiver: bool | None) -> bool:
    """Whether a peer has not settled a delivery, in its role."""
    if delivery.aborted or not delivery.complete:
        return False
    return delivery.settled is None or (receiver is True and delivery.rcv_settled is None)


def expires(link: LinkEnd) -> bool:
    """Whether either terminus ends with the detach."""
    for end in (link, link.pair):
        attach = None if end is None else end.attach
        if attach is None:
            return True
        for terminus in (attach.source, attach.target):
            if isinstance(terminus, (Source, Target)) and terminus.expiry_policy == "link-detach":
                return True
    return False


@rule("RES-002", "2.7.3", MUST, ERROR, on="attach", needs="!damaged !discarded")
def unsettled_null_key(event: Event, report: Reporter, body: Attach) -> None:
    """The keys of the unsettled map are delivery-tags: binary, at most 32 octets, never null.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={null=null} initial-delivery-count=0   # <- RES-002

    Good (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=null} initial-delivery-count=0
    """
    if not body.unsettled:
        return
    for key, _ in body.unsettled:
        if type(key) is bytes:
            if len(key) <= MAX_TAG:
                continue
            found = f"has {len(key)} octets, a delivery-tag has at most {MAX_TAG}"
        else:
            found = f"is of type {type_of(key)}, a delivery-tag is binary"
        report.sure(event, f"a key of the unsettled map {found}", "attach.unsettled")
        return


@rule("RES-003", "2.7.3", IMPLIED, ERROR, on="attach", needs="!damaged !discarded")
def unsettled_value_not_state(event: Event, report: Reporter, body: Attach) -> None:
    """The values of the unsettled map are delivery states, or null where there is none yet.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"="accepted"} initial-delivery-count=0   # <- RES-003

    Good (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=accepted() b"8"=null} initial-delivery-count=0
    """
    if not body.unsettled:
        return
    for _, value in body.unsettled:
        found = not_a_state(value)
        if found:
            text = f"a value of the unsettled map is {found}, not a delivery state"
            report.sure(event, text, "attach.unsettled")
            return


def not_a_state(value: Value) -> str:
    """What a value is, if it cannot be a delivery state; others may define more of these."""
    if value is None or isinstance(value, Described):
        return ""
    if isinstance(value, Body):
        return "" if "delivery-state" in value.row.provides else value.row.name
    return f"of type {type_of(value)}"


@rule("RES-017", "2.6.13", IMPLIED, WARNING, on="attach", needs="!damaged")
def settled_tag_listed_unsettled(
    event: Event, report: Reporter, body: Attach, session: SessionEnd
) -> None:
    """A peer does not list a delivery as unsettled that it has settled.

    Settled means forgotten; a peer that remembers it after all would have it delivered twice.
    Reported for links that come back on the same session.

    Bad (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 settled=true
                | data(b"7")
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=null} initial-delivery-count=1   # <- RES-017

    Good (sending):
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"7" message-format=0 | data(b"7")
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        client: detach[0] handle=0
        server: detach[0] handle=0
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=accepted()} initial-delivery-count=1
    """
    if not body.unsettled:
        return
    old = earlier(event, body)
    if old is None or not event.own.anchored or not event.partner.anchored or event.discarded:
        return
    receiver = body.role is True
    place = session.pair if receiver else session
    if place is None:
        return
    tags = {key for key, _ in body.unsettled if type(key) is bytes}
    newest: dict[bytes, Delivery] = {}
    for delivery in (*place.deliveries.done.values(), *place.deliveries.live.values()):
        tag = delivery.tag
        if tag is not None and tag in tags and delivery.link is sender_of(old):
            last = newest.get(tag)
            if last is None or last.mark.frame < delivery.mark.frame:
                newest[tag] = delivery
    for tag, delivery in newest.items():
        settled = delivery.rcv_settled if receiver else delivery.snd_settled
        if settled is not None:
            report.sure(
                event,
                f"delivery {tag_of(tag)} of link {old.label()} is listed as unsettled by the peer"
                " that has settled it",
                "attach.unsettled",
                ((settled, "its settlement"), (delivery.mark, "the delivery")),
            )
            return


@rule("RES-018", "2.8.15", SHOULD, WARNING, on="end", needs="!discarded")
def unsettled_map_too_big(
    event: Event, report: Reporter, session: SessionEnd, session_pair: SessionEnd
) -> None:
    """A peer whose list of unsettled deliveries does not fit into a frame sends a part of it.

    It marks the list as incomplete. Ending the session with amqp:frame-size-too-small instead
    leaves everything unresolved. Reported when the session is ended so while an attach is
    unanswered.

    Bad (attaching_sender unsettled={b"7"=null}):
        server: end[0] error=error(condition=:amqp:frame-size-too-small
                description="the map does not fit")   # <- RES-018
        client: end[0]

    Good (attaching_sender unsettled={b"7"=null}):
        server: attach[0] name="s" handle=0 role=receiver source=source()
                target=target(address="q")
                unsettled={b"7"=received(section-number=0 section-offset=0)}
                incomplete-unsettled=true
    """
    body = event.body
    error = body.error if isinstance(body, End) else None
    if not isinstance(error, Error) or error.condition != FRAME_SIZE_TOO_SMALL:
        return
    for link in session_pair.unpaired:
        if event.knew(link.mark) and link.attach is not None and link.attach.unsettled is not None:
            report.suspect(
                event,
                f"the session is ended with {FRAME_SIZE_TOO_SMALL} instead of answering link"
                f" {link.label()} with an incomplete list of unsettled deliveries",
                "end.error.condition",
                ((link.mark, "the attach that was not answered"),),
            )
            return


@rule("RES-019", "2.7.3", IMPLIED, INFO, on="attach", needs="!damaged")
def incomplete_without_map(event: Event, report: Reporter, body: Attach) -> None:
    """A peer that marks its list of unsettled deliveries as incomplete sends a list.

    It is not forbidden to send none: perhaps not even one entry fits.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                incomplete-unsettled=true initial-delivery-count=0   # <- RES-019

    Good (session):
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                unsettled={b"7"=null} incomplete-unsettled=true initial-delivery-count=0
    """
    if body.unsettled is not None:
        return
    if body.incomplete_unsettled and 7 not in body.wrong:
        report.suspect(
            event,
            "the list of unsettled deliveries is marked as incomplete, but there is none",
            "attach.incomplete-unsettled",
        )
