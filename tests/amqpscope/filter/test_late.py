"""Filters and findings that come to light when their frame has passed."""

import pytest

from amqpscope.check.selection import Selection
from amqpscope.filter import compile_filter
from amqpscope.filter.late import LateFilter
from amqpscope.runs.run import Run

LATE = "CON-008"
"""What demo.pcapng shows of frame 25, a disposition of the client, when the connection ends."""


@pytest.fixture
def late(root):
    """The late findings of a capture that a filter selects."""

    def select(text, name="demo.pcapng"):
        where, found = LateFilter(compile_filter(text)), []
        with Run(str(root / "captures" / name), Selection()) as run:
            for batch in run:
                for step in batch.steps:
                    where.matches(step)
                found += [str(f) for f in batch.findings if where.matches_finding(f)]
        return found

    return select


@pytest.mark.parametrize(
    "text",
    [
        f'finding.rule == "{LATE}"',
        f'amqp.finding.rule == "{LATE}"',
        "finding",
        "finding.severity == info && finding.certainty == suspect",
        "disposition",
        "frame == 25",
        f'disposition && finding.rule == "{LATE}"',
        f'transfer || finding.rule == "{LATE}"',
        '!transfer && !(finding.rule == "FLW-016")',
        f'!(transfer || finding.rule != "{LATE}")',
        'finding.message contains "without a close" and from == client',
    ],
)
def test_a_late_finding_is_selected_by_itself_and_by_its_frame(late, text):
    assert late(text) == [LATE]


@pytest.mark.parametrize(
    "text",
    [
        'finding.rule == "FLW-016"',
        "transfer",
        f'transfer && finding.rule == "{LATE}"',
        f'!disposition && finding.rule == "{LATE}"',
        "!finding",
        f'disposition && finding.rule != "{LATE}"',
        "finding.severity == error",
    ],
)
def test_a_late_finding_that_does_not_match_is_not_selected(late, text):
    assert late(text) == []


def test_frames_that_match_by_themselves_are_shown_as_ever(root):
    where, shown = LateFilter(compile_filter("finding || close")), []
    with Run(str(root / "captures" / "demo.pcapng"), Selection()) as run:
        for batch in run:
            shown += [step.frame.number for step in batch.steps if where.matches(step)]
    plain = compile_filter("finding || close")
    with Run(str(root / "captures" / "demo.pcapng"), Selection()) as run:
        expected = [s.frame.number for batch in run for s in batch.steps if plain.matches(s)]
    assert shown == expected
    assert 24 in shown
