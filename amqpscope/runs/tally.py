"""What the analysis counts for the metrics of a proxy: frames, octets and findings."""

from __future__ import annotations

from collections import Counter
from typing import Any

from amqpscope.analysis import Batch
from amqpscope.findings import Finding
from amqpscope.stream.types import PEERS


class Tally:
    """Counts since the beginning."""

    def __init__(self) -> None:
        self.frames = [0, 0]
        """By sender."""
        self.octets = [0, 0]
        self.findings: Counter[tuple[str, str]] = Counter()
        """By rule and severity, without those that rest on a fault."""

    def take(self, batch: Batch) -> None:
        """Count what comes next."""
        for step in batch.steps:
            frame = step.frame
            self.frames[frame.sender] += 1
            self.octets[frame.sender] += len(frame.raw)
            if step.findings:
                self.count(step.findings)
        self.count(batch.findings)

    def count(self, findings: list[Finding]) -> None:
        """Count findings."""
        self.findings.update((each.rule, each.severity) for each in findings if not each.fault)

    def table(self, position: int) -> dict[str, Any]:
        """All of it, with how far the recording was read."""
        return {
            "frames": dict(zip(PEERS, self.frames, strict=True)),
            "octets": dict(zip(PEERS, self.octets, strict=True)),
            "findings": [[rule, severity, n] for (rule, severity), n in self.findings.items()],
            "position": position,
        }
