"""Captures of one broker that are checked together: messages go from one to another."""

import json

import pytest

from amqpscope.check.selection import Selection
from amqpscope.report.lint import json_text
from amqpscope.report.lint_text import LintText
from amqpscope.runs.input import Input
from amqpscope.runs.lint import CheckSettings, check
from amqpscope.runs.together import check_together
from kit.broker_story import Story, posting, through
from kit.exchange_broker import write

ALTERED = """
A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
          | properties(message-id="m1" subject="a") data(b"x")
A.server: disposition[0] role=receiver first=0 settled=true state=accepted()
@1s B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0"
              | properties(message-id="m1" subject="b") data(b"x")
"""


@pytest.fixture
def captures(tmp_path):
    """Publishers in one capture, consumers in the other."""
    paths = [tmp_path / "publishers.pcapng", tmp_path / "consumers.pcapng"]
    for path, letters in zip(paths, ("A", "BC"), strict=True):
        write(ALTERED, "through", path, letters)
    return paths


def inputs(paths):
    return [Input(str(path)) for path in paths]


def test_one_capture_alone_shows_nothing(captures):
    for path in captures:
        result = check(str(path), CheckSettings(Selection(select=("BRK",))))
        assert result.findings == []


@pytest.mark.parametrize(
    ("closed_world", "expected"), [(False, ("warning", "suspect")), (True, ("error", "sure"))]
)
def test_a_message_is_followed_from_one_capture_to_another(captures, closed_world, expected):
    settings = CheckSettings(Selection(select=("BRK",)), closed_world=closed_world)
    publishers, consumers = check_together(inputs(captures), settings)
    assert publishers.findings == []
    [finding] = consumers.findings
    assert (finding.severity, finding.certainty) == expected
    assert (publishers.connections, consumers.connections) == (1, 2)


def test_the_history_names_the_capture_of_each_frame(captures):
    results = check_together(inputs(captures), CheckSettings(Selection(select=("BRK",))))
    [finding] = json.loads(json_text(results))["findings"]
    assert finding["capture"] == str(captures[1])
    assert [each["capture"] for each in finding["related"]] == [str(captures[0])] * 2
    text = "\n".join(LintText().lines(results))
    assert "publishers.pcapng: frame 10: published to q on connection 1" in text


def test_a_capture_that_cannot_be_read_leaves_the_others(captures, tmp_path):
    sources = inputs([*captures, tmp_path / "none.pcap"])
    *read, missing = check_together(sources, CheckSettings(Selection(select=("BRK",))))
    assert missing.unreadable
    assert [len(result.findings) for result in read] == [0, 1]


def checked_apart(story, tmp_path):
    """What is found in a closed world where A has a capture of its own, by rule and severity."""
    letters = "".join(sorted(story.opened))
    paths = [tmp_path / "publishers.pcapng", tmp_path / "consumers.pcapng"]
    for path, own in zip(paths, (letters[0], letters[1:]), strict=True):
        write(story.text, "", path, own)
    results = check_together(
        inputs(paths), CheckSettings(Selection(select=("BRK", "A09-BAS", "A09-QUE", "A09-TX")),
                                     closed_world=True)
    )  # fmt: skip
    return {(each.rule, each.severity) for result in results for each in result.findings}


def fetched(story):
    return story.deliver("B").outcome("B")


@pytest.mark.parametrize(
    ("story", "found"),
    [
        # before and after, in one capture and the other
        (fetched(posting().at(1)).at(2).discharge("A"), {("BRK-128", "warning")}),
        (fetched(posting().at(1).discharge("A", "true").answer("A").at(2)), {("BRK-129", "error")}),
        (fetched(posting().at(1).discharge("A").answer("A").at(2)), set()),
        (
            through().at(1).publish("A", body='data(b"short")').answer("A").at(2)
            .deliver("B", body='data(b"taller")'),
            {("BRK-101", "error")},
        ),
        # connections of two captures that have one number
        (
            Story(product="RabbitMQ").confirms("A").consume("B").at(1)
            .basic_publish("A", "m1").basic_publish("A", "m2").at(2)
            .basic_deliver("B", "m2").basic_deliver("B", "m1"),
            {("A09-BAS-37", "warning")},
        ),
        # a connection goes on after the last frame of its capture
        (
            Story(product="RabbitMQ").consume("A", more="exclusive=true").at(2).consume("B"),
            {("A09-BAS-34", "warning")},
        ),
    ],
    ids=["uncommitted", "rolled back", "committed", "changed", "disordered", "exclusive"],
)  # fmt: skip
def test_the_order_of_two_captures_is_that_of_their_times(story, found, tmp_path):
    assert checked_apart(story, tmp_path) == found
