"""`rules` and `rules --coverage`."""

import json

import pytest

from amqpscope.report.catalogue import HEADS, coverage_text, rules_text
from amqpscope.rules.all import load
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.coverage import STATUSES, coverage


def test_every_rule_that_is_checked_is_listed():
    lines = rules_text("text").splitlines()
    assert any(
        line.split()[:3] == ["FLW-016", "error", "transfer-without-credit"] for line in lines
    )
    assert sum(line.startswith("  ") for line in lines) == len(load())
    assert max(map(len, lines)) <= 80


def test_rules_that_are_off_by_default_are_marked():
    off = {rule.id for rule in load().values() if not rule.default}
    marked = {line.split()[0] for line in rules_text("text").splitlines() if "(off by" in line}
    assert marked == off


def test_rules_stand_below_their_groups_each_named_once():
    heads = [line for line in rules_text("text").splitlines() if line and line[0] != " "]
    assert len(heads) == len(set(heads)) > 15


def test_json_has_the_whole_catalogue():
    rows = json.loads(rules_text("json"))
    assert len(rows) == len(catalogue()) == 896
    row = next(row for row in rows if row["id"] == "FLW-016")
    assert list(row) == ["id", "name", "protocol", "group", "section", "level", "severity",
                         "observable", "default", "status", "reported_by", "summary"]  # fmt: skip
    assert row["status"] == "checked"
    assert row["default"] is True
    assert row["summary"].endswith(".")
    assert {row["status"] for row in rows} <= set(STATUSES)
    assert all((row["summary"] is not None) == (row["id"] in load()) for row in rows)


def test_markdown_is_a_table_with_a_row_for_each_rule():
    lines = rules_text("markdown").splitlines()
    assert lines[1] == "|---|---|---|---|"
    assert len(lines) == len(load()) + 2
    assert {line.replace("\\|", "").count("|") for line in lines} == {5}


def test_coverage_counts_every_row_of_the_catalogue_once():
    assert sum(sum(row.values()) for row in coverage().values()) == len(catalogue())
    assert sum(row["checked"] for row in coverage().values()) == len(load())


def test_coverage_fits_a_terminal_and_explains_its_heads():
    lines = coverage_text("text").splitlines()
    assert max(map(len, lines)) <= 80
    heads = lines[0].split("  ")
    for head, meaning in HEADS.values():
        assert any(head in part for part in heads)
        assert f"{head:9}{meaning}" in lines


def test_coverage_has_totals_for_each_protocol_and_for_all():
    lines = coverage_text("text").splitlines()
    together = [list(map(int, line.split()[1:])) for line in lines if line.startswith("  together")]
    everything = next(list(map(int, line.split()[1:])) for line in lines if line.startswith("all "))
    assert [sum(column) for column in zip(*together, strict=True)] == everything
    assert sum(everything) == 896


def test_groups_of_all_protocols_are_shown_by_their_names():
    titles = {line[:30].strip() for line in coverage_text("text").splitlines()}
    assert {group for _, group in coverage()} <= titles


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_coverage_for_programs_and_documents(form):
    text = coverage_text(form)
    if form == "json":
        rows = json.loads(text)
        assert list(rows[0]) == ["protocol", "group", *STATUSES]
        assert sum(row["checked"] for row in rows) == len(load())
    else:
        assert text.splitlines()[0] == f"| protocol | group | {' | '.join(STATUSES)} |"
