"""Ours beside Wireshark's: which of the rules' Bad exchanges does each of them notice?

    python tests benchmarks.wireshark            the table of the guide
    python tests benchmarks.wireshark --list     and each violation that only one of them sees

All Bad exchanges are written into one capture, each as a connection of its own on port 5672, and
both tools read that capture. Wireshark notices a violation if it attaches an expert info of
severity warning or error to a packet of the connection, other than TCP's own; amqpscope if it
reports the rule itself. The legal twins (Good) are put to both in the same way.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.findings import Finding
from amqpscope.rules.all import load
from amqpscope.rules.broker import FAMILY
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.documents import documents
from kit.conversation import record
from kit.exchange import script

WELL_KNOWN = (
    ("FLW-016", "transfer without credit"),
    ("LNK-005", "transfer on a handle that is not attached"),
    ("CON-001", "begin before open"),
    ("TYP-016", "duplicate key in a map"),
    ("TYP-024", "string that is not UTF-8"),
    ("TYP-001", "open without container-id"),
)
NOTICEABLE = "_ws.expert.severity >= 0x600000 && !(tcp.analysis.flags && !amqp)"


class Case(NamedTuple):
    """One exchange."""

    rule: str
    severity: str
    good: bool
    port: int


def write_cases(path: Path) -> list[Case]:
    """Put the exchanges of all rules into one capture."""
    cases: list[Case] = []
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        for rule in load().values():
            if rule.family.name == FAMILY:
                continue  # over several connections
            for exchange in documents()[rule.id].exchanges:
                said = script(exchange.text, exchange.scene)
                if any(each.end in {"END", "GAP"} for each in said):
                    continue  # about the end of a capture, or a hole in it
                port = 10_000 + len(cases)
                talk = ConnectionWriter(writer, ("10.0.0.1", port), ("10.0.0.2", 5672))
                record(said, talk)
                cases.append(Case(rule.id, rule.severity, exchange.good, port))
    return cases


def wireshark(path: Path) -> set[int]:
    """The client ports of the connections in which tshark notices something."""
    command = ["tshark", "-r", str(path), "-Y", NOTICEABLE, "-T", "fields",
               "-e", "tcp.srcport", "-e", "tcp.dstport"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {max(map(int, line.split()[:2])) for line in done.stdout.splitlines()}


def amqpscope(path: Path, cases: list[Case]) -> tuple[set[int], set[int]]:
    """The client ports with the rule in question, and those with any error."""
    by_port = {case.port: case.rule for case in cases}
    ports: dict[int, int] = {}
    findings: list[Finding] = []
    analyzer = Analyzer(rules=RuleSet(list(load().values())))
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    talk = step.conversation
                    ports[talk.number] = talk.connection.client[1]
                    findings += step.findings
    findings += analyzer.late_findings()
    right = {ports[f.connection] for f in findings if f.rule == by_port[ports[f.connection]]}
    errors = {ports[f.connection] for f in findings if f.severity == "error"}
    return right, errors


def table(cases: list[Case], theirs: set[int], right: set[int], errors: set[int]) -> Iterator[str]:
    """The table of `amqpscope/guide/measured.md`."""
    yield "| violation | rule | Wireshark | amqpscope |"
    yield "|---|---|---|---|"
    for id, text in WELL_KNOWN:
        bad = [case.port for case in cases if case.rule == id and not case.good][:1]
        yield f"| {text} | {id} | {mark(bad, theirs)} | {mark(bad, right)} |"
    for severity in ("error", "warning", "info"):
        bad = [case.port for case in cases if case.severity == severity and not case.good]
        yield (
            f"| all {len(bad)} examples of {severity} rules | | {len(theirs.intersection(bad))} |"
            f" {len(right.intersection(bad))} |"
        )
    good = [case.port for case in cases if case.good]
    yield (
        f"| {len(good)} legal exchanges called wrong | | {len(theirs.intersection(good))} |"
        f" {len(errors.intersection(good))} |"
    )


def mark(ports: list[int], noticed: set[int]) -> str:
    """Whether it was noticed."""
    return "yes" if ports and noticed.issuperset(ports) else "no"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exchanges.pcapng"
        cases = write_cases(path)
        theirs = wireshark(path)
        right, errors = amqpscope(path, cases)
    print("\n".join(table(cases, theirs, right, errors)))
    if wanted.list:
        for case in cases:
            if not case.good and (case.port in theirs) != (case.port in right):
                print(case.rule, "Wireshark only" if case.port in theirs else "amqpscope only")


if __name__ == "__main__":
    main()
