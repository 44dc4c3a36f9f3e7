"""What an HTML report shows of one capture beside its findings; `runs.illustrate` fills it."""

from __future__ import annotations

from dataclasses import dataclass, field

from amqpscope.check.result import Excerpt
from amqpscope.findings import Finding
from amqpscope.insight.ladder import Ladder
from amqpscope.insight.series import Plots
from amqpscope.insight.statistics import ConnectionNumbers
from amqpscope.model.refusal import Refusal
from amqpscope.protocols.stuck import Held


@dataclass
class RefusalGroup:
    """What a peer refuses in the same words, on one connection."""

    connection: int
    peer: int
    refusal: Refusal
    frame: int
    """The first of them."""
    times: int = 0


@dataclass
class Illustration:
    """What is shown of one capture."""

    findings: list[Finding]
    ladders: list[Ladder] = field(default_factory=list)
    numbers: list[ConnectionNumbers] = field(default_factory=list)
    """Of all connections."""
    plots: Plots = field(default_factory=Plots)
    held: list[Held] = field(default_factory=list)
    """What the drawn connections carry, with what holds it when the capture ends; the worst first.
    """
    refused: dict[tuple[int, int, Refusal], RefusalGroup] = field(default_factory=dict)
    """By connection, peer and what it says."""
    excerpts: dict[int, Excerpt] = field(default_factory=dict)
    around: dict[int, list[int]] = field(default_factory=dict)
    """By the frame of a finding: the frames before and after it on its connection."""
    _known: dict[int, list[Finding]] | None = None
    first: int = 0
    last: int = 0
    """When the first frame passed, and when the capture, or the last of its connections, ended."""

    def of_connection(self, number: int) -> list[Finding]:
        """The findings of one connection."""
        if self._known is None:
            self._known = {}
            for finding in self.findings:
                self._known.setdefault(finding.connection, []).append(finding)
        return self._known.get(number, [])
