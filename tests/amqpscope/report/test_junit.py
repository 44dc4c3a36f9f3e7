"""JUnit XML."""

from xml.etree import ElementTree

import pytest

from amqpscope.check.result import CaptureResult
from amqpscope.check.selection import Selection
from amqpscope.report.junit import junit_text


def parsed(*captures, fail_on="error"):
    return ElementTree.fromstring(junit_text(captures, Selection(fail_on=fail_on).fails))


def counts(element):
    return tuple(int(element.get(name)) for name in ("tests", "failures", "errors"))


def test_a_finding_is_a_failed_case(checked):
    root = parsed(checked)
    case = root.find("testsuite/testcase")
    assert case.get("classname") == "FLW-016"
    assert case.get("name") == "transfer-without-credit at frame 11"
    failure = case.find("failure")
    assert failure.get("message").startswith("error (sure), client: ")
    assert "frame 11, packet 14, section 2.6.7" in failure.text
    assert counts(root) == counts(root.find("testsuite")) == (1, 1, 0)


@pytest.mark.parametrize(
    ("fail_on", "severity", "failures"),
    [
        ("error", "warning", 0),
        ("warning", "warning", 1),
        ("info", "info", 1),
        ("never", "error", 0),
    ],
)
def test_what_does_not_fail_the_run_is_a_case_that_passes(
    checked, change, fail_on, severity, failures
):
    change(severity=severity)
    root = parsed(checked, fail_on=fail_on)
    assert counts(root) == (1, failures, 0)
    assert (root.find(".//system-out") is None) is bool(failures)


def test_a_clean_capture_is_one_case_that_passes():
    root = parsed(CaptureResult("a.pcap"))
    assert counts(root) == (1, 0, 0)
    assert list(root.find("testsuite/testcase")) == []


def test_a_capture_that_could_not_be_read_is_an_error(checked):
    broken = CaptureResult("none.pcap", error="no such file", unreadable=True)
    root = parsed(broken, checked)
    assert counts(root) == (2, 1, 1)
    assert root.find(".//error").get("message") == "no such file"


def test_a_cut_capture_says_so_and_passes(checked):
    checked.error = "cut short"
    root = parsed(checked)
    assert counts(root) == (2, 1, 0)
    assert root.find(".//system-out").text == "cut short"


def test_characters_that_xml_forbids_are_replaced(checked, change):
    change(message='a\0b\x1b[0m <&"> \ud800')
    message = parsed(checked).find(".//failure").get("message")
    assert message.endswith('a\ufffdb\ufffd[0m <&"> \ufffd')
