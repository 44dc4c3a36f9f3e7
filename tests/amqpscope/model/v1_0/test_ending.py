"""Who ended a connection, session or link, when, after what, and with which error."""

import pytest

from amqpscope.model.v1_0.ending import connection_ending, link_ending, over_at, session_ending
from amqpscope.stream.types import End
from kit.exchange import play

START = 1_700_000_000_000_000_000
ERROR = 'error=error(condition=:amqp:internal-error description="no memory")'
FAILED = ("amqp:internal-error", "no memory")
NONE = ("", "")


def told(ending):
    """An ending in the order of the tables: what, how, who, at, frame, after, error, answered."""
    if ending is None:
        return None
    seconds = (ending.mark.time - START) / 1e9
    error = (ending.condition, ending.text)
    return (ending.what, ending.how, ending.peer, seconds, ending.frame, ending.after, error,
            ending.answered)  # fmt: skip


CONNECTIONS = [
    # what happens after frame 9, which is the server's; 7 is the client's last
    ("", None),
    ("@3s client: END\n@3s server: END", None),
    ("@2s client: close", ("connection", "close", 0, 2, 10, 0, NONE, False)),
    ("@2s client: close\n@5s server: close\n@6s server: FIN\n@7s client: FIN",
     ("connection", "close", 0, 2, 10, 0, NONE, True)),
    (f"@2s server: close {ERROR}\n@3s client: close\n@3s client: FIN",
     ("connection", "close", 1, 2, 10, 0, FAILED, True)),
    ("@2s client: close\n@3s server: RST", ("connection", "close", 0, 2, 10, 0, NONE, False)),
    ("@8s server: FIN", ("connection", "fin", 1, 8, 0, 7, NONE, True)),
    ("@8s client: FIN\n@9s server: FIN", ("connection", "fin", 0, 8, 0, 9, NONE, True)),
    ("@8s server: RST\n@8s client: RST", ("connection", "rst", 1, 8, 0, 7, NONE, True)),
    ("@8s client: FIN\n@9s server: RST\n", ("connection", "fin", 0, 8, 0, 9, NONE, True)),
    ("@4s client: empty\n@8s server: RST", ("connection", "rst", 1, 8, 0, 10, NONE, True)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CONNECTIONS)
def test_how_a_connection_ended(text, expected):
    played = play(text, "sending")
    ends = played.steps[-1].conversation.talk.tracker.connection.ends
    assert told(connection_ending(ends)) == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("reused", ("connection", "reused", -1, 4, 0, 7, NONE, True)),
        ("idle", None),
        ("capture", None),
    ],
)
def test_nobody_ended_what_was_not_followed_to_its_end(reason, expected):
    talk = play("", "sending").steps[-1].talk
    tracker, last = talk.tracker, talk.newest[1]
    for end in (End(talk.connection, peer, reason, 77, START + 4 * 10**9) for peer in (1, 0)):
        tracker.finish(end.sender, end.reason, end.time, end.packet, last)
    ends = tracker.connection.ends
    assert told(connection_ending(ends)) == expected
    assert over_at(ends) == START + 4 * 10**9


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("@2s client: close", 0),
        ("@2s client: close\n@3s server: close", 3),
        ("@2s client: close\n@3s server: close\n@9s client: FIN", 9),
        ("@8s server: RST\n@8s client: RST", 8),
        ("@8s client: FIN\n@9s server: empty\n@20s server: FIN", 9),
        ("@2s client: empty\n@9s client: END\n@9s server: END", 9),
    ],
)
def test_durations_run_to_the_end_of_tcp_or_of_the_capture(text, seconds):
    ends = play(text, "sending").steps[-1].conversation.talk.tracker.connection.ends
    assert over_at(ends) == (START + seconds * 10**9 if seconds else 0)


LINKS = [
    # what happens on a link of the client: how its session ended, how the link did
    ("@1s client: detach handle=0 closed=true", None,
     ("link", "detach", 0, 1, 10, 0, NONE, False)),
    (f"@1s server: detach handle=0 closed=true {ERROR}\n@2s client: detach handle=0 closed=true"
     "\n@3s client: close", ("connection", "close", 0, 3, 12, 0, NONE, False),
     ("link", "detach", 1, 1, 10, 0, FAILED, True)),
    (f"@1s server: end {ERROR}", ("session", "end", 1, 1, 10, 0, FAILED, False),
     ("session", "end", 1, 1, 10, 0, FAILED, False)),
    ("@1s client: end\n@2s server: end\n@3s server: FIN",
     ("session", "end", 0, 1, 10, 0, NONE, True), ("session", "end", 0, 1, 10, 0, NONE, True)),
    ("@6s server: RST\n@6s client: RST", ("connection", "rst", 1, 6, 0, 7, NONE, True),
     ("connection", "rst", 1, 6, 0, 7, NONE, True)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "session", "link"), LINKS)
def test_a_link_ends_with_what_ends_first(text, session, link):
    played = play(text, "sending")
    sender = next(step.event.link for step in played.steps if step.frame.unit.name == "attach")
    for end in (sender, sender.pair):
        assert told(session_ending(end.session)) == session
        assert told(link_ending(end)) == link


def test_a_close_is_owed_only_once_both_have_opened():
    for setup, opened in (("opened", True), ("sasl", False)):
        talk = play("server: FIN", setup).steps[-1].talk
        assert connection_ending(talk.tracker.connection.ends).opened is opened


@pytest.mark.parametrize(("closed", "half"), [("true", False), ("false", True)])
def test_a_link_that_only_one_peer_closes_did_not_end_in_order(closed, half):
    text = f"client: detach handle=0 closed=true\nserver: detach handle=0 closed={closed}"
    link = next(s.event.link for s in play(text, "sending").steps if s.frame.unit.name == "attach")
    assert (link_ending(link).half, link_ending(link).orderly) == (half, not half)
