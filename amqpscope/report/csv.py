"""The frame list as comma-separated values, one unit a row.

A spreadsheet takes a cell that begins with one of a few signs for a formula, and runs it. Captured
text that begins so gets an apostrophe in front, which spreadsheets take for "this is text".
"""

from __future__ import annotations

import csv
import io
from typing import Final

from amqpscope.analysis import Step
from amqpscope.protocols.words import escaped, printable
from amqpscope.report.jsonl import seconds
from amqpscope.stream.types import PEERS

COLUMNS: Final = (
    "frame", "packet", "time", "connection", "from", "protocol", "kind", "channel", "name",
    "size", "payload", "link", "address", "delivery", "summary", "findings",
)  # fmt: skip

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a formula begins with, also in the wide characters of East Asia."""


def safe(text: str) -> str:
    """A text that no spreadsheet runs."""
    return f"'{text}" if text.startswith(FORMULA) else text


class CsvLines:
    """Writes Steps as rows."""

    def __init__(self, *, show_secrets: bool = False) -> None:
        self.show_secrets = show_secrets

    def heading(self) -> str:
        """The names of the columns."""
        return ",".join(COLUMNS)

    def line(self, step: Step) -> str:
        """One unit."""
        frame, unit, event, voice = step.frame, step.frame.unit, step.event, step.talk.voice
        shown = escaped if self.show_secrets else printable
        row = (
            frame.number,
            frame.packet,
            seconds(frame.time),
            step.conversation.number,
            PEERS[frame.sender],
            safe(step.conversation.protocol),
            unit.kind,
            "" if unit.header is not None else unit.channel,
            safe(escaped(voice.full_name(event))),
            len(frame.raw) + frame.missing,
            voice.payload(event),
            safe(shown(voice.link(event) or "")),
            safe(shown(voice.address(event))),
            voice.delivery_id(event),
            safe(voice.summary(event, self.show_secrets)),
            " ".join(map(str, step.findings)),
        )
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(row)
        return out.getvalue()
