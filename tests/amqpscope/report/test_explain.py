"""`explain`."""

from importlib.resources import files

import pytest

from amqpscope.report.columns import columns
from amqpscope.report.explain import explanation
from amqpscope.rules.all import load
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.coverage import CHECKED, STATUSES, status


def test_a_rule_is_told_with_reason_examples_and_how_to_silence_it():
    text = explanation("FLW-016")
    assert text.startswith("FLW-016 transfer-without-credit\n\n")
    assert "amqp-1.0, section 2.6.7, " in text
    assert "\nBad (after " in text
    assert "\nGood (after " in text
    assert "# <- FLW-016" in text
    assert text.endswith(
        'To silence it: lint --ignore FLW-016, or ignore = ["FLW-016"] in amqpscope.toml.'
    )


@pytest.mark.parametrize("reason", [each for each in STATUSES if each != CHECKED])
def test_of_a_rule_that_is_not_checked_the_status_is_said(reason):
    id = next((e.id for e in catalogue().values() if status(e) == reason), None)
    if id is not None:
        assert f"lint does not report it. Status: {reason} (" in explanation(id)


def test_every_rule_of_the_catalogue_can_be_explained_in_80_columns():
    for id in catalogue():
        assert max(map(columns, explanation(id, 80).splitlines())) <= 80, id


def test_a_rule_that_is_off_by_default_says_so():
    for rule in load().values():
        assert ("runs only when it is selected" in explanation(rule.id)) is not rule.default


def test_folding_changes_nothing_but_line_breaks():
    assert explanation("FLW-016", 60).split() == explanation("FLW-016").split()


def test_in_full_an_example_begins_with_the_connection():
    short, full = explanation("FLW-016", 80), explanation("FLW-016", 80, full=True)
    assert "client: header AMQP 1.0.0" not in short
    assert full.index("client: header AMQP 1.0.0") < full.index("# here the example begins")
    assert max(map(columns, full.splitlines())) <= 80


def test_the_source_of_a_rule_is_named():
    for rule in load().values():
        place = explanation(rule.id).split("Its source: ")[1].split()[0]
        assert files("amqpscope").parent.joinpath(place).is_file()
