r"""amqpnetlite's frame trace: TraceLevel.Frame; its TraceLevel.Buffer has octets in hexadecimal.

    [09:49:15.207] SEND AMQP 0 1.0.0
    [09:49:15.208] SEND (ch=0) open(container-id:c,host-name:h,max-frame-size:262144,...)
    [11:47:33.753] RECV (ch=1) transfer(handle:1,delivery-id:13,delivery-tag:000E,...) payload 1004

Connections have no names, and payloads are left out. Many versions print fields that a frame does
not have as zero or false, so that a zero is taken for a field that is not there, unless it must be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in
from amqpscope.protocols.v1_0.logs.printed import Style, body_of, frame_without_payload
from amqpscope.protocols.v1_0.logs.pyamqp import FRAMES
from dissectors.v1_0.encode import encode_frame, encode_header

# fmt: off
FLOW: Final = {
    "next-incoming-id": "next-in-id",
    "incoming-window":  "in-window",
    "next-outgoing-id": "next-out-id",
    "outgoing-window":  "out-window",
}
NOTHING: Final = frozenset(("", "null", "[]", "..."))
STYLE: Final = Style(":", {"hostname": "host-name"}, nothing=NOTHING, zeros=True)
FLOW_STYLE: Final = Style(":", FLOW, nothing=NOTHING, zeros=True)
SASL_STYLE: Final = Style(":", nothing=NOTHING)
ZEROS: Final = (
    # frame, what it has, and the field that it has then
    ("attach",   "role:False",    "initial-delivery-count"),
    ("transfer", "delivery-tag:", "delivery-id"),
    ("transfer", "delivery-tag:", "message-format"),
)
# fmt: on
_LINK: Final = re.compile(r"name:(?P<name>.*?),handle:(?P<handle>\d+),")
_OF_LINK: Final = re.compile(r"(?:handle|delivery-count|link-credit):[1-9]|drain:True")


class NetLiteLog(LogFormat):
    """Frames of amqpnetlite."""

    name = "amqpnetlite's frame trace"
    sign = re.compile(
        r"^(?P<before>.*?)(?P<way>SEND|RECV) (?:\(ch=(?P<channel>\d+)\) )?"
        r"(?:AMQP (?P<header>\d(?:[ .]\d){3})|(?P<empty>empty)"
        rf"|(?P<name>{FRAMES.lower()}|sasl-\w+)\((?P<fields>.*)\)"
        r"(?: payload (?P<payload>\d+))?)\s*$"
    )
    note = (
        "amqpnetlite logs no payloads, and fields that are zero or false also where they are left"
        " out, so that these are unknown"
    )

    def __init__(self) -> None:
        self.waiting: dict[bool, list[int]] = {True: [], False: []}
        """Channels on which a side has begun a session that is not answered yet."""
        self.answered: set[tuple[bool, int]] = set()
        """Channels of sessions that both sides have begun, for each of them."""
        self.links: dict[tuple[bool, int, str], tuple[str, bool]] = {}
        """The names of links by side, channel and handle, and whether that side is the sender."""

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The frame of a line."""
        entry = LogEntry("", found["way"] == "SEND", time_in(found["before"]))
        channel, name = int(found["channel"] or 0), found["name"]
        if found["header"]:
            numbers = map(int, re.split("[ .]", found["header"]))
            yield entry._replace(octets=encode_header(*numbers))
            return
        if found["empty"]:
            yield entry._replace(octets=encode_frame(channel=channel))
            return
        style = FLOW_STYLE if name == "flow" else SASL_STYLE if name[:4] == "sasl" else STYLE
        zeros = self.zeros(name, found["fields"], entry.outgoing, channel)
        body = body_of(name, found["fields"], style, zeros)
        octets, lost = frame_without_payload(body, channel, int(found["payload"] or 0))
        yield entry._replace(octets=octets, lost=lost)

    def is_header(self, found: re.Match[str]) -> bool:
        """Whether a line is a protocol header."""
        return found["header"] is not None

    def zeros(self, name: str, fields: str, ours: bool, channel: int) -> tuple[str, ...]:
        """The fields that must be there, because of others or of the frames before."""
        if name == "begin":
            return self.begin(fields, ours, channel)
        if name == "end":
            self.answered.discard((ours, channel))
        elif name == "attach" and (link := _LINK.match(fields)):
            is_sender = "role:False" in fields
            self.links[ours, channel, link["handle"]] = (link["name"], is_sender)
        elif name == "flow":
            known = ("next-incoming-id",) if (ours, channel) in self.answered else ()
            of_link = _OF_LINK.search(fields) is not None
            return (*known, *self.link_zeros(fields, ours, channel)) if of_link else known
        return tuple(field for frame, sign, field in ZEROS if frame == name and sign in fields)

    def begin(self, fields: str, ours: bool, channel: int) -> tuple[str, ...]:
        """Those of a begin: channel 0 is answered where it waits and no other is named."""
        named = re.search(r"remote-channel:([1-9]\d*)", fields)
        remote = 0 if named is None else int(named[1])
        if remote not in self.waiting[not ours]:
            self.waiting[ours].append(channel)
            return ()
        self.waiting[not ours].remove(remote)
        self.answered |= {(ours, channel), (not ours, remote)}
        return ("remote-channel",)

    def link_zeros(self, fields: str, ours: bool, channel: int) -> tuple[str, ...]:
        """Those of a link; its receiver has no delivery-count before the sender's attach."""
        handle = re.search(r"\bhandle:(\d+)", fields)
        key = (ours, channel, "0" if handle is None else handle[1])
        name, is_sender = self.links.get(key, ("", False))
        both = any(side != ours and name == link for (side, _, _), (link, _) in self.links.items())
        return ("handle", "link-credit", *(("delivery-count",) if both or is_sender else ()))
