"""The frame list as comma-separated values, one unit a row.

A spreadsheet takes a cell that begins with one of a few signs for a formula, and runs it. Captured
text that begins so gets an apostrophe in front, which spreadsheets take for "this is text".
"""

from __future__ import annotations

import csv
import io
from typing import Final

from amqpscope.analysis import Step
from amqpscope.report.jsonl import name_of, seconds
from amqpscope.report.older_summary import older_place
from amqpscope.report.summary import escaped, printable, summary
from amqpscope.stream import PEERS

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
        frame, unit, link = step.frame, step.frame.unit, step.link
        size = len(frame.raw) + frame.missing
        older = step.older
        shown = escaped if self.show_secrets else printable
        if older is not None:
            payload = older.unit.body_size
            address = shown(older_place(older))
            delivery = None if older.delivery is None else older.delivery.tag
        else:
            payload = size - unit.payload if unit.name == "transfer" else 0
            address = "" if link is None else shown(link.node())
            delivery = None if step.delivery is None else step.delivery.delivery_id
        row = (
            frame.number,
            frame.packet,
            seconds(frame.time),
            step.conversation.number,
            PEERS[frame.sender],
            safe(step.conversation.protocol),
            unit.kind,
            "" if unit.header is not None else unit.channel,
            safe(escaped(name_of(unit))),
            size,
            payload,
            "" if link is None else safe(shown(link.name)),
            safe(address),
            delivery,
            safe(summary(step, show_secrets=self.show_secrets)),
            " ".join(map(str, step.findings)),
        )
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(row)
        return out.getvalue()
