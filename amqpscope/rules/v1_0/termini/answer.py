"""Sources and targets between request and answer: dynamic nodes, and what was granted (SRC; 3.5).

The peer that sets a link up says what it wishes; the one that has the node says what is. The
second one's word counts, and the first has to look at it.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import FINISHED, TICK, Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.rules.v1_0 import ADVISORY, ERROR, IMPLIED, INFO, MUST, SHOULD, Reporter, rule
from amqpscope.rules.v1_0.parameters import attach_of
from amqpscope.rules.v1_0.termini._terminus import answered_end, initiates, symbols
from dissectors.v1_0.bodies import Attach, Body, Close, Detach, End, Source, Target
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.values import Described, Map, Value

SECOND: Final = 1_000_000_000


@rule("SRC-003", "3.5.3", MUST, ERROR, on="attach")
def dynamic_source_request_with_address(event: Event, report: Reporter) -> None:
    """A receiver that asks for a dynamic source does not give it an address.

    The address is what the other side makes up; brokers differ in whether they use the one given,
    make another, or refuse. On a link that was attached before, the receiver may repeat what it was
    given then, so there it is only suspected.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver source=source(address="q" dynamic=true)
                target=target()   # <- SRC-003

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(address="tmp/c/r"
                dynamic=true) target=target() initial-delivery-count=0
    """
    attach = attach_of(event)
    if attach is not None and attach.role is True and isinstance(attach.source, Source):
        report_named(event, report, attach, attach.source, "source")


@rule("SRC-005", "3.5.4", MUST, ERROR, on="attach")
def dynamic_target_request_with_address(event: Event, report: Reporter) -> None:
    """A sender that asks for a dynamic target does not give it an address.

    As for a source (SRC-003): the receiver makes the node and tells its address.

    Bad (session):
        client: attach[0] name="s" handle=0 role=sender target=target(address="q" dynamic=true)
                source=source() initial-delivery-count=0   # <- SRC-005

    Good (attaching_sender target=target(dynamic=true)):
        server: attach[0] name="s" handle=0 role=receiver target=target(address="tmp/c/s"
                dynamic=true) source=source()
    """
    attach = attach_of(event)
    if attach is not None and attach.role is False and isinstance(attach.target, Target):
        report_named(event, report, attach, attach.target, "target")


def report_named(
    event: Event, report: Reporter, attach: Attach, terminus: Source | Target, slot: str
) -> None:
    """Report an address in a request for a dynamic node."""
    if terminus.dynamic is not True or terminus.address is None or attach.name is None:
        return
    if not initiates(event, attach):
        return
    path = f"attach.{slot}.address"
    text = f'asks for a dynamic {slot} on link "{attach.name}", but gives an address'
    before = event.connection.links.get((event.peer, attach.name, attach.role is True), 0)
    if before or attach.unsettled is not None:
        report.suspect(event, text, path)
    else:
        report.sure(event, text, path)


@rule("SRC-004", "3.5.3", MUST, ERROR, on="tick | detach | end | close | finished")
def dynamic_source_without_address(event: Event, report: Reporter) -> None:
    """A sender that has made a dynamic source tells its address.

    The address is what the other side asked for: without it nobody can send to the node. A peer
    that refuses leaves the source null; one that repeats the request and detaches with an error is
    refusing too, so the answer is judged when it is clear that it was meant.

    Bad (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(dynamic=true)
                target=target() initial-delivery-count=0   # <- SRC-004
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender source=source(address="tmp/c/r"
                dynamic=true) target=target() initial-delivery-count=0
    """
    report_nameless(event, report, False)


@rule("SRC-006", "3.5.4", MUST, ERROR, on="tick | detach | end | close | finished")
def dynamic_target_without_address(event: Event, report: Reporter) -> None:
    """A receiver that has made a dynamic target tells its address.

    As for a source (SRC-004). The specification speaks of the source's address in this place,
    which is a slip.

    Bad (attaching_sender target=target(dynamic=true)):
        server: attach[0] name="s" handle=0 role=receiver target=target(dynamic=true)
                source=source()   # <- SRC-006
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true

    Good (attaching_sender target=target(dynamic=true)):
        server: attach[0] name="s" handle=0 role=receiver target=target(address="tmp/c/s"
                dynamic=true) source=source()
    """
    report_nameless(event, report, True)


def report_nameless(event: Event, report: Reporter, role: bool) -> None:
    """Report answers without an address that turn out to be no refusals."""
    for link in event.connection.nameless:
        if link.role is not role or undecided(event, link) or not report.once(link):
            continue
        if link.detach is None and not refusing(event):
            slot = "target" if role else "source"
            text = f"answers for the dynamic {slot} of link {link.label()} without its address"
            asked = link.pair.mark if link.pair is not None else None
            related = ((asked, "the attach that asked for it"),)
            owner = link.session.owner.peer
            path = f"attach.{slot}.address"
            if event.kinds & FINISHED and event.since(link.mark) < SECOND:
                report.suspect(event, text, path, related, peer=owner, mark=link.mark)
            else:
                report.sure(event, text, path, related, peer=owner, mark=link.mark)


def undecided(event: Event, link: LinkEnd) -> bool:
    """Whether the refusing detach may still come."""
    if link.detach is not None:
        return False
    body = event.body
    if event.peer == link.session.owner.peer:
        if isinstance(body, Close) or event.kinds & FINISHED:
            return False
        if isinstance(body, End) and event.session is link.session:
            return False
        if isinstance(body, Detach) and event.link is link:
            return False
    return not (event.kinds & TICK and event.since(link.mark) >= SECOND)


def refusing(event: Event) -> bool:
    """The frame at hand ends something with an error."""
    body = event.body
    return isinstance(body, (Detach, End, Close)) and (body.error is not None or bool(body.wrong))


@rule("SRC-007", "3.5.3", SHOULD, INFO, on="attach", default=False)
def dynamic_address_not_traceable(event: Event, report: Reporter, attach: Attach) -> None:
    """The address of a dynamic node contains the link's name and the requester's container-id.

    An operator can then see whose node it is. It makes the address easy to guess as well, and
    hardly any broker does it, so this rule runs only when asked for.

    Bad (attaching_receiver attach.name="r1" source=source(dynamic=true)):
        server: attach[0] name="r1" handle=0 role=sender source=source(address="tmp-77"
                dynamic=true) target=target() initial-delivery-count=0   # <- SRC-007

    Good (attaching_receiver):
        server: attach[0] name="r1" handle=0 role=sender source=source(address="tmp/c/r1"
                dynamic=true) target=target() initial-delivery-count=0
    """
    if answered_end(event, attach) is None or event.partner.open is None:
        return
    slot = "target" if attach.role else "source"
    own = attach.target if attach.role else attach.source
    container = event.partner.open.container_id
    if not isinstance(own, (Source, Target)) or own.dynamic is not True:
        return
    if not isinstance(own.address, str) or container is None or attach.name is None:
        return
    if attach.name not in own.address or container not in own.address:
        path = f"attach.{slot}.address"
        text = f'the address of the dynamic {slot} does not say that it is "{attach.name}"\'s'
        report.sure(event, text, path)


def wished_terminus(
    event: Event, attach: Attach
) -> tuple[LinkEnd, Source | Target, Source | Target] | None:
    """On an answer from the peer that has the node: the request, what it wished, what is."""
    link = answered_end(event, attach)
    if link is None or link.attach is None or not link.terms.clear:
        return None
    asked = link.attach.target if attach.role else link.attach.source
    given = attach.target if attach.role else attach.source
    if not isinstance(asked, (Source, Target)) or not isinstance(given, (Source, Target)):
        return None
    return link, asked, given


@rule("SRC-012", "3.5.9", IMPLIED, INFO, on="attach")
def node_properties_not_reported(event: Event, report: Reporter) -> None:
    """The answer for a dynamic node tells the lifetime that the node really has.

    A requester that asked for another one, and does not see it confirmed, may find its node gone
    sooner or left behind for ever.

    Bad (session):
        client: attach[0] name="r" handle=0 role=receiver target=target()
                source=source(dynamic=true
                dynamic-node-properties={:lifetime-policy=delete-on-no-messages()})
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="tmp/c/r" dynamic=true
                dynamic-node-properties={:lifetime-policy=delete-on-close()})   # <- SRC-012

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="tmp/c/r" dynamic=true
                dynamic-node-properties={:lifetime-policy=delete-on-close'symbol()})
    """
    attach = attach_of(event)
    found = None if attach is None else wished_terminus(event, attach)
    if attach is None or found is None:
        return
    link, asked, given = found
    wish, fact = policy_of(asked), policy_of(given)
    if not wish or wish == fact or given.dynamic is not True or given.address is None:
        return
    slot = "target" if attach.role else "source"
    text = f"the dynamic {slot} was to be {wish}, the answer says {fact or 'nothing'}"
    path = f"attach.{slot}.dynamic-node-properties"
    report.suspect(event, text, path, ((link.mark, "the request"),))


def policy_of(terminus: Source | Target) -> str:
    """The name of a dynamic node's lifetime policy."""
    properties = terminus.dynamic_node_properties
    policy = properties.get("lifetime-policy") if isinstance(properties, Map) else None
    return policy.row.name if isinstance(policy, Body) else ""


@rule("SRC-019", "3.5.3", IMPLIED, INFO, on="attach")
def terminus_durability_not_granted(event: Event, report: Reporter) -> None:
    """A durable terminus is one only if the answer says so too.

    The peer that has the node tells in its attach what durability and expiry policy are in force.
    A subscriber that asked for more and goes on regardless loses messages when it reconnects.
    Brokers also leave the fields at their defaults without meaning it, so it is a note.

    Bad (attaching_receiver attach.name="sub"
            source=source(address="t" durable=2 expiry-policy=:never)):
        server: attach[0] name="sub" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="t")   # <- SRC-019

    Good (attaching_receiver):
        server: attach[0] name="sub" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="t" durable=2 expiry-policy=:never)
    """
    attach = attach_of(event)
    found = None if attach is None else wished_terminus(event, attach)
    if attach is None or found is None:
        return
    link, asked, given = found
    slot = "target" if attach.role else "source"
    short: list[str] = []
    if (asked.durable or 0) > (given.durable or 0):
        short.append(f"durable {asked.durable}, granted {given.durable or 0}")
    if asked.expiry_policy == "never" and given.expiry_policy != "never":
        short.append(f"never to expire, granted {given.expiry_policy or 'session-end'}")
    if short:
        text = f"the {slot} of link {link.label()} was to be {' and '.join(short)}"
        request = ((link.mark, "the request"),)
        report.sure(event, text, f"attach.{slot}.durable", request, peer=1 - event.peer)


@rule("SRC-022", "3.5.3", IMPLIED, INFO, on="attach")
def distribution_mode_not_granted(event: Event, report: Reporter) -> None:
    """A receiver that wants to browse looks whether the answer says copy.

    Under move, or a mode that is not told, the messages that it accepts are gone for everybody
    else. Some brokers browse without saying so, hence a note.

    Bad (attaching_receiver source=source(address="q" distribution-mode=:copy)):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" distribution-mode=:move)   # <- SRC-022

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" distribution-mode=:copy)
    """
    attach = attach_of(event)
    found = None if attach is None else wished_terminus(event, attach)
    if found is None:
        return
    link, asked, given = found
    if not isinstance(asked, Source) or not isinstance(given, Source):
        return
    if asked.distribution_mode == "copy" and given.distribution_mode != "copy":
        text = (
            f"the receiver of link {link.label()} wants to copy messages,"
            f" the source's mode is {given.distribution_mode or 'not stated'}"
        )
        path = "attach.source.distribution-mode"
        report.sure(event, text, path, ((link.mark, "the request"),), peer=1 - event.peer)


@rule("SRC-026", "3.5.3", IMPLIED, INFO, on="attach")
def requested_filter_not_active(event: Event, report: Reporter) -> None:
    """The answer lists the filters that are in force; one that is not there does not filter.

    A receiver that does not look gets messages that it did not ask for, or loses those that it
    rejects. Filters are compared by descriptor, since the key is only a name. Some brokers apply
    a filter without listing it, hence a note.

    Bad (attaching_receiver
            source=source(address="q" filter={:f=@:apache.org:selector-filter:string "a = 1"})):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q")   # <- SRC-026

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" filter={:jms-selector=@ulong 0x468c00000004 "a = 1"})
    """
    attach = attach_of(event)
    found = None if attach is None else wished_terminus(event, attach)
    if found is None:
        return
    link, asked, given = found
    if not isinstance(asked, Source) or not isinstance(given, Source):
        return
    active = filter_names(given.filter)
    missing = [name for name in filter_names(asked.filter) if name not in active]
    if missing:
        text = f"the receiver asked for the filter {missing[0]}, the answer does not list it"
        request = ((link.mark, "the request"),)
        report.sure(event, text, "attach.source.filter", request, peer=1 - event.peer)


def filter_names(filters: Value) -> list[str]:
    """The filters of a set that are described, by their descriptors."""
    if not isinstance(filters, Map):
        return []
    return [descriptor_name(item.descriptor) for _, item in filters if isinstance(item, Described)]


@rule("SRC-036", "3.5.3", ADVISORY, INFO, on="attach")
def terminus_capability_not_granted(event: Event, report: Reporter) -> None:
    """A capability that is asked of a node is granted where the answer names it as well.

    "shared", "global", "topic" and the like decide what kind of node or subscription it is. Many
    brokers grant without naming, hence a note, made where the answer names none or others.

    Bad (attaching_receiver source=source(address="t" capabilities=[:topic :shared])):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="t" capabilities=:topic)   # <- SRC-036

    Good (attaching_receiver):
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="t" capabilities=[:shared :topic])
    """
    attach = attach_of(event)
    found = None if attach is None else wished_terminus(event, attach)
    if attach is None or found is None:
        return
    link, asked, given = found
    granted = symbols(given.capabilities)
    missing = [name for name in symbols(asked.capabilities) if name not in granted]
    if missing:
        slot = "target" if attach.role else "source"
        text = f"the {slot} was to have the capability {missing[0]}, the answer does not name it"
        request = ((link.mark, "the request"),)
        report.sure(event, text, f"attach.{slot}.capabilities", request, peer=1 - event.peer)
