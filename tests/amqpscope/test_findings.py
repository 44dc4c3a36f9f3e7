"""What leaves the core about a violation."""

import pytest

from amqpscope.findings import GUESSED, make_findings
from amqpscope.model.mark import Mark
from amqpscope.rules import ERROR, INFO, SURE, SUSPECT, WARNING, Report
from amqpscope.rules.all import load


def report(severity):
    rule = load()["FLW-016"]
    return Report(rule, severity, SURE, 0, "no credit", "", Mark(1, 1, 0, 0), 0, "", ())


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
    (finding,) = make_findings([report(severity)], 1, guessed)
    assert (finding.severity, finding.certainty, finding.message) == expected
