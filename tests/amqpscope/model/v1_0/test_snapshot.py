"""The state at one instant, which no later frame changes."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.model.v1_0.snapshot import (
    container,
    ended_pairs,
    link_state,
    session_links,
    session_pairs,
    session_state,
)
from kit.exchange import play

SEND = 'client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")'


def connection_after(text, setup="sending"):
    return play(text, setup).steps[-1].conversation.talk.tracker.connection


def sessions_of(connection):
    pairs = [*session_pairs(*connection.ends), *ended_pairs(*connection.ends)]
    return [(session_state(*pair), [*map(link_state, session_links(*pair))]) for pair in pairs]


def only_session(text, setup="sending"):
    [(session, [link])] = sessions_of(connection_after(text, setup))
    return session, link


def test_a_connection_has_both_containers():
    connection = connection_after("", "opened")
    assert [container(end) for end in connection.ends] == ["c", "s"]
    assert sessions_of(connection) == []


def test_before_the_open_no_container_is_known():
    ends = connection_after("client: header AMQP 1.0.0", "").ends
    assert [container(end) for end in ends] == [None, None]


def test_a_link_is_listed_once_with_both_its_ends():
    session, link = only_session(SEND)
    assert session.channels == (0, 0)
    assert session.next_outgoing_id == (1, 0)
    assert session.window_left == (99, 100)
    assert session.unsettled == (1, 0)
    assert (link.name, link.sender, link.handles) == ("s", 0, (0, 0))
    assert (link.source, link.target) == ("", "q")
    assert (link.delivery_count, link.credit, link.deliveries, link.unsettled) == (1, 9, 1, 1)
    assert link.open_delivery is None
    assert link.constraint.kind == "waiting for settlement"


def test_a_receiving_link_is_described_from_its_sender():
    _, link = only_session("", "receiving")
    assert (link.sender, link.source, link.target, link.credit) == (1, "q", "", 10)


def test_a_link_that_one_peer_has_detached_is_still_listed():
    _, link = only_session("client: detach handle=0 closed=true")
    assert (link.name, link.handles) == ("s", (0, 0))
    assert link.constraint.kind == "detached"


def test_an_unfinished_delivery_is_named():
    _, link = only_session(SEND.replace("message-format=0", "more=true"))
    assert link.open_delivery == 0


@pytest.mark.parametrize("text", ["client: end", "client: end\nserver: end"])
def test_a_session_that_was_ended_says_how(text):
    session, link = only_session(text)
    assert (session.ending.how, session.ending.peer) == ("end", 0)
    assert session.ending.answered is ("server" in text)
    assert link.constraint.ending == session.ending


def test_a_link_that_both_have_detached_says_how():
    text = "client: detach handle=0 closed=true\nserver: detach handle=0 closed=true"
    session, link = only_session(text)
    assert (session.ending, link.constraint.ending.how) == (None, "detach")


def test_a_snapshot_does_not_change_with_the_model(good):
    analyzer = Analyzer()
    taken = []
    with Pieces(str(good)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    found = sessions_of(step.conversation.talk.tracker.connection)
                    taken.append((found, repr(found)))
    assert len(taken) == 13
    assert all(repr(found) == before for found, before in taken)
    assert taken[9][1] != taken[12][1]
