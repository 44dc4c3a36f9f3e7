"""The ladder of AMQP 0-9: publishes and deliveries joined to what settles them."""

import pytest

from amqpscope.insight.ladder import Arrow
from amqpscope.runs.illustrate import CheckedCapture, Ladders, replay
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check


@pytest.fixture(scope="module")
def ladder(root):
    path = str(root / "captures" / "v091_pika_basic-rabbitmq.pcap")
    found = check(path, CheckSettings(excerpts=False))
    ladders = Ladders(CheckedCapture(Input(path), tuple(found.findings)), collapse=False)
    for passed in replay(ladders.subject):
        ladders.take(passed)
    return ladders.finish()[0]


def arrows(ladder, name):
    return [row for row in ladder.rows if isinstance(row, Arrow) and row.entry.name == name]


def test_deliveries_are_joined_to_their_acknowledgements(ladder):
    outcomes = [row.final.outcome for row in arrows(ladder, "basic.deliver")]
    assert outcomes == [
        "reject",
        "ack",
        "ack",
        "nack",
        "reject",
        "ack",
        "ack",
        "nack",
        "reject",
        "ack",
    ]
    first = arrows(ladder, "basic.reject")[0]
    assert [row.entry.name for row in first.joined] == ["basic.deliver"]


def test_labels_are_summaries(ladder):
    assert arrows(ladder, "basic.publish")[0].entry.label == "ex1 rk=a.b"
    assert arrows(ladder, "queue.declare")[0].entry.label.startswith("p1")


def test_frames_are_coloured_by_their_part(ladder):
    kinds = {row.entry.name: row.entry.kind for row in ladder.rows if isinstance(row, Arrow)}
    assert kinds["basic.deliver"] == kinds["content-body"] == "transfer"
    assert kinds["basic.ack"] == "disposition"


def test_repeated_publishes_are_folded(amqpscope, root):
    shown = amqpscope("ladder", root / "captures" / "v091_pika_basic-rabbitmq.pcap").stdout
    assert "19 more: 7 basic.publish, 6 content-headers, 6 content-bodies" in shown
