"""Links: what comes close to breaking a rule and does not, and what breaks it in odd ways."""

from __future__ import annotations

import pytest

from kit.exchange import play

BEGIN = "next-outgoing-id=0 incoming-window=100 outgoing-window=100"
SENDER = 'role=sender source=source() target=target(address="q") initial-delivery-count=0'
RECEIVER = 'role=receiver source=source() target=target(address="q")'
FLOW = "incoming-window=100 next-outgoing-id=0 outgoing-window=100"
ERROR = 'error=error(condition=:amqp:internal-error description="no")'
SENT = 'delivery-tag=b"0" message-format=0 settled=true | data(b"0")'

# fmt: off
LEGAL = {
    "both peers detach at once": ("sending", """
        client: detach[0] handle=0 closed=true
        server~1: detach[0] handle=0 closed=true
        """),
    "a link attached again on the same handle, pipelined": ("sending", f"""
        client: detach[0] handle=0
        client: attach[0] name="s" handle=0 {SENDER}
        server: detach[0] handle=0
        server: attach[0] name="s" handle=0 {RECEIVER}
        """),
    "a link detached before the attach is answered": ("session", f"""
        client: attach[0] name="s" handle=0 {SENDER}
        client: detach[0] handle=0 closed=true
        server: attach[0] name="s" handle=0 {RECEIVER}
        server: flow[0] next-incoming-id=0 {FLOW} handle=0 delivery-count=0 link-credit=5
        server: detach[0] handle=0 closed=true
        """),
    "the same handle number in two sessions": ("sending", f"""
        client: begin[1] {BEGIN}
        server: begin[1] remote-channel=1 {BEGIN}
        client: attach[1] name="t" handle=0 {SENDER}
        server: attach[1] name="t" handle=0 {RECEIVER}
        """),
    "a link taken over on another session": ("sending", f"""
        client: begin[1] {BEGIN}
        server: begin[1] remote-channel=1 {BEGIN}
        client: attach[1] name="s" handle=0 {SENDER}
        server: attach[1] name="s" handle=0 {RECEIVER}
        server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen
            description="attached again")
        client~1: transfer[0] handle=0 delivery-id=0 {SENT}
        client: detach[0] handle=0 closed=true
        server: flow[1] next-incoming-id=0 {FLOW} handle=0 delivery-count=0 link-credit=5
        client: transfer[1] handle=0 delivery-id=0 {SENT}
        client: close
        server: close
        """),
    "a link that is attached again while its session is being ended": ("sending", f"""
        server: end[0]
        client: begin[1] {BEGIN}
        client: attach[1] name="s" handle=0 {SENDER}
        client: end[0]
        server: begin[1] remote-channel=1 {BEGIN}
        server: attach[1] name="s" handle=0 {RECEIVER}
        server: flow[1] next-incoming-id=0 {FLOW} handle=0 delivery-count=0 link-credit=5
        client: close
        server: close
        """),
    "both peers attach a link at the same time, each without the other's terminus": ("session", """
        client: attach[0] name="s" handle=0 role=sender source=source() initial-delivery-count=0
        server~1: attach[0] name="s" handle=0 role=receiver target=target()
        """),
    "a closing detach that crosses one that does not close": ("sending", f"""
        client: detach[0] handle=0 closed=true
        server~1: detach[0] handle=0
        server: attach[0] name="s" handle=0 {RECEIVER}
        server: detach[0] handle=0 closed=true
        """),
    "frames in flight for a link detached with an error": ("sending", f"""
        server: detach[0] handle=0 closed=true {ERROR}
        @3s client~1: transfer[0] handle=0 delivery-id=0 {SENT}
        client: detach[0] handle=0 closed=true
        """),
    "frames that the partner discards": ("sending", f"""
        server: end[0] {ERROR}
        client: flow[0] next-incoming-id=0 {FLOW} handle=9 link-credit=1
        client: end[0]
        """),
    "a detach answered by the end of the session": ("sending", """
        client: detach[0] handle=0 closed=true
        @9s server: end[0]
        @18s client: end[0]
        """),
    "a refused link, answered late": ("session", f"""
        client: attach[0] name="s" handle=0 {SENDER}
        @8s server: attach[0] name="s" handle=0 role=receiver
        @9s server: detach[0] handle=0 closed=true {ERROR}
        @18s client: detach[0] handle=0 closed=true
        """),
}
# fmt: on


