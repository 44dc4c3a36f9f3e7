"""What the tables show."""

import json
import re

import pytest

from amqpscope.spark import run_pipeline
from amqpscope.spark.report import make_report
from amqpscope.spark.report_html import report_html
from amqpscope.spark.report_text import report_text

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def report(spark, root, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "tables"
    names = ("demo.pcapng", "v10_proton-labbroker_manysessions.pcap")
    run_pipeline(spark, [str(root / "captures" / name) for name in names], str(out), ring="file")
    return make_report(str(out), 10)


def test_totals_are_those_of_lint(report, amqpscope, root):
    names = ("demo.pcapng", "v10_proton-labbroker_manysessions.pcap")
    paths = [root / "captures" / name for name in names]
    document = json.loads(amqpscope("lint", "--format", "json", *paths).stdout)
    assert report["findings"] == document["summary"]
    assert report["frames"] == sum(each["frames"] for each in document["captures"])
    assert sum(each["count"] for each in report["rules"]) == len(document["findings"])


def test_each_example_can_be_opened(report, amqpscope):
    for rule in report["rules"]:
        at = rule["example"]
        shown = amqpscope(
            "read", at["capture"], "-Y", f"packet == {at['packet']}", "--format", "jsonl"
        ).stdout
        rules = [json.loads(line) for line in shown.splitlines()]
        assert at["frame"] in [unit["frame"] for unit in rules]


def test_text_fits_80_columns_and_html_needs_nothing_else(report):
    assert max(len(line) for line in report_text(report).splitlines()) <= 80
    page = report_html(report)
    assert re.findall(r"(?:src|href)=", page) == []
    assert "<svg" in page
    assert all(rule["rule"] in page for rule in report["rules"])


def test_a_directory_without_tables_is_refused_in_one_line(amqpscope, tmp_path):
    done = amqpscope("pipeline", "report", tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no tables" in done.stderr
