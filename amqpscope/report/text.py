"""The frame list as text: one line a unit, aligned, cut to the terminal's width.

Colour follows the kind of frame; everything it says is also said in words. What is found about a
unit after its line was written is on a line of its own.
"""

from __future__ import annotations

from typing import Final

from amqpscope.analysis import Step
from amqpscope.findings import Finding
from amqpscope.protocols.words import escaped, printable
from amqpscope.report.columns import wrap
from amqpscope.report.look import PLAIN_TEXT, SEVERITY_COLOURS, Look
from amqpscope.report.tree import detail_of

ARROWS: Final = ("C→S", "C←S")
PLAIN_ARROWS: Final = ("C>S", "C<S")
NARROW: Final = 100
"""Below so many columns times are shorter and link names too."""

USUAL_NAME: Final = 15
"""Columns of the name of a frame, where there is room."""
RESET: Final = "\x1b[0m"
# fmt: off
COLOURS: Final = {
    # by name or kind: the code of the terminal
    "malformed":   "1;31",
    "header":      "2",
    "empty":       "2",
    "open":        "36",
    "begin":       "36",
    "attach":      "36",
    "flow":        "33",
    "transfer":    "32",
    "disposition": "35",
    "detach":      "34",
    "end":         "34",
    "close":       "34",
    "sasl":        "2;36",
}
# fmt: on


class TextLines:
    """Writes Steps as lines."""

    def __init__(self, look: Look = PLAIN_TEXT) -> None:
        self.first: tuple[str, ...] = ()
        self.width = look.width
        self.colour = look.colour
        self.show_secrets = look.show_secrets
        self.plain = look.plain
        self.arrows = PLAIN_ARROWS if look.plain else ARROWS
        self.cut = "~" if look.plain else "…"
        narrow = 0 < look.width < NARROW
        self.link_width = 10 if narrow else 20
        self.digits = 4 if narrow else 6
        self.name_width = 11 if narrow else 15
        self.start = -1
        """When the capture's first frame passed: times count from there."""
        self.detail = detail_of(look)

    def heading(self) -> list[str]:
        """The names of the columns."""
        wide = self.link_width
        line = f"{'frame':>5} {'time':>{self.digits + 5}} con      ch {'link':{wide}} performative"
        return [self.styled(line[: self.width or None], "1")]

    def begin(self, time: int) -> None:
        """Count times from that of the capture's first frame."""
        self.start = time

    def lines(self, steps: list[Step]) -> list[str]:
        """Units one after the other, each with what is wanted below its line."""
        detail = self.detail
        if detail is None:
            return [self.line(step) for step in steps]
        return [line for step in steps for line in (self.line(step), *detail.lines(step))]

    def finding(self, finding: Finding, capture: str, *, late: bool) -> str:
        """A finding on a line of its own."""
        doubt = "" if finding.certainty == "sure" else f", {finding.certainty}"
        mark = f"{finding.severity}[{finding.rule}]"
        where = f" frame {finding.frame}:" if late else ""
        who = f"{finding.name} ({finding.peer}{doubt})"
        text = f"{mark}{where} {who}: {printable(finding.message)}"
        lines = "\n".join(wrap(text, self.width, " " * 6, " " * 8))
        return lines.replace(mark, self.styled(mark, SEVERITY_COLOURS[finding.severity]), 1)

    def fault(self, connection: int, name: str, action: str) -> str:
        """A fault behind the last frame of a connection, on a line of its own."""
        return f"      {printable(f'fault {name}: {action}')}, connection {connection}"

    def line(self, step: Step) -> str:
        """A frame as a line."""
        frame = step.frame
        if self.start < 0:
            self.start = frame.time
        unit, voice = frame.unit, step.talk.voice
        time = (frame.time - self.start) / 1e9
        channel = "" if unit.header is not None else str(unit.channel)
        head = (
            f"{frame.number:5} {time:{self.digits + 5}.{self.digits}f} "
            f"{step.conversation.number:3} {self.arrows[frame.sender]} {channel:>3} "
            f"{self.link(step):{self.link_width}} "
        )
        wide = self.name_width if voice.name_width == USUAL_NAME else voice.name_width
        text = (
            f"{head}{voice.name(step.event):{wide}} {findings(step)}{self.summary(step)}".rstrip()
        )
        if self.plain:
            text = text.replace("…", self.cut)
        if self.width and len(text) > self.width:
            text = text[: self.width - 1] + self.cut
        return self.styled(text, colour_of(step)) if self.colour else text

    def summary(self, step: Step) -> str:
        """What the unit says."""
        return step.talk.voice.summary(step.event, self.show_secrets)

    def link(self, step: Step) -> str:
        """The link's name, or its handle where that was not seen; in 0-x the exchange or queue."""
        shown = escaped if self.show_secrets else printable
        name = shown(step.talk.voice.place(step.event))
        if len(name) <= self.link_width:
            return name
        # Made-up names differ at their ends.
        half = self.link_width // 2
        return name[: self.link_width - half] + self.cut + name[1 - half :]

    def styled(self, text: str, colour: str) -> str:
        """A text in a colour, where colours are wanted."""
        return f"\x1b[{colour}m{text}{RESET}" if self.colour and colour else text


def findings(step: Step) -> str:
    """The fault behind this frame, and the rules that it was known to break when it passed."""
    acted = "".join([f"[{printable(f'fault {name}: {action}')}] " for name, action in step.faults])
    broken = [
        found.rule
        for found in step.findings
        if found.severity != "info" and found.certainty == "sure"
    ]
    return acted + (f"[{' '.join(broken)}] " if broken else "")


def colour_of(step: Step) -> str:
    """The colour of a line."""
    unit = step.frame.unit
    if unit.faults or any(found.severity == "error" for found in step.findings):
        return COLOURS["malformed"]
    return COLOURS.get(step.talk.voice.colour(step.event), COLOURS.get(unit.kind, ""))
