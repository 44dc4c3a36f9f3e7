"""The message class of 0-9, and classes that are never seen: what is legal, or only suspicious."""

from __future__ import annotations

import pytest

from amqpscope.findings import WARNING
from amqpscope.rules.all import load
from amqpscope.rules.v0_9.scenes import SCENES
from kit.exchange_v0_9 import play

BY_REFERENCE = """
client: message.open[1 request=1] reference="r"
client: message.transfer[1 request=2] destination="d" body=reference "r"
"""


def found(text: str, setup: str = "v0_9") -> list[tuple[str, str]]:
    """What the rules that run without being asked for say."""
    findings = play(text, setup).findings
    return [(each.rule, each.severity) for each in findings if load()[each.rule].default]


def test_qpid_sends_them_in_method_frames():
    setup = SCENES.opening("v0_9").units.replace('"a broker"', '"qpid"')
    text = 'client: message.cancel[1] destination="a"\nserver: message.ok[1]'
    assert not found(setup + text, "")


def test_only_the_open_is_answered_before_the_close():
    assert not found(BY_REFERENCE + "server: message.ok[1 response=1 mark=1]")


def test_an_early_reject_is_only_suspicious():
    text = BY_REFERENCE + 'server: message.reject[1 response=1 mark=2] code=0 text="no"'
    assert found(text) == [("A09-MSG-04", WARNING)]


def test_an_answer_that_crosses_the_close_is_suspicious():
    text = (
        BY_REFERENCE
        + """
        client: message.close[1 request=3] reference="r"
        server~1: message.ok[1 response=1 mark=2]
    """
    )
    assert found(text) == [("A09-MSG-04", WARNING)]


def test_a_reference_of_another_channel_is_suspicious():
    text = """
        client: message.open[1 request=1] reference="r"
        client: channel.open[2]
        server: channel.open-ok[2]
        client: message.append[2 request=1] reference="r" bytes="x"
    """
    assert found(text) == [("A09-MSG-03", WARNING)]


def test_a_name_that_was_closed_is_used_again():
    text = """
        client: message.open[1 request=1] reference="r"
        client: message.close[1 request=2] reference="r"
        client: message.open[1 request=3] reference="r"
    """
    assert found(text) == [("A09-MSG-03", WARNING)]


def test_both_peers_may_open_a_reference_of_the_same_name():
    assert not found("""
        client: message.open[1 request=1] reference="r"
        server: message.open[1 request=1] reference="r"
        client: message.close[1 request=2] reference="r"
        server: message.close[1 request=2] reference="r"
    """)


@pytest.mark.parametrize("result", [1, 9, 16])
def test_sum_lowest_and_highest_are_results_of_a_test(result):
    text = f"""
        client: test.integer[1] integer-1=1 integer-2=2 integer-3=4 integer-4=9 operation=1
        server: test.integer-ok[1] result={result}
    """
    assert not found(text, "v0_8")


@pytest.mark.parametrize(("result", "wrong"), [("abc", False), ("a", False), ("cab", True)])
def test_a_test_of_strings_is_answered_by_what_was_sent(result, wrong):
    text = f"""
        server: test.string[1] string-1="a" string-2="bc" operation=1
        client: test.string-ok[1] result="{result}"
    """
    assert found(text, "v0_8") == ([("A09-TUN-01", WARNING)] if wrong else [])


@pytest.mark.parametrize("peer", ["client", "server"])
def test_both_peers_may_tunnel(peer):
    text = f"""
        {peer}: tunnel.request[1]
        {peer}: content-header[1] class=tunnel body-size=1
        {peer}: content-body[1] "x"
    """
    assert not found(text)
