"""Captures of any length, as a busy queue makes them.

Small ones have transfers of a few octets and their dispositions, and credit now and then; rich ones
have messages of four sections, and a flow with every disposition. Those of 0-9-1 have messages
published with confirms, and delivered to a consumer that acknowledges each. They have eight
connections, in turn. Short ones have a connection for each message, of thirteen frames.
"""

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.stream.types import ACK
from dissectors.notation import parse

CLIENT, SERVER = 0, 1
NUMBER = 0xDEADBEEF
"""Stands in the frames below wherever a number counts up."""

SETUP = (
    (CLIENT, "header AMQP 1.0.0"),
    (SERVER, "header AMQP 1.0.0"),
    (CLIENT, 'open container-id="sender" max-frame-size=32768 channel-max=32767'),
    (SERVER, 'open container-id="broker" max-frame-size=32768 channel-max=32767'),
    (CLIENT, "begin next-outgoing-id=0 incoming-window=2147483647 outgoing-window=2147483647"),
    (
        SERVER,
        "begin remote-channel=0 next-outgoing-id=0 incoming-window=2147483647"
        " outgoing-window=2147483647",
    ),
    (
        CLIENT,
        'attach name="orders" handle=0 role=sender snd-settle-mode=mixed source=source()'
        ' target=target(address="orders") initial-delivery-count=0',
    ),
    (
        SERVER,
        'attach name="orders" handle=0 role=receiver source=source()'
        ' target=target(address="orders")',
    ),
    (
        SERVER,
        "flow next-incoming-id=0 incoming-window=2147483647 next-outgoing-id=0"
        " outgoing-window=2147483647 handle=0 delivery-count=0 link-credit=1000",
    ),
)
SMALL = parse(
    f"transfer handle=0 delivery-id={NUMBER}'70 delivery-tag=0xdeadbeef message-format=0"
    f' | data(b"0123456789abcdef")'
)
TRANSFER = parse(
    f"transfer handle=0 delivery-id={NUMBER}'70 delivery-tag=0xdeadbeef message-format=0"
    f' | header(durable=true) properties(message-id="order-0001" subject="new")'
    f' application-properties({{"region"="eu" "priority"=uint 5}}) data(b"{{\\"item\\": 4711}}")'
)
DISPOSITION = parse(
    f"disposition role=receiver first={NUMBER}'70 last={NUMBER}'70 settled=true state=accepted()"
)
FLOW = parse(
    f"flow next-incoming-id={NUMBER}'70 incoming-window=2147483647 next-outgoing-id=0"
    f" outgoing-window=2147483647 handle=0 delivery-count={NUMBER}'70 link-credit=1000"
)


def numbered(template, number):
    """A frame with its numbers set."""
    return template.replace(NUMBER.to_bytes(4, "big"), number.to_bytes(4, "big"))


CREDIT_EVERY = 500
"""Deliveries after which a small capture has a flow."""


SETUP_V0_9 = (
    (CLIENT, "header AMQP 0.9.1"),
    (
        SERVER,
        'connection.start version-minor=9 server-properties={product="RabbitMQ" version="3.10.8"}'
        ' mechanisms="PLAIN" locales="en_US"',
    ),
    (CLIENT, 'connection.start-ok mechanism="PLAIN" response="\\0u\\0p" locale="en_US"'),
    (SERVER, "connection.tune channel-max=2047 frame-max=131072"),
    (CLIENT, "connection.tune-ok channel-max=2047 frame-max=131072"),
    (CLIENT, 'connection.open virtual-host="/"'),
    (SERVER, "connection.open-ok"),
    (CLIENT, "channel.open[1]"),
    (SERVER, "channel.open-ok[1]"),
    (CLIENT, "confirm.select[1]"),
    (SERVER, "confirm.select-ok[1]"),
    (CLIENT, 'basic.consume[1] queue="orders" consumer-tag="ctag1"'),
    (SERVER, 'basic.consume-ok[1] consumer-tag="ctag1"'),
)
CONTENT = parse("content-header[1] class=basic body-size=16 delivery-mode=2") + parse(
    'content-body[1] "0123456789abcdef"'
)
PUBLISH = parse('basic.publish[1] routing-key="orders"') + CONTENT
CONFIRM = parse(f"basic.ack[1] delivery-tag={NUMBER}")
DELIVER = (
    parse(f'basic.deliver[1] consumer-tag="ctag1" delivery-tag={NUMBER} routing-key="orders"')
    + CONTENT
)


