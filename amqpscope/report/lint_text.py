"""Findings for people: what was broken, by whom, and the frames that show it.

error[FLW-016] transfer-without-credit (client)
  sender "s" begins a delivery with no credit: delivery-count 1, the last credit reached to 1
  --> bad.pcapng: frame 11, packet 14, connection 1, channel 0, link "s"
     |
   9 | -2 ms  C←S 0 flow      ...
     |        ^ the most generous credit that the sender may have known
  11 |        C→S 0 transfer  ...
     |        ^^^^^^^^^^^^^^ transfer.handle
     = section 2.6.7; amqpscope explain FLW-016
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from amqpscope.protocols.words import escaped, printable, seconds
from amqpscope.report.columns import cut, wrap
from amqpscope.report.lint import count_severities
from amqpscope.report.look import SEVERITY_COLOURS
from amqpscope.report.text import ARROWS, PLAIN_ARROWS
from amqpscope.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amqpscope.check.result import CaptureResult, Excerpt
    from amqpscope.findings import Finding

BOLD: Final = "1"
GUTTER: Final = "1;34"
CLEAN: Final = "1;32"


class LintText:
    """Writes findings as text."""

    def __init__(self, *, width: int = 0, colour: bool = False, plain: bool = False) -> None:
        self.width = width
        """Columns to keep to; 0 when lines may be as long as they are."""
        self.colour = colour
        self.arrows = PLAIN_ARROWS if plain else ARROWS
        self.more = "~" if plain else "…"

    def lines(self, captures: Sequence[CaptureResult]) -> Iterator[str]:
        """All findings, then the sum."""
        for checked in captures:
            # Those that rest on a fault come last: they are nobody's.
            for finding in sorted(checked.findings, key=lambda each: bool(each.fault)):
                yield from self.finding(finding, checked)
                yield from self.elsewhere(finding, checked, captures)
                yield ""
            if checked.more:
                yield from self.rest(checked)
                yield ""
        yield self.sum(captures)

    def rest(self, checked: CaptureResult) -> Iterator[str]:
        """How many findings are not listed."""
        for kind, number in checked.more.items():
            mark = self.styled(f"{kind.severity}[{kind.rule}]", SEVERITY_COLOURS[kind.severity])
            where = f"{kind.peer}, connection {kind.connection}"
            yield f"... and {number:,} more {mark} {kind.name} ({where})"
        yield from self.with_sign("=", f"{escaped(checked.path)}: --max-findings 0 lists all", "  ")

    def finding(self, finding: Finding, checked: CaptureResult) -> Iterator[str]:
        """One finding with its evidence."""
        doubt = "" if finding.certainty == "sure" else f", {finding.certainty}"
        mark = f"{finding.severity}[{finding.rule}]"
        because = f"; because of fault {printable(finding.fault)}" if finding.fault else ""
        title = f"{mark} {finding.name} ({finding.peer}{doubt}{because})"
        for line in wrap(title, self.width, "", "  "):
            text = line.replace(mark, self.styled(mark, SEVERITY_COLOURS[finding.severity]))
            yield text.replace(finding.name, self.styled(finding.name, BOLD))
        for line in wrap(printable(finding.message), self.width, "  "):
            yield self.styled(line, BOLD)
        digits = len(str(finding.frame))
        yield from self.with_sign("-->", place(finding, checked), "  ")
        shown = self.evidence(finding, checked)
        if shown:
            yield from self.excerpt(finding, shown, digits)
        path = "" if shown or not finding.path else f"{printable(finding.path)}, "
        text = f"{path}section {finding.section}; amqpscope explain {finding.rule}"
        yield from self.with_sign("=", text, " " * (digits + 3))

    def elsewhere(
        self, finding: Finding, checked: CaptureResult, captures: Sequence[CaptureResult]
    ) -> Iterator[str]:
        """The frames in other captures that a finding is about."""
        for (frame, why), place in zip(finding.related, finding.related_captures, strict=False):
            if place != checked.place:
                path = escaped(captures[place].path)
                yield from self.with_sign("=", f"{path}: frame {frame}: {printable(why)}", "     ")

    def with_sign(self, sign: str, text: str, indent: str) -> Iterator[str]:
        """A text behind a sign."""
        first, *more = wrap(f"{sign} {text}", self.width, indent, f"{indent}{'':{len(sign)}} ")
        yield first.replace(sign, self.styled(sign, GUTTER), 1)
        yield from more

    def evidence(self, finding: Finding, checked: CaptureResult) -> dict[int, Excerpt]:
        """The frames that a finding rests on, in their order."""
        frames = sorted(checked.frames_of(finding))
        return {n: checked.excerpts[n] for n in frames if n in checked.excerpts}

    def excerpt(self, finding: Finding, shown: dict[int, Excerpt], digits: int) -> Iterator[str]:
        """These frames as lines, with what each shows below it."""
        reasons = dict(reversed(finding.related))
        here = shown.get(finding.frame)
        times = {frame: since(each, here) for frame, each in shown.items()}
        wide = max(map(len, times.values()))
        names = max(len(each.name) for each in shown.values())
        empty = self.styled(f"  {'':{digits}} |", GUTTER)
        yield empty
        for frame, each in shown.items():
            before = f" {times[frame]:>{wide}}  " if wide else " "
            channel = "" if each.channel is None else each.channel
            who = f"{self.arrows[each.sender]} {channel:>2} {each.name}"
            line = self.fit(f"{before}{who}{'':{names - len(each.name)}}  {each.text}", digits)
            gutter = self.styled(f"  {frame:{digits}} |", GUTTER)
            under = " " * len(before)
            if each is here:
                label = f"{under}{'^' * len(who)} {printable(finding.path)}".rstrip()
                yield gutter + self.styled(line, BOLD)
                yield empty + self.styled(
                    self.fit(label, digits), SEVERITY_COLOURS[finding.severity]
                )
            else:
                yield gutter + line
            if frame in reasons:
                yield empty + self.fit(f"{under}^ {printable(reasons[frame])}", digits)

    def fit(self, line: str, digits: int) -> str:
        """The part of a line that the terminal has room for, behind the frame's number."""
        line = line.rstrip()
        return cut(line, self.width - digits - 4, self.more) if self.width else line

    def sum(self, captures: Sequence[CaptureResult]) -> str:
        """How it went in all."""
        frames = sum(checked.frames for checked in captures)
        broken = sum(checked.unreadable and not checked.problems for checked in captures)
        damaged = sum(len(checked.problems) for checked in captures)
        read = f"{plural(frames, 'frame')} of {plural(len(captures) - broken, 'capture')}"
        if broken:
            read += f"; {plural(broken, 'capture')} could not be read"
        if damaged:
            read += f"; {plural(damaged, 'file')} could not be read to the end"
        found = [
            self.styled(plural(number, severity) if severity != "info" else f"{number:,} info",
                        SEVERITY_COLOURS[severity])
            for severity, number in count_severities(captures).items()
            if number
        ]  # fmt: skip
        if broken and broken == len(captures):
            return f"Nothing was checked: {plural(broken, 'capture')} could not be read."
        faulted = sum(1 for checked in captures for each in checked.findings if each.fault)
        if faulted:
            read += f"; {faulted:,} more because of faults"
        if found:
            return f"Found {', '.join(found)} in {read}."
        return f"{self.styled('Nothing found', CLEAN)} in {read}."

    def styled(self, text: str, code: str) -> str:
        """A text in a colour, where colours are wanted."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def place(finding: Finding, checked: CaptureResult) -> str:
    """Where a finding is."""
    parts = [
        f"{escaped(checked.path)}: frame {finding.frame}",
        f"packet {finding.packet}",
        f"connection {finding.connection}",
    ]
    if finding.channel is not None:
        parts.append(f"channel {finding.channel}")
    if finding.link:
        parts.append(f'link "{printable(finding.link)}"')
    return ", ".join(parts)


def since(excerpt: Excerpt, here: Excerpt | None) -> str:
    """When a frame passed, as seen from the one that is wrong."""
    if here is None or excerpt.time == here.time:
        return ""
    sign = "-" if excerpt.time < here.time else "+"
    return f"{sign}{seconds(abs(excerpt.time - here.time))}"
