"""What a recorded peer did wrong is not done again, unless it is asked for."""

import re

import pytest

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.protocols.replay_acts import Choices
from amqpscope.rules.documents import documents
from amqpscope.runs.api import lint
from kit import ROOT, exchange, exchange_v0_9
from kit.conversation import record
from kit.rehearsal import conversations, rehearse

EVERY = 17
"""Of the examples of rules one in so many is played."""
OUTSIDE = ("BRK", "TLS", "VER")
"""Rules about more than one connection, or about what comes before frames."""
BENEATH = re.compile(r"^\s*\w+: (TLS|HTTP) ", re.MULTILINE)
"""Examples in which something is around AMQP."""
BAD = [
    pytest.param(id, example, id=id)
    for id, document in documents().items()
    if not id.startswith(OUTSIDE)
    for example in document.exchanges
    if not example.good and not BENEATH.search(example.text)
][::EVERY]


def errors_of(path):
    return [each for each in lint(path).findings if each.severity == "error"]


@pytest.mark.parametrize(("id", "example"), BAD)
def test_an_illegal_frame_is_not_sent(id, example, tmp_path):
    kit = exchange_v0_9 if id.startswith("A09") else exchange
    with (tmp_path / "bad.pcapng").open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("127.0.0.1", 50000), ("127.0.0.1", 5672))
        record(kit.script(example.text, example.scene), talk)
    for recorded in conversations(tmp_path / "bad.pcapng"):
        rehearse(recorded, recorded, write=tmp_path / "run.pcapng")
        assert errors_of(tmp_path / "run.pcapng") == []


NOTES = [
    # capture, side, what is said of it
    ("v10_proton-labbroker_tx.pcap", 0, "frame 59 is left out: TXN-017"),
    ("v10_rhea-rabbitmq_types.pcap", 0, "frame 24 is left out: MSG-001"),
    ("v10_proton-labbroker_filters.pcap", 0, "frame 12 is sent without attach.source.filter"),
    ("v10_proton-rhea_tx.pcap", 1, "frame 21 is sent with another state: TXN-011"),
    ("v10_protoncpp-qpidd_tx.pcapng", 1, "frame 25 is sent with another state: TXN-029"),
]


@pytest.mark.parametrize(("name", "side", "told"), NOTES)
def test_what_is_left_out_or_changed_is_said_in_one_line(name, side, told, tmp_path):
    recorded = conversations(ROOT / "captures" / name)[0]
    parts = rehearse(recorded, recorded, write=tmp_path / "run.pcapng")
    assert [told in note for note in parts[side].notes] == [True]
    assert errors_of(tmp_path / "run.pcapng") == []


def test_asked_for_it_is_sent_as_it_was(tmp_path):
    recorded = conversations(ROOT / "captures" / "v10_proton-labbroker_tx.pcap")[0]
    exact = Choices(secrets=True, exact=True)
    rehearse(recorded, recorded, exact, exact, write=tmp_path / "run.pcapng")
    assert "TXN-017" in [each.rule for each in errors_of(tmp_path / "run.pcapng")]
