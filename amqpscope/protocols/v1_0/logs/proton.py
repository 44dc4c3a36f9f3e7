r"""qpid-proton's frame trace: PN_TRACE_FRM=1 or PN_LOG=frame, in all its languages and the router.

    [0x5631994f21c0]: AMQP:FRAME:0 -> @open(16) [container-id="c", max-frame-size=0x8000]
    [0x5631994f21c0]:0 <- @transfer(20) [handle=0x0, delivery-id=0x0] (15) \x00SpE\x00SsE\x00Sw...
    2026-11-18 12:00:00.123456 +0000 PROTOCOL (trace) [C3]:0 -> @close(24) []

Payloads are whole up to a kilobyte; of longer ones the rest is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in
from amqpscope.protocols.v1_0.logs.printed import unquote
from amqpscope.protocols.v1_0.logs.proton_values import ProtonText
from dissectors.v1_0.encode import encode_frame, encode_header

HEADERS: Final = {"AMQP": encode_header(0), "SASL": encode_header(3), "TLS": encode_header(2)}
EMPTY: Final = "(EMPTY FRAME)"
TRUNCATED: Final = re.compile(r" ?\.\.\. ?\(truncated\)$")
_PAYLOAD: Final = re.compile(r"\s*\((\d+)\) ")


class ProtonLog(LogFormat):
    """Frames of qpid-proton."""

    name = "qpid-proton's frame trace"
    sign = re.compile(
        r"^(?P<before>.*?)\[(?P<connection>0x[0-9a-f]+|C\d+)\]:\s*(?:[A-Z]+:FRAME:)?"
        r"(?P<channel>\d*)\s*(?P<way>->|<-) (?P<said>@[a-z-]+\(\d+\) \[.*|AMQP|SASL|TLS|EOS"
        r"|\(EMPTY FRAME\))\s*$"
    )

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The frame of a line."""
        said, channel = found["said"], int(found["channel"] or 0)
        entry = LogEntry(found["connection"], found["way"] == "->", time_in(found["before"]))
        if said == "EOS":
            yield entry._replace(ends=True)
        elif said in HEADERS:
            yield entry._replace(octets=HEADERS[said])
        elif said == EMPTY:
            yield entry._replace(octets=encode_frame(channel=channel))
        else:
            text = ProtonText(said)
            body = text.read()
            payload, lost = read_payload(text.rest)
            octets = encode_frame(body, channel, payload + bytes(lost))
            yield entry._replace(octets=octets[: len(octets) - lost], lost=lost)


def read_payload(text: str) -> tuple[bytes, int]:
    """The octets behind a performative, and how many are left out."""
    found = _PAYLOAD.match(text)
    if found is None:
        return b"", 0
    said = text[found.end() :]
    # One space parts what is quoted from what is said about it, and the payload may end in one.
    quoted = TRUNCATED.sub("", said)
    if quoted[:1] == quoted[-1:] == '"' and len(quoted) > 1:
        quoted = quoted[1:-1]  # as earlier versions have it
    octets = unquote(quoted)
    lost = int(found[1]) - len(octets)
    if lost < 0:
        raise ValueError(f"a payload of {found[1]} octets has {len(octets)}")
    return octets, lost
