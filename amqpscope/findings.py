"""A finding: a broken rule with everything that a reader needs to believe it."""

from __future__ import annotations

from typing import Final

from amqpscope.rules import ERROR, INFO, SUSPECT, WARNING, Report
from amqpscope.stream import PEERS
from dissectors.secrets import clean_name, cleaned

GUESSED: Final = " (no SYN was captured, so client and server may be the other way round)"


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
        self.message = cleaned(report.message)
        """Names and addresses are quoted in it, whose secrets no report needs."""
        self.path = report.path
        self.connection = connection
        self.frame = report.mark.frame
        self.packet = report.mark.packet
        self.time = report.mark.time
        """Nanoseconds since the Unix epoch."""
        self.channel = report.channel
        self.link = clean_name(report.link)
        self.related = tuple([(frame, cleaned(why)) for frame, why in report.related])

    def __str__(self) -> str:
        return self.rule

    def __repr__(self) -> str:
        where = f"frame {self.frame} ({self.peer}) {self.path}"
        return f"{self.rule} {self.severity} {where}: {self.message}"


def make_findings(reports: list[Report], connection: int, guessed: bool) -> list[Finding]:
    """What rules reported on a connection; nobody is accused for sure where roles are a guess."""
    for report in reports:
        if guessed and report.severity != INFO:
            report.certainty = SUSPECT
            report.message += GUESSED
            if report.severity == ERROR:
                report.severity = WARNING
    return [Finding(report, connection) for report in reports]
