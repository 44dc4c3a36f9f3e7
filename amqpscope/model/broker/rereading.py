"""Messages that come again in the order in which they came first, as from a log that is read again.

Nothing on the wire needs to say that what is read from a node stays there. A consumer who begins at
an earlier place of an event hub, or of a topic of Kafka, gets again what another one has accepted.
A broker that has lost outcomes looks the same, so that neither is certain.
"""

from __future__ import annotations

from amqpscope.model.broker.envelope import ACCEPTED
from amqpscope.model.broker.journey import Leg, Rereading, precedes


def follow_again(leg: Leg, earlier: Leg | None) -> Rereading | None:
    """The run of messages that come again to which a delivery belongs; None where it has none.

    0-9 knows queues only, and marks what is read from a stream.
    """
    lane, journey = leg.lane, leg.journey
    if earlier is None or journey is None or not leg.envelope.has_header:
        lane.rereading = None
        return None
    first = journey.first_delivery
    if first is None or first.node is not leg.node:
        first = earlier
    run = lane.rereading
    if run is None or not precedes(run.newest.mark, run.newest.lane, first.mark, first.lane):
        run = lane.rereading = Rereading(first)
    run.newest = first
    if ACCEPTED in (first.outcome, earlier.outcome):
        run.accepted += 1
    return run
