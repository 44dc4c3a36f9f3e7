"""Which session and link ends belong together, whatever crosses on the way."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpscope.model.v1_0.connection import Connection
from amqpscope.model.v1_0.link import LinkEnd
from amqpscope.model.v1_0.session import SessionEnd
from kit.exchange import Played, play

BEGIN = "next-outgoing-id=0 incoming-window=9 outgoing-window=9"
SENDER = 'role=sender source=source() target=target(address="q") initial-delivery-count=0'
RECEIVER = 'role=receiver source=source() target=target(address="q")'


def sessions(played: Played) -> dict[int, SessionEnd]:
    """The session of each begin, by its place among the begins."""
    begins = [step.event for step in played.steps if step.frame.unit.name == "begin"]
    return {place: each.session for place, each in enumerate(begins) if each.session is not None}


def links(played: Played) -> dict[int, LinkEnd]:
    """The link of each attach, by its place among the attaches."""
    attaches = [step.event for step in played.steps if step.frame.unit.name == "attach"]
    return {place: each.link for place, each in enumerate(attaches) if each.link is not None}


def connection(played: Played) -> Connection:
    return played.steps[-1].conversation.talk.tracker.connection


def test_a_begin_answers_the_channel_that_it_names():
    played = play(
        f"""
        client: begin[3] {BEGIN}
        client: begin[5] {BEGIN}
        server: begin[0] remote-channel=5 {BEGIN}
        server: begin[1] remote-channel=3 {BEGIN}
        """,
        "opened",
    )
    three, five, answer_5, answer_3 = sessions(played).values()
    assert three.pair is answer_3
    assert five.pair is answer_5
    assert answer_3.replied
    assert not three.replied
    assert played.findings == []


def test_sessions_that_both_peers_begin_at_once_stay_apart():
    played = play(
        f"""
        client: begin[0] {BEGIN}
        server~1: begin[0] {BEGIN}
        server: begin[1] remote-channel=0 {BEGIN}
        client: begin[1] remote-channel=0 {BEGIN}
        """,
        "opened",
    )
    mine, yours, answer_mine, answer_yours = sessions(played).values()
    assert mine.pair is answer_mine
    assert yours.pair is answer_yours
    assert played.findings == []


def test_the_oldest_unanswered_begin_is_answered_first_although_it_was_ended():
    played = play(
        f"""
        client: begin[0] {BEGIN}
        client: end[0]
        client: begin[0] {BEGIN}
        server: begin[0] remote-channel=0 {BEGIN}
        server: end[0]
        server: begin[0] remote-channel=0 {BEGIN}
        """,
        "opened",
    )
    first, second, answer, later = sessions(played).values()
    assert first.pair is answer
    assert second.pair is later
    assert played.findings == []


def test_a_channel_begun_anew_before_the_partner_has_ended_is_a_new_session():
    played = play(
        f"""
        client: end[0]
        client: begin[0] {BEGIN}
        client: attach[0] name="s" handle=0 {SENDER}
        server~3: attach[0] name="old" handle=0 {RECEIVER}
        server: end[0]
        server: begin[0] remote-channel=0 {BEGIN}
        server: attach[0] name="s" handle=0 {RECEIVER}
        """,
        "session",
    )
    mine, old, yours = links(played).values()
    assert mine.pair is yours
    assert old.pair is None
    assert played.findings == []


def test_an_attach_sent_before_the_begin_was_answered_is_paired_later():
    played = play(
        f"""
        client: begin[0] {BEGIN}
        client: attach[0] name="s" handle=0 {SENDER}
        server: begin[0] remote-channel=0 {BEGIN}
        server: attach[0] name="s" handle=4 {RECEIVER}
        """,
        "opened",
    )
    mine, yours = links(played).values()
    assert mine.pair is yours
    assert yours.replied


def test_sessions_with_equal_links_are_not_taken_for_one():
    played = play(
        f"""
        client: begin[0] {BEGIN}
        client: attach[0] name="s" handle=0 {SENDER}
        server: begin[0] {BEGIN}
        server: attach[0] name="s" handle=0 {RECEIVER}
        server: begin[1] remote-channel=0 {BEGIN}
        client: begin[1] remote-channel=0 {BEGIN}
        server: attach[1] name="s" handle=0 {RECEIVER}
        client: attach[1] name="s" handle=0 {SENDER}
        """,
        "opened",
    )
    mine, yours, answer_mine, answer_yours = sessions(played).values()
    assert mine.pair is answer_mine
    assert yours.pair is answer_yours
    assert [finding.rule for finding in played.findings] == []


def test_a_wrong_remote_channel_is_taken_for_the_begin_that_waits():
    played = play(
        f"""
        client: begin[3] {BEGIN}
        server: begin[0] remote-channel=0 {BEGIN}
        """,
        "opened",
    )
    mine, yours = sessions(played).values()
    assert mine.pair is yours


def test_links_of_one_name_are_paired_by_role():
    played = play(
        f"""
        client: attach[0] name="x" handle=0 {SENDER}
        client: attach[0] name="x" handle=1 {RECEIVER}
        server: attach[0] name="x" handle=0 {SENDER}
        server: attach[0] name="x" handle=1 {RECEIVER}
        """,
        "session",
    )
    sender, receiver, its_sender, its_receiver = links(played).values()
    assert sender.pair is its_receiver
    assert receiver.pair is its_sender
    assert played.findings == []


def test_an_attach_answers_the_oldest_of_its_name_although_that_was_detached():
    played = play(
        f"""
        client: attach[0] name="s" handle=0 {SENDER}
        client: detach[0] handle=0 closed=true
        client: attach[0] name="s" handle=0 {SENDER}
        server: attach[0] name="s" handle=0 {RECEIVER}
        server: detach[0] handle=0 closed=true
        server: attach[0] name="s" handle=0 {RECEIVER}
        """,
        "session",
    )
    first, second, answer, later = links(played).values()
    assert first.pair is answer
    assert second.pair is later


def test_a_link_that_moves_to_another_session_is_paired_there():
    played = play(
        f"""
        client: begin[1] {BEGIN}
        server: begin[1] remote-channel=1 {BEGIN}
        client: detach[0] handle=0
        client: attach[1] name="s" handle=0 {SENDER}
        server: detach[0] handle=0
        server: attach[1] name="s" handle=0 {RECEIVER}
        """,
        "sending",
    )
    *_, moved, answer = links(played).values()
    assert moved.pair is answer
    assert moved.session.channel == 1
    assert moved.again
    assert connection(played).rivals == []


def test_each_peer_frees_its_own_channel_and_handle_only():
    played = play("client: detach[0] handle=0\nclient: end[0]", "sending")
    client, server = connection(played).ends
    assert client.channels == {}
    assert client.ended[0].ended is not None
    assert list(server.channels) == [0]
    assert list(server.channels[0].handles) == [0]


def test_a_second_attach_of_a_link_is_watched_until_one_of_them_goes():
    attach = f'client: attach[0] name="s" handle=1 {SENDER}\n'
    assert len(connection(play(attach, "sending")).rivals) == 1
    stolen = (
        attach + "server: detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen)"
    )
    assert connection(play(stolen, "sending")).rivals == []


def test_names_of_attached_links_are_let_go_with_detach_and_end():
    assert len(connection(play("", "sending")).attached) == 2
    gone = connection(play("client: detach[0] handle=0\nserver: end[0]", "sending"))
    assert gone.attached == {}


@pytest.mark.parametrize("lost", ["server: GAP\n", "client: GAP\n"])
def test_after_a_gap_it_is_not_claimed_that_something_was_not_attached(lost):
    played = play(
        lost
        + """
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
            handle=8 link-credit=1
        server: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
            handle=8 link-credit=1
        """,
        "session",
    )
    accused = {finding.peer for finding in played.findings if finding.rule == "LNK-004"}
    assert accused == ({"client"} if lost.startswith("server") else {"server"})


def test_a_begin_answered_in_missing_octets_does_not_take_the_answer_of_the_next():
    played = play(
        f"""
        client: begin[0] {BEGIN}
        server: GAP
        client: end[0]
        client: begin[0] {BEGIN}
        server: open container-id="s"
        server: begin[0] remote-channel=0 {BEGIN}
        """,
        "opened",
    )
    _, second, answer = sessions(played).values()
    assert answer.pair is second or answer.pair is None or answer.pair.ended is not None


def test_an_answer_captured_before_its_begin_is_paired_although_octets_are_missing():
    played = play(
        f"""
        client: GAP
        server^1: begin[0] remote-channel=0 {BEGIN}
        client: begin[0] {BEGIN}
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
        """,
        "opened",
    )
    answer, begin = sessions(played).values()
    assert begin.pair is answer
    assert played.findings == []


def test_an_attach_captured_before_the_one_that_it_answers_is_the_answer():
    played = play(
        f"""
        client: begin[0] {BEGIN}
        server: begin[0] remote-channel=0 {BEGIN}
        server^1: attach[0] name="l" handle=0 {SENDER}
        client: attach[0] name="l" handle=0 {RECEIVER}
        """,
        "opened",
    )
    answer, asked = links(played).values()
    assert answer.pair is asked
    assert (answer.replied, asked.replied) == (True, False)


def test_an_attach_that_cannot_be_read_makes_its_session_doubtful():
    # The list says that it is longer than the frame.
    played = play(
        """
        client: octets 0x0000001402000000005312c0ff0aa10173000000
        client: flow[0] next-incoming-id=0 incoming-window=9 next-outgoing-id=0 outgoing-window=9
            handle=0 link-credit=1
        """,
        "session",
    )
    assert [finding.rule for finding in played.findings if finding.rule.startswith("LNK")] == []


POOL = [
    f"{peer}: {unit}"
    for peer in ("client", "server")
    for unit in (
        'open container-id="x"',
        f"begin[0] {BEGIN}",
        f"begin[0] remote-channel=0 {BEGIN}",
        f"begin[1] remote-channel=0 {BEGIN}",
        f'attach[0] name="s" handle=0 {SENDER}',
        f'attach[0] name="s" handle=0 {RECEIVER}',
        f'attach[1] name="s" handle=1 {SENDER}',
        'attach[0] name="s" handle=0 role=receiver',
        "attach[0] handle=3",
        'attach[0] name="x" role=sender',
        "flow[0] incoming-window=5 next-outgoing-id=0 outgoing-window=5",
        "flow[0] incoming-window=5 next-outgoing-id=0 outgoing-window=5 handle=0 link-credit=2",
        'transfer[0] handle=0 delivery-id=0 delivery-tag=b"t" more=true | data(b"x")',
        'transfer[0] handle=0 delivery-id=1 delivery-tag=b"u" message-format=0 | data(b"x")',
        "disposition[0] role=receiver first=0 last=9 settled=true state=accepted()",
        "disposition[0] role=sender first=0 settled=true",
        "detach[0] handle=0",
        "detach[0] handle=0 closed=true error=error(condition=:amqp:link:stolen)",
        "detach[0]",
        "end[0]",
        "end[1] error=error(condition=:amqp:session:window-violation)",
        "close",
        "close error=error(condition=:amqp:session:handle-in-use)",
        "octets 0x0000000c02000000ffffffff",
        "empty",
        "GAP",
    )
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(POOL), st.integers(0, 12)), max_size=30))
def test_any_frames_in_any_order_are_taken(units):
    """And the rules look at all of them without failing."""
    time, lines = 0, []
    for unit, pause in units:
        time += pause
        lines.append(f"@{time}s {unit}")
    text = "\n".join([*lines, f"@{time + 11}s client: FIN", f"@{time + 12}s server: END"])
    play(text, "opened")
