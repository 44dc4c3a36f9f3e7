"""The order of what one producer sends (BRK-121, 122, 136; paper 2.2.2, 2.2.3)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.journey import is_one_connection
from amqpscope.model.broker.moment import Moment, was_forwarded
from amqpscope.rules.broker import ADVISORY, INFO, MUST, SHOULD, Reporter, also, rule

DELAYS: Final = frozenset((
    "x-opt-delivery-time", "x-opt-delivery-delay", "x-opt-scheduled-enqueue-time", "x-delay",
))  # fmt: skip


@rule("BRK-121", "2.2.2", SHOULD, INFO, on="disordered")
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
    publish = moment.publish
    if publish is None or publish.envelope.open().group:
        return
    if not is_of_0_9(moment) and is_disordered(moment):
        text = "delivered after a message that the same producer published later, to the same node"
        report.find(moment, text)


@rule("BRK-122", "3.2.1", MUST, INFO, on="outranked")
def priority_order_broken(moment: Moment, report: Reporter) -> None:
    """A message with less priority does not overtake one with more.

    The broker had accepted it before the consumer asked for what it got first. Not all queues have
    priorities; but one that has none keeps the order.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(priority=9) properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(priority=1) properties(message-id="m2") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        C.client: attach[0] name="late" handle=0 role=receiver source=source(address="q")
                  target=target()
        C.server: attach[0] name="late" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(priority=1) properties(message-id="m2") data(b"x")
        C.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(priority=9) properties(message-id="m1") data(b"x")   # <- BRK-122

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(priority=1) properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(priority=9) properties(message-id="m2") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        C.client: attach[0] name="late" handle=0 role=receiver source=source(address="q")
                  target=target()
        C.server: attach[0] name="late" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(priority=9) properties(message-id="m2") data(b"x")
        C.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(priority=1) properties(message-id="m1") data(b"x")
    """
    publish = moment.publish
    if publish is None or publish.envelope.open().group or not is_disordered(moment):
        return
    priority = publish.envelope.rank()
    text = f"delivered with priority {priority} after a message with less, published later"
    report.find(moment, text, "header.priority")


@rule("BRK-136", "3.2.4", ADVISORY, INFO, on="disordered")
def group_order_broken(moment: Moment, report: Reporter) -> None:
    """Messages of one group reach a consumer in the order in which they were published.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" group-id="g") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m2" group-id="g") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m2" group-id="g") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1" group-id="g") data(b"x")   # <- BRK-136

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" group-id="g") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m2" group-id="h") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m2" group-id="h") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1" group-id="g") data(b"x")
    """
    publish = moment.publish
    if publish is None or not publish.envelope.open().group or not is_disordered(moment):
        return
    group = publish.envelope.open().group
    text = f"delivered after a message of the same group {group}, published later"
    report.find(moment, text, "properties.group-id")


def is_of_0_9(moment: Moment) -> bool:
    """Whether a message was published and delivered in 0-9, which has a rule of its own."""
    publish, leg = moment.publish, moment.leg
    return publish is not None and not publish.envelope.has_header and not leg.envelope.has_header


@also("A09-BAS-37", on="matched disordered")
def path_order_broken(moment: Moment, report: Reporter) -> None:
    """A channel of 0-9 keeps its order also on the way to a consumer on another connection."""
    publish, leg = moment.publish, moment.leg
    if publish is None or leg.envelope.has_header:
        return
    if not is_one_connection(publish.lane, leg.lane) and is_disordered(moment):
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
    if publish.commitment.state or was_forwarded(leg.envelope) or ours.delivery_count:
        return False
    if theirs.ttl is not None or ours.first_acquirer is False:
        return False
    if publish.node is not leg.node and not moment.is_queue:
        return False
    return not DELAYS.intersection(theirs.annotations)
