"""GitHub's workflow commands."""

from amqpscope.check.result import CaptureResult
from amqpscope.report.github import github_text


def test_a_finding_is_an_annotation(checked, change):
    checked.path = "bad.pcapng"
    change(message="no credit")
    assert github_text([checked]) == (
        "::error file=bad.pcapng,line=11,title=FLW-016 transfer-without-credit"
        "::frame 11 (client): no credit\n"
    )


def test_severities_have_their_commands(checked, change):
    commands = []
    for severity in ("error", "warning", "info"):
        change(severity=severity)
        commands.append(github_text([checked]).split()[0])
    assert commands == ["::error", "::warning", "::notice"]


def test_a_doubt_is_said_in_the_title(checked, change):
    change(certainty="suspect")
    assert "title=FLW-016 transfer-without-credit (suspect)::" in github_text([checked])


def test_nothing_ends_a_command_or_property_early(checked, change):
    checked.path = "a,b:c%\n.pcap"
    change(message="100%, ::error::\r\nx")
    text = github_text([checked])
    assert text.startswith("::error file=a%2Cb%3Ac%25%0A.pcap,line=11,")
    assert text.endswith("100%25, ::error::%0D%0Ax\n")
    assert text.count("\n") == 1


def test_captures_that_could_not_be_read_are_annotated():
    captures = [
        CaptureResult("a.pcap", error="cut short"),
        CaptureResult("b", error="gone", unreadable=True),
    ]
    assert github_text(captures) == "::warning file=a.pcap::cut short\n::error file=b::gone\n"


def test_nothing_found_is_nothing_said():
    assert github_text([CaptureResult("a.pcap")]) == ""


def test_nothing_moves_the_cursor_of_whoever_reads_the_log(checked, change):
    checked.path = "a\x1b[2J.pcap"
    change(message='link "\x1b]0;x\x07\x9b31m\x00\x0b\u202egnp\ud800"')
    text = github_text([checked])
    assert text.rstrip("\n").isprintable()
    assert r'link "\x1b]0;x\x07\x9b31m\x00\x0b\u202egnp\ud800"' in text
    assert r"file=a\x1b[2J.pcap," in text


def test_an_error_of_a_capture_is_escaped_too():
    text = github_text([CaptureResult("a.pcap", error="\x1b[31mred")])
    assert text == "::warning file=a.pcap::\\x1b[31mred\n"
