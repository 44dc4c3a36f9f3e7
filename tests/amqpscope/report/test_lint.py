"""The JSON document, which is a contract, and the counts."""

import json

from amqpscope.check.result import CaptureResult
from amqpscope.report.lint import count_severities, json_text, statistics_json, statistics_text

CAPTURE = {
    # key: type of its value
    "path": str, "packets": int, "connections": int, "frames": int, "protocols": list,
    "gaps": int, "error": str | None,
}  # fmt: skip
FINDING = {
    "rule": str, "name": str, "severity": str, "certainty": str, "peer": str, "message": str,
    "capture": str, "connection": int, "frame": int, "packet": int, "time": float,
    "channel": int | None, "link": str | None, "path": str | None, "section": str, "related": list,
}  # fmt: skip


def test_the_document_has_these_keys_in_this_order(checked):
    document = json.loads(json_text([checked]))
    assert list(document) == ["version", "captures", "findings", "summary"]
    assert document["version"] == 1
    for rows, keys in ((document["captures"], CAPTURE), (document["findings"], FINDING)):
        [row] = rows
        assert list(row) == list(keys)
        assert all(isinstance(row[key], kind) for key, kind in keys.items())
    assert document["summary"] == {"error": 1, "warning": 0, "info": 0}


def test_a_finding_says_where_it_is(checked):
    [finding] = json.loads(json_text([checked]))["findings"]
    assert (finding["capture"], finding["connection"]) == (checked.path, 1)
    assert (finding["frame"], finding["packet"]) == (11, 14)
    assert finding["time"] == 1_700_000_002.0
    assert (finding["channel"], finding["link"]) == (0, "s")
    for related in finding["related"]:
        assert list(related) == ["frame", "why"]
        assert related["frame"] < 11


def test_what_a_finding_does_not_have_is_null(checked, change):
    change(channel=None, link="", path="", related=())
    [row] = json.loads(json_text([checked]))["findings"]
    assert [row[key] for key in ("channel", "link", "path", "related")] == [None, None, None, []]


def test_a_capture_that_could_not_be_read_stands_there_with_the_reason():
    text = json_text(
        [CaptureResult("none.pcap", error="no such file or directory", unreadable=True)]
    )
    document = json.loads(text)
    assert document["captures"] == [
        {"path": "none.pcap", "packets": 0, "connections": 0, "frames": 0, "protocols": [],
         "gaps": 0, "error": "no such file or directory"}
    ]  # fmt: skip
    assert document["findings"] == []


def test_names_that_are_no_unicode_do_not_break_the_document(checked):
    checked.path = "caf\udce9.pcap"
    assert json_text([checked]).isascii()


def test_findings_are_counted_by_severity(checked):
    assert count_severities([checked, checked]) == {"error": 2, "warning": 0, "info": 0}
    assert count_severities([]) == {"error": 0, "warning": 0, "info": 0}


def test_statistics_count_by_rule_and_peer(checked):
    assert statistics_text([checked, checked]).split() == [
        "2", "FLW-016", "error", "client", "transfer-without-credit"
    ]  # fmt: skip
    assert json.loads(statistics_json([checked])) == [
        {"times": 1, "rule": "FLW-016", "name": "transfer-without-credit", "severity": "error",
         "peer": "client"}
    ]  # fmt: skip
