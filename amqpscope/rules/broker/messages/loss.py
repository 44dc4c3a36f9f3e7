"""Messages that a broker had and does not have any more (BRK-020, 036, 118, 123, 131).

Spec 2.6.12, 3.4 and 3.5.2.
"""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.envelope import ACCEPTED, MODIFIED, RELEASED
from amqpscope.model.broker.moment import Moment
from amqpscope.model.mark import Mark
from amqpscope.rules.broker import IMPLIED, INFO, MUST, WARNING, Reporter, rule
from amqpscope.rules.broker.messages.order import DELAYS

GRACE: Final = 1_000_000_000
"""Nanoseconds in which a broker has surely put a message where consumers get it."""
PATIENCE: Final = 2
"""Failed attempts after which a broker may rightly give a message up."""


@rule("BRK-020", "2.3.7", IMPLIED, INFO, on="drained | delivered again")
def default_outcome_not_followed(moment: Moment, report: Reporter) -> None:
    """What a consumer had that is gone without a word comes again, unless the link says otherwise.

    The default-outcome of the source says what becomes of it: accepted, and it is not to come
    again; released or modified, or where nothing is said, and it is. That it does not come needs
    all connections in view.

    Bad (delivered):
        B.client: RST
        @5s C.client: attach[0] name="late" handle=0 role=receiver source=source(address="q")
                      target=target()
        C.server: attach[0] name="late" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        C.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0
                  drain=true   # <- BRK-020

    Good (delivered):
        B.client: RST
        @5s C.client: attach[0] name="late" handle=0 role=receiver source=source(address="q")
                      target=target()
        C.server: attach[0] name="late" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(delivery-count=1) properties(message-id="m1") data(b"x")
    """
    leg, earlier = moment.leg, moment.earlier
    if earlier is None:
        if leg.lost is None or leg.is_publish or not is_lost(moment, report):
            return
        if not is_over_restart(moment, report):
            text = f"the broker has nothing more on {leg.node.name}, and never delivered message "
            text += f"{message_name(moment)} again, whose consumer was gone without a word"
            report.find(moment, text, empty=True)
        return
    if earlier.lost is None or earlier.outcome or not moment.identified or moment.holed:
        return
    if earlier.lane.route.default_outcome == ACCEPTED and moment.journey.published == 1:
        text = "delivered again after its consumer was gone, though the default-outcome is accepted"
        report.find(moment, text)


@rule("BRK-036", "2.3.12", IMPLIED, INFO, on="drained")
def browsed_message_consumed(moment: Moment, report: Reporter) -> None:
    """What is browsed stays where it is.

    A link with distribution-mode `copy` got the message, and then a consumer who asked for all
    there is did not. It needs all connections in view.

    Bad (through):
        C.client: attach[0] name="b" handle=0 role=receiver target=target()
                  source=source(address="q" distribution-mode=:copy)
        C.server: attach[0] name="b" handle=0 role=sender target=target()
                  source=source(address="q" distribution-mode=:copy) initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        C.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        @3s B.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        B.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0
                  drain=true   # <- BRK-036

    Good (through):
        C.client: attach[0] name="b" handle=0 role=receiver target=target()
                  source=source(address="q" distribution-mode=:copy)
        C.server: attach[0] name="b" handle=0 role=sender target=target()
                  source=source(address="q" distribution-mode=:copy) initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        C.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        @2s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                      | properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        @4s B.client: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=1 link-credit=9 drain=true
        B.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
    """
    leg = moment.leg
    if not leg.is_publish or not moment.journey.delivered:
        return
    if is_lost(moment, report) and not is_over_restart(moment, report):
        text = f"the broker has nothing more on {leg.node.name}; message {message_name(moment)}"
        report.find(moment, f"{text} was only browsed", empty=True)


@rule("BRK-118", "3.4.4", IMPLIED, WARNING, on="drained")
def released_message_not_offered_again(moment: Moment, report: Reporter) -> None:
    """A message that a consumer gives back is offered again.

    A consumer asked for all there is, and the broker says that there is nothing more. A limit of
    attempts may have removed the message, so this is never certain, and nothing is said of what has
    failed twice; and it needs all connections in view.

    Bad (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true state=released()
        @3s B.client: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=1 link-credit=9 drain=true
        B.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0
                  drain=true   # <- BRK-118

    Good (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true state=released()
        @1s B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                      | properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=1 settled=true state=accepted()
        @3s B.client: flow[0] next-incoming-id=2 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=2 link-credit=8 drain=true
        B.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=2
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
    """
    leg = moment.leg
    if leg.outcome not in (RELEASED, MODIFIED) or leg.is_publish:
        return
    if sum(each.verdict.failed for each in moment.journey.deliveries) >= PATIENCE:
        return
    if is_lost(moment, report) and not is_over_restart(moment, report):
        text = f"the broker has nothing more on {leg.node.name}, and never delivered message "
        report.find(
            moment, f"{text}{message_name(moment)} again, which was {leg.outcome}", empty=True
        )


