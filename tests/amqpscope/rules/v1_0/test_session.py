"""Sessions: what comes close to breaking a rule and does not, and what breaks it in odd ways."""

from __future__ import annotations

import pytest

from kit.exchange import play

BEGIN = "next-outgoing-id=0 incoming-window=9 outgoing-window=9"
SENDER = 'role=sender source=source() target=target(address="q") initial-delivery-count=0'
RECEIVER = 'role=receiver source=source() target=target(address="q")'
FLOW = "next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9"

# fmt: off
LEGAL = {
    "frames after the partner's end, before one's own": ("sending", f"""
        server: end[0]
        client: flow[0] {FLOW}
        client: end[0]
        """),
    "a session ended before its begin is answered": ("opened", f"""
        client: begin[0] {BEGIN}
        client: end[0]
        server: begin[0] remote-channel=0 {BEGIN}
        server: end[0]
        """),
    "both peers end at once and begin anew": ("session", f"""
        client: end[0]
        server~1: end[0]
        client: begin[0] {BEGIN}
        server: begin[7] remote-channel=0 {BEGIN}
        """),
    "a symbolic descriptor and channels that differ": ("opened", f"""
        client: begin'symbol[9] {BEGIN}
        server: begin'80'd0[2] remote-channel=9 {BEGIN}
        client: attach[9] name="s" handle=0 {SENDER}
        server: attach[2] name="s" handle=0 {RECEIVER}
        """),
    "a pipelined session behind the open": ("", f"""
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: begin[0] {BEGIN}
        client: attach[0] name="s" handle=0 {SENDER}
        server~3: header AMQP 1.0.0
        server~2: open container-id="s"
        server: begin[0] remote-channel=0 {BEGIN}
        server: attach[0] name="s" handle=0 {RECEIVER}
        """),
    "the session broke with the connection": ("session", """
        client: end[0]
        client: close
        @9s server: close
        """),
    "the capture stops before the answer": ("opened", f"""
        client: begin[0] {BEGIN}
        @5s client: END
        @5s server: END
        """),
}
# fmt: on


@pytest.mark.parametrize("name", LEGAL)
def test_nothing_is_said_of(name):
    setup, text = LEGAL[name]
    assert play(text, setup).findings == []


@pytest.mark.parametrize(
    ("setup", "text", "rule", "peer"),
    [
        ("session", "client: end[0]\nclient: end[0]", "SES-010", "client"),
        ("session", "server: end[4]", "SES-001", "server"),
        ("opened", f"server: begin[0] remote-channel=3 {BEGIN}", "SES-003", "server"),
        ("session", f"client: begin[1] remote-channel=0 {BEGIN}", "SES-003", "client"),
        # The begin had not reached the one that claims to answer it.
        (
            "opened",
            f"client: begin[0] {BEGIN}\nserver~1: begin[0] remote-channel=0 {BEGIN}",
            "SES-003",
            "server",
        ),
        (
            "opened",
            f"client: begin[0] {BEGIN}\nserver: begin[0] remote-channel=0 {BEGIN}\n"
            f"server: end[0]\nserver: begin[0] remote-channel=0 {BEGIN}",
            "SES-005",
            "server",
        ),
    ],
)
def test_one_error_is_found(setup, text, rule, peer):
    found = play(text, setup).findings
    assert [(one.rule, one.peer, one.severity) for one in found] == [(rule, peer, "error")]


def test_frames_on_an_unbegun_channel_are_told_once():
    found = play(f"client: flow[5] {FLOW}\n" * 3, "session").findings
    assert [one.rule for one in found] == ["SES-001"]


def test_a_missing_answer_is_told_once_and_points_at_what_waits():
    text = f"client: begin[0] {BEGIN}\n" + "".join(f"@{t}s server: empty\n" for t in (3, 11, 30))
    (finding,) = play(text, "opened").findings
    assert (finding.rule, finding.frame, finding.peer) == ("SES-007", 5, "server")
    assert finding.certainty == "suspect"
    assert finding.channel == 0


def test_a_begin_without_an_answer_is_reported_once_although_it_is_ended():
    text = f"""
        client: begin[0] {BEGIN}
        @11s server: empty
        @12s client: end[0]
        @14s server: empty
        @16s server: empty
        """
    assert [finding.rule for finding in play(text, "opened").findings] == ["SES-007"]


def test_a_missing_end_is_told_when_the_connection_breaks_off():
    text = "client: end[0]\n@12s client: RST\n@12s server: RST"
    found = [one for one in play(text, "session").findings if one.rule.startswith("SES")]
    assert [(one.rule, one.peer) for one in found] == [("SES-011", "server")]


def test_from_the_middle_on_nothing_is_unbegun():
    text = f"client: flow[5] {FLOW}\nserver: flow[2] {FLOW}\nclient: flow[5] {FLOW}\nclient: end[5]"
    assert play(text, "", complete=False).findings == []


def test_a_handle_that_the_begin_on_its_way_forbids_is_only_suspect():
    text = f"""
        client: begin[0] {BEGIN}
        client: attach[0] name="s" handle=3 {SENDER}
        server: begin[0] remote-channel=0 handle-max=2 {BEGIN}
        """
    (finding,) = play(text, "opened").findings
    assert (finding.rule, finding.severity, finding.frame) == ("SES-016", "warning", 6)
    assert finding.peer == "client"


SILENT_REPLY = f"""
    client: begin[0] {BEGIN}
    server: begin[0] {BEGIN}
    client: attach[0] name="s" handle=0 {SENDER}
    server: attach[0] name="s" handle=0 {RECEIVER}
    """


def test_an_answer_without_remote_channel_is_suspect_until_a_message_goes_over_it():
    (finding,) = play(SILENT_REPLY + "client: close\n    server: close", "opened").findings
    assert (finding.rule, finding.peer, finding.frame) == ("SES-004", "server", 6)
    assert finding.certainty == "suspect"


def test_an_answer_without_remote_channel_is_not_told_again_as_a_missing_answer():
    found = play(SILENT_REPLY + "@11s server: empty\n    @30s client: empty", "opened").findings
    assert [one.rule for one in found] == ["SES-004"]


def test_a_begin_that_is_captured_after_its_answer_is_paired_with_it():
    text = """
        server^1: begin[3] remote-channel=5 next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client~1: begin[5] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: attach[5] name="s" handle=0 role=sender source=source()
                target=target(address="q") initial-delivery-count=0
        server: attach[3] name="s" handle=0 role=receiver source=source()
                target=target(address="q")
    """
    played = play(text, "opened")
    client, server = played.steps[-1].conversation.talk.tracker.connection.ends
    assert played.findings == []
    assert client.channels[5].pair is server.channels[3]
    assert (client.channels[5].replied, server.channels[3].replied) == (False, True)
    assert server.channels[3].handles[0].pair is client.channels[5].handles[0]


def test_a_begin_does_not_answer_one_that_came_later():
    text = """
        client: header AMQP 1.0.0
        client: open container-id="c"
        client: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        client: attach[0] name="s" handle=0 role=sender source=source() target=target(address="q")
                initial-delivery-count=0
        server: header AMQP 1.0.0
        server: open container-id="s"
        server: begin[0] next-outgoing-id=0 incoming-window=9 outgoing-window=9
        server: attach[0] name="s" handle=0 role=receiver source=source() target=target(address="q")
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
                handle=0 delivery-count=0 link-credit=1
        client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 settled=true
                | data(b"0")
        client: close
        server: close
        """
    found = [each for each in play(text).findings if each.rule == "SES-004"]
    assert [(each.peer, each.severity, each.frame) for each in found] == [("server", "error", 7)]
