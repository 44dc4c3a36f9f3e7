"""The rules' examples once more, as packets: what holds in the notation holds on the wire."""

from __future__ import annotations

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.documents import documents
from amqpscope.rules.v1_0 import FAMILY
from kit.beneath import SEALED
from kit.conversation import record
from kit.exchange import play, script


def test_all_examples_in_one_capture_are_judged_as_one_by_one(tmp_path):
    path = tmp_path / "examples.pcapng"
    expected = {}
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        for document in documents().values():
            if document.id.startswith(("A09", "BRK")):
                continue
            for exchange in document.exchanges:
                said = script(exchange.text, exchange.scene)
                if any(each.end in {"END", "GAP"} or each.raw[:3] == SEALED for each in said):
                    continue
                port = 10_000 + len(expected)
                server = ("10.0.0.2", exchange.opening(FAMILY).scene.port)
                record(said, ConnectionWriter(writer, ("10.0.0.1", port), server))
                played = play(exchange.text, exchange.scene)
                start = played.steps[0].frame.number if played.steps else 0
                expected[port] = sorted((f.frame - start, f.rule) for f in played.findings)

    found: dict[int, list[tuple[int, str]]] = {port: [] for port in expected}
    starts: dict[int, int] = {}
    ports: dict[int, int] = {}
    analyzer = Analyzer(rules=RuleSet(list(load().values())))
    findings = []
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    talk = step.conversation
                    starts.setdefault(talk.number, step.frame.number)
                    ports[talk.number] = talk.connection.client[1]
                    findings += step.findings
    for finding in (*findings, *analyzer.late_findings()):
        port = ports[finding.connection]
        found[port].append((finding.frame - starts[finding.connection], finding.rule))
    assert {port: sorted(rules) for port, rules in found.items()} == expected
