"""What leaves the core about a violation."""

import pickle
from copy import copy

import pytest

from amqpscope.findings import ERROR, GUESSED, INFO, SURE, SUSPECT, WARNING
from amqpscope.model.mark import Mark
from amqpscope.rules.all import load
from amqpscope.rules.reporter import Reporter


def found(severity, *, guessed, sure=True):
    """What a reporter makes of a violation; the roles of the peers may be a guess."""
    reporter = Reporter(1, guessed)
    reporter.rule = load()["FLW-016"]
    reporter.write(
        sure=sure, peer=0, mark=Mark(1, 1, 0, 0), severity=severity, message="no credit", path="",
        channel=0, link="", related=(),
    )  # fmt: skip
    (finding,) = reporter.take()
    return finding.severity, finding.certainty, finding.message


@pytest.mark.parametrize(
    ("severity", "guessed", "expected"),
    [
        (ERROR, False, (ERROR, SURE, "no credit")),
        (ERROR, True, (WARNING, SUSPECT, "no credit" + GUESSED)),
        (WARNING, True, (WARNING, SUSPECT, "no credit" + GUESSED)),
        (INFO, True, (INFO, SURE, "no credit")),
    ],
)
def test_nobody_is_accused_for_sure_where_roles_are_a_guess(severity, guessed, expected):
    assert found(severity, guessed=guessed) == expected


def test_what_is_not_sure_is_no_error():
    assert found(ERROR, guessed=False, sure=False) == (WARNING, SUSPECT, "no credit")


def test_a_finding_can_be_handed_from_one_process_to_another(checked):
    [finding] = checked.findings
    assert pickle.loads(pickle.dumps(finding)) == finding
    assert copy(finding) == finding
