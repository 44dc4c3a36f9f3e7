"""Errors: what they say, and whether it fits what happened."""

from __future__ import annotations

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.check.selection import Selection
from amqpscope.rules.all import load
from amqpscope.rules.dispatch import RuleSet
from amqpscope.rules.registry import RULES
from amqpscope.stream.types import Chunk, Connection
from kit.conversation import Pieces
from kit.exchange import play, script

SENDER = 'role=sender source=source() target=target(address="q") initial-delivery-count=0'
ONLY_CAUSES = Selection(select=("ERR-022",))
FLOW = "incoming-window=100 next-outgoing-id=0 outgoing-window=100"


def conditions(text: str, setup: str) -> list[tuple[str, str, str]]:
    found = play(text, setup).findings
    return [(one.rule, one.peer, one.severity) for one in found if one.rule[:3] == "ERR"]


@pytest.mark.parametrize(
    "text",
    [
        "server: end[0] error=error(condition=:amqp:internal-error description=null info={})",
        'server: end[0] error=error(condition=:"com.microsoft:timeout" description="late")',
        'server: end[0] error=error(condition=:"rabbit:internal" description="x")',
        'server: close error=error(condition=:amqp:transaction:rollback description="x")',
        "server: end'symbol[0] error=error'symbol(condition=:amqp:not-allowed description=\"x\")",
        "server: end[0]\nclient: end[0]",
    ],
)
def test_an_error_is_fine(text):
    assert conditions(text, "session") == []


@pytest.mark.parametrize(
    "text",
    [
        'server: end[0] error="amqp:internal-error"',
        "server: end[0] error=error()",
        "server: detach[0] handle=0 closed=true error={:condition=:x}",
        'server: close error=error(condition=null description="x")',
    ],
)
def test_an_error_that_is_none_is_found_once(text):
    found = play(text, "sending").findings
    assert [(one.rule, one.severity) for one in found if one.severity == "error"] == [
        ("ERR-001", "error")
    ]


def test_the_prescribed_reaction_is_fine_and_another_is_not():
    attach = f'client: attach[0] name="t" handle=0 {SENDER}\n'
    for means in ("end[0]", "close"):
        right = (
            f'server: {means} error=error(condition=:amqp:session:handle-in-use description="0")'
        )
        assert conditions(attach + right, "sending") == []
    wrong = 'server: close error=error(condition=:amqp:internal-error description="0")'
    assert conditions(attach + wrong, "sending") == [("ERR-008", "server", "warning")]


def test_an_operators_close_is_no_reaction():
    text = f"""
        client: attach[0] name="t" handle=0 {SENDER}
        server: close error=error(condition=:amqp:connection:forced description="maintenance")
        """
    assert conditions(text, "sending") == []


def test_who_lets_a_fault_pass_is_told_as_a_note():
    text = f"""
        client: flow[0] next-incoming-id=0 {FLOW} handle=5 link-credit=1
        server: flow[0] next-incoming-id=0 {FLOW}
        @12s server: empty
        @30s server: empty
        """
    assert conditions(text, "session") == [("ERR-009", "server", "info")]


def test_an_accusation_of_a_window_that_was_kept_is_unfounded():
    text = """
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
            | data(b"0")
        server: end[0] error=error(condition=:amqp:session:window-violation description="0")
        """
    (finding,) = play(text, "sending").findings
    assert (finding.rule, finding.peer, finding.certainty) == ("ERR-016", "server", "suspect")
    assert "next transfer-id 1" in finding.message


def test_an_accusation_after_a_gap_is_believed():
    text = """
        client: GAP
        client: transfer[0] handle=0 delivery-id=5 delivery-tag=b"0" message-format=0 settled=true
            | data(b"0")
        server: end[0] error=error(condition=:amqp:session:window-violation description="0")
        """
    assert conditions(text, "sending") == []


def test_an_accusation_is_believed_when_the_rules_that_could_tell_do_not_run():
    load()
    analyzer = Analyzer({5672: "amqp-1.0"}, RuleSet([RULES["ERR-016"]]))
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", 5672), True)
    text = 'server: end[0] error=error(condition=:amqp:session:window-violation description="0")'
    found, ends = [], [0, 0]
    for place, said in enumerate(script(text, "sending")):
        piece = Chunk(connection, said.sender, ends[said.sender], said.raw, place, said.time, -1)
        ends[said.sender] += len(said.raw)
        for step in analyzer.feed(piece):
            found += step.findings
    assert found == []


REFUSED = """
    client: attach[0] name="r" handle=0 role=receiver source=source(address="q"
            dynamic-node-properties={}) target=target() rcv-settle-mode=second
    server: end[0] error=error(condition=:amqp:not-implemented description="WHY")
    """


def causes(text: str, choice: Selection = ONLY_CAUSES) -> list[tuple[str, str]]:
    """What is said of an exchange where only the rule for causes is selected."""
    analyzer = Analyzer({5672: "amqp-1.0"}, choice.rules())
    connection = Connection(("10.0.0.1", 50000), ("10.0.0.2", 5672), True)
    pieces = Pieces(connection)
    steps = [s for each in script(text, "session") for s in analyzer.feed(pieces.piece(each))]
    found = [finding for step in steps for finding in step.findings]
    return [(finding.rule, finding.message) for finding in found]


def test_the_words_of_an_error_lead_to_the_field_that_they_name():
    ((_, text),) = causes(REFUSED.replace("WHY", "rcv-settle-mode second not supported"))
    assert text == "end with amqp:not-implemented names rcv-settle-mode, which frame 7 sets"


def test_a_note_is_no_cause_of_an_error():
    ((_, text),) = causes(REFUSED.replace("WHY", "sorry"))
    assert text == "end with amqp:not-implemented comes after frame 7, in which no fault was found"


def test_causes_are_looked_for_whatever_else_is_selected():
    text = """
        client: transfer[0] handle=1 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        server: end[0] error=error(condition=:amqp:session:unattached-handle description="1")
        """
    said = "end with amqp:session:unattached-handle: the probable cause is LNK-005 in frame 7"
    assert causes(text) == [("ERR-022", said)]


def test_a_warning_about_what_breaks_nothing_is_no_cause_of_an_error():
    text = """
        client: attach[0] name="r" handle=0 role=receiver source=source(address="q") target=target()
        client: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0
                outgoing-window=100 handle=0 delivery-count=0 link-credit=10
        server: attach[0] name="r" handle=0 role=sender source=source(address="q") target=target()
                initial-delivery-count=0
        server: end[0] error=error(condition=:amqp:resource-limit-exceeded description="x")
        """
    assert [each.rule for each in play(text, "session").findings] == ["FLW-012"]
