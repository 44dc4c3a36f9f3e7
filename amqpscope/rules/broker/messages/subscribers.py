"""What each subscriber is to get, and not to get (BRK-133, 135; spec 3.5.2)."""

from __future__ import annotations

from amqpscope.model.broker.journey import is_one_connection
from amqpscope.model.broker.moment import Moment
from amqpscope.rules.broker import ADVISORY, IMPLIED, INFO, Reporter, rule


@rule("BRK-133", "3.5.2", IMPLIED, INFO, on="missed")
def subscriber_missed_message(moment: Moment, report: Reporter) -> None:
    """Every subscriber that was there when a message was published gets it.

    It had asked for messages without a filter, others got this one, and it got a later one of the
    same producer.

    Bad (subscribed):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true
                  | properties(message-id="m1") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" settled=true
                  | properties(message-id="m2") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m2") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" settled=true
                  | properties(message-id="m3") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2"
                  | properties(message-id="m3") data(b"x")
        C.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m3") data(b"x")   # <- BRK-133

    Good (subscribed):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true
                  | properties(message-id="m1") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" settled=true
                  | properties(message-id="m2") data(b"x")
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        C.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m2") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m2") data(b"x")
    """
    publish, lane = moment.publish, report.lane
    if publish is None or lane is None or moment.holed or lane.holed or moment.journey.doubtful:
        return
    content = publish.envelope.open()
    if publish.commitment.state or content.ttl is not None or content.expiry is not None:
        return
    message = publish.envelope.id_text or f"of frame {publish.mark.frame}"
    text = f"message {message} was not delivered to this subscriber, but to others"
    report.find(moment, text, empty=True)


@rule("BRK-135", "no-local", ADVISORY, INFO, on="matched excluded")
def no_local_message_delivered(moment: Moment, report: Reporter) -> None:
    """A consumer whose no-local filter is active does not get what its own connection publishes.

    Bad (own):
        A.client: transfer[0] handle=1 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")   # <- BRK-135

    Good (own):
        B.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
    """
    publish, leg = moment.publish, moment.leg
    if publish is None or not leg.lane.route.no_local or not leg.envelope.has_header:
        return
    if is_one_connection(leg.lane, publish.lane):
        text = "delivered to the connection that published it, whose filter no-local is active"
        report.find(moment, text, once=True)
