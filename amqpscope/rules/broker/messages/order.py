"""The order of what one producer sends (BRK-121; paper 2.2.2)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.moment import Moment, hopped
from amqpscope.rules.broker import INFO, SHOULD, Reporter, also, rule

DELAYS: Final = frozenset((
    "x-opt-delivery-time", "x-opt-delivery-delay", "x-opt-scheduled-enqueue-time", "x-delay",
))  # fmt: skip


@rule("BRK-121", "2.2.2", SHOULD, INFO, on="matched disordered")
def producer_order_broken(moment: Moment, report: Reporter) -> None:
    """Messages of one producer reach a consumer in the order in which they were published.

    Redeliveries aside, and as far as they have the same way and priority. Delays, groups and
    transactions change the order rightly.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m2") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m2") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")   # <- BRK-121

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(priority=9) properties(message-id="m2") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(priority=9) properties(message-id="m2") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
    """
    if moment.leg.envelope.has_header and is_disordered(moment):
        text = "delivered after a message that the same producer published later, to the same node"
        report.find(moment, text)


@also("A09-BAS-37", on="matched disordered")
def path_order_broken(moment: Moment, report: Reporter) -> None:
    """A channel of 0-9 keeps its order also on the way to a consumer on another connection."""
    publish, leg = moment.publish, moment.leg
    if publish is None or leg.envelope.has_header:
        return
    if publish.lane.connection != leg.lane.connection and is_disordered(moment):
        text = "delivered after a message that was published later on the same channel and way"
        report.find(moment, text)


def is_disordered(moment: Moment) -> bool:
    """Whether nothing explains that a message came after one that was published later."""
    publish, leg = moment.publish, moment.leg
    if publish is None or moment.journey.delivered > 1 or leg.redelivered or not moment.identified:
        return False
    if moment.holed:
        return False
    theirs, ours = publish.envelope.open(), leg.envelope.open()
    if publish.commitment.state or theirs.group or hopped(leg.envelope) or ours.delivery_count:
        return False
    if theirs.ttl is not None or ours.first_acquirer is False:
        return False
    if theirs.priority is not None and not leg.envelope.has_header:
        return False  # which priorities a queue of 0-9 keeps apart is not on the wire
    return moment.is_queue and not DELAYS.intersection(theirs.annotations)
