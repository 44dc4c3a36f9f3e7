"""One JSON object per AMQP unit (`read --format jsonl`); each family writes what its frames say.

What is found about a unit after its object was written is an object of its own, of the kind
`finding`.
"""

from __future__ import annotations

import json

from amqpscope.analysis import Step, StepSink
from amqpscope.findings import Finding
from amqpscope.protocols.json import put_number, put_time, text
from amqpscope.report.lint import finding_object
from amqpscope.report.look import PLAIN_TEXT, Look
from amqpscope.stream.types import PEERS


class JsonLines(StepSink):
    """Writes Steps as JSON lines."""

    def __init__(self, look: Look = PLAIN_TEXT) -> None:
        self.show_secrets = look.show_secrets
        self.first: tuple[str, ...] = ()
        self.taken: list[str] = []
        self.second = -1
        self.whole = ""
        """The second of the frame before, as text: most frames share it with the next."""

    def heading(self) -> list[str]:
        """Nothing: every line says what it holds."""
        return []

    def begin(self, time: int) -> None:
        """Times are those of the clock, so there is nothing to learn."""

    def lines(self, steps: list[Step]) -> list[str]:
        """Units one after the other."""
        return [self.line(step) for step in steps]

    def take(self, steps: list[Step]) -> None:
        """Write units and keep their lines."""
        for step in steps:
            self.taken.append(self.line(step))

    def drain(self) -> list[str]:
        """Hand over the lines that were kept since the last call."""
        lines, self.taken = self.taken, []
        return lines

    def finding(self, finding: Finding, capture: str, *, late: bool) -> str:
        """A finding as an object of its own."""
        return json.dumps({"kind": "finding", **finding_object(finding, capture)})

    def fault(self, connection: int, name: str, action: str) -> str:
        """A fault behind the last frame of a connection, as an object of its own."""
        found = {"kind": "fault", "connection": connection, "fault": name, "action": action}
        return json.dumps(found)

    def add_findings(self, line: str, findings: list[Finding]) -> str:
        """The line of a unit of which more turns out to be wrong: findings are the last in it."""
        known = line.removesuffix("]}")
        comma = "" if known.endswith("[") else ", "
        return known + comma + ", ".join([text(found.rule) for found in findings]) + "]}"

    def line(self, step: Step) -> str:
        """One unit, without the line's end."""
        out: list[str] = ['{"frame": ']
        frame = step.frame
        put_number(out, frame.number)
        out.append(', "packet": ')
        put_number(out, frame.packet)
        out.append(', "time": ')
        self.put_time(out, frame.time)
        out.append(label(step))
        put_number(out, len(frame.raw) + frame.missing)
        out.append(', "fields": ')
        step.talk.voice.put_content(out, step.event, self.show_secrets)
        if step.faults:
            out.append(f', "fault": {text(", ".join([name for name, _ in step.faults]))}')
        if step.findings:
            found = ", ".join([text(found.rule) for found in step.findings])
            out.append(f', "findings": [{found}]}}')
        else:
            out.append(', "findings": []}')
        return "".join(out)

    def put_time(self, out: list[str], time: int) -> None:
        """A time in seconds, to the microsecond, or to the nanosecond where the capture has it."""
        second = time // 1_000_000_000
        if second != self.second:
            self.second = second
            self.whole = f"{second}."
        out.append(self.whole)
        put_time(out, time - second * 1_000_000_000)


def label(step: Step) -> str:
    """What is between a unit's time and its size; the same for most units of a kind."""
    frame, conversation = step.frame, step.conversation
    unit, sender, voice = frame.unit, frame.sender, step.talk.voice
    key = voice.label_key(step.event)
    if key >= 0:
        key = (unit.channel << 33) | (key << 1) | sender
        known = conversation.labels.get(key)
        if known is not None:
            return known
    channel = "null" if unit.header is not None else str(unit.channel)
    name = voice.full_name(step.event)
    made = (
        f', "connection": {conversation.number}, "from": "{PEERS[sender]}", '
        f'"protocol": "{conversation.protocol}", "kind": "{unit.kind}", '
        f'"channel": {channel}, "name": {text(name)}, "size": '
    )
    if key >= 0:
        conversation.labels[key] = made
    return made


def seconds(nanoseconds: int) -> str:
    """A time in seconds, to the microsecond, or to the nanosecond where the capture has that."""
    out: list[str] = []
    JsonLines().put_time(out, nanoseconds)
    return "".join(out)
