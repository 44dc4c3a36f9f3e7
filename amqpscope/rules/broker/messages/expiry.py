"""Messages that live too long (BRK-110, 111; spec 3.2.1, 3.2.4)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.moment import Moment, is_direct, residence, was_forwarded
from amqpscope.rules.broker import IMPLIED, INFO, SHOULD, WARNING, Reporter, rule

MILLISECOND: Final = 1_000_000
SLACK: Final = 1_000 * MILLISECOND
"""How long a message may be on its way between the broker and the place of the capture."""
SKEW: Final = 60_000
"""Milliseconds by which the clocks of a publisher and of the capture may differ."""


@rule("BRK-110", "3.2.1", SHOULD, WARNING, on="aged")
def expired_message_delivered(moment: Moment, report: Reporter) -> None:
    """A message whose ttl has run out is not delivered.

    Where the consumer asked for it only afterwards, the delivery was too late for sure.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=1000) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @10s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                       | header(ttl=0) properties(message-id="m1") data(b"x")   # <- BRK-110

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(ttl=60000) properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @10s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                       | header(ttl=50000) properties(message-id="m1") data(b"x")
    """
    publish, leg = moment.publish, moment.leg
    if publish is None or leg.lane.route.copy or not is_direct(moment):
        return
    ttl = publish.envelope.open().ttl
    if ttl is None or was_forwarded(leg.envelope):
        return
    after = leg.mark.time - publish.last.time
    proven = residence(publish, leg) > (ttl + 1) * MILLISECOND
    if proven or after > ttl * MILLISECOND + SLACK:
        text = f"delivered {after // MILLISECOND} ms after it was published, with a ttl of {ttl} ms"
        report.find(moment, text, "header.ttl", sure=proven)


@rule("BRK-111", "3.2.4 absolute-expiry-time", IMPLIED, INFO,
      on="matched aged")  # fmt: skip
def absolute_expiry_passed(moment: Moment, report: Reporter) -> None:
    """A message is not delivered after its absolute-expiry-time.

    Clocks differ, so that a minute is nothing.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" absolute-expiry-time=1700000001000) data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @90s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                       | properties(message-id="m1" absolute-expiry-time=1700000001000)
                         data(b"x")   # <- BRK-111

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1" absolute-expiry-time=1700000001000) data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
        @10s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                       | properties(message-id="m1" absolute-expiry-time=1700000001000) data(b"x")
    """
    publish, leg = moment.publish, moment.leg
    if publish is None or leg.lane.route.copy or not is_direct(moment):
        return
    expiry = leg.envelope.open().expiry
    if expiry is None or moment.earlier is not None or was_forwarded(leg.envelope):
        return
    late = leg.mark.time // MILLISECOND - expiry
    # One that had expired when it was published has a clock of its own.
    if late > SKEW and publish.last.time // MILLISECOND < expiry:
        text = f"delivered {late // 1000} s after its absolute-expiry-time"
        report.find(moment, text, "properties.absolute-expiry-time")
