"""Messages that a broker took and does not have any more (BRK-123; spec 2.6.12)."""

from __future__ import annotations

from amqpscope.model.broker.moment import Moment
from amqpscope.rules.broker import IMPLIED, WARNING, Reporter, rule
from amqpscope.rules.broker.messages.order import DELAYS


@rule("BRK-123", "2.6.12", IMPLIED, WARNING, on="drained")
def accepted_message_lost(moment: Moment, report: Reporter) -> None:
    """A message that the broker has accepted is delivered, or is still there.

    The only consumer of the queue asked for all there is, and the broker says that there is nothing
    more. Limits and policies of a queue may have removed it, so this is never certain; and it needs
    all connections in view.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m2") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        @1s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                      | properties(message-id="m2") data(b"x")
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        @3s B.client: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=1 link-credit=9 drain=true
        B.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0
                  drain=true   # <- BRK-123

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @1s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                      | properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        @3s B.client: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=1 link-credit=9 drain=true
        B.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
    """
    publish, lane = moment.leg, report.lane
    accepted = publish.verdict.mark
    if lane is None or accepted is None or not moment.closed or moment.journey.doubtful:
        return
    route = lane.route
    if route.copy or route.filtered or route.unseen or not publish.node.is_queue:
        return
    if report.mark.time - accepted.time < 1_000_000_000:
        return
    content = publish.envelope.open()
    delayed = DELAYS.intersection(content.annotations)
    if content.ttl is not None or content.expiry is not None or content.group or delayed:
        return
    text = f"the broker has nothing more on {publish.node.name}, and never delivered message "
    text += publish.envelope.id_text or f"of frame {publish.mark.frame}"
    report.find(moment, text + ", which it had accepted", empty=True)
