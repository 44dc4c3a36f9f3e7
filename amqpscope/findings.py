"""A finding: a broken rule with everything that a reader needs to believe it.

A plain value: rules make it through their reporter, sinks read it, and it can be stored and made
again from its fields.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dissectors.secrets import clean_name, cleaned

ERROR: Final = "error"
WARNING: Final = "warning"
INFO: Final = "info"
SEVERITIES: Final = (ERROR, WARNING, INFO)

SURE: Final = "sure"
SUSPECT: Final = "suspect"

GUESSED: Final = " (no SYN was captured, so client and server may be the other way round)"


@dataclass(frozen=True)
class Finding:
    """One rule that is broken at one place."""

    rule: str
    """The rule's id: `FLW-016`."""
    name: str
    section: str
    """Where the specification says so."""
    level: str
    severity: str
    certainty: str
    """`sure` where the octets prove it, else `suspect`."""
    peer: str
    """Who is at fault: `client` or `server`."""
    message: str
    path: str
    """The field that it is about: `transfer.delivery-id`; may be empty."""
    connection: int
    frame: int
    packet: int
    time: int
    """Nanoseconds since the Unix epoch."""
    channel: int | None
    link: str
    related: tuple[tuple[int, str], ...] = ()
    """Other frames that matter to it, each with why."""
    fault: str = ""
    """The fault of a proxy that it rests on: then nobody is to blame."""
    related_connections: tuple[int, ...] = ()
    """The connection of each of these frames; empty: they are of the same one."""
    related_captures: tuple[int, ...] = ()
    """The place among the captures of one run of each; empty: they are in the same one."""

    def __str__(self) -> str:
        return self.rule

    def __repr__(self) -> str:
        where = f"frame {self.frame} ({self.peer}) {self.path}"
        return f"{self.rule} {self.severity} {where}: {self.message}"

    def masked(self) -> Finding:
        """The finding without secrets: names and addresses are quoted in messages."""
        return replace(
            self,
            message=cleaned(self.message),
            link=clean_name(self.link),
            related=tuple([(frame, cleaned(why)) for frame, why in self.related]),
        )

    def doubted(self, reason: str) -> Finding:
        """The finding with nobody accused for sure; what is only a note stays as it is."""
        if self.severity == INFO:
            return self
        severity = WARNING if self.severity == ERROR else self.severity
        message = self.message + reason
        return replace(self, severity=severity, certainty=SUSPECT, message=message)
