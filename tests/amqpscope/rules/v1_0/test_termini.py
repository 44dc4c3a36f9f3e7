"""Sources and targets: echoes, refusals, links attached again, and captures that begin late."""

from __future__ import annotations

import pytest

from kit.exchange import play

ASK = 'client: attach[0] name="r" handle=0 role=receiver target=target()'
ANSWER = 'server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0'


def told(text: str, setup: str = "session", **options: bool) -> list[tuple[str, str, str]]:
    """Rule, certainty and peer of what this group finds."""
    findings = play(text, setup, **options).findings
    return [(f.rule, f.certainty, f.peer) for f in findings if f.rule[:3] == "SRC"]


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ('address="q" filter={:f="bare"}', "SRC-024"),
        ('address="q" durable=7', "SRC-015"),
        ('address="q" expiry-policy=:soon', "SRC-016"),
        ('address="q" timeout=ulong 1', "SRC-002"),
        ('address="q" capabilities=list[:queue]', "SRC-031"),
        ('address="q" dynamic-node-properties={:a=1}', "SRC-008"),
    ],
)
def test_a_fault_that_is_only_echoed_is_the_first_peers(source, rule):
    text = f"{ASK} source=source({source})\n{ANSWER} source=source({source})"
    assert told(text) == [(rule, "sure", "client")]


def test_a_refusal_by_echo_is_no_nameless_node():
    text = f"""
{ASK} source=source(dynamic=true)
{ANSWER} source=source(dynamic=true)
server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-allowed description="no")
client: detach[0] handle=0 closed=true
"""
    assert told(text) == []


def test_a_nameless_node_is_told_at_its_attach_when_time_has_passed():
    text = f"""
{ASK} source=source(dynamic=true)
{ANSWER} source=source(dynamic=true)
@2s client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
"""
    [finding] = [f for f in play(text, "session").findings if f.rule == "SRC-004"]
    assert (finding.frame, finding.peer, finding.severity) == (8, "server", "error")


def test_a_dynamic_source_that_is_attached_again_may_repeat_its_address():
    text = f"""
{ASK} source=source(dynamic=true)
{ANSWER} source=source(address="tmp/c/r" dynamic=true)
client: detach[0] handle=0
server: detach[0] handle=0
{ASK} source=source(address="tmp/c/r" dynamic=true)
"""
    assert told(text) == [("SRC-003", "suspect", "client")]


def test_who_set_a_link_up_is_not_guessed_when_the_start_was_not_seen():
    text = f'{ASK} source=source(address="q" dynamic=true)'
    assert told(text, "", complete=False) == []


def test_a_bare_filter_may_be_an_echo_of_what_was_lost():
    text = """
        client: GAP
        server: attach[0] name="r" handle=0 role=sender target=target() initial-delivery-count=0
                source=source(address="q" filter={:f="a = 1"})
        """
    assert play(text, "session").findings == []


def test_microsofts_bare_filters_are_a_warning():
    text = f'{ASK} source=source(address="q" filter={{:com.microsoft:session-filter="s"}})'
    [finding] = [f for f in play(text, "session").findings if f.rule[:3] == "SRC"]
    assert (finding.rule, finding.severity) == ("SRC-024", "warning")


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_an_echo_of_an_attach_that_was_not_seen_is_held_against_nobody(role):
    text = f"""
        server: header AMQP 1.0.0
        server: open container-id="s"
        server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: attach[0] name="r" handle=0 role={role} initial-delivery-count=0 target=target()
                source=source(address="q" filter={{:apache.org:selector-filter:string="a = 1"}})
        """
    assert [each for each in play(text, complete=False).findings if each.rule[:3] == "SRC"] == []
