"""The state of a connection of 0-9 at one instant, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from amqpscope.model.constraint import Constraint
from amqpscope.model.ending import CHANNEL, Ending
from amqpscope.model.v0_9.channel import Channel
from amqpscope.model.v0_9.connection import Connection
from amqpscope.model.v0_9.constraint import channel_constraint, consumer_constraint
from amqpscope.model.v0_9.deliveries import Consumer
from amqpscope.model.v0_9.ending import connection_ending


@dataclass(frozen=True)
class ConsumerState:
    """The state of one consumer."""

    tag: str
    queue: str
    state: str
    no_ack: bool
    exclusive: bool
    prefetch: int
    """RabbitMQ's limit for this consumer; 0 for none."""
    deliveries: int
    bytes: int
    unacked: int
    constraint: Constraint


@dataclass(frozen=True)
class ChannelState:
    """The state of one channel."""

    number: int
    standing: str
    """`opening`, `open`, `closing`, `closed` or `unknown`."""
    publishes: int
    published_bytes: int
    deliveries: int
    delivered_bytes: int
    unacked: int
    confirm: bool
    unconfirmed: int
    transaction: bool
    prefetch: int
    """The channel's own limit; 0 for none."""
    pending: tuple[str, ...]
    """Requests of either peer that wait for an answer."""
    sure: bool
    """All that was said on it was seen."""
    consumers: tuple[ConsumerState, ...]
    constraint: Constraint


@dataclass(frozen=True)
class ConnectionState:
    """The state of one connection."""

    protocol: str
    products: tuple[str, str]
    """Who client and server say they are."""
    virtual_host: str | None
    user: str
    stage: str
    closed: tuple[bool, bool]
    channel_max: int
    frame_max: int
    heartbeat: int
    """What was agreed; 0 for no limit or none, -1 for unknown."""
    blocked: str | None
    """Why the server blocks, while it does."""
    channels: tuple[ChannelState, ...]
    """Those that are closed come last."""
    ending: Ending | None = None
    """How it ended."""


def snapshot(connection: Connection) -> ConnectionState:
    """The state of a connection now."""
    client, server = connection.ends
    return ConnectionState(
        connection.dialect.name,
        (
            product_name(client.product, client.version),
            product_name(server.product, server.version),
        ),
        connection.virtual_host,
        connection.user,
        connection.stage,
        (client.close is not None, server.close is not None),
        connection.limit("channel_max"),
        connection.limit("frame_max"),
        connection.heartbeat,
        None if connection.blocked is None else connection.blocked_reason,
        tuple(
            channel_state(connection, channel)
            for channels in (connection.channels, connection.closed)
            for number, channel in sorted(channels.items())
            if channels is connection.channels
            or (channel.closing and number not in connection.channels)
        ),
        connection_ending(connection),
    )


def product_name(product: str, version: str) -> str:
    """A product with its version."""
    return f"{product} {version}".strip()


def channel_state(connection: Connection, channel: Channel) -> ChannelState:
    """The state of a channel as of now."""
    own = [qos.count for qos in channel.qos if qos.everywhere or not connection.rabbit]
    held = channel_constraint(connection, channel)
    return ChannelState(
        number=channel.number,
        standing=standing(channel, held),
        publishes=channel.publishes,
        published_bytes=channel.published_bytes,
        deliveries=channel.deliveries.count,
        delivered_bytes=channel.deliveries.bytes,
        unacked=len(channel.deliveries.outstanding),
        confirm=channel.confirms.on,
        unconfirmed=len(channel.confirms.outstanding),
        transaction=channel.transaction is not None,
        prefetch=own[-1] if own else 0,
        pending=tuple(request.name for requests in channel.pending for request in requests),
        sure=channel.sure,
        consumers=tuple(
            consumer_state(connection, channel, consumer) for consumer in channel.consumers.values()
        ),
        constraint=held,
    )


def standing(channel: Channel, held: Constraint) -> str:
    """How far a channel is."""
    if held.ending is not None:
        waits = held.ending.what == CHANNEL and not held.ending.answered
        return "closing" if waits else "closed"
    if channel.ok_mark is not None:
        return "open"
    return "unknown" if channel.assumed else "opening"


def consumer_state(connection: Connection, channel: Channel, consumer: Consumer) -> ConsumerState:
    """The state of a consumer as of now."""
    qos = consumer.qos if connection.rabbit else None
    return ConsumerState(
        tag=consumer.tag,
        queue=consumer.queue,
        state=consumer.state,
        no_ack=consumer.no_ack,
        exclusive=consumer.exclusive,
        prefetch=0 if qos is None else qos.count,
        deliveries=consumer.deliveries,
        bytes=consumer.bytes,
        unacked=consumer.unacked,
        constraint=consumer_constraint(connection, channel, consumer),
    )
