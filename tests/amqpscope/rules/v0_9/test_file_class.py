"""Files and streams: what the kindest reading allows is not accused."""

from __future__ import annotations

import pytest

from amqpscope.findings import ERROR, INFO, WARNING
from amqpscope.rules.all import load
from kit.exchange_v0_9 import play

CONSUMING = """
client: file.consume[1] queue="q" consumer-tag="t"
server: file.consume-ok[1] consumer-tag="t"
"""
STAGED = """
server: file.open[1] identifier="f" content-size=0
client: file.open-ok[1] staged-size=0
server: file.stage[1]
server: content-header[1] class=file body-size=0
"""


def found(text: str, setup: str = "v0_9") -> list[tuple[str, str]]:
    """What the rules that run without being asked for say."""
    findings = play(text, setup).findings
    return [(each.rule, each.severity) for each in findings if load()[each.rule].default]


def test_files_are_staged_side_by_side():
    assert not found("""
        client: file.open[1] identifier="a" content-size=1
        client: file.open[1] identifier="b" content-size=2
        server: file.open-ok[1] staged-size=0
        server: file.open-ok[1] staged-size=0
        client: file.stage[1]
        client: content-header[1] class=file body-size=1
        client: content-body[1] "a"
        client: file.stage[1]
        client: content-header[1] class=file body-size=2
        client: content-body[1] "bb"
        client: file.publish[1] exchange="x" identifier="b"
        client: file.publish[1] exchange="x" identifier="a"
    """)


def test_another_open_where_a_stage_should_come_is_suspicious():
    assert found("""
        client: file.open[1] identifier="a" content-size=1
        server: file.open-ok[1] staged-size=0
        client: file.open[1] identifier="b" content-size=2
    """) == [("A09-FIL-01", WARNING)]


def test_each_direction_stages_for_itself():
    assert not found("""
        client: file.open[1] identifier="f" content-size=1
        server: file.open[1] identifier="f" content-size=2
        client: file.open-ok[1] staged-size=0
        server: file.open-ok[1] staged-size=0
        client: file.stage[1]
        client: content-header[1] class=file body-size=1
        server: file.stage[1]
        server: content-header[1] class=file body-size=2
        client: content-body[1] "a"
        server: content-body[1] "bb"
    """)


def test_a_file_staged_on_another_channel_may_be_published():
    assert not found("""
        client: channel.open[2]
        server: channel.open-ok[2]
        client: file.open[2] identifier="f" content-size=0
        server: file.open-ok[2] staged-size=0
        client: file.stage[2]
        client: content-header[2] class=file body-size=0
        client: file.publish[1] exchange="x" identifier="f"
    """)


def test_a_delivery_may_come_before_its_staging_is_over():
    text = (
        CONSUMING
        + """
        server: file.open[1] identifier="f" content-size=1
        client: file.open-ok[1] staged-size=0
        server: file.deliver[1] consumer-tag="t" delivery-tag=1 identifier="f"
    """
    )
    assert found(text) == [("A09-FIL-05", WARNING)]


def test_a_tag_of_another_class_is_not_called_in_use():
    text = """
        client: basic.consume[1] queue="q" consumer-tag="t"
        server: basic.consume-ok[1] consumer-tag="t"
        client: stream.consume[1] queue="q" consumer-tag="t"
        server: stream.consume-ok[1] consumer-tag="t"
    """
    assert not found(text)


def test_all_files_are_acknowledged_at_once():
    deliver = 'server: file.deliver[1] consumer-tag="t" delivery-tag=%d identifier="f"\n'
    assert not found(
        CONSUMING + STAGED + deliver % 1 + deliver % 2
        + "client: file.ack[1] delivery-tag=0 multiple=true\n"
        + "client: file.ack[1] delivery-tag=0 multiple=true"
    )  # fmt: skip


def test_tags_of_two_classes_on_a_channel_are_not_judged():
    text = (
        CONSUMING
        + """
        client: basic.consume[1] queue="q" consumer-tag="b"
        server: basic.consume-ok[1] consumer-tag="b"
        server: basic.deliver[1] consumer-tag="b" delivery-tag=1 routing-key="q"
        server: content-header[1] class=basic body-size=0
        client: basic.ack[1] delivery-tag=1
        client: file.ack[1] delivery-tag=2
    """
    )
    assert "A09-FIL-09" not in dict(found(text))


def test_a_cancel_by_the_old_name_that_crosses_the_new_one_is_legal():
    assert not found("""
        client: file.consume[1] queue="q" consumer-tag="t"
        server: file.consume-ok[1] consumer-tag="t-1"
        client~1: file.cancel[1] consumer-tag="t"
        server: file.cancel-ok[1] consumer-tag="t"
    """)


@pytest.mark.parametrize("name", ["file", "stream"])
@pytest.mark.parametrize("setup", ["v0_8", "v0_9"])
def test_a_return_without_its_content_is_no_error(name, setup):
    text = f"""
        server: {name}.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="x" routing-key="z"
        server: {name}.return[1] reply-code=312 reply-text="NO_ROUTE" exchange="x" routing-key="z"
        server: channel.close[1] reply-code=200 reply-text="bye"
        client: channel.close-ok[1]
    """
    noted = [("A09-FIL-12", INFO)] * 2 if name == "file" else []
    assert found(text, setup) == noted


def test_a_reply_of_the_file_class_that_nobody_asked_for_is_told():
    assert found('server: file.consume-ok[1] consumer-tag="t"') == [("A09-CHN-05", ERROR)]
