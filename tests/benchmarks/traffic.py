"""Captures of any length, as a busy queue makes them.

Small ones have transfers of a few octets and their dispositions, and credit now and then; rich ones
have messages of four sections, and a flow with every disposition.
"""

from amqpscope.capture.write import CaptureWriter, Conversation
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


def write_capture(path, frames, *, rich=False):
    """Write a capture of about so many frames; how many they are."""
    transfer, every = (TRANSFER, 1) if rich else (SMALL, CREDIT_EVERY)
    written = len(SETUP)
    with open(path, "wb", buffering=1 << 20) as file:
        talk = Conversation(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 5672))
        time = 1_700_000_000_000_000_000
        talk.open(time)
        for sender, unit in SETUP:
            talk.data(sender, time, parse(unit))
        number = 0
        while written < frames:
            time += 50_000
            talk.data(CLIENT, time, numbered(transfer, number))
            answer = numbered(DISPOSITION, number)
            written += 2
            number += 1
            if number % every == 0:
                answer += numbered(FLOW, number)
                written += 1
            talk.data(SERVER, time + 20_000, answer)
    return written
