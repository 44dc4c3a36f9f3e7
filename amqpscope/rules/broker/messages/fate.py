"""What was not to be delivered at all (BRK-124, 127 to 130; spec 2.6.14, 3.4, 4.4.1)."""

from __future__ import annotations

from amqpscope.model.broker.envelope import ABORTED, CUT, PENDING, REFUSALS, RETURNED, ROLLED_BACK
from amqpscope.model.broker.journey import Leg, is_one_connection, precedes
from amqpscope.model.broker.moment import Moment, was_forwarded
from amqpscope.rules.broker import IMPLIED, MUST, WARNING, Reporter, also, rule


@rule("BRK-124", "3.4.3", IMPLIED, WARNING, on="refused")
def refused_message_delivered(moment: Moment, report: Reporter) -> None:
    """A message that the broker refused is not delivered.

    Of a message that an exchange or topic hands to many, one may have refused it and others not;
    so only what was published to the very node that it comes from is meant.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=rejected()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")   # <- BRK-124

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 settled=true state=released()
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=1 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
    """
    publish, leg = moment.publish, moment.leg
    if publish is None or publish.outcome not in REFUSALS or not moment.identified:
        return
    if publish.node is not leg.node or was_forwarded(leg.envelope) or moment.holed:
        return
    answered = publish.verdict.mark
    nacked = not publish.envelope.has_header and publish.outcome != RETURNED
    if nacked and (answered is None or precedes(leg.mark, leg.lane, answered, publish.lane)):
        return  # a broker that nacks in 0-9 does not say that it had not delivered it before
    if not moment.is_queue and not is_sent_after(publish, leg):
        return
    if leg.outcome in REFUSALS or leg.lost is not None:
        return  # what a router answers is what its consumer says
    text = f"delivered, but the broker answered its publish with {publish.outcome}"
    report.find(moment, text)


def is_sent_after(publish: Leg, leg: Leg) -> bool:
    """Whether a message was sent to its only consumer after the broker had refused it."""
    refused = publish.verdict.mark
    if refused is None or leg.node.lanes != [leg.lane]:
        return False
    return precedes(refused, publish.lane, leg.mark, leg.lane)


@rule("BRK-127", "2.6.14", MUST, WARNING, on="scrapped")
def aborted_message_delivered(moment: Moment, report: Reporter) -> None:
    """A message whose producer has aborted it is not delivered.

    The producer may have sent it again on another connection, which is the usual reason.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 more=false aborted=true
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")   # <- BRK-127

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 more=false aborted=true
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=1 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
    """
    if is_scrap(moment, ABORTED):
        report.find(moment, "delivered although its producer has aborted it", sure=True)


@rule("BRK-130", "2.6.14", IMPLIED, WARNING, on="scrapped")
def partial_message_delivered(moment: Moment, report: Reporter) -> None:
    """What came of a message before its connection was lost is not delivered as if it were all.

    Bad (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                  | properties(message-id="m1") data(b"the first half")
        A.client: RST
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"the first half")   # <- BRK-130

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true
                  | properties(message-id="m1") data(b"the first half")
        A.client: RST
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m2") data(b"another one")
    """
    if is_scrap(moment, CUT):
        text = "delivered as if it were whole, but its producer was cut off before its end"
        report.find(moment, text, sure=True)


def is_scrap(moment: Moment, word: str) -> bool:
    """Whether the one publish of a message came to such an end."""
    publishes = moment.journey.publishes
    return len(publishes) == 1 and publishes[0].outcome == word and not moment.holed


@rule("BRK-128", "4.4.1", IMPLIED, WARNING, on="posted")
def uncommitted_message_delivered(moment: Moment, report: Reporter) -> None:
    """What is posted in a transaction is not delivered before it is discharged.

    Bad (posting):
        A.client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1"
                  state=transactional-state(txn-id=b"t")
                  | properties(message-id="m1") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")   # <- BRK-128

    Good (posting):
        A.client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1"
                  state=transactional-state(txn-id=b"t")
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                  | amqp-value(discharge(txn-id=b"t" fail=false))
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=1 settled=true
                  state=transactional-state(txn-id=b"t" outcome=accepted())
        A.server: disposition[0] role=receiver first=2 settled=true state=accepted()
    """
    if is_of_1_0(moment) and is_posted(moment, PENDING):
        text = "delivered although the transaction in which it was posted is not discharged"
        report.find(moment, text, sure=moment.on_one_clock)


@rule("BRK-129", "4.4.1", IMPLIED, WARNING, on="posted")
def rolled_back_message_delivered(moment: Moment, report: Reporter) -> None:
    """What was posted in a transaction that was rolled back is not delivered.

    Bad (posting):
        A.client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1"
                  state=transactional-state(txn-id=b"t")
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                  | amqp-value(discharge(txn-id=b"t" fail=true))
        A.server: disposition[0] role=receiver first=2 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")   # <- BRK-129

    Good (posting):
        A.client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1"
                  state=transactional-state(txn-id=b"t")
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=2 delivery-tag=b"2" message-format=0
                  | amqp-value(discharge(txn-id=b"t" fail=false))
        A.server: disposition[0] role=receiver first=1 settled=true
                  state=transactional-state(txn-id=b"t" outcome=accepted())
        A.server: disposition[0] role=receiver first=2 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
    """
    if is_of_1_0(moment) and is_posted(moment, ROLLED_BACK):
        text = "delivered although the transaction in which it was posted was rolled back"
        report.find(moment, text, sure=True)


@also("A09-TX-07", on="posted")
def tx_publish_delivered_early(moment: Moment, report: Reporter) -> None:
    """What a channel of 0-9 publishes in a transaction waits, on other connections too."""
    publish, leg = moment.publish, moment.leg
    if publish is None or is_of_1_0(moment) or is_one_connection(publish.lane, leg.lane):
        return
    for state, word in ((PENDING, "not committed"), (ROLLED_BACK, "rolled back")):
        if is_posted(moment, state):
            text = f"delivered although the transaction in which it was published is {word}"
            report.find(moment, text)


def is_of_1_0(moment: Moment) -> bool:
    """Whether a message was published in 1.0, whose transactions have rules of their own."""
    return moment.publish is not None and moment.publish.envelope.has_header


def is_posted(moment: Moment, state: str) -> bool:
    """Whether a message was surely published in a transaction that is so far."""
    publish = moment.publish
    if publish is None or not moment.identified or moment.holed:
        return False
    return publish.commitment.state == state
