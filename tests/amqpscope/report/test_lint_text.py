"""Findings for people."""

import re

import pytest

from amqpscope.check.result import CaptureResult
from amqpscope.report.columns import columns
from amqpscope.report.lint_text import LintText


def text(*checked, **how):
    return "\n".join(LintText(**how).lines(checked))


def test_a_finding_is_shown_with_its_frames_and_why_they_matter(checked, change):
    checked.path = "bad.pcapng"
    change(message="the message")
    lines = text(checked).splitlines()
    assert lines[0] == "error[FLW-016] transfer-without-credit (client)"
    assert lines[1] == "  the message"
    assert lines[2] == ('  --> bad.pcapng: frame 11, packet 14, connection 1, channel 0, link "s"')
    assert lines[3] == "     |"
    assert lines[-6].startswith("     |       ^ ")
    assert lines[-5] == '  11 |       C→S  0 transfer  #1 6 B unsettled "1"'
    assert lines[-4] == "     |       ^^^^^^^^^^^^^^^ transfer.handle"
    assert lines[-3] == "     = section 2.6.7; amqpscope explain FLW-016"
    assert lines[-1] == "Found 1 error in 11 frames of 1 capture."


def test_earlier_frames_have_the_time_since_they_passed(checked):
    assert re.search(r"^   9 \| -2 s  C←S  0 flow      credit=1", text(checked), re.MULTILINE)


@pytest.mark.parametrize("width", [80, 60, 40, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_the_terminal(checked, change, width, colour):
    change(
        message="a very long message 日本語日本語日本語 " * 9,
        related=((9, "an equally long reason " * 9),),
        link="l" * 300,
    )
    checked.path = "/a/very/long/path" * 9
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text(checked, width=width, colour=colour))
    assert max(map(columns, shown.splitlines())) <= width
    assert "日本語" in shown


def test_without_a_terminal_a_message_is_one_line(checked, change):
    change(message="word " * 99)
    assert "  " + "word " * 99 in text(checked).splitlines()


def test_a_doubt_is_said(checked, change):
    change(certainty="suspect", severity="warning")
    assert text(checked).startswith("warning[FLW-016] transfer-without-credit (client, suspect)\n")


def test_without_excerpts_the_field_stands_below(checked):
    checked.excerpts = {}
    assert "     = transfer.handle, section 2.6.7; amqpscope explain FLW-016" in text(checked)


def test_captured_text_cannot_move_the_cursor(checked, change):
    hostile = "\x1b[2J\n"
    change(message=hostile, link=hostile, path=hostile, related=((9, "\x1b[2J"),))
    checked.path = "\x1b[2J"
    assert "\x1b" not in text(checked)


def test_colour_changes_nothing_but_colour(checked):
    coloured = text(checked, colour=True)
    assert "\x1b[1;31merror[FLW-016]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text(checked)


def test_a_terminal_that_knows_ascii_alone_gets_that(checked):
    assert text(checked, width=40, plain=True).isascii()


@pytest.mark.parametrize(
    ("captures", "told"),
    [
        ([CaptureResult("a", frames=1)], "Nothing found in 1 frame of 1 capture."),
        (
            [CaptureResult("a", frames=1200), CaptureResult("b", unreadable=True)],
            "Nothing found in 1,200 frames of 1 capture; 1 capture could not be read.",
        ),
        (
            [CaptureResult("a", unreadable=True), CaptureResult("b", unreadable=True)],
            "Nothing was checked: 2 captures could not be read.",
        ),
    ],
)
def test_the_sum_tells_how_it_went(captures, told):
    assert text(*captures) == told


def test_severities_are_counted_in_the_sum(checked, change):
    other = CaptureResult("b", findings=[*checked.findings] * 2)
    assert text(other).splitlines()[-1] == "Found 2 errors in 0 frames of 1 capture."
    change(severity="info")
    assert text(checked).splitlines()[-1] == "Found 1 info in 11 frames of 1 capture."
