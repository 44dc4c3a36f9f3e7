"""The findings of one capture in the HTML report: by rule and peer, with the frames that show them.

The first ones of each group come with their evidence, further ones as a line each, and beyond
`LINES` they are only counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from amqpscope.findings import SEVERITIES
from amqpscope.insight.ladder import Arrow
from amqpscope.protocols.words import printable
from amqpscope.report.html import SIGNS
from amqpscope.report.html_rules import summary_of
from amqpscope.report.lint_text import since
from amqpscope.report.text import ARROWS

if TYPE_CHECKING:
    from amqpscope.check.result import Excerpt, FindingKind
    from amqpscope.findings import Finding
    from amqpscope.report.illustration import Illustration

DETAILED: Final = 12
"""Findings of a group that are shown with their evidence."""
LINES: Final = 200
"""Findings of a group that are shown at all."""

Group = tuple[str, str, str]
"""Severity, rule and peer."""


def group_findings(findings: Iterable[Finding]) -> dict[Group, list[Finding]]:
    """By severity, rule and peer; what is worst and what is most frequent first."""
    groups: dict[Group, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.severity, finding.rule, finding.peer].append(finding)
    order = sorted(
        groups, key=lambda group: (SEVERITIES.index(group[0]), -len(groups[group]), group)
    )
    return {group: groups[group] for group in order}


def detailed_frames(findings: Iterable[Finding]) -> frozenset[int]:
    """The frames of the findings that are shown with their evidence."""
    groups = group_findings(findings).values()
    return frozenset(finding.frame for group in groups for finding in group[:DETAILED])


class FindingsPart:
    """The findings of the capture at this place."""

    def __init__(
        self,
        place: int,
        shown: Illustration,
        more: dict[FindingKind, int],
        *,
        frames: bool,
        clean: bool = True,
    ) -> None:
        self.prefix = f"c{place}-"
        self.more: Counter[Group] = Counter()
        """Findings that were counted and not kept."""
        for kind, number in more.items():
            self.more[kind.severity, kind.rule, kind.peer] += number
        self.shown = shown
        self.frames = frames
        """The page lists all frames, so that they can be pointed at."""
        self.clean = clean
        """Nothing else went wrong either, such as a refused message."""
        self.connections = {ladder.number for ladder in shown.ladders}
        self.drawn = {
            row.frame for ladder in shown.ladders for row in ladder.rows if isinstance(row, Arrow)
        }
        self.named: set[str] = set()

    def parts(self) -> Iterator[str]:
        """The section of findings, group by group."""
        if not self.shown.findings:
            if self.clean:
                yield '<p class="clean">Nothing found.</p>\n'
            else:
                yield '<p class="quiet">No rule is broken.</p>\n'
            return
        yield f'<section id="{self.prefix}findings">\n<h3>Findings</h3>\n'
        for (severity, rule, peer), findings in group_findings(self.shown.findings).items():
            yield from self.group(severity, rule, peer, findings)
        yield "</section>\n"

    def group(self, severity: str, rule: str, peer: str, findings: list[Finding]) -> Iterator[str]:
        """What one peer did against one rule."""
        first = findings[0]
        times = len(findings) + self.more[severity, rule, peer]
        often = "" if times == 1 else f'<span class="times">, {times:,} times</span>'
        href = f"#rule-{escape(rule)}"
        yield (
            f'<article class="group {severity}" data-severity="{severity}">\n'
            f'<h4><span class="badge {severity}"><span aria-hidden="true">{SIGNS[severity]}</span> '
            f'{severity}</span> <a href="{href}"><code>{escape(rule)}</code></a> '
            f'{escape(first.name)} <span class="peer">by the {escape(peer)}</span>{often}</h4>\n'
            f'<p class="ask">{escape(summary_of(rule))} '
            f'<a href="{href}">section {escape(first.section)}, the rule in full</a></p>\n'
        )
        for place, finding in enumerate(findings[:DETAILED]):
            yield from self.finding(finding, is_open=place == 0)
        rest = findings[DETAILED:LINES]
        if rest:
            yield f"<details><summary>{times - DETAILED:,} more of these</summary>\n<ul>\n"
            for finding in rest:
                yield f"<li>{self.where(finding)}: {escape(printable(finding.message))}</li>\n"
            left = times - DETAILED - len(rest)
            if left:
                command = f"amqpscope lint --max-findings 0 --select {escape(rule)}"
                yield f"<li>and {left:,} more, which <code>{command}</code> lists</li>\n"
            yield "</ul></details>\n"
        yield "</article>\n"

    def name(self, frame: int, rule: str) -> str:
        """Under which name a finding can be pointed at."""
        return f"{self.prefix}f{frame}-{rule}"

    def where(self, finding: Finding) -> str:
        """The place of a finding, as links where the page shows it."""
        parts = [self.frame(finding.frame), f"packet {finding.packet}"]
        connection = f"connection {finding.connection}"
        if finding.connection in self.connections:
            href = f"#{self.prefix}connection-{finding.connection}"
            connection = f'<a href="{href}">{connection}</a>'
        parts.append(connection)
        if finding.channel is not None:
            parts.append(f"channel {finding.channel}")
        if finding.link:
            parts.append(f"link <q>{escape(printable(finding.link))}</q>")
        return ", ".join(parts)

    def frame(self, number: int) -> str:
        """A frame's number, as a link to its arrow or its line."""
        if self.frames:
            return f'<a href="#{self.prefix}n{number}">frame {number}</a>'
        if number in self.drawn:
            return f'<a href="#{self.prefix}l{number}">frame {number}</a>'
        return f"frame {number}"

    def finding(self, finding: Finding, *, is_open: bool) -> Iterator[str]:
        """One finding with its evidence."""
        name = self.name(finding.frame, finding.rule)
        # Two of one rule on one frame: the first is the one that is pointed at.
        anchor = "" if name in self.named else f' id="{escape(name)}"'
        self.named.add(name)
        doubt = "" if finding.certainty == "sure" else ' <em class="doubt">suspect</em>'
        yield (
            f'<details class="finding"{anchor}{" open" if is_open else ""}>\n'
            f'<summary><span class="at">frame {finding.frame}</span> '
            f"{escape(printable(finding.message))}{doubt}</summary>\n"
            f'<p class="where">{self.where(finding)}</p>\n'
        )
        yield from self.evidence(finding)
        yield "</details>\n"

    def evidence(self, finding: Finding) -> Iterator[str]:
        """The frames that a finding rests on, and those around it."""
        reasons: dict[int, list[str]] = {}
        for frame, why in finding.related:
            reasons.setdefault(frame, []).append(why)
        frames = {finding.frame, *reasons, *self.shown.around.get(finding.frame, ())}
        known = [n for n in sorted(frames) if n in self.shown.excerpts]
        if not known:
            return
        here = self.shown.excerpts.get(finding.frame)
        yield '<div class="wide" tabindex="0"><table class="frames">\n'
        for place, number in enumerate(known):
            skipped = place and number - known[place - 1] > 1
            excerpt = self.shown.excerpts[number]
            kind = "bad" if number == finding.frame else "why" if number in reasons else ""
            notes = [finding.path] if number == finding.frame and finding.path else []
            notes += reasons.get(number, [])
            yield line(number, excerpt, here, f"{kind}{' after-gap' if skipped else ''}", notes)
        yield "</table></div>\n"


def line(number: int, excerpt: Excerpt, here: Excerpt | None, kind: str, notes: list[str]) -> str:
    """One frame, with what it shows below it."""
    channel = "" if excerpt.channel is None else str(excerpt.channel)
    when = escape(since(excerpt, here))
    row = (
        f'<tr class="{kind.strip()}"><td class="n">{number}<td class="n">{when}'
        f'<td class="way">{ARROWS[excerpt.sender]}<td class="n">{channel}'
        f"<td>{escape(excerpt.name)}<td>{escape(excerpt.text)}</tr>\n"
    )
    for note in notes:
        row += (
            f'<tr class="note"><td><td><td><td><td colspan="2">↑ {escape(printable(note))}</tr>\n'
        )
    return row
