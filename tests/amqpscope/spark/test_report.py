"""What the tables show."""

import json
import re
import shlex

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
    """What a number links back to is in the capture that it names."""
    sections = ("rules", "products", "days", "worst", "stalls", "addresses")
    places = [each["example"] for name in sections for each in report[name]]
    places.append(report["slowest"])
    assert all(report[name] for name in sections if name != "stalls")
    shown = {}
    for at in places:
        if at["command"] not in shown:
            words = [*shlex.split(at["command"])[1:], "--format", "jsonl"]
            lines = amqpscope(*words).stdout.splitlines()
            shown[at["command"]] = [json.loads(line)["frame"] for line in lines]
        frames = shown[at["command"]]
        assert frames
        assert at.get("frame", frames[0]) in frames


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
