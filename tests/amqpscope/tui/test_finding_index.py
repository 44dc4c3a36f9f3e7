"""Findings are kept small, and read again when they are looked at."""

import json
import tempfile

import pytest

from amqpscope.tui.finding_index import FindingIndex
from amqpscope.tui.spool import SpooledLines

ROWS = [  # rule, severity, frame
    ("FLW-016", "error", 5),
    ("FLW-016", "error", 9),
    ("CON-008", "info", 7),
    ("LNK-024", "warning", 9),
    ("FLW-016", "error", 3),
]


@pytest.fixture
def findings():
    with tempfile.TemporaryFile() as file:
        for rule, severity, frame in ROWS:
            fact = {
                "rule": rule, "name": "n", "section": "2.6", "level": "MUST", "severity": severity,
                "certainty": "sure", "peer": "client", "message": f"about {frame}", "path": "",
                "frame": frame, "packet": 1, "time": 1, "channel": 0, "link": "", "connection": 1,
                "related": [[frame - 1, "why"]],
            }  # fmt: skip
            file.write(json.dumps({"finding": fact}).encode() + b"\n")
        file.flush()
        made = FindingIndex(file.fileno())
        for line in SpooledLines(file.fileno()).read():
            made.add(line.value["finding"], line.place, line.size)
        yield made


def test_they_keep_their_order_and_their_words(findings):
    assert [(one.rule, one.severity, one.frame) for one in findings] == ROWS
    assert findings[1].message == "about 9"
    assert findings[1].related == ((8, "why"),)


def test_they_are_found_by_frame(findings):
    assert [one.rule for one in findings.at(9)] == ["FLW-016", "LNK-024"]
    assert findings.at(4) == []
    assert [findings.count_at(frame) for frame in (3, 4, 9)] == [1, 0, 2]


def test_they_are_counted(findings):
    assert findings.counts == {"error": 3, "warning": 1, "info": 1}
    assert findings.groups["FLW-016", "error", "client"] == 3
    assert findings.brief(3) == (9, "LNK-024", "warning", "client", 1)


def test_the_next_grave_one_is_found_also_if_it_came_late(findings):
    assert findings.grave == [3, 5, 9]
    assert [findings.after(frame) for frame in (0, 3, 5, 9)] == [3, 5, 9, 0]
    assert [findings.before(frame) for frame in (9, 4, 3)] == [5, 3, 0]


def test_a_line_that_is_not_complete_waits():
    with tempfile.TemporaryFile() as file:
        lines = SpooledLines(file.fileno())
        file.write(b'{"a": 1}\n{"a"')
        file.flush()
        assert [line.value for line in lines.read()] == [{"a": 1}]
        assert lines.read() == []
        file.write(b": 2}\n")
        file.flush()
        assert [line.value for line in lines.read()] == [{"a": 2}]
