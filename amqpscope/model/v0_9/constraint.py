"""What holds a channel or a consumer now: why nothing moves, since when, and who is waited for."""

from __future__ import annotations

from typing import Final

from amqpscope.model.constraint import CLOSED, IDLE, Constraint
from amqpscope.model.ending import CHANNEL, CONNECTION, CONSUMER, Ending
from amqpscope.model.mark import Mark
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import Connection
from amqpscope.model.v0_9.deliveries import PENDING, Consumer, Delivery
from amqpscope.model.v0_9.ending import channel_ending, consumer_ending
from amqpscope.stream.types import CLIENT, SERVER
from amqpscope.wording import plural

# fmt: off
BLOCKED:        Final = "connection blocked"
CHANNEL_CLOSED: Final = "channel closed"
FLOW_STOPPED:   Final = "channel flow stopped"
WAITING_REPLY:  Final = "waiting for a reply"
UNCONFIRMED:    Final = "waiting for confirms"
UNCOMMITTED:    Final = "transaction not committed"
CANCELLED:      Final = "cancelled"
PREFETCH:       Final = "prefetch reached"
UNACKED:        Final = "waiting for acks"
# fmt: on
ENDED_BY: Final = {CONNECTION: CLOSED, CHANNEL: CHANNEL_CLOSED, CONSUMER: CANCELLED}
"""What it is called that something ended, by what was ended."""


def over(connection: Connection, channel: Channel) -> Constraint | None:
    """The connection or the channel is closed, or being closed."""
    return ended_constraint(channel_ending(connection, channel))


def ended_constraint(ending: Ending | None) -> Constraint | None:
    """What holds something that ended."""
    if ending is None:
        return None
    return Constraint(ENDED_BY[ending.what], ending.mark, ending.peer, "", ending)


def channel_constraint(connection: Connection, channel: Channel) -> Constraint:
    """What holds the client on a channel: its publishes and its requests."""
    found = over(connection, channel)
    return channel_hold(connection, channel) if found is None else found


def channel_hold(connection: Connection, channel: Channel) -> Constraint:
    """What holds the client on a channel that is open; of one that is over, what held it last."""
    if connection.blocked is not None:
        return Constraint(BLOCKED, connection.blocked, SERVER, connection.blocked_reason)
    for peer in (CLIENT, SERVER):
        pending = channel.pending[peer]
        if pending:
            detail = f"to {pending[0].name}"
            return Constraint(WAITING_REPLY, pending[0].mark, 1 - peer, detail)
    stopped = channel.flows[SERVER]
    if not stopped.active and stopped.mark is not None:
        return Constraint(FLOW_STOPPED, stopped.mark, SERVER, "the client may not publish")
    confirms = channel.confirms
    if confirms.outstanding:
        oldest = next(iter(confirms.outstanding.values()))
        detail = f"{plural(len(confirms.outstanding), 'message')}, the oldest is #{oldest.number}"
        return Constraint(UNCONFIRMED, oldest.mark, SERVER, detail)
    transaction = channel.transaction
    if transaction is not None and transaction.first_mark is not None:
        sent, acked = transaction.publishes, len(transaction.acked)
        detail = f"{plural(sent, 'message')} published, {plural(acked, 'ack')}"
        return Constraint(UNCOMMITTED, transaction.first_mark, CLIENT, detail)
    return Constraint(IDLE, newest(channel), CLIENT, "")


def newest(channel: Channel) -> Mark:
    """The newest frame of a channel."""
    marks = [mark for sent in channel.sent for mark in sent.values()]
    return max(marks, key=lambda mark: mark.frame, default=channel.mark)


def consumer_constraint(connection: Connection, channel: Channel, consumer: Consumer) -> Constraint:
    """What holds the server from delivering to a consumer."""
    found = ended_constraint(consumer_ending(connection, channel, consumer))
    return consumer_hold(connection, channel, consumer) if found is None else found


def consumer_hold(connection: Connection, channel: Channel, consumer: Consumer) -> Constraint:
    """What holds the server from delivering to a consumer, or held it until the consumer's end."""
    if consumer.state == PENDING:
        return Constraint(WAITING_REPLY, consumer.mark, SERVER, "to basic.consume")
    stopped = channel.flows[CLIENT]
    if not stopped.active and stopped.mark is not None:
        return Constraint(FLOW_STOPPED, stopped.mark, CLIENT, "the server may not deliver")
    limit, used, scope = tightest(connection, channel, consumer)
    oldest = oldest_unacked(channel, consumer)
    if limit and used >= limit and oldest is not None:
        detail = f"{used} of {limit} unacked {scope}, the oldest is #{oldest.tag}"
        return Constraint(PREFETCH, oldest.mark, CLIENT, detail)
    if oldest is not None:
        detail = f"{consumer.unacked} unacked, the oldest is #{oldest.tag}"
        return Constraint(UNACKED, oldest.mark, CLIENT, detail)
    return Constraint(IDLE, newest(channel), SERVER, "nothing is under way")


def tightest(connection: Connection, channel: Channel, consumer: Consumer) -> tuple[int, int, str]:
    """The prefetch limit that is nearest to being reached: limit, use, and of what; 0: none."""
    found = (0, 0, "")
    limits: list[tuple[int, int, str]] = []
    for qos in channel.qos:
        if not qos.count:
            continue
        if qos.everywhere or not connection.rabbit:
            limits.append((qos.count, channel.deliveries.unacked, "on the channel"))
    if connection.rabbit and consumer.qos is not None and consumer.qos.count:
        limits.append((consumer.qos.count, consumer.unacked, "by the consumer"))
    for limit, used, scope in limits:
        if not found[0] or limit - used < found[0] - found[1]:
            found = (limit, used, scope)
    return found


def oldest_unacked(channel: Channel, consumer: Consumer) -> Delivery | None:
    """The oldest delivery that a consumer has not acknowledged."""
    if not consumer.unacked:
        return None
    for delivery in channel.deliveries.outstanding.values():
        if delivery.consumer is consumer:
            return delivery
    return consumer.oldest