@pytest.mark.parametrize("name", LEGAL)
def test_nothing_is_said_of(name):
    setup, text = LEGAL[name]
    found = play(text, setup).findings
    assert [one for one in found if one.rule[:3] in {"LNK", "SES", "ERR"}] == []
    assert [one for one in found if one.severity == "error"] == []


@pytest.mark.parametrize(
    ("setup", "text", "rule", "peer"),
    [
        ("sending", "client: detach[0] handle=0\n" * 2, "LNK-006", "client"),
        # The partner's number in place of one's own.
        (
            "session",
            f'client: attach[0] name="r" handle=5 role=receiver source=source() target=target()\n'
            f'server: attach[0] name="r" handle=2 {SENDER}\n'
            f"client: flow[0] next-incoming-id=0 {FLOW} handle=2 delivery-count=0 link-credit=1",
            "LNK-004",
            "client",
        ),
        (
            "session",
            'client: attach[0] name="r" handle=0 role=receiver source=source() target=target()\n'
            'server: attach[0] name="r" handle=0 role=sender source=source() target=target()',
            "LNK-017",
            "server",
        ),
        (
            "receiving",
            f"client: transfer[0] handle=0 delivery-id=0 {SENT}",
            "LNK-028",
            "client",
        ),
    ],
)
def test_one_error_is_found(setup, text, rule, peer):
    errors = [one for one in play(text, setup).findings if one.severity == "error"]
    assert [(one.rule, one.peer) for one in errors] == [(rule, peer)]


def test_a_bare_detach_as_a_refusal_is_not_told_again_as_a_missing_attach():
    text = f"""
        client: attach[0] name="s" handle=0 {SENDER}
        server: detach[0] handle=0 closed=true {ERROR}
        @20s server: empty
        """
    found = [one.rule for one in play(text, "session").findings if one.rule != "ERR-022"]
    assert found == ["LNK-006"]


def test_after_a_gap_no_handle_is_called_in_use():
    text = f"""
        client: GAP
        client: attach[0] name="t" handle=0 {SENDER}
        client: attach[0] name="u" handle=0 {SENDER}
        """
    found = [one.rule for one in play(text, "sending").findings]
    assert "LNK-001" not in found


def test_a_missing_answer_to_an_attach_names_the_link():
    text = f'client: attach[0] name="s" handle=0 {SENDER}\n@11s client: empty\n@12s client: empty'
    (finding,) = play(text, "session").findings
    assert (finding.rule, finding.peer, finding.link) == ("LNK-010", "server", "s")
    assert finding.severity == "warning"


def test_a_detach_that_does_not_close_asks_for_no_answer():
    text = "client: detach[0] handle=0\n@11s client: empty"
    (finding,) = play(text, "sending").findings
    assert (finding.rule, finding.severity) == ("LNK-023", "info")


@pytest.mark.parametrize(
    ("pause", "end", "severity", "certainty"),
    [
        (0, "client: close", "info", "suspect"),
        (3, "client: close", "warning", "suspect"),
        (0, "@5s client: end[0]", "warning", "suspect"),
        (0, "@20s client: close", "warning", "sure"),
        (0, "@20s server: FIN", "warning", "sure"),
        (0, "@20s server: END", "warning", "suspect"),
    ],
)
def test_an_answer_that_does_not_close_is_judged_when_it_is_too_late(
    pause, end, severity, certainty
):
    text = f"client: detach[0] handle=0 closed=true\n@{pause}s server: detach[0] handle=0\n{end}"
    (finding,) = [each for each in play(text, "sending").findings if each.rule == "LNK-024"]
    assert (finding.severity, finding.certainty) == (severity, certainty)
    assert (finding.peer, finding.link) == ("server", "s")


def test_an_answer_that_does_not_close_is_an_error_of_who_read_the_closing_one_and_then_ends():
    text = f"""
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0
        client: begin[1] {BEGIN}
        server: begin[1] remote-channel=1 {BEGIN}
        server: end[0]
        """
    (finding,) = play(text, "sending").findings
    assert (finding.rule, finding.severity, finding.peer) == ("LNK-024", "error", "server")


