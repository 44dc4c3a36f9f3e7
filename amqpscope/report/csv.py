"""The frame list as comma-separated values, one unit a row.

What is found about a unit after its row was written is a row of its own, of the kind `finding`.

A spreadsheet takes a cell that begins with one of a few signs for a formula, and runs it. Captured
text that begins so gets an apostrophe in front, which spreadsheets take for "this is text".
"""

from __future__ import annotations

import csv
import io
from typing import Final

from amqpscope.analysis import Step
from amqpscope.findings import Finding
from amqpscope.protocols.words import escaped, printable
from amqpscope.report.jsonl import seconds
from amqpscope.report.look import PLAIN_TEXT, Look
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

    def __init__(self, look: Look = PLAIN_TEXT) -> None:
        self.show_secrets = look.show_secrets
        self.first: tuple[str, ...] = (",".join(COLUMNS),)

    def heading(self) -> list[str]:
        """Nothing: all captures are one table."""
        return []

    def begin(self, time: int) -> None:
        """Times are those of the clock, so there is nothing to learn."""

    def lines(self, steps: list[Step]) -> list[str]:
        """Units one after the other."""
        return [self.line(step) for step in steps]

    def finding(self, finding: Finding, capture: str, *, late: bool) -> str:
        """A finding as a row of its own: `from` is who is at fault, `name` that of the rule."""
        channel = "" if finding.channel is None else finding.channel
        return as_row(
            finding.frame, finding.packet, seconds(finding.time), finding.connection, finding.peer,
            "", "finding", channel, finding.name, "", "", safe(printable(finding.link)), "", "",
            safe(printable(finding.message)), finding.rule,
        )  # fmt: skip

    def fault(self, connection: int, name: str, action: str) -> str:
        """A fault behind the last frame of a connection, as a row of its own."""
        return as_row(
            "", "", "", connection, "", "", "fault", "", safe(printable(name)), "", "", "", "", "",
            safe(printable(action)), "",
        )  # fmt: skip

    def add_findings(self, line: str, findings: list[Finding]) -> str:
        """The row of a unit of which more turns out to be wrong: findings are the last cell."""
        gap = "" if line.endswith(",") else " "
        return line + gap + " ".join(map(str, findings))

    def line(self, step: Step) -> str:
        """A frame as a row."""
        frame, unit, event, voice = step.frame, step.frame.unit, step.event, step.talk.voice
        shown = escaped if self.show_secrets else printable
        return as_row(
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


def as_row(*cells: object) -> str:
    """Cells on a line, quoted where that is needed."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()
