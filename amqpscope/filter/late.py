"""Filters and findings that come late: the frame that they are about has passed by then.

What a filter says of frames is asked when a frame passes, what it says of findings when one comes.
Either question takes the rest of the filter for granted, and a late finding is shown when both are
answered with yes. Of a filter that joins the two by `and` that is exact.
"""

from __future__ import annotations

from amqpscope.analysis import Step
from amqpscope.filter import Filter, parser, verdicts
from amqpscope.filter.compiler import Compiler
from amqpscope.filter.names import WIRESHARK
from amqpscope.filter.parser import Path, Syntax
from amqpscope.filter.view import FindingView, View
from amqpscope.findings import Finding

FINDING = "finding"
"""The first name of every fact about findings."""


class LateFilter:
    """A filter for frames and for what is found about them afterwards."""

    def __init__(self, where: Filter) -> None:
        self.where = where
        tree = parser.parse(where.text)
        asks = tree is not None and mentions_findings(tree)
        self.frames = partial_test(where.text, tree, of_findings=False) if asks else None
        """Whether some finding would make a frame match; None where findings do not matter."""
        self.findings = partial_test(where.text, tree, of_findings=True)
        self.passed = bytearray()
        """A bit for each frame that a finding may be shown of."""

    def matches(self, step: Step) -> bool:
        """Whether a frame is shown."""
        where = self.where
        shown = where.matches(step)
        if shown or (
            self.frames is not None
            and self.frames.holds(View(step, where.start or 0, where.messages))
        ):
            place, bit = divmod(step.frame.number, 8)
            self.passed.extend(bytes(max(place + 1 - len(self.passed), 0)))
            self.passed[place] |= 1 << bit
        return shown

    def matches_finding(self, finding: Finding) -> bool:
        """Whether a finding about a frame that has passed is shown."""
        place, bit = divmod(finding.frame, 8)
        passed = place < len(self.passed) and self.passed[place] >> bit & 1
        return bool(passed) and self.findings.holds(FindingView(finding))


class PartialCompiler(Compiler):
    """Compiles what a filter says of findings, or of all else; the rest is taken for granted."""

    def __init__(self, text: str, *, of_findings: bool) -> None:
        super().__init__(text)
        self.of_findings = of_findings
        self.negated = False

    def test(self, tree: Syntax) -> verdicts.Test:
        """The test that a part of the tree stands for, where negation goes down to the leaves."""
        if isinstance(tree, parser.Not):
            self.negated = not self.negated
            test = self.test(tree.test)
            self.negated = not self.negated
            return test
        if isinstance(tree, parser.Both | parser.Either):
            tests = [self.test(each) for each in tree.tests]
            every = isinstance(tree, parser.Both) is not self.negated
            return verdicts.All(tests) if every else verdicts.Some(tests)
        if is_of_finding(tree.path) is not self.of_findings:
            return verdicts.Everything()
        test = super().test(tree)
        return verdicts.Not(test) if self.negated else test


def partial_test(text: str, tree: Syntax | None, *, of_findings: bool) -> verdicts.Test:
    """The part of a filter that is about findings, or about all else."""
    if tree is None:
        return verdicts.Everything()
    return PartialCompiler(text, of_findings=of_findings).test(tree)


def mentions_findings(tree: Syntax) -> bool:
    """Whether a filter asks anything about findings."""
    if isinstance(tree, parser.Not):
        return mentions_findings(tree.test)
    if isinstance(tree, parser.Both | parser.Either):
        return any(map(mentions_findings, tree.tests))
    return is_of_finding(tree.path)


def is_of_finding(path: Path) -> bool:
    """Whether a field is one of findings."""
    names = [part.name for part in path.parts]
    return names[0] == FINDING or (names[0] == WIRESHARK and names[1:2] == [FINDING])
