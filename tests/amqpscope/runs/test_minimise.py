"""The smallest capture with a finding: still found, on the same peer, and few frames."""

import pytest

from amqpscope.capture.synthetic import write_exchanges
from amqpscope.check.selection import Selection
from amqpscope.runs.ddmin import Reducer
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.minimise import Minimiser
from amqpscope.runs.minimise_goal import Goal, MinimiseSettings, choose_finding, judgement

FINDINGS = (
    ("captures/v091_pika_chanerr-rabbitmq.pcap", "A09-QUE-06"),
    ("captures/v091_pika_multichan-rabbitmq.pcap", "A09-CHN-12"),
    ("captures/v10_rhea-rabbitmq_errors.pcap", "FLW-013"),
    ("captures/demo.pcapng", "MSG-024"),
    ("captures/dmg_bitflip-v10_proton-rabbitmq_manylinks.pcap", "ENC-001"),
)


@pytest.mark.parametrize(("path", "rule"), FINDINGS)
def test_a_finding_stays_with_its_peer_in_few_frames(root, tmp_path, path, rule):
    search = Minimiser(Input(str(root / path)), MinimiseSettings(Selection()), lambda *_: None)
    frames = search.read(None)
    wanted = choose_finding(search.findings, rule)
    found = search.minimise(Goal(wanted), wanted.frame)
    small = tmp_path / "small.pcapng"
    with open(small, "wb") as file:
        write_exchanges(found.exchanges, file)
    result = check(str(small), CheckSettings(Selection()))
    assert judgement(wanted) in map(judgement, result.findings)
    assert result.frames == found.after <= min(20, frames)
    assert result.gaps == 0


def test_out_of_time_the_best_so_far_is_taken(root, monkeypatch):
    path = str(root / "captures/v10_proton-labbroker_simple.pcap")
    search = Minimiser(Input(path), MinimiseSettings(Selection(), seconds=0), lambda *_: None)
    frames = search.read(None)
    wanted = choose_finding(search.findings, "FLW-012")
    monkeypatch.setattr("amqpscope.runs.minimise.AT_LEAST", 0)
    found = search.minimise(Goal(wanted), wanted.frame)
    assert 0 < found.after <= frames


def test_an_interrupted_search_has_the_best_so_far(root):
    def interrupt(frames, tests):
        raise KeyboardInterrupt

    path = str(root / "captures/v10_proton-labbroker_simple.pcap")
    search = Minimiser(Input(path), MinimiseSettings(Selection()), interrupt)
    frames = search.read(None)
    wanted = choose_finding(search.findings, "FLW-012")
    found = search.minimise(Goal(wanted), wanted.frame)
    assert found.interrupted
    assert 0 < found.after < frames


@pytest.mark.parametrize("needed", [{3}, {0, 99}, {5, 6, 7}, set(range(0, 100, 9))])
def test_only_what_is_needed_is_left(needed):
    reducer = Reducer(frozenset(range(100)), lambda kept: kept >= needed)
    reducer.remove([frozenset((each,)) for each in range(100)])
    assert reducer.kept == needed
