"""What the screen shows is what `read` and `lint` say, frame by frame."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.check.selection import Selection
from amqpscope.filter import compile_filter
from amqpscope.report.endings import Instant
from amqpscope.report.state import talk_lines
from amqpscope.report.text import TextLines
from amqpscope.report.tree import Detail
from amqpscope.runs.api import lint
from amqpscope.runs.run import Run
from amqpscope.tui.indexing import Indexer
from amqpscope.tui.replay import PieceIndex, Replay
from amqpscope.tui.spool import Spool
from amqpscope.tui.step_cache import StepCache
from amqpscope.tui.time_travel import Question, TimeTravel

CAPTURES = [
    "demo.pcapng",
    "dmg_bitflip-v10_proton-rabbitmq_manylinks.pcap",
    "dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap",
    "dmg_midstart-v10_proton-rabbitmq_manylinks.pcap",
    "dmg_snap128-v10_proton-labbroker_large512.pcap",
    "v10_azure-sb-rhea_sendrecv.pcap.gz",
    "v10_proton-labbroker_large_links.pcap",
    "v10_proton-labbroker_outcomes.pcap",
    "v10_proton-labbroker_tx.pcap",
    "v10_ws-rhea-rhea.pcap",
]
FILTERS = (
    'link.address contains "e"', 'delivery.tag contains "1"', "delivery == 3", "message.size > 10",
    "link.role == receiver", "delivery.size > 20", 'body contains "e"', "port == 5672",
)  # fmt: skip


@pytest.fixture(params=CAPTURES)
def path(request, root):
    return str(root / "captures" / request.param)


@pytest.fixture
def files(path):
    files = Spool.create()
    Indexer(files, path, {}).run(follow=False, keylogs=[], ports={})
    yield files
    files.close()


def steps_of(path, until=0, rules=None):
    analyzer = Analyzer({}, rules, until)
    with Pieces(path) as pieces:
        for batch in pieces:
            for piece in batch:
                yield from analyzer.feed(piece)
                if 0 < until <= analyzer.frames:
                    return


def told(step, lines, detail, filters):
    matches = [chosen.matches(step) for chosen in filters]
    return lines.line(step), list(detail.lines(step)), matches


def test_each_step_made_again_says_what_it_said_first(path, files):
    filters = [compile_filter(text) for text in FILTERS]
    steps = StepCache(files)
    steps.update()
    lines, detail = TextLines(), Detail(tree=True, octets=True)
    number = 0
    for number, step in enumerate(steps_of(path, rules=Selection().rules()), 1):
        again = steps.step(number)
        # Findings that came late stand on the frame now; `read` had printed it by then.
        again.findings = step.findings
        assert told(again, lines, detail, filters) == told(step, lines, detail, filters)
    assert steps.count == number > 0


def test_the_findings_are_those_of_lint_also_those_about_brokers(root):
    path = str(root / "captures" / "v10_proton-labbroker_types.pcap")
    files = Spool.create()
    Indexer(files, path, {}).run(follow=False, keylogs=[], ports={})
    steps = StepCache(files)
    steps.update()
    found = set(steps.findings)
    files.close()
    assert found == set(lint(path).findings)
    assert any(finding.rule.startswith("BRK") for finding in found)


@pytest.mark.parametrize("name", ["mixed_091-and-10_rabbitmq", "v091_pika_confirm_return-rabbitmq"])
def test_each_row_says_what_read_prints(root, name):
    files, path = Spool.create(), str(root / "captures" / f"{name}.pcap")
    Indexer(files, path, {}).run(follow=False, keylogs=[], ports={})
    steps, lines = StepCache(files), TextLines()
    steps.update()
    for step in steps_of(path):
        row = steps.row(step.frame.number)
        assert lines.line(step).endswith(
            f"{row.name:{step.talk.voice.name_width}} {row.text}".strip()
        )
        assert steps.step(row.number).frame.raw == step.frame.raw
    files.close()


def test_a_server_that_answers_in_another_family_is_shown(recorded):
    files = Spool.create()
    path = recorded("client: header AMQP 0.9.1\nserver: header AMQP 1.0.0\n")
    Indexer(files, str(path), {}).run(follow=False, keylogs=[], ports={})
    steps = StepCache(files)
    steps.update()
    rows = [steps.row(number) for number in (1, 2)]
    assert [row.name for row in rows] == ["header", "header"]
    assert [steps.step(row.number).frame.sender for row in rows] == [0, 1]
    files.close()


def test_a_replay_gives_the_same_steps(path, files):
    places = PieceIndex(files, {})
    places.update()
    lines = TextLines()
    assert [lines.line(step) for step in Replay(places).steps()] == [
        lines.line(step) for step in steps_of(path)
    ]


def test_the_state_at_a_frame_is_what_the_command_tells(path, files):
    travel = TimeTravel(files, {}, described)
    travel.places.update()
    count = travel.places.count
    # A connection whose start is missing is recognised by some frames together.
    early = () if "midstart" in path else (1, 2)
    for number in {*early, count // 3, count // 2, count - 1} - {0}:
        talks = {}
        with Run(path, until=number) as run:
            for step in (step for batch in run for step in batch.steps):
                talks[step.conversation.number] = step.conversation
        for connection, talk in list(talks.items())[-3:]:
            found = travel.find(Question(number, connection, lambda moment: None))
            assert found.state == described(talk), (number, connection)


def described(talk):
    return list(talk_lines(talk, Instant(0, 0)))
