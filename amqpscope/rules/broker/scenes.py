"""The scenes of examples over several connections to one broker, each named by a letter."""

from __future__ import annotations

from typing import Final

from amqpscope.rules.scenes import START, Scene, Scenes, joined

SESSION: Final = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c" max-frame-size=65536 channel-max=100
server: open container-id="s" max-frame-size=65536 channel-max=100
client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
SENDER: Final = """
client: attach[0] name="s" handle={0} role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach[0] name="s" handle={0} role=receiver source=source() target=target(address="q")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle={0} delivery-count=0 link-credit=10
"""
RECEIVER: Final = """
client: attach[0] name="r" handle=0 role=receiver source=source(address="q"{0}) target=target()
server: attach[0] name="r" handle=0 role=sender source=source(address="q"{0}) target=target()
        initial-delivery-count=0
client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=10
"""
TRANSACTION: Final = """
client: attach[0] name="ctrl" handle=0 role=sender source=source() initial-delivery-count=0
        target=coordinator(capabilities=[:amqp:local-transactions])
server: attach[0] name="ctrl" handle=0 role=receiver source=source()
        target=coordinator(capabilities=[:amqp:local-transactions])
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=10
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0
        | amqp-value(declare())
server: disposition[0] role=receiver first=0 settled=true state=declared(txn-id=b"t")
"""
CHANNEL: Final = """
client: header AMQP 0.9.1
server: connection.start version-major=0 version-minor=9 mechanisms="PLAIN" locales="en_US"
        server-properties={product="RabbitMQ" version="3.13.0" platform="p" copyright="c"
        information="i" capabilities={publisher_confirms=true basic.nack=true}}
client: connection.start-ok mechanism="PLAIN" response="\\0guest\\0guest" locale="en_US"
        client-properties={product="c" version="1" platform="p" copyright="c" information="i"
        capabilities={publisher_confirms=true basic.nack=true}}
server: connection.tune channel-max=2047 frame-max=131072 heartbeat=60
client: connection.tune-ok channel-max=2047 frame-max=131072 heartbeat=60
client: connection.open virtual-host="/"
server: connection.open-ok
client: channel.open[1]
server: channel.open-ok[1]
"""
CONFIRMS: Final = """
client: confirm.select[1]
server: confirm.select-ok[1]
"""
CONSUMER: Final = """
client: queue.declare[1] queue="q"
server: queue.declare-ok[1] queue="q"
client: basic.consume[1] queue="q" consumer-tag="t"
server: basic.consume-ok[1] consumer-tag="t"
"""

NO_LOCAL: Final = " filter={:no-local=@:apache.org:no-local-filter:list []}"
SENDING: Final = SESSION + SENDER.format(0)
RECEIVING: Final = SESSION + RECEIVER.format("")
QUEUE: Final = SESSION + RECEIVER.format(" capabilities=[:queue]")
"""Nothing else says that an address is a queue, of which only one consumer gets a message."""
POSTING: Final = SESSION + TRANSACTION + SENDER.format(1)
PUBLISHED: Final = """
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
        | properties(message-id="m1") data(b"x")
server: disposition[0] role=receiver first=0 settled=true state=accepted()
"""
DELIVERED: Final = """
server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
        | properties(message-id="m1") data(b"x")
"""
RABBITMQ: Final = SENDING.replace('"s" max', '"rabbit@s" properties={:product="RabbitMQ"} max')


def parts(**connections: str) -> str:
    """The units of several connections, by letter."""
    return "".join(
        f"{letter}.{unit}\n" for letter, units in connections.items() for unit in joined(units)
    )


SCENES: Final = Scenes(
    {},
    START,
    Scene(
        "through", "", "after A attached a sender to q, B a receiver, and C began a session",
        parts(A=SENDING, B=QUEUE, C=SESSION),
    ),
    Scene(
        "competing", "", "after A attached a sender to q, B and C receivers",
        parts(A=SENDING, B=QUEUE, C=QUEUE),
    ),
    Scene(
        "published", "through", "after A published m1 to q, where B has a receiver",
        parts(A=PUBLISHED),
    ),
    Scene("delivered", "published", "after A published m1 to q, and B got it", parts(B=DELIVERED)),
    Scene(
        "waiting", "competing", "after A published m1 to q, where B and C have receivers",
        parts(A=PUBLISHED),
    ),
    Scene("held", "waiting", "after B got m1 from q, where C has a receiver", parts(B=DELIVERED)),
    Scene(
        "subscribed", "", "after A attached a sender to q, a topic or a queue, B and C receivers",
        parts(A=SENDING, B=RECEIVING, C=RECEIVING),
    ),
    Scene(
        "posting", "", "after A declared transaction t and attached a sender to q, B a receiver",
        parts(A=POSTING, B=QUEUE),
    ),
    Scene(
        "own", "", "after A attached a receiver from q with no-local, and A and B senders to q",
        parts(A=SESSION + RECEIVER.format(NO_LOCAL) + SENDER.format(1), B=SENDING),
    ),
    Scene("named", "", "after A and B each began a session", parts(A=SESSION, B=SESSION)),
    Scene(
        "asking", "", "after A attached a sender to q, and B one to answers",
        parts(A=SENDING, B=SENDING.replace('"q"', '"answers"')),
    ),
    Scene(
        "confirming", "", "after A opened a channel with confirms, B consumes from q, C a channel",
        parts(A=CHANNEL + CONFIRMS, B=CHANNEL + CONSUMER, C=CHANNEL),
    ),
    Scene(
        "publishing", "", "after A opened a channel and B consumes from q",
        parts(A=CHANNEL, B=CHANNEL + CONSUMER),
    ),
    Scene(
        "hosts", "", "after A and B as in confirming, and C a channel on another virtual host",
        parts(
            A=CHANNEL + CONFIRMS, B=CHANNEL + CONSUMER,
            C=CHANNEL.replace('virtual-host="/"', 'virtual-host="other"'),
        ),
    ),
    Scene(
        "mixed", "", "after A attached a sender to q of RabbitMQ, and B consumes from it in 0-9-1",
        parts(A=RABBITMQ, B=CHANNEL + CONSUMER),
    ),
)  # fmt: skip
