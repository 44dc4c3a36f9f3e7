"""Two writers on one channel: both sequences are shown, and one fault is told once."""

from __future__ import annotations

import pytest

from kit.exchange_v0_9 import play

TANGLES = {
    # what the client sends on channel 1: the rule that tells it, and what each writer wrote
    "publishes one behind the other": (
        """
        client: basic.publish[1] routing-key="a"
        client: basic.publish[1] routing-key="b"
        client: content-header[1] class=basic body-size=2
        client: content-header[1] class=basic body-size=3
        client: content-body[1] "22"
        client: content-body[1] "333"
        """,
        "A09-FRM-40",
        "A basic.publish (10), content-header (13), content-body (15); "
        "B basic.publish (11), content-header (12), content-body (14)",
    ),
    "a publish within the body of another": (
        """
        client: basic.publish[1] routing-key="a"
        client: content-header[1] class=basic body-size=4
        client: content-body[1] "aa"
        client: basic.publish[1] routing-key="b"
        client: content-header[1] class=basic body-size=3
        client: content-body[1] "bbb"
        client: content-body[1] "aa"
        """,
        "A09-FRM-41",
        "A basic.publish (10), content-header (11), content-body (12), content-body (16); "
        "B basic.publish (13), content-header (14), content-body (15)",
    ),
}


@pytest.mark.parametrize(("text", "rule", "sequences"), TANGLES.values(), ids=TANGLES)
def test_both_sequences_are_shown(text, rule, sequences):
    found = play(text, "channel").findings
    assert [each.rule for each in found if each.severity == "error"] == [rule]
    told = next(each for each in found if each.rule == "A09-CHN-23")
    assert told.message == f"two writers on channel 1: {sequences}"
    assert {frame for frame, _ in told.related} >= {10, 11, 13, 14, 15}


def test_the_end_of_a_channel_tells_a_tangle_that_is_left():
    text = """
    client: basic.publish[1] routing-key="a"
    client: content-header[1] class=basic body-size=4
    client: basic.publish[1] routing-key="b"
    client: content-header[1] class=basic body-size=3
    client: content-body[1] "aaaa"
    server: connection.close reply-code=505 reply-text="UNEXPECTED_FRAME"
    client: connection.close-ok
    """
    assert "A09-CHN-23" in [each.rule for each in play(text, "channel").findings]


def test_a_content_that_is_given_up_is_no_second_writer():
    text = """
    client: basic.publish[1] routing-key="a"
    client: content-header[1] class=basic body-size=4
    client: basic.publish[1] routing-key="b"
    client: content-header[1] class=basic body-size=3
    client: content-body[1] "bbb"
    client: FIN
    server: FIN
    """
    assert "A09-CHN-23" not in [each.rule for each in play(text, "channel").findings]
