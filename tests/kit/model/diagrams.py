"""Draws the state tables of AMQP 1.0 as diagrams into the page about the model.

After a change of a table, `python tests model.diagrams` draws them again.
"""

from __future__ import annotations

import re

from amqpscope.model.v1_0.states import CONNECTION, LINK, NOTHING, SESSION, Machine
from kit import ROOT

README = ROOT / "amqpscope" / "model" / "README.md"
MACHINES = {"connection": CONNECTION, "session": SESSION, "link": LINK}


def diagram(machine: Machine) -> str:
    """The arrows of a machine in Mermaid's language, those between the same two states as one."""
    labels: dict[tuple[str, str], list[str]] = {}
    for row in machine.transitions():
        labels.setdefault((row.state, row.next), []).append(f"{row.who} {row.frame}")
    arrows = [f"    {one} --> {other}: {', '.join(each)}" for (one, other), each in labels.items()]
    start = f"    [*] --> {machine.state(NOTHING, NOTHING)}"
    return "\n".join(["```mermaid", "stateDiagram-v2", start, *arrows, "```"])


def with_diagrams(text: str) -> str:
    """A page with its diagrams drawn again."""
    for name, machine in MACHINES.items():
        place = rf"(<!-- states of a {name} -->\n).*?(\n<!-- end -->)"
        text, count = re.subn(place, rf"\1{diagram(machine)}\2", text, flags=re.DOTALL)
        assert count == 1
    return text


if __name__ == "__main__":
    README.write_text(with_diagrams(README.read_text(encoding="utf-8")), encoding="utf-8")
