"""What an act of AMQP 1.0 waits for in any case: what a message or grant may follow from."""

from __future__ import annotations

from collections.abc import Hashable

from amqpscope.protocols.replay_origins import Passed
from amqpscope.protocols.v1_0.replay_message import body_of, properties_of
from amqpscope.protocols.v1_0.replay_script import Delivery, Grant


def only_allows_more(grant: Grant, side: int) -> bool:
    """Whether a grant of a peer may come early: a drain, or an end of credit, may not."""
    link, body = grant.link, grant.body
    if link is None:
        return True
    return link.sender != side and bool(body.link_credit) and not body.drain


def passed_message(delivery: Delivery) -> Passed:
    """What tells a delivery from others: its body, and its ids."""
    properties = properties_of(delivery.payload)
    message_id = None if properties is None else properties.message_id
    answers = None if properties is None else properties.correlation_id
    ids = [each for each in (message_id, answers) if each and isinstance(each, Hashable)]
    refusals = [each.cue for each in delivery.answers if not each.cue.soft]
    return Passed((body_of(delivery.payload), str(message_id)), tuple(ids), tuple(refusals))
