"""A checked capture: what `lint` found in it, as every sink reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from amqpscope.findings import Finding
from amqpscope.protocols.registry import is_header_only
from amqpscope.wording import no_amqp, plural

HINT: Final = "a capture that begins later needs --decode-as PORT=PROTOCOL off port 5672"
"""What may help where no AMQP was found."""


class NotChecked(Exception):
    """Not all could be checked, or there was nothing to check; one line for each reason."""


class Excerpt(NamedTuple):
    """A frame that a finding refers to, as far as a reader wants to see it."""

    time: int
    """Nanoseconds since the Unix epoch."""
    sender: int
    channel: int | None
    link: str
    name: str
    text: str


class FindingKind(NamedTuple):
    """What findings have in common of which only so many are kept."""

    rule: str
    name: str
    severity: str
    peer: str
    connection: int


@dataclass
class CaptureResult:
    """One capture and what was found in it."""

    path: str
    """As it was given."""
    place: int = 0
    """Which it is, of captures that are checked together."""
    only: int = 0
    """The connection whose findings are wanted; 0: all."""
    packets: int = 0
    connections: int = 0
    frames: int = 0
    protocols: list[str] = field(default_factory=list)
    gaps: int = 0
    error: str | None = None
    """Why it could not be read, or not to its end."""
    problems: list[str] = field(default_factory=list)
    """Why files of a ring could not be read, or not to their end: a line each, with its path."""
    unreadable: bool = False
    """Nothing of it, or of a file in it, could be read, or checking broke off."""
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    counts: dict[FindingKind, int] = field(default_factory=dict)
    """How many there are of each kind, where not all may be kept."""
    more: dict[FindingKind, int] = field(default_factory=dict)
    """Those that were found and are not in `findings`, since there are so many of their kind."""
    excerpts: dict[int, Excerpt] = field(default_factory=dict)
    """The frames that the findings refer to, by number."""

    def lines(self) -> list[str]:
        """What the user should know about the capture beside its frames, a line each."""
        lines = list(self.notes)
        if self.error and not self.problems:
            lines.append(self.error)
        if self.gaps:
            lines.append(f"octets are missing at {plural(self.gaps, 'place')}")
        lines.extend(self.only_headers)
        if not self.frames and not self.notes and (self.packets or not self.error):
            lines.append(f"{self.no_amqp} ({HINT})")
        return [f"{self.path}: {line}" for line in lines] + self.problems

    @property
    def no_amqp(self) -> str:
        """What is said of a capture without AMQP."""
        return no_amqp(self.packets)

    @property
    def only_headers(self) -> list[str]:
        """What is said of protocols of which nothing but the header is known."""
        return [
            f"{protocol} is not checked beyond its protocol header"
            for protocol in filter(is_header_only, self.protocols)
        ]

    def frames_of(self, finding: Finding) -> set[int]:
        """The frames of this capture that a finding is about."""
        others = finding.related_captures
        frames = {finding.frame}
        for place, (frame, _) in enumerate(finding.related):
            if not others or others[place] == self.place:
                frames.add(frame)
        return frames

    def keep(self, finding: Finding, limit: int) -> bool:
        """Keep a finding; only count it if `limit` (0: any number) of its kind are kept already."""
        if self.only and finding.connection != self.only:
            return False
        if limit:
            kind = FindingKind(
                finding.rule, finding.name, finding.severity, finding.peer, finding.connection
            )
            number = self.counts.get(kind, 0)
            if finding.fault and number >= limit:
                return False  # what rests on a fault of a proxy counts nowhere
            self.counts[kind] = number + 1
            if number >= limit:
                self.more[kind] = number + 1 - limit
                return False
        self.findings.append(finding)
        return True

    def sort(self) -> None:
        """Order the findings by their frames, and by kind those that are only counted."""
        self.findings.sort(key=lambda found: (found.frame, found.rule))
        self.more = dict(sorted(self.more.items()))
