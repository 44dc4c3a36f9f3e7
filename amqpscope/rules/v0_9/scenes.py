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
    "no-local": "basic.consume",
    "exclusive": "basic.consume",
    "prefetch-count": "basic.qos",
    "prefetch-size": "basic.qos",
    "type": "exchange.declare",
    "internal": "exchange.declare",
    "durable": "exchange.declare",
    "delivery-tag": "basic.deliver",
    "redelivered": "basic.deliver",
    "mandatory": "basic.publish",
    "body-size": "content-header",
    "message-id": "content-header",
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
EXCHANGE: Final = """
client: exchange.declare[1] exchange="x" type="direct"
server: exchange.declare-ok[1]
"""
LIMITED: Final = f"""
client: basic.qos[1] prefetch-count=10
server: basic.qos-ok[1]
{CONSUMER.strip()}
"""
DELIVERED: Final = """
server: basic.deliver[1] consumer-tag="t" delivery-tag=1 routing-key="q"
server: content-header[1] class=basic body-size=0
"""
GOT: Final = """
client: basic.get[1] queue="q"
server: basic.get-ok[1] delivery-tag=1 routing-key="q"
server: content-header[1] class=basic body-size=0
"""
PUBLISHED: Final = """
client: basic.publish[1] routing-key="q"
client: content-header[1] class=basic body-size=0
"""
IDENTIFIED: Final = """
client: basic.publish[1] routing-key="q"
client: content-header[1] class=basic body-size=2 message-id="m1"
client: content-body[1] "aa"
"""
BEGUN: Final = """
client: basic.publish[1] routing-key="a"
client: content-header[1] class=basic body-size=10
"""
MANDATORY: Final = """
client: basic.publish[1] exchange="amq.topic" routing-key="a" mandatory=true
client: content-header[1] class=basic body-size=0
"""
STARTED: Final = """
server: connection.start version-minor=9 mechanisms="PLAIN" locales="en_US"
client: connection.start-ok mechanism="PLAIN" locale="en_US"
"""
FILE_CONSUMER: Final = """
client: file.consume[1] queue="q" consumer-tag="t"
server: file.consume-ok[1] consumer-tag="t"
"""
FILE_DELIVERED: Final = """
server: file.open[1] identifier="f" content-size=0
client: file.open-ok[1] staged-size=0
server: file.stage[1]
server: content-header[1] class=file body-size=0
server: file.deliver[1] consumer-tag="t" delivery-tag=1 identifier="f"
"""
FILE_LIMITED: Final = f"""
client: file.qos[1] prefetch-count=1
server: file.qos-ok[1]
{FILE_CONSUMER.strip()}
{FILE_DELIVERED.strip()}
"""
STREAM_CONSUMER: Final = """
client: stream.consume[1] queue="q" consumer-tag="t"
server: stream.consume-ok[1] consumer-tag="t"
"""
STREAM_CANCELLED: Final = """
client: stream.cancel[1] consumer-tag="t"
server: stream.cancel-ok[1] consumer-tag="t"
"""
DTX_STARTED: Final = """
client: dtx.select[1]
server: dtx.select-ok[1]
client: dtx.start[1] dtx-identifier="x"
"""
CONSUMING: Final = "after the client declared queue q and consumes from it on channel 1"

