"""Captures as ladders: Steps with all their findings, the ends of TCP, and what is picked."""

import pytest

from amqpscope.analysis import StreamEnd
from amqpscope.check.selection import Selection
from amqpscope.filter import compile_filter
from amqpscope.insight.ladder import Arrow, Ended, Fold
from amqpscope.runs.illustrate import CheckedCapture, Ladders, evidence, replay
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check
from kit.exchange_broker import write
from kit.stories import AGAIN

MANY = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=100
""" + "".join(
    f'client: transfer handle=0 delivery-id={n} delivery-tag=b"{n}" message-format=0 settled=true'
    ' | data(b"x") properties(subject="behind")\n'
    for n in range(40)
)


@pytest.fixture
def source():
    """How to read a capture, with what `lint` finds in it."""

    def make(path, **how):
        found = check(str(path), CheckSettings(excerpts=False))
        return CheckedCapture(Input(str(path)), tuple(found.findings), **how)

    return make


def laid(source, *connections, **options):
    ladders = Ladders(source, frozenset(connections), **options)
    for passed in replay(source):
        ladders.take(passed)
    return ladders.finish()


def names(ladder):
    return [row.entry.name for row in ladder.rows if isinstance(row, Arrow)]


def arrow(ladder, frame):
    return next(row for row in ladder.rows if isinstance(row, Arrow) and row.frame == frame)


def test_a_finding_stands_on_its_arrow(source, bad):
    (ladder,) = laid(source(bad))
    assert "FLW-016" in [note.rule for note in arrow(ladder, 11).entry.notes]


def test_a_transfer_is_joined_to_its_disposition(source, good):
    (ladder,) = laid(source(good))
    transfer = arrow(ladder, 10)
    assert transfer.answers[0].outcome == "accepted"
    disposition = arrow(ladder, 11)
    assert disposition.joined == [transfer]
    assert disposition.entry.where == "q"


def test_findings_that_came_late_are_on_their_frames_too(root, source):
    (ladder,) = laid(source(root / "captures" / "demo.pcapng"))
    assert [note.rule for note in arrow(ladder, 25).entry.notes] == ["CON-008"]


def test_the_end_of_tcp_is_drawn(root, source):
    (ladder,) = laid(source(root / "captures" / "demo.pcapng"))
    assert [row.how for row in ladder.rows if isinstance(row, Ended)] == ["rst"]


def test_the_ends_come_out_of_replay_in_their_place(root, source):
    passed = list(replay(source(root / "captures" / "v10_proton-labbroker_outcomes.pcap")))
    ends = [place for place, each in enumerate(passed) if isinstance(each, StreamEnd)]
    assert ends
    assert ends[0] < len(passed) - len(ends)


def test_a_filter_picks_frames(source, good):
    picked = source(good, where=compile_filter("flow || transfer"))
    (ladder,) = laid(picked)
    assert set(names(ladder)) == {"flow", "transfer"}


def test_a_filter_for_findings_sees_late_ones(root, source):
    path = root / "captures" / "demo.pcapng"
    (ladder,) = laid(source(path, where=compile_filter('finding == "CON-008"')))
    assert [row.frame for row in ladder.rows if isinstance(row, Arrow)] == [25]


def test_one_connection_of_several(root, source):
    path = root / "captures" / "v10_proton-labbroker_outcomes.pcap"
    assert [ladder.number for ladder in laid(source(path), 2, 4)] == [2, 4]


def test_long_runs_of_transfers_are_folded(root, source):
    path = root / "captures" / "v10_proton-labbroker_large512.pcap"
    (ladder,) = laid(source(path))
    assert ladder.frames == sum(
        row.count if isinstance(row, Fold) else isinstance(row, Arrow) for row in ladder.rows
    )
    assert len(ladder.rows) < ladder.frames / 2


def test_evidence_of_findings_that_are_alike_is_of_the_first_ones(opened):
    work = CheckSettings(Selection(select=("MSG-001",)), excerpts=False)
    found = check(str(opened(MANY)), work).findings
    assert len(found) == 40
    assert len(evidence(found) & {finding.frame for finding in found}) == 12


def test_times_are_those_of_the_list_of_frames(source, root):
    capture = source(root / "captures" / "v10_proton-rabbitmq_outcomes.pcap")
    first, *others = laid(capture)
    assert {ladder.start for ladder in others} == {first.start}
    (alone,) = laid(capture, 2)
    assert alone.start == first.start


def test_a_filter_follows_messages_from_connections_that_are_not_drawn(source, tmp_path):
    path = tmp_path / "story.pcapng"
    write(AGAIN, "through", path, "ABC")
    [ladder] = laid(source(path, where=compile_filter("message.latency > 4s")), 2)
    assert names(ladder) == ["transfer", "disposition"]
