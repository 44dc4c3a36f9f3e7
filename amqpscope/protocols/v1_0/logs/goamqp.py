r"""The frame trace of go-amqp: a build with the tag `debug`, and DEBUG_LEVEL=1.

    14:26:21.988585 TX (connWriter 0xc0001ba000): Frame{Type: AMQP, Channel: 0, Body: End{...}}
    03:10:56.651105 TX (connWriter 0xc0001ba000) timeout 30s: Frame{Type: AMQP, ...}

Protocol headers and payloads are not in the log, and nothing is printed for a field that is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in
from amqpscope.protocols.v1_0.logs.printed import Style, body_of, frame_without_payload
from dissectors.v1_0.tables import COMPOSITES

# fmt: off
SPECIAL: Final = {
    "snd-settle-mode":        "SenderSettleMode",
    "rcv-settle-mode":        "ReceiverSettleMode",
    "idle-time-out":          "IdleTimeout",
    "sasl-server-mechanisms": "Mechanisms",
}
NAMES: Final = {
    "SaslMechanisms": "sasl-mechanisms",
    "SaslInit":       "sasl-init",
    "Challenge":      "sasl-challenge",
    "Response":       "sasl-response",
    "SaslOutcome":    "sasl-outcome",
}
# fmt: on
HIDDEN: Final = "********"
UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1, "µs": 0, "us": 0, "ns": 0}
"""Milliseconds of the units of a duration."""
STYLE: Final = Style(
    ":",
    {
        row.name: SPECIAL.get(
            row.name, "".join(part.capitalize() for part in row.name.split("-"))
        ).replace("Id", "ID" if row.name.endswith("-id") else "Id")
        for each in COMPOSITES
        for row in each.fields
    },
    nothing=frozenset(("", "<nil>", "[]", "map[]", "*Error(nil)", "nil")),
    separator=" ",
)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|µs|us|ns)")


class GoAmqpLog(LogFormat):
    """Frames of go-amqp."""

    name = "go-amqp's frame trace"
    sign = re.compile(
        r"^(?P<before>.*?)(?P<way>TX|RX) \(\w+(?: (?P<connection>0x[0-9a-f]+))?\)[^:]*: "
        r"Frame\{Type: (?P<type>AMQP|SASL), Channel: (?P<channel>\d+), "
        r"Body: (?P<name>\w+)\{(?P<fields>.*)\}\}\"?\s*$"
    )
    note = "go-amqp does not log protocol headers and payloads, so that they are unknown"

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The frame of a line."""
        outgoing, time = found["way"] == "TX", time_in(found["before"])
        name = NAMES.get(found["name"], found["name"].lower())
        fields, size = found["fields"], 0
        if name == "transfer":
            fields, _, said = fields.partition(", Payload [size]: ")
            size = int(said or 0)
        fields = re.sub(r"IdleTimeout: ([^,]*)", _milliseconds, fields).replace(HIDDEN, "")
        if name == "attach" and "Role: Receiver" in fields:
            # It is the sender's to say, and printed as zero for both.
            fields = re.sub(r"InitialDeliveryCount: \d+, ", "", fields)
        body = body_of(name, fields, STYLE)
        octets, lost = frame_without_payload(body, int(found["channel"]), size)
        yield LogEntry(found["connection"] or "", outgoing, time, octets, lost)


def _milliseconds(found: re.Match[str]) -> str:
    """The time-out as the frame has it; none for zero."""
    total = sum(float(count) * UNITS[unit] for count, unit in _DURATION.findall(found[1]))
    return f"IdleTimeout: {int(total) or '<nil>'}"
