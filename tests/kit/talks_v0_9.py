"""Conversations of AMQP 0-9 that several tests read."""

OPENED = """
client: header AMQP 0.9.1
server: connection.start version-minor=9 server-properties={product="RabbitMQ" version="3.13.0"}
        mechanisms="PLAIN" locales="en_US"
client: connection.start-ok client-properties={product="c" version="1"} mechanism="PLAIN"
        response="\\0guest\\0secret" locale="en_US"
server: connection.tune channel-max=2047 frame-max=131072 heartbeat=60
client: connection.tune-ok channel-max=2047 frame-max=131072 heartbeat=60
client: connection.open virtual-host="/"
server: connection.open-ok
client: channel.open[1]
server: channel.open-ok[1]
"""
WORK = """
client: confirm.select[1]
server: confirm.select-ok[1]
client: queue.declare[1] queue="q" durable=true arguments={x-max-length=10}
server: queue.declare-ok[1] queue="q" message-count=3
client: basic.qos[1] prefetch-count=1
server: basic.qos-ok[1]
client: basic.consume[1] queue="q" consumer-tag="t"
server: basic.consume-ok[1] consumer-tag="t"
@1s client: basic.publish[1] exchange="amq.topic" routing-key="orders.new"
client: content-header[1] class=basic body-size=5 content-type="text/plain" headers={color="red"}
        timestamp=1700000000
client: content-body[1] "hello"
@1.5s server: basic.ack[1] delivery-tag=1
@2s server: basic.deliver[1] consumer-tag="t" delivery-tag=1 exchange="amq.topic"
        routing-key="orders.new"
server: content-header[1] class=basic body-size=2 delivery-mode=2
server: content-body[1] 0xff01
@3s client: basic.ack[1] delivery-tag=1
"""
TALK = OPENED + WORK