SCENES: Final = Scenes(
    FIELDS,
    START,
    Scene("header", "", "after the client's header of 0-9-1", "client: header AMQP 0.9.1"),
    Scene("remote", "", "after the client's header of 0-9-1, to a server on another machine",
          "client: header AMQP 0.9.1", remote=True),
    Scene("started", "header", "after the client chose PLAIN of what the server offers", STARTED),
    Scene("tuned", "started",
          "after the server proposed channel-max=10 and frame-max={frame-max=4096}",
          "server: connection.tune channel-max=10 frame-max=4096"),
    # RabbitMQ, with all that it announces
    Scene("opened", "header", "after a connection to RabbitMQ was opened", RABBITMQ),
    Scene("channel", "opened", "after channel 1 was opened at RabbitMQ", CHANNEL),
    Scene("queue", "channel", "after the client declared queue q on channel 1 at RabbitMQ", QUEUE),
    Scene("consuming", "queue", f"{CONSUMING} at RabbitMQ", CONSUMER),
    Scene("limited", "queue",
          "after the client set prefetch-count={prefetch-count=10} and consumes from queue q on"
          " channel 1 at RabbitMQ", LIMITED),
    Scene("delivered", "consuming",
          "after the consumer of queue q on channel 1 at RabbitMQ got delivery {delivery-tag=1}",
          DELIVERED),
    Scene("got", "queue", "after the client got a message from queue q on channel 1 at RabbitMQ",
          GOT),
    Scene("exchange", "channel",
          'after the client declared exchange x of type={type="direct"} on channel 1 at RabbitMQ',
          EXCHANGE),
    Scene("publishing", "channel", "after the client began to publish a message of"
          " {body-size=10} octets on channel 1 at RabbitMQ", BEGUN),
    Scene("mandatory", "channel",
          "after the client published a mandatory message to amq.topic on channel 1 at RabbitMQ",
          MANDATORY),
    Scene("own_message", "consuming",
          "after the client published message m1 to queue q, which it consumes from on channel 1 at"
          " RabbitMQ", IDENTIFIED),
    Scene("confirming", "channel", "after channel 1 was put in confirm mode at RabbitMQ", CONFIRMS),
    Scene("unconfirmed", "confirming",
          "after the client published a message on channel 1 in confirm mode at RabbitMQ",
          PUBLISHED),
    Scene("transaction", "queue",
          "after channel 1 was put in transaction mode and the client consumes from queue q on it"
          " at RabbitMQ", TRANSACTION),
    Scene("transaction_message", "transaction",
          "after the client published message m1 in a transaction on channel 1 to queue q, which it"
          " consumes from, at RabbitMQ", IDENTIFIED),
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
    Scene("plain_limited", "plain_queue",
          "after the client set a limit and consumes from queue q on channel 1 at a server of 0-9-1"
          " that is not RabbitMQ", LIMITED),
    Scene("stopped", "plain",
          "after a server of 0-9-1 that is not RabbitMQ asked to stop the flow of channel 1",
          "server: channel.flow[1] active=false"),
    # the versions before
    Scene("v0_9_opened", "", "after a connection of 0-9 was opened",
          "client: header 1 1.0.9\n" + (PLAIN % (0, 9)).strip()),
    Scene("v0_9", "v0_9_opened", "after channel 1 was opened on a connection of 0-9", CHANNEL),
    Scene("v0_9_queue", "v0_9", "after the client declared queue q on channel 1 of 0-9", QUEUE),
    Scene("v0_9_consuming", "v0_9_queue", f"{CONSUMING} of 0-9", CONSUMER),
    Scene("v0_9_exchange", "v0_9",
          'after the client declared exchange x of type={type="direct"} on channel 1 of 0-9',
          EXCHANGE),
    Scene("requested", "v0_9", "after the client's request 1 on channel 1 of 0-9",
          'client: message.cancel[1 request=1] destination="a"'),
    Scene("file_consuming", "v0_9", "after the client consumes files on channel 1 of 0-9",
          FILE_CONSUMER),
    Scene("file_delivered", "file_consuming",
          "after the client consumes files on channel 1 of 0-9 and got file f, delivery 1",
          FILE_DELIVERED),
    Scene("file_limited", "v0_9",
          "after the client set a limit of one file, consumes on channel 1 of 0-9 and got file f,"
          " delivery 1", FILE_LIMITED),
    Scene("stream_consuming", "v0_9", "after the client consumes a stream on channel 1 of 0-9",
          STREAM_CONSUMER),
    Scene("stream_cancelled", "stream_consuming",
          "after the client consumed a stream on channel 1 of 0-9 and cancelled that",
          STREAM_CANCELLED),
    Scene("dtx_started", "v0_9",
          "after the client began a distributed transaction on channel 1 of 0-9", DTX_STARTED),
    Scene("v0_8_opened", "", "after a connection of 0-8 was opened",
          "client: header 1 1.8.0\n" + (PLAIN % (8, 0)).strip()),
    Scene("v0_8", "v0_8_opened", "after channel 1 was opened on a connection of 0-8", CHANNEL),
    Scene("v0_8_queue", "v0_8", "after the client declared queue q on channel 1 of 0-8", QUEUE),
    Scene("v0_8_consuming", "v0_8_queue", f"{CONSUMING} of 0-8", CONSUMER),
)  # fmt: skip
