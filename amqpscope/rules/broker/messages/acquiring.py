"""One message, one consumer, until it is accepted (BRK-116, 117, 125; spec 3.3, 3.5.2)."""

from __future__ import annotations

from typing import Final

from amqpscope.model.broker.envelope import ACCEPTED, OPEN, PRESETTLED
from amqpscope.model.broker.journey import Leg, had_asked, is_awaited, is_one_connection, precedes
from amqpscope.model.broker.moment import Moment, was_forwarded
from amqpscope.model.broker.sharing import is_shared
from amqpscope.model.mark import Mark
from amqpscope.rules.broker import IMPLIED, MUST, WARNING, Reporter, rule

SHORTEST_LOCK: Final = 4_000_000_000
"""Nanoseconds for which a broker surely keeps a message locked for a consumer."""
MAX_COUNTED: Final = 32
"""Publishes of one message that are counted against its deliveries."""
GRACE: Final = 1_000_000_000
"""Nanoseconds after which a frame has surely reached the broker, and what it does the capture."""


def earlier_of(moment: Moment, copied: bool = False) -> Leg | None:
    """The delivery before from the same node, where a second one needs a reason; with `copied`
    also over the same link that browses it."""
    earlier, leg, journey = moment.earlier, moment.leg, moment.journey
    if earlier is None or not moment.identified or journey.doubtful or journey.published != 1:
        return None
    if was_forwarded(leg.envelope) or moment.holed or is_perhaps_older(earlier, moment.publish):
        return None
    browsed = leg.lane.route.copy or earlier.lane.route.copy
    return None if browsed and not (copied and earlier.lane is leg.lane) else earlier


def is_perhaps_older(earlier: Leg, publish: Leg | None) -> bool:
    """Whether a delivery may be of a message from before the capture: its node held some then, and
    a program that runs again uses the same ids."""
    if publish is None or not earlier.node.had_older or earlier.envelope.has_strong_id:
        return False
    return not had_asked(earlier, publish)


@rule("BRK-116", "3.3", IMPLIED, WARNING, on="delivered again")
def message_acquired_twice(moment: Moment, report: Reporter) -> None:
    """A queue gives a message to one consumer at a time.

    A broker may take a message back on its own, so that this is never certain; within four seconds
    it is not likely.

    Bad (held):
        @1s C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                      | properties(message-id="m1") data(b"x")   # <- BRK-116

    Good (held):
        @1s B.client: disposition[0] role=receiver first=0 settled=true state=released()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
    """
    earlier = earlier_of(moment)
    if earlier is None or not moment.is_queue or earlier.lane is moment.leg.lane:
        return
    if earlier.is_over or earlier.lane.ended is not None:
        return
    passed = moment.leg.mark.time - earlier.mark.time
    if 0 <= passed < SHORTEST_LOCK:
        text = "delivered to a second consumer while another one has it, not settled"
        report.find(moment, text, again=True)


@rule("BRK-117", "3.5.2", MUST, WARNING, on="delivered again")
def accepted_message_redelivered(moment: Moment, report: Reporter) -> None:
    """A message that a consumer has accepted is not delivered again from that node.

    That the broker has read the acceptance before is shown by its own frames; until then it may
    rightly deliver again what it takes for lost. Where the consumer is still there, and accepted
    soon, it has no such reason.

    Nothing on the wire needs to say that a node is a log, from which a consumer may read again what
    was accepted. Where three such messages or more come one after the other, in the order in which
    they came first, that is possible, and the finding is never certain. It is so of a broker that
    has lost outcomes in a restart, too.

    Bad (delivered):
        B.client: disposition[0] role=receiver first=0 state=accepted()
        B.server: disposition[0] role=sender first=0 settled=true state=accepted()
        @2s B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                      | properties(message-id="m1") data(b"x")   # <- BRK-117

    Good (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true state=accepted()
        B.client: FIN
        @2s C.client: attach[0] name="late" handle=0 role=receiver source=source(address="q")
                      target=target()
        C.server: attach[0] name="late" handle=0 role=sender source=source(address="q")
                  target=target() initial-delivery-count=0
        C.client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                  outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(delivery-count=1) properties(message-id="m1") data(b"x")
    """
    earlier = earlier_of(moment, copied=True)
    if earlier is None or earlier.outcome != ACCEPTED:
        return
    leg, read = moment.leg, earlier.read
    if earlier.lane is not leg.lane and not moment.is_queue:
        return
    if read is None:
        if is_unasked(moment, earlier):
            text = "delivered again after a consumer that is still there had accepted it"
            report.find(moment, text, again=True)
        return
    ordered = is_after(leg, earlier, read)
    if ordered or leg.mark.time - read.time > GRACE:
        text = "delivered again after a consumer had accepted it and the broker had read that"
        report.find(moment, text, sure=ordered, again=True)


