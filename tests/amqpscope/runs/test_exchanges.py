"""A capture taken into memory and written again shows the same frames and findings."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.synthetic import pieces, write_exchanges
from amqpscope.check.selection import Selection
from amqpscope.runs.exchanges import Exchanges
from amqpscope.runs.run import Run

SAME = (
    "captures/v10_proton-labbroker_outcomes.pcap",
    "captures/v10_rhea-rabbitmq_errors.pcap",
    "captures/v091_pika_multichan-rabbitmq.pcap",
    "captures/mixed_091-and-10_rabbitmq.pcap",
    "captures/dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap",
    "captures/dmg_snap128-v10_proton-labbroker_large512.pcap",
    "captures/dmg_midstart-v10_proton-rabbitmq_manylinks.pcap",
)


def read(path):
    collected, found, frames = Exchanges(), [], []
    with Run(str(path), Selection(), tap=collected.tap) as run:
        for batch in run:
            collected.take(batch)
            frames += [(step.frame.sender, step.frame.raw) for step in batch.steps]
            found += [finding for step in batch.steps for finding in step.findings]
            found += batch.findings
    return list(collected.finish().values()), frames, judged(found)


def judged(findings):
    """Findings of single connections: what follows messages between them is not asked here."""
    findings = [each for each in findings if not each.related_connections]
    return sorted((each.rule, each.peer, each.certainty, each.frame) for each in findings)


@pytest.mark.parametrize("path", SAME)
def test_a_capture_that_is_written_again_shows_the_same(root, tmp_path, path):
    exchanges, frames, findings = read(root / path)
    with open(tmp_path / "again.pcapng", "wb") as file:
        write_exchanges(exchanges, file)
    _, frames_again, findings_again = read(tmp_path / "again.pcapng")
    assert (frames_again, findings_again) == (frames, findings)


@pytest.mark.parametrize("path", SAME)
def test_connections_in_memory_show_the_same_as_their_capture(root, path):
    exchanges, frames, findings = read(root / path)
    analyzer, seen, found = Analyzer(rules=Selection().rules()), [], []
    for piece in pieces(exchanges):
        steps = analyzer.feed(piece)
        seen += [(step.frame.sender, step.frame.raw) for step in steps]
        found += [finding for step in steps for finding in step.findings]
        found += analyzer.late_findings()
    assert (seen, judged(found)) == (frames, findings)


def test_who_had_read_what_stays_right_when_frames_are_taken_out(root):
    (exchange,), _, _ = read(root / "captures/v10_proton-labbroker_simple.pcap")
    first = exchange.sent[0].sender
    left = exchange.with_only(range(2, len(exchange.sent)))
    gone = sum(each.sender != first for each in exchange.sent[:2])
    for before, after in zip(exchange.sent[2:], left.sent, strict=True):
        if before.sender == first:
            assert after.read == before.read - min(gone, before.read)
