"""The scenes of AMQP 0-8, 0-9 and 0-9-1: what has happened before an example of a rule begins."""

from __future__ import annotations

from typing import Final

from amqpscope.rules.scenes import START, Scene, Scenes

FIELDS: Final = {
    # of which methods a parameter is an argument, where it names none
    "mechanisms": "connection.start",
    "mechanism": "connection.start-ok",
    "virtual-host": "connection.open",
    "no-ack": "basic.consume",
}
CAPABILITIES: Final = """capabilities={
        publisher_confirms=true exchange_exchange_bindings=true basic.nack=true
        consumer_cancel_notify=true connection.blocked=true authentication_failure_close=true}"""
RABBITMQ: Final = f"""
server: connection.start version-major=0 version-minor=9 server-properties={{product="RabbitMQ"
        version="3.13.0" platform="Erlang" copyright="c" information="i" {CAPABILITIES}}}
        mechanisms="PLAIN AMQPLAIN" locales="en_US"
client: connection.start-ok client-properties={{product="c" version="1" platform="p" copyright="c"
        information="i" {CAPABILITIES}}}
        mechanism="PLAIN" response="\\0guest\\0guest" locale="en_US"
server: connection.tune channel-max=2047 frame-max=131072 heartbeat=60
client: connection.tune-ok channel-max=2047 frame-max=131072 heartbeat=60
client: connection.open virtual-host="/"
server: connection.open-ok
"""
PLAIN: Final = """
server: connection.start version-major=%d version-minor=%d server-properties={product="a broker"
        version="1" platform="p" copyright="c" information="i"} mechanisms="PLAIN" locales="en_US"
client: connection.start-ok client-properties={product="c" version="1" platform="p" copyright="c"
        information="i"} mechanism="PLAIN" response="\\0guest\\0guest" locale="en_US"
server: connection.tune channel-max=100 frame-max=65536 heartbeat=60
client: connection.tune-ok channel-max=100 frame-max=65536 heartbeat=60
client: connection.open virtual-host="/"
server: connection.open-ok
"""
CHANNEL: Final = """
client: channel.open[1]
server: channel.open-ok[1]
"""
QUEUE: Final = """
client: queue.declare[1] queue="q"
server: queue.declare-ok[1] queue="q"
"""
CONSUMER: Final = """
client: basic.consume[1] queue="q" consumer-tag="t"
server: basic.consume-ok[1] consumer-tag="t"
"""
CONFIRMS: Final = """
client: confirm.select[1]
server: confirm.select-ok[1]
"""
TRANSACTION: Final = f"""
client: tx.select[1]
server: tx.select-ok[1]
{CONSUMER.strip()}
"""
CONSUMING: Final = "after the client declared queue q and consumes from it on channel 1"

SCENES: Final = Scenes(
    FIELDS,
    START,
    Scene("header", "", "after the client's header of 0-9-1", "client: header AMQP 0.9.1"),
    Scene("remote", "", "after the client's header of 0-9-1, to a server on another machine",
          "client: header AMQP 0.9.1", remote=True),
    # RabbitMQ, with all that it announces
    Scene("opened", "header", "after a connection to RabbitMQ was opened", RABBITMQ),
    Scene("channel", "opened", "after channel 1 was opened at RabbitMQ", CHANNEL),
    Scene("queue", "channel", "after the client declared queue q on channel 1 at RabbitMQ", QUEUE),
    Scene("consuming", "queue", f"{CONSUMING} at RabbitMQ", CONSUMER),
    Scene("confirming", "channel", "after channel 1 was put in confirm mode at RabbitMQ", CONFIRMS),
    Scene("transaction", "queue",
          "after channel 1 was put in transaction mode and the client consumes from queue q on it"
          " at RabbitMQ", TRANSACTION),
    # a server of 0-9-1 that is nobody's
    Scene("plain_opened", "header",
          "after a connection was opened to a server of 0-9-1 that is not RabbitMQ",
          PLAIN % (0, 9)),
    Scene("plain", "plain_opened",
          "after channel 1 was opened at a server of 0-9-1 that is not RabbitMQ", CHANNEL),
    Scene("plain_queue", "plain",
          "after the client declared queue q on channel 1 at a server of 0-9-1 that is not"
          " RabbitMQ", QUEUE),
    Scene("plain_consuming", "plain_queue",
          f"{CONSUMING} at a server of 0-9-1 that is not RabbitMQ", CONSUMER),
    # the versions before
    Scene("v0_9_opened", "", "after a connection of 0-9 was opened",
          "client: header 1 1.0.9\n" + (PLAIN % (0, 9)).strip()),
    Scene("v0_9", "v0_9_opened", "after channel 1 was opened on a connection of 0-9", CHANNEL),
    Scene("v0_9_queue", "v0_9", "after the client declared queue q on channel 1 of 0-9", QUEUE),
    Scene("v0_9_consuming", "v0_9_queue", f"{CONSUMING} of 0-9", CONSUMER),
    Scene("v0_8_opened", "", "after a connection of 0-8 was opened",
          "client: header 1 1.8.0\n" + (PLAIN % (8, 0)).strip()),
    Scene("v0_8", "v0_8_opened", "after channel 1 was opened on a connection of 0-8", CHANNEL),
    Scene("v0_8_queue", "v0_8", "after the client declared queue q on channel 1 of 0-8", QUEUE),
    Scene("v0_8_consuming", "v0_8_queue", f"{CONSUMING} of 0-8", CONSUMER),
)  # fmt: skip
