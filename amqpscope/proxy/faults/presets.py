"""Faults that are often wanted, by name, each with what a good client does about it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Preset(NamedTuple):
    """A fault by name."""

    rule: str
    what: str
    good: str
    """What a good client does."""


# fmt: off
PRESETS: Final = {
    "@detach-after-transfer": Preset(
        'transfer && from == client && !more => detach condition="amqp:link:detach-forced" times=1',
        "The first message arrives, then its link is detached with an error.",
        "Attaches the link again, asks for what is unsettled, and loses no message.",
    ),
    "@slow-settle": Preset(
        "(disposition || basic.ack || basic.nack) && from == server => delay 2s jitter=1s",
        "The broker takes two to three seconds to settle.",
        "Goes on sending within its window, and does not send again what is only late.",
    ),
    "@no-credit": Preset(
        "flow && from == server && has link-credit => set link-credit=0",
        "The broker never grants credit.",
        "Waits without using the processor, and reports a send timeout that it was given.",
    ),
    "@idle-peer": Preset(
        "(begin || channel.open-ok) && from == server => stall",
        "From its first session or channel on the client hears nothing more, not even heartbeats.",
        "Closes the connection after its idle time-out (twice the heartbeat), and connects again.",
    ),
    "@dup-delivery": Preset(
        "(transfer && from == server && !more || basic.deliver) => duplicate times=1",
        "The first message that the broker delivers comes twice.",
        "Handles it once: by its message-id, or because handling it again does no harm.",
    ),
    "@lost-ack": Preset(
        "(disposition || basic.ack) && from == server => drop times=1",
        "The broker's first answer to a message is lost.",
        "Times out, and sends the message again in a way that lets the consumer see it.",
    ),
    "@flaky": Preset(
        "transfer || basic.publish || basic.deliver => disconnect chance=0.02",
        "One message in fifty ends the connection.",
        "Connects again with growing pauses, and takes up its links where they were.",
    ),
}
# fmt: on


def describe_presets() -> str:
    """All presets, for people."""
    lines = []
    for name, preset in PRESETS.items():
        lines += [name, f"  {preset.what}", f"  A good client: {preset.good}", f"  {preset.rule}"]
    return "\n".join(lines)