@rule("BRK-123", "2.6.12", IMPLIED, WARNING, on="drained")
def accepted_message_lost(moment: Moment, report: Reporter) -> None:
    """A message that the broker has accepted is delivered, or is still there.

    A consumer of the queue asked for all there is, and the broker says that there is nothing more.
    Limits and policies of a queue may have removed it, so this is never certain; and it needs all
    connections in view.

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

    Good (published):
        @1s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                      | properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        @3s B.client: flow[0] next-incoming-id=1 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=1 link-credit=9 drain=true
        B.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=1
                  outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
    """
    leg = moment.leg
    if moment.journey.delivered:
        return  # BRK-036
    if leg.is_publish and is_lost(moment, report) and not is_over_restart(moment, report):
        text = f"the broker has nothing more on {leg.node.name}, and never delivered message "
        report.find(moment, f"{text}{message_name(moment)}, which it had accepted", empty=True)


@rule("BRK-131", "3.2.1", MUST, WARNING, on="drained")
def durable_message_lost_in_restart(moment: Moment, report: Reporter) -> None:
    """A durable message that the broker has accepted is there after it starts again.

    That it started again is shown by all its connections: it dropped them without a word, and then
    took new ones. A queue that is not durable, or that is another one now, has none of them; so
    this is never certain, and it needs all connections in view.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(durable=true) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @1s A.server: RST
        B.server: RST
        C.server: RST
        @5s D.client: header AMQP 1.0.0
        D.server: header AMQP 1.0.0
        D.client: open container-id="c" max-frame-size=65536 channel-max=100
        D.server: open container-id="s" max-frame-size=65536 channel-max=100
        D.client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        D.server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100
                  outgoing-window=100
        D.client: attach[0] name="r" handle=0 role=receiver source=source(address="q")
                  target=target()
        D.server: attach[0] name="r" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        D.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        @6s D.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=10 link-credit=0
                      drain=true   # <- BRK-131

    Good (published):
        @1s A.server: RST
        B.server: RST
        C.server: RST
        @5s D.client: header AMQP 1.0.0
        D.server: header AMQP 1.0.0
        D.client: open container-id="c" max-frame-size=65536 channel-max=100
        D.server: open container-id="s" max-frame-size=65536 channel-max=100
        D.client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
        D.server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100
                  outgoing-window=100
        D.client: attach[0] name="r" handle=0 role=receiver source=source(address="q")
                  target=target()
        D.server: attach[0] name="r" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        D.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10 drain=true
        @6s D.server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                      outgoing-window=100 handle=0 delivery-count=10 link-credit=0 drain=true
    """
    leg, publish = moment.leg, moment.publish
    if publish is None or not publish.envelope.open().durable or leg.node.fleeting:
        return
    if publish.outcome == ACCEPTED and is_over_restart(moment, report) and is_lost(moment, report):
        text = f"durable message {message_name(moment)} was accepted, and is not on {leg.node.name}"
        report.find(moment, f"{text} any more after the broker started again", empty=True)


def message_name(moment: Moment) -> str:
    """A message by its id, or by the frame that published it."""
    leg = moment.leg if moment.publish is None else moment.publish
    return leg.envelope.id_text or f"of frame {leg.mark.frame}"


def had(moment: Moment) -> Mark | None:
    """Since when the broker had the message for itself."""
    leg = moment.leg
    return leg.lost if leg.verdict.mark is None else leg.verdict.mark


def is_over_restart(moment: Moment, report: Reporter) -> bool:
    """Whether the broker started again between the time it had the message and now."""
    restarted, mark = moment.broker.restarted, had(moment)
    if restarted is None or mark is None:
        return False
    return mark.time <= restarted < report.mark.time


def is_lost(moment: Moment, report: Reporter) -> bool:
    """Whether a message is gone that the broker had, and nothing visible explains it."""
    leg, lane, mark = moment.leg, report.lane, had(moment)
    if lane is None or mark is None or not moment.closed or moment.journey.doubtful:
        return False
    if moment.holed or leg.node.limited or leg.node.blurred or report.mark.time - mark.time < GRACE:
        return False
    # A node that keeps nothing has lost only what came while somebody was there to get it.
    since = lane.route.since
    kept = leg.node.is_queue or leg.node.keeps or not leg.is_publish
    kept = kept or is_over_restart(moment, report)
    if not kept and (since is None or since.time > leg.mark.time):
        return False
    content = leg.envelope.open()
    delayed = DELAYS.intersection(content.annotations)
    return content.ttl is None and content.expiry is None and not content.group and not delayed
