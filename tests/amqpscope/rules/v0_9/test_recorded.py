"""The rules' examples once more, as packets: what holds in the notation holds on the wire."""

from __future__ import annotations

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.documents import documents
from amqpscope.rules.v0_9 import FAMILY
from kit.conversation import record
from kit.exchange_v0_9 import play, script

CUT_OFF = 60_000
"""Octets that fit into one packet."""


def recorded(path):
    """All examples in one capture; by the client's port what should be found."""
    expected = {}
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        for id, rule in load().items():
            if rule.family.name != FAMILY:
                continue
            for exchange in documents()[id].exchanges:
                said = script(exchange.text, exchange.scene)
                if any(each.end in {"END", "GAP"} or len(each.raw) > CUT_OFF for each in said):
                    continue
                port = 10_000 + len(expected)
                address = "10.0.0.2" if exchange.opening(FAMILY).scene.remote else "127.0.0.1"
                record(said, ConnectionWriter(writer, ("127.0.0.1", port), (address, 5672)))
                found = play(exchange.text, exchange.scene).findings
                expected[port] = sorted((each.frame, each.rule) for each in found)
    return expected


def test_all_examples_in_one_capture_are_judged_as_one_by_one(tmp_path):
    path = tmp_path / "examples.pcapng"
    expected = recorded(path)
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
                    starts.setdefault(talk.number, step.frame.number - 1)
                    ports[talk.number] = talk.connection.client[1]
                    findings += step.findings
    for finding in (*findings, *analyzer.late_findings()):
        port = ports[finding.connection]
        found[port].append((finding.frame - starts[finding.connection], finding.rule))
    assert {port: sorted(rules) for port, rules in found.items()} == expected
