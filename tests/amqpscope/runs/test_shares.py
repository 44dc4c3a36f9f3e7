"""One capture on several cores: the output is the same, byte for byte, for any number of processes.

The captures are real ones of several connections, some of which show what a broker did wrong with
messages that it took on one and delivered on another. They are read in small blocks, so that each
process is asked for its share many times.
"""

import io
import json
import re

import pytest
from click.testing import CliRunner

from amqpscope.analysis import Share
from amqpscope.capture import source as capture_source
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.check.selection import Selection
from amqpscope.cli import cli
from amqpscope.cli.read import ReadOptions, print_frames
from amqpscope.report.look import PLAIN_TEXT
from amqpscope.report.stats import stats_object
from amqpscope.runs import shares, shares_lint, shares_stats
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.processes import Died
from amqpscope.runs.run import Run
from amqpscope.runs.shares import has_messages_to_follow, is_worth_sharing
from amqpscope.runs.shares_lint import check_in_shares, check_on_cores
from amqpscope.runs.shares_stats import measure
from dissectors.notation import parse
from kit import CAPTURES
from kit.benchmarks.traffic import SHORT

SEVERAL = (
    "mixed_091-and-10_rabbitmq.pcap",
    "v091_pika_connerr-rabbitmq.pcap",
    "v10_azure-sb-rhea_sendrecv.pcap.gz",
    "v10_proton-labbroker_outcomes.pcap",
    "v10_proton-rhea_outcomes.pcap",
)
ALONE = "v10_goamqp-qpidd_drain.pcapng"
"""A capture with one connection."""


@pytest.fixture(params=SEVERAL)
def capture(request):
    return str(CAPTURES / request.param)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Share small captures too, in small blocks, and begin to follow messages as late as can be."""
    monkeypatch.setattr(shares, "WORTH", 0)
    monkeypatch.setattr(shares, "PROBED", 1)
    monkeypatch.setattr(shares, "COUNTED", 1 << 20)
    monkeypatch.setattr(capture_source, "BLOCK", 1024)


def printed(path, form, jobs):
    out, told = io.StringIO(), []
    options = ReadOptions(form=form, jobs=jobs)
    code = print_frames((path,), options, PLAIN_TEXT, out, told.append)
    return code, out.getvalue(), told


def test_frames_are_printed_alike(capture):
    for form in ("jsonl", "csv"):
        assert printed(capture, form, 2) == printed(capture, form, 3) == printed(capture, form, 1)


def test_findings_are_alike(capture):
    for settings in (CheckSettings(limit=1), CheckSettings(closed_world=True)):
        alone = check(capture, settings)
        for jobs in (2, 3):
            found = check_in_shares(Input(capture), settings, jobs, None)
            assert found == alone
            assert list(found.more) == list(alone.more)


def test_numbers_are_alike(capture):
    def numbers(jobs):
        found = measure(Input(capture), jobs)
        return json.dumps(stats_object("", found.connections, found.delays)), found.result

    assert numbers(2) == numbers(3) == numbers(1)


def test_a_capture_of_publishers_alone_needs_no_process_that_follows(tmp_path, monkeypatch):
    path = tmp_path / "short.pcap"
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        for number in range(5):
            talk = ConnectionWriter(writer, ("10.0.0.1", 40_000 + number), ("10.0.0.2", 5672))
            talk.open(number)
            for sender, raw in SHORT:
                talk.data(sender, number, raw)
            talk.data(0, number, parse("close"))  # one too many
    monkeypatch.setattr(shares.Shares, "follow", None)
    assert not has_messages_to_follow(Input(str(path)))
    found = check_in_shares(Input(str(path)), CheckSettings(), 3, None)
    assert found == check(str(path), CheckSettings())
    assert {finding.connection for finding in found.findings} == {1, 2, 3, 4, 5}


def read_share(path, share):
    with Run(str(path), Selection(), follow_messages=False, share=share) as run:
        steps = [(s.frame.number, s.conversation.number) for b in run for s in b.steps]
        return steps, run.result()


def test_others_are_counted_also_where_octets_are_missing_or_wrong(tmp_path):
    """Each share alone has the numbers of all frames, connections and gaps."""
    whole = (CAPTURES / SEVERAL[0]).read_bytes()
    for at in range(200, 40_000, 8_000):
        path = tmp_path / f"{at}.pcap"
        damage = bytes(octet ^ 0x55 for octet in whole[at : at + 40])
        path.write_bytes(whole[:at] + damage + whole[at + 40 :])

        steps, result = read_share(path, None)
        parts = [read_share(path, Share(frozenset((place,)), 2)) for place in range(2)]
        assert sorted(parts[0][0] + parts[1][0]) == steps
        assert [part[1] for part in parts] == [result, result]


def test_small_captures_and_what_can_be_read_once_are_not_shared(monkeypatch):
    path = str(CAPTURES / SEVERAL[0])
    assert is_worth_sharing(Input(path), 2)
    assert not is_worth_sharing(Input(path), 1)
    assert not is_worth_sharing(Input("-"), 2)
    assert not is_worth_sharing(Input(path, follow=True), 2)
    assert not is_worth_sharing(Input(path, connection=1), 2)
    assert not is_worth_sharing(Input(str(CAPTURES / ALONE)), 2)
    monkeypatch.setattr(shares, "WORTH", 1 << 30)
    assert not is_worth_sharing(Input(path), 2)


def test_what_is_no_capture_is_reported_as_by_one_process(tmp_path):
    path = tmp_path / "none.pcap"
    path.write_bytes(bytes(range(256)))
    for command in (["read", "--format", "jsonl"], ["stats"], ["lint", "--format", "json"]):
        one, two = (CliRunner().invoke(cli, [*command, "-j", jobs, str(path)]) for jobs in "12")
        assert (one.output, one.exit_code) == (two.output, 2)
        assert "not a capture" in one.output


def test_where_a_process_dies_one_alone_does_the_work(monkeypatch):
    def die(*args):
        raise Died

    path = str(CAPTURES / SEVERAL[1])
    monkeypatch.setattr(shares_lint, "check_in_shares", die)
    monkeypatch.setattr(shares_stats, "measure_in_shares", die)
    assert check_on_cores(Input(path), CheckSettings(), 2) == check(path, CheckSettings())
    assert len(measure(Input(path), 2).connections) == 3


def test_how_far_it_is_is_shown(monkeypatch):
    monkeypatch.setattr(shares_lint, "PAUSE", 0.0)
    path, shown = CAPTURES / SEVERAL[0], []
    check_on_cores(Input(str(path)), CheckSettings(), 2, lambda *args: shown.append(args))
    assert {size for _, size, _ in shown} == {path.stat().st_size}
    assert max(frames for _, _, frames in shown) > 500


def test_the_number_of_processes_is_an_option():
    path = str(CAPTURES / SEVERAL[3])
    for command in (["read", "--format", "jsonl"], ["stats"], ["lint", "--fail-on", "never"]):
        one, two = (CliRunner().invoke(cli, [*command, "-j", jobs, path]) for jobs in "12")
        assert (one.output, one.exit_code) == (two.output, 0)
        assert re.search("rejected|BRK", one.output)
