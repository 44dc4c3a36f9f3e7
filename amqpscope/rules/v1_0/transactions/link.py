"""The attach of control links (TXN; spec 4.1, 4.2, 4.5.1).

The controller attaches as a sender to a coordinator; the resource answers with its capabilities.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.transaction import coordinator_link
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, rule
from amqpscope.rules.v1_0.topics import CONTROL_LINK
from dissectors.v1_0.bodies import Attach, Coordinator, Flow, Source, Target, Transfer
from dissectors.v1_0.values import Array, Symbol, type_of

REJECTED: Final = "amqp:rejected:list"
CAPABILITIES: Final = frozenset(
    (
        "amqp:local-transactions",
        "amqp:distributed-transactions",
        "amqp:promotable-transactions",
        "amqp:multi-txns-per-ssn",
        "amqp:multi-ssns-per-txn",
    )
)


@rule(
    "TXN-001",
    "4.1",
    IMPLIED,
    WARNING,
    on="attach transactional",
    needs="partner-anchored !discarded",
)
def coordinator_misplaced(
    event: Event, report: Reporter, body: Attach, session: SessionEnd, session_pair: SessionEnd
) -> None:
    """The controller opens the control link, as its sending end.

    A coordinator is a target; a peer that asks to receive from one has mixed up the roles. The
    resource's answer, a receiver with a coordinator as its target, is as it should be.

    Bad (session):
        client: attach[0] name="c" handle=0 role=receiver source=source()
                target=coordinator()   # <- TXN-001

    Good (attaching_sender attach.name="c" target=coordinator()):
        server: attach[0] name="c" handle=0 role=receiver source=source() target=coordinator()
    """
    if not body.role or not isinstance(body.target, Coordinator):
        return
    if event.partner.damaged:
        return
    for link in session_pair.unpaired:
        if link.name == body.name or not link.named:
            return
    report.sure(event, "a receiver attaches to a coordinator, which is a target", "attach.role")


@rule("TXN-002", "4.5.1", IMPLIED, WARNING, on="flow transactional", needs="!discarded")
def coordinator_not_echoed(
    event: Event, report: Reporter, body: Flow, link: LinkEnd, pair: LinkEnd
) -> None:
    """The resource answers the attach of a control link with a coordinator of its own.

    That is where it says what it can do. A plain target in its place, with credit after it, comes
    from a peer that takes the link for an ordinary one and will not understand a declare. A null
    target, or a detach at once, is a refusal and fine.

    Bad (attaching_sender attach.name="c" target=coordinator()):
        server: attach[0] name="c" handle=0 role=receiver source=source()
                target=target()   # <- TXN-002
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10

    Good (attaching_sender target=coordinator()):
        server: attach[0] name="c" handle=0 role=receiver source=source()
        server: detach[0] handle=0 closed=true error=error(
                condition=:amqp:not-implemented description="no transactions")
    """
    if not body.link_credit:
        return
    attach = link.attach
    if attach is None or not isinstance(attach.target, Target) or not coordinator_link(pair):
        return
    if not report.once(link, topic=CONTROL_LINK):
        return
    report.sure(
        event,
        f"control link {link.label()} is answered with a plain target, and given credit",
        "attach.target",
        ((pair.mark, "the attach to the coordinator"), (event.mark, "the credit")),
        mark=link.mark,
    )


@rule(
    "TXN-010",
    "4.2",
    IMPLIED,
    WARNING,
    on="attach transactional | resume coordinator",
    needs="!discarded",
)
def control_link_resumed(event: Event, report: Reporter) -> None:
    """Control links are not resumed: each begins with nothing unsettled.

    When a control link ends, its transactions are rolled back, so there is nothing to come back to.
    An empty unsettled map says the same as none.

    Bad (session):
        client: attach[0] name="c" handle=0 role=sender source=source() target=coordinator()
                unsettled={b"1"=null} initial-delivery-count=0   # <- TXN-010

    Good (session):
        client: attach[0] name="c" handle=0 role=sender source=source() target=coordinator()
                unsettled={} initial-delivery-count=0
    """
    body, link = event.body, event.link
    if isinstance(body, Attach):
        if isinstance(body.target, Coordinator) and body.unsettled:
            count = len(body.unsettled)
            report.sure(
                event, f"a control link is attached with {count} unsettled", "attach.unsettled"
            )
    elif isinstance(body, Transfer) and link is not None and coordinator_link(link):
        report.sure(event, "a transfer on a control link is marked resumed", "transfer.resume")


@rule("TXN-015", "4.2", SHOULD, WARNING, on="attach transactional")
def control_link_forbids_rejected(event: Event, report: Reporter, body: Attach) -> None:
    """The controller's source on a control link allows the rejected outcome.

    Without it the resource can only tell of a failed declare or discharge by detaching the link,
    which rolls back every other transaction on it. No list of outcomes forbids nothing.

    Bad (session):
        client: attach[0] name="c" handle=0 role=sender
                source=source(outcomes=[:amqp:accepted:list]) target=coordinator()
                initial-delivery-count=0   # <- TXN-015

    Good (session):
        client: attach[0] name="c" handle=0 role=sender
                source=source(outcomes=[:amqp:accepted:list :amqp:rejected:list])
                target=coordinator() initial-delivery-count=0
    """
    if body.role or not isinstance(body.target, Coordinator):
        return
    source = body.source
    said = source.outcomes if isinstance(source, Source) else None
    outcomes = list(said) if isinstance(said, Array) else [said] if said else []
    if outcomes and REJECTED not in outcomes and not event.discarded:
        listed = ", ".join(outcomes)
        report.sure(
            event, f"a control link allows only {listed}, not rejected", "attach.source.outcomes"
        )


@rule("TXN-024", "4.5.7", MUST, ERROR, on="attach transactional", needs="!discarded")
def txn_capability_malformed(event: Event, report: Reporter) -> None:
    """The capabilities of a coordinator are symbols, of those that the standard names.

    An unknown one may be an extension, and is only pointed out.

    Bad (session):
        client: attach[0] name="c" handle=0 role=sender source=source()
                target=coordinator(capabilities="amqp:local-transactions")
                initial-delivery-count=0   # <- TXN-024

    Good (session):
        client: attach[0] name="c" handle=0 role=sender source=source()
                target=coordinator(capabilities=:amqp:local-transactions)
                initial-delivery-count=0
    """
    body = event.body
    target = body.target if isinstance(body, Attach) else None
    if not isinstance(target, Coordinator) or event.frame.unit.faults:
        return
    path = "attach.target.capabilities"
    if 0 in target.wrong:
        kind = type_of(target.wrong[0])
        report.sure(event, f"the capabilities of a coordinator are of type {kind}", path)
        return
    said = target.capabilities
    names = list(said) if isinstance(said, Array) else [said] if isinstance(said, Symbol) else []
    strange = [name for name in names if name not in CAPABILITIES]
    if strange:
        text = f"no capability of a coordinator is called {strange[0]}"
        report.suspect(event, text, path, severity=INFO)
