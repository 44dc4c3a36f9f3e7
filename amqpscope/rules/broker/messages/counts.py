"""How often a message was tried, as the broker counts (BRK-112 to 115, 120; spec 3.2.1, 3.4)."""

from __future__ import annotations

from amqpscope.model.broker.envelope import ACCEPTED, MODIFIED, PRESETTLED, REJECTED, RELEASED
from amqpscope.model.broker.journey import Leg
from amqpscope.model.broker.moment import Moment, is_direct, was_forwarded
from amqpscope.rules.broker import IMPLIED, INFO, MUST, SHOULD, WARNING, Reporter, also, rule


def attempts(moment: Moment) -> tuple[Leg, int, int] | None:
    """The delivery before from the same node, its delivery-count and that of this one."""
    earlier, leg = moment.earlier, moment.leg
    if earlier is None or not moment.identified or moment.journey.doubtful:
        return None
    if (
        leg.lane.route.copy
        or earlier.lane.route.copy
        or was_forwarded(leg.envelope)
        or moment.holed
    ):
        return None
    if earlier.lane is not leg.lane and not moment.is_queue:
        return None  # each subscriber of a topic has a copy of its own
    if earlier.outcome in (ACCEPTED, PRESETTLED):
        return None  # this one is a copy, of whatever origin
    before, after = earlier.envelope.open().delivery_count, leg.envelope.open().delivery_count
    if before is None or after is None:
        return None
    return earlier, before, after


@rule("BRK-112", "3.2.1 delivery-count", IMPLIED, INFO, on="matched reheaded")
def first_delivery_count_wrong(moment: Moment, report: Reporter) -> None:
    """The first delivery of a message has the delivery-count that its publisher gave it.

    Somebody outside of the captures may have tried before, so this needs all connections in view.

    Bad (published):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(delivery-count=2) properties(message-id="m1") data(b"x")   # <- BRK-112

    Good (published):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(delivery-count=0) properties(message-id="m1") data(b"x")
    """
    publish = moment.publish
    if publish is None or not moment.closed or moment.journey.delivered > 1:
        return
    if not is_direct(moment):
        return
    if moment.leg.envelope.head == publish.envelope.head or was_forwarded(moment.leg.envelope):
        return
    before = publish.envelope.open().delivery_count
    after = moment.leg.envelope.open().delivery_count
    if before is not None and after is not None and before != after:
        text = f"delivered for the first time with delivery-count {after}, published with {before}"
        report.find(moment, text, "header.delivery-count")


@rule("BRK-113", "3.2.1", MUST, WARNING, on="delivered again")
def delivery_count_law_broken(moment: Moment, report: Reporter) -> None:
    """The delivery-count rises by one for an attempt that failed or was rejected, and for no other.

    A count that is too low is reported. One that is too high may come from an attempt of somebody
    else, so it is reported only where all connections are in view.

    Bad (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true
                  state=modified(delivery-failed=true)
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(delivery-count=0) properties(message-id="m1") data(b"x")   # <- BRK-113

    Good (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true
                  state=modified(delivery-failed=true)
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(delivery-count=1) properties(message-id="m1") data(b"x")
    """
    found = attempts(moment)
    if found is None:
        return
    earlier, before, after = found
    if earlier.outcome not in (RELEASED, MODIFIED, REJECTED):
        return
    expected = before + int(earlier.verdict.failed or earlier.outcome == REJECTED)
    failed = " with delivery-failed" if earlier.verdict.failed else ""
    text = f"delivery-count is {after}, not {expected}: {before} before {earlier.outcome}{failed}"
    if before <= after < expected:
        report.find(moment, text, "header.delivery-count", sure=True, again=True)
    elif after > expected and moment.closed:
        report.find(moment, text, "header.delivery-count")


@rule("BRK-114", "3.2.1", IMPLIED, WARNING, on="delivered again")
def delivery_count_falls(moment: Moment, report: Reporter) -> None:
    """The delivery-count of a message does not fall at one node.

    Bad (published):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(delivery-count=3) properties(message-id="m1") data(b"x")   # <- BRK-112
        B.client: disposition[0] role=receiver first=0 settled=true state=released()
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | header(delivery-count=0) properties(message-id="m1") data(b"x")   # <- BRK-114

    Good (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true state=released()
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")
    """
    found = attempts(moment)
    if found is None:
        return
    _, before, after = found
    if after < before:
        text = f"delivery-count falls from {before} to {after}"
        report.find(moment, text, "header.delivery-count", sure=True, again=True)


@rule("BRK-115", "3.2.1 first-acquirer", IMPLIED, WARNING,
      on="delivered again")  # fmt: skip
def first_acquirer_untrue(moment: Moment, report: Reporter) -> None:
    """A message that another link has acquired before has no first-acquirer.

    Bad (waiting):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(first-acquirer=true) properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=0 settled=true state=released()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(first-acquirer=true) properties(message-id="m1") data(b"x") # <- BRK-115

    Good (waiting):
        B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(first-acquirer=true) properties(message-id="m1") data(b"x")
        B.client: disposition[0] role=receiver first=0 settled=true state=released()
        C.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
                  | header(first-acquirer=false) properties(message-id="m1") data(b"x")
    """
    earlier = moment.earlier
    if earlier is None or earlier.lane is moment.leg.lane or attempts(moment) is None:
        return
    if moment.is_queue and moment.leg.envelope.open().first_acquirer:
        text = "first-acquirer is true, but another link has acquired the message before"
        report.find(moment, text, "header.first-acquirer", sure=True, again=True)


@also("A09-BAS-28", on="delivered again")
def redelivered_flag_missing(moment: Moment, report: Reporter) -> None:
    """What was given back, or lost with its connection, is marked when it is delivered again."""
    earlier, leg, journey = moment.earlier, moment.leg, moment.journey
    if earlier is None or leg.envelope.has_header or leg.redelivered or not moment.identified:
        return
    if moment.holed:
        return
    if (
        journey.doubtful
        or journey.published != 1
        or leg.lane.route.copy
        or was_forwarded(leg.envelope)
    ):
        return
    if earlier.outcome == RELEASED or (earlier.lost is not None and not earlier.outcome):
        how = earlier.outcome or "lost with its channel or connection"
        text = f"delivered again after it was {how}, not marked as redelivered"
        report.find(moment, text, "basic.deliver.redelivered")


@rule("BRK-120", "3.4.5", SHOULD, WARNING, on="delivered again")
def modified_annotations_missing(moment: Moment, report: Reporter) -> None:
    """The annotations of a modified outcome are there when the message is delivered again.

    Bad (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true
                  state=modified(message-annotations={:x-opt-why="busy"})
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | properties(message-id="m1") data(b"x")   # <- BRK-120

    Good (delivered):
        B.client: disposition[0] role=receiver first=0 settled=true
                  state=modified(message-annotations={:x-opt-why="busy"})
        B.server: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1"
                  | message-annotations({:x-opt-why="busy"}) properties(message-id="m1") data(b"x")
    """
    earlier = moment.earlier
    if earlier is None or earlier.outcome != MODIFIED or attempts(moment) is None:
        return
    ours = moment.leg.envelope.open().annotations
    missing = [key for key, value in earlier.verdict.annotations.items() if ours.get(key) != value]
    if missing:
        text = f"the consumer's modified set {missing[0]}, and the message comes again without it"
        report.find(moment, text, f"message-annotations.{missing[0]}", once=True)