def is_unasked(moment: Moment, earlier: Leg) -> bool:
    """Whether a broker delivers again what a consumer has accepted at once, which is still there.

    It has the message until the broker reads that. A while later it may be gone, and nobody saw it.
    """
    leg, accepted, publish = moment.leg, earlier.verdict.mark, moment.publish
    if accepted is None or publish is None or publish.node is not leg.node:
        return False
    if earlier.lane is not leg.lane and not is_shared(leg.node):
        return False  # one that keeps messages may have them for all who come
    if not leg.envelope.message_id:
        return False  # what is left of another message may look like it
    if earlier.lane.ended is not None or earlier.commitment.state:
        return False
    if not precedes(accepted, earlier.lane, leg.mark, leg.lane):
        return False
    if earlier.envelope.attempts() > publish.envelope.attempts():
        return False  # it is older, or was somewhere else before
    return 0 <= leg.mark.time - earlier.mark.time < SHORTEST_LOCK


def is_after(leg: Leg, earlier: Leg, read: Mark) -> bool:
    """Whether a broker sent a delivery after another frame of it, for sure.

    On one connection frames have an order. On another one it must answer what the consumer sent
    when the other frame had passed.
    """
    ours, theirs = leg.lane, earlier.lane
    if is_one_connection(ours, theirs):
        return leg.mark.frame >= read.frame
    return leg.cause is not None and ours.capture == theirs.capture and leg.cause.time > read.time


@rule("BRK-125", "3.3", IMPLIED, WARNING, on="delivered again")
def message_duplicated_on_node(moment: Moment, report: Reporter) -> None:
    """What was published once is there once: not a second time while the first is not given back.

    Of messages that are published several times alike, no more are delivered than were published.

    Bad (delivered):
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")   # <- BRK-125

    Good (through):
        A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        A.client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
        A.server: disposition[0] role=receiver first=0 last=1 settled=true state=accepted()
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | properties(message-id="m1") data(b"x")
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
    """
    leg, published = moment.leg, moment.journey.published
    kept = kept_deliveries(moment) if moment.closed and 1 < published <= MAX_COUNTED else 0
    if kept > published:
        text = f"delivered {kept} times, and not given back; it was published {published}"
        report.find(moment, f"{text} times")
        return
    earlier = earlier_of(moment)
    # A link on which nothing is settled may serve two nodes that both got a copy.
    if earlier is None or moment.publish is None or moment.publish.node is not leg.node:
        return
    if earlier.outcome == PRESETTLED and (earlier.lane is leg.lane or moment.is_queue):
        text = "delivered twice, the first time as settled; it was published once"
        report.find(moment, text, again=True)
        return
    if earlier.is_over or earlier.lane is not leg.lane:
        return
    if 0 <= leg.mark.time - earlier.mark.time < SHORTEST_LOCK:
        text = "delivered twice over one link, which has settled neither; it was published once"
        report.find(moment, text)


def kept_deliveries(moment: Moment) -> int:
    """How many deliveries of a message that was published several times consumers have kept.

    0 where some of it went another way.
    """
    journey, leg = moment.journey, moment.leg
    first, queue = journey.publishes[0], moment.is_queue
    if moment.holed or was_forwarded(leg.envelope):
        return 0
    if any(each.node is not leg.node or not each.outcome for each in journey.publishes):
        return 0
    if any(each.mark.time < first.mark.time for each in journey.deliveries):
        return 0
    if not leg.envelope.message_id and not is_awaited(journey.deliveries[0], first):
        return 0  # one that is older may have the same octets
    return sum(
        each.node is leg.node
        and (queue or each.lane is leg.lane)
        and not each.lane.route.copy
        and each.lost is None
        and each.outcome in (OPEN, ACCEPTED, PRESETTLED)
        for each in journey.deliveries
    )
