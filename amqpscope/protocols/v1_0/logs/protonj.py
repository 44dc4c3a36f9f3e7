r"""The frame trace of qpid-proton-j: PN_TRACE_FRM=1 in Artemis, Qpid JMS and Azure's SDKs for Java.

    [310913103:0] -> Open{ containerId='c', hostname='null', maxFrameSize=1048576, ...}
    [310913103:0] SENT: Begin{remoteChannel=null, nextOutgoingId=1, incomingWindow=2047, ...}
    [526918302:1] -> Transfer{handle=0, deliveryId=2, ...} (155) "\x00Sp\xc0\x02\x01A..."

The second is what Qpid JMS logs for `amqp.traceFrames`. Filters are not printed as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in
from amqpscope.protocols.v1_0.logs.printed import Style, body_of
from amqpscope.protocols.v1_0.logs.proton import HEADERS, read_payload
from amqpscope.protocols.v1_0.logs.pyamqp import FRAMES
from dissectors.v1_0.encode import encode_frame

STYLE: Final = Style(
    "=", {"idle-time-out": "idleTimeOut"}, camel=True, hexadecimal=False,
    nothing=frozenset(("", "null", "[]", "{}", "''")), separator=", ",
)  # fmt: skip
_ENDING: Final = re.compile(r"(.*?)\}(\s*(?:\(\d+\) .*)?)$")
"""A performative ends with its line, or before its payload."""
LOGINS: Final = "SaslMechanisms|SaslInit|SaslChallenge|SaslResponse|SaslOutcome"


class ProtonJLog(LogFormat):
    """Frames of qpid-proton-j."""

    name = "qpid-proton-j's frame trace"
    sign = re.compile(
        r"^(?P<before>.*?)\[(?P<connection>[^\]\s]+):(?P<channel>\d+)\] "
        r"(?P<way>->|<-|SENT:|RECV:) (?P<said>"
        rf"(?P<name>{FRAMES}|{LOGINS})\{{(?P<fields>.*)|AMQP|SASL"
        r"|(?P<empty>Empty ?Frame\b.*|null))\s*$"
    )

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The frame of a line."""
        outgoing = found["way"] in ("->", "SENT:")
        entry = LogEntry(found["connection"], outgoing, time_in(found["before"]))
        channel, said = int(found["channel"]), found["said"]
        if found["empty"]:
            yield entry._replace(octets=encode_frame(channel=channel))
        elif said in HEADERS:
            yield entry._replace(octets=HEADERS[said])
        else:
            ending = _ENDING.match(found["fields"])
            if ending is None:
                raise ValueError("expected a closing bracket")
            inside, behind = ending.groups()
            name = re.sub("(?<=l)(?=[A-Z])", "-", found["name"]).lower()
            payload, lost = read_payload(behind)
            octets = encode_frame(body_of(name, inside, STYLE), channel, payload + bytes(lost))
            yield entry._replace(octets=octets[: len(octets) - lost], lost=lost)
