r"""The frame trace of uamqp, on which older versions of Azure's SDKs for Python and C are built.

    2018-11-05 07:34:09,140 uamqp.c_uamqp INFO     b'-> Header (AMQP 0.1.0.0)'
    INFO: uamqp.c_uamqp : b'-> [ATTACH]* {$cbs-sender,0,false,0,0,* {$cbs},* {$cbs},NULL,NULL,0,0}'
    INFO: uamqp.c_uamqp : b'... -> [TRANSFER]* {0,0,<01 00 00 00>,0,false,false}'

Fields are in the order of the specification. Channels, SASL and payloads are not in the log, nor
which outcome a state is; a frame is taken to be of the newest session.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from amqpscope.protocols.logs import LogEntry, LogFormat, time_in
from amqpscope.protocols.v1_0.logs import printed
from amqpscope.protocols.v1_0.logs.printed import Style, depths_of, frame_without_payload
from amqpscope.protocols.v1_0.logs.pyamqp import FRAMES
from amqpscope.protocols.v1_0.logs.rhea import state_of
from dissectors.v1_0.bodies import BODIES
from dissectors.v1_0.body import Body
from dissectors.v1_0.encode import encode_header
from dissectors.v1_0.rows import Field
from dissectors.v1_0.tables import primitive
from dissectors.v1_0.values import Value

STYLE: Final = Style(":", nothing=frozenset(("NULL", "", "{}")))
PAYLOAD: Final = 2
"""Octets that stand for a payload, as the log does not have its size."""
DESCRIBED: Final = "* {"
COMPOSITES: Final = ("source", "target", "error")
WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "NULL": None}


class UamqpLog(LogFormat):
    """Frames of uamqp."""

    name = "uamqp's frame trace"
    sign = re.compile(
        r"^(?P<before>.*?)(?P<way>->|<-) (?:Header \(AMQP (?P<header>\d+(?:\.\d+){3})\)"
        rf"|\[(?P<name>{FRAMES.upper()})\]\* \{{(?P<fields>.*)\}})['\"]?\s*$"
    )
    note = (
        "uamqp does not log channels, SASL, payloads and the names of outcomes, so that what is"
        " shown of them is a guess"
    )

    def __init__(self) -> None:
        self.sessions: dict[bool, int] = defaultdict(int)
        """How many sessions each side has begun on this connection."""

    def is_header(self, found: re.Match[str]) -> bool:
        """Whether a line is a protocol header."""
        return found["header"] is not None

    def read(self, found: re.Match[str]) -> Iterator[LogEntry]:
        """The frame of a line."""
        outgoing = found["way"] == "->"
        entry = LogEntry("", outgoing, time_in(found["before"]))
        if found["header"]:
            self.sessions[outgoing] = 0
            yield entry._replace(octets=encode_header(*map(int, found["header"].split("."))))
            return
        name = found["name"].lower()
        self.sessions[outgoing] += name == "begin"
        channel = 0 if name in ("open", "close") else max(0, self.sessions[outgoing] - 1)
        size = PAYLOAD if name == "transfer" else 0
        octets, lost = frame_without_payload(body_of(name, found["fields"]), channel, size)
        yield entry._replace(octets=octets, lost=lost)


def body_of(name: str, text: str) -> Body:
    """A composite from its fields in order."""
    kind = BODIES[name]
    rows, given = kind.row.fields, items(text)
    surplus = len(given) - len(rows)
    texts = [place for place, row in enumerate(rows) if primitive(row.type) == "string"]
    if surplus > 0 and texts:
        # A text has commas of its own.
        start, stop = texts[0], texts[0] + surplus + 1
        given[start:stop] = [",".join(given[start:stop])]
    given += ["NULL"] * -surplus
    return kind(*map(value_of, rows, given))


def items(text: str) -> list[str]:
    """The parts of a list, between commas that are in no bracket."""
    depths = depths_of(text)
    ends = [at for at, each in enumerate(text) if each == "," and not depths[at]]
    starts = [0, *(end + 1 for end in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]


def value_of(row: Field, text: str) -> Value:
    """A field from what is printed of it."""
    if text.startswith(DESCRIBED):
        inside = text[len(DESCRIBED) : -1]
        if row.name in COMPOSITES:
            return body_of(row.name, inside)
        state = plain(text)
        return state_of(state) if isinstance(state, list) else None
    if text.startswith("<"):
        return bytes.fromhex(text.strip("<>"))
    # The entries of a map are in brackets of their own.
    text = text.replace("],[", ",").replace("{[", "{").replace("]}", "}")
    return printed.value_of(row, text, STYLE)


def plain(text: str) -> Value:
    """A value of which nothing is known but how it is printed."""
    if text.startswith(DESCRIBED):
        return [plain(each) for each in items(text[len(DESCRIBED) : -1]) if each]
    if text in WORDS:
        return WORDS[text]
    return int(text) if text.isdigit() else text
