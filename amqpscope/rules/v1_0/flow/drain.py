"""Draining credit (FLW; spec 2.6.7)."""

from __future__ import annotations

from amqpscope.model.serial import unwrap
from amqpscope.model.v1_0 import event as kinds
from amqpscope.model.v1_0.event import Event
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.rules.v1_0 import ERROR, IMPLIED, INFO, Reporter, rule
from dissectors.v1_0.bodies import Flow


@rule("FLW-023", "2.6.7", IMPLIED, ERROR, on="odd-flow sender-flow")
def drain_set_by_sender(
    event: Event, report: Reporter, body: Flow, link: LinkEnd, pair: LinkEnd
) -> None:
    """Only the receiver turns drain on; the sender's flow repeats what it last heard.

    A receiver that sees drain come from nowhere takes its credit for used up.

    Bad (sending):
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
                drain=true   # <- FLW-023

    Good (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
    """
    if not body.drain:
        asked = pair.receiving.drain and event.surely_knew(pair.receiving.drain_mark)
        if asked and not event.kinds & kinds.WRONG:
            report.suspect(
                event,
                f"sender {link.label()} sends a flow without drain, though it knew that the"
                " receiver has it on",
                "flow.drain",
                ((pair.receiving.drain_mark, "the receiver's flow with drain"),),
                severity=INFO,
            )
        return
    if event.ahead or pair.receiving.credit.unsure or event.knew(pair.receiving.first_drain):
        return
    if link.again or pair.again or not pair.session.whole:
        return
    report.sure(
        event,
        f"sender {link.label()} sets drain, which the receiver never asked for",
        "flow.drain",
        ((pair.flow_mark, "the receiver's last flow"),),
    )


@rule("FLW-024", "2.6.7", IMPLIED, INFO, on="odd-flow receiver-flow")
def drain_left_on(event: Event, report: Reporter, body: Flow, link: LinkEnd) -> None:
    """Drain stays on until the receiver turns it off.

    A receiver that grants new credit after a finished drain and leaves drain on gets what is there
    at once and nothing after it. That may be meant, to poll; often a flag was forgotten.

    Bad (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=10 link-credit=10
                drain=true   # <- FLW-024

    Good (sending):
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
        server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=10 link-credit=10 drain=false
    """
    if not body.drain or not link.receiving.drain:
        return
    pair = link.pair
    before = link.receiving.credit.latest()
    if pair is None or before is None or not body.link_credit:
        return
    count = pair.sending.count_low
    if count is None or count < before.limit or body.delivery_count is None:
        return
    if unwrap(body.delivery_count, before.limit) + body.link_credit > before.limit:
        if not report.once(link):
            return
        report.suspect(
            event,
            f"receiver {link.label()} grants {body.link_credit} credit again with drain still on,"
            " after the sender had drained",
            "flow.drain",
            ((link.receiving.drain_mark, "the flow that asked to drain before"),),
        )
