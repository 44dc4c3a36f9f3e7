"""A finding: a broken rule with everything that a reader needs to believe it."""

from __future__ import annotations

from amqpscope.rules import Report
from amqpscope.stream import PEERS


class Finding:
    """What leaves the core about one violation."""

    def __init__(self, report: Report, connection: int) -> None:
        rule = report.rule
        self.rule = rule.id
        self.name = rule.name
        self.section = rule.section
        self.level = rule.level
        self.severity = report.severity
        self.certainty = report.certainty
        self.peer = PEERS[report.peer]
        self.message = report.message
        self.path = report.path
        self.connection = connection
        self.frame = report.mark.frame
        self.packet = report.mark.packet
        self.time = report.mark.time
        """Nanoseconds since the Unix epoch."""
        self.channel = report.channel
        self.link = report.link
        self.related = report.related

    def __str__(self) -> str:
        return self.rule

    def __repr__(self) -> str:
        where = f"frame {self.frame} ({self.peer}) {self.path}"
        return f"{self.rule} {self.severity} {where}: {self.message}"