def test_a_link_that_comes_back_to_be_closed_on_another_handle_is_closed():
    text = """
        client: detach[0] handle=0 closed=true
        server~1: detach[0] handle=0
        server: attach[0] name="s" handle=3 role=receiver source=source() target=target(address="q")
        server: detach[0] handle=3 closed=true
        @20s client: close
        server: close
        """
    assert play(text, "sending").findings == []


def test_a_refusal_on_a_session_that_its_peer_began_is_only_suspect():
    # The two attaches may have crossed: each asked, and neither refused.
    text = f"""
        server: begin[1] {BEGIN}
        client: begin[1] remote-channel=1 {BEGIN}
        client: attach[1] name="x" handle=0 {SENDER}
        server: attach[1] name="x" handle=0 role=receiver
        server: flow[1] next-incoming-id=0 {FLOW} handle=0 delivery-count=0 link-credit=5
        """
    (finding,) = play(text, "session").findings
    assert (finding.rule, finding.certainty) == ("LNK-012", "suspect")


def test_a_link_attached_twice_is_nobodys_fault_while_only_one_is_used():
    text = f"""
        client: attach[0] name="s" handle=1 {SENDER}
        server: attach[0] name="s" handle=1 {RECEIVER}
        server: flow[0] next-incoming-id=0 {FLOW} handle=1 delivery-count=0 link-credit=5
        client: transfer[0] handle=1 delivery-id=0 {SENT}
        client: close
        server: close
        """
    assert play(text, "sending").findings == []


TWICE = f"""
        client: attach[0] name="s" handle=1 {SENDER}
        server: attach[0] name="s" handle=1 {RECEIVER}
        server: flow[0] next-incoming-id=0 {FLOW} handle=1 delivery-count=0 link-credit=5
        client: transfer[0] handle=0 delivery-id=0 {SENT}
        client: transfer[0] handle=1 delivery-id=1 {SENT}
        """


def test_a_link_used_twice_is_told_when_the_partner_answers_the_detach():
    text = f"""{TWICE}
        client: detach[0] handle=0 closed=true
        client: detach[0] handle=1 closed=true
        server: detach[0] handle=0 closed=true
        server: detach[0] handle=1 closed=true
        """
    errors = [one for one in play(text, "sending").findings if one.severity == "error"]
    assert [(one.rule, one.peer) for one in errors] == [("LNK-007", "client")]


def test_a_stolen_link_may_be_detached_by_both_at_once():
    text = f"""{TWICE}
        server: flow[0] next-incoming-id=2 {FLOW} handle=1 delivery-count=1 link-credit=5
        client: detach[0] handle=0 closed=true
        server~1: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen
                description="attached again")
        """
    assert [one for one in play(text, "sending").findings if one.severity == "error"] == []


def test_a_detach_of_a_stolen_link_may_be_lost():
    text = f"""{TWICE}
        server: flow[0] next-incoming-id=2 {FLOW} handle=1 delivery-count=1 link-credit=5
        client: detach[0] handle=0 closed=true
        server: GAP
        client: detach[0] handle=1 closed=true
        server: detach[0] handle=1 closed=true
        """
    assert [one for one in play(text, "sending").findings if one.severity == "error"] == []


def test_a_disposition_for_a_link_whose_error_was_answered_is_suspect():
    text = f"""
        server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
        server: detach[0] handle=0 {ERROR}
        client: detach[0] handle=0
        client: disposition[0] role=receiver first=0 settled=true state=accepted()
        """
    found = [one for one in play(text, "receiving").findings if one.rule.startswith("LNK")]
    assert [(one.rule, one.certainty) for one in found] == [("LNK-026", "suspect")]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("SRC-008", 'client: attach[0] name="x" handle=5 role=receiver target=target()'
                    ' source=source(address="q" dynamic-node-properties={})'),
        ("LNK-017", 'client: attach[0] name="x" handle=5 role=sender source=source()'
                    ' target=target(address="q")'),
    ],
)  # fmt: skip
def test_what_is_said_of_an_attach_names_its_link(rule, text):
    (finding,) = [each for each in play(text, "session").findings if each.rule == rule]
    assert finding.link == "x"


def test_what_is_said_of_a_disposition_names_the_link_of_its_deliveries():
    text = """
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        server: disposition[0] role=receiver first=0 settled=true state=accepted()
        """
    (finding,) = play(text, "sending").findings
    assert (finding.rule, finding.link) == ("DSP-006", "s")