def write_capture(path, frames, *, connections=1, rich=False):
    """Write a capture of about so many frames; how many they are."""
    transfer, every = (TRANSFER, 1) if rich else (SMALL, CREDIT_EVERY)

    def exchange(talk, number, time):
        talk.data(CLIENT, time, numbered(transfer, number))
        answer = numbered(DISPOSITION, number)
        credit = (number + 1) % every == 0
        if credit:
            answer += numbered(FLOW, number + 1)
        talk.data(SERVER, time + 20_000, answer)
        return 3 if credit else 2

    setup = [(sender, parse(unit)) for sender, unit in SETUP]
    return write_talks(path, frames, setup, exchange, connections)


def write_v0_9(path, frames, *, connections=1):
    """The same, of 0-9-1."""

    def exchange(talk, number, time):
        talk.data(CLIENT, time, PUBLISH)
        talk.data(SERVER, time + 10_000, numbered(CONFIRM + DELIVER, number + 1))
        talk.data(CLIENT, time + 20_000, numbered(CONFIRM, number + 1))
        return 8

    setup = [(sender, parse(unit)) for sender, unit in SETUP_V0_9]
    return write_talks(path, frames, setup, exchange, connections)


CLOSE = (
    (CLIENT, parse("close")),
    (SERVER, parse("close")),
)
SHORT = (
    *((sender, parse(unit)) for sender, unit in SETUP),
    (CLIENT, numbered(SMALL, 0)),
    (SERVER, numbered(DISPOSITION, 0)),
    *CLOSE,
)
"""All frames of a connection that is closed after its first message."""
PORTS = 20_000
"""Ports that clients use in turn, as long as an operating system leaves one alone or longer."""


def write_short(path, frames):
    """Write a capture of many short connections, one after the other."""
    time = 1_700_000_000_000_000_000
    count = -(-frames // len(SHORT))
    with open(path, "wb", buffering=1 << 20) as file:
        writer = CaptureWriter(file)
        for number in range(count):
            port = 40_000 + number % PORTS
            talk = ConnectionWriter(writer, ("10.0.0.1", port), ("10.0.0.2", 5672))
            # Another beginning for each connection, so that a port used again is not the old one.
            talk.seq = [1000 + 65_536 * number, 2000 + 65_536 * number]
            talk.open(time)
            for sender, raw in SHORT:
                time += 50_000
                talk.data(sender, time, raw)
            talk.finish(CLIENT, time)
            talk.finish(SERVER, time)
            talk.segment(CLIENT, time, ACK, b"", talk.seq[SERVER])
            time += 50_000
    return count * len(SHORT)


def write_talks(path, frames, setup, exchange, connections):
    """So many connections: their beginnings, then exchanges in turn until there are so many
    frames."""
    written = len(setup) * connections
    with open(path, "wb", buffering=1 << 20) as file:
        writer = CaptureWriter(file)
        time = 1_700_000_000_000_000_000
        talks = []
        for number in range(connections):
            talk = ConnectionWriter(writer, ("10.0.0.1", 40_000 + number), ("10.0.0.2", 5672))
            talk.open(time)
            for sender, raw in setup:
                talk.data(sender, time, raw)
            talks.append(talk)
        number = 0
        while written < frames:
            for talk in talks:
                time += 50_000
                written += exchange(talk, number, time)
            number += 1
    return written


def write_many(path, frames):
    """Write a capture of small messages on several connections."""
    return write_capture(path, frames, connections=CONNECTIONS)


def write_rich(path, frames):
    """Write a capture of messages with several sections, on several connections."""
    return write_capture(path, frames, connections=CONNECTIONS, rich=True)


def write_many_v0_9(path, frames):
    """Write a capture of 0-9-1 on several connections."""
    return write_v0_9(path, frames, connections=CONNECTIONS)


CONNECTIONS = 8
ONE = "small messages, one connection"
SHORT_ONES = "short connections"
TRAFFIC = {
    # kind            written by        what tshark is asked for
    "small messages": (write_many,      "amqp.performative"),
    ONE:              (write_capture,   "amqp.performative"),
    "rich messages":  (write_rich,      "amqp.performative"),
    "0-9-1":          (write_many_v0_9, "amqp.method.method"),
    SHORT_ONES:       (write_short,     "amqp.performative"),
}  # fmt: skip
