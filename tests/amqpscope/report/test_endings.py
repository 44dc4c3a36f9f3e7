"""How something ended, in words."""

import pytest

from amqpscope.model.constraint import Constraint
from amqpscope.model.ending import Ending
from amqpscope.model.mark import Mark
from amqpscope.protocols.ending_words import brief_words, full_words, held_words, short_words

START = 1_700_000_000_000_000_000
AT = Mark(12, 34, START + 6_005_000_000, 0)
LATE = Mark(0, 34, AT.time, 0)
RST = Ending("connection", "rst", 1, AT)
CLOSE = Ending("connection", "close", 1, AT)
WORDS = [
    # ending: in full, in a list of links, in the list of connections
    (RST, "the server reset TCP without a close at 6.005 s, packet 34, after frame 12",
     "TCP reset by server", "TCP reset by server"),
    (RST._replace(mark=LATE, how="fin", opened=False, text="login refused: auth"),
     "the server closed TCP before the connection was open at 6.005 s, packet 34:"
     " login refused: auth", "TCP closed by server", "TCP closed by server"),
    (RST._replace(how="reused", peer=-1),
     "its end was not captured: another connection took its ports at 6.005 s, packet 34,"
     " after frame 12", "end not captured", "end not captured"),
    (CLOSE, "connection closed by the server at 6.005 s, frame 12",
     "connection closed", "closed by server"),
    (CLOSE._replace(condition="amqp:connection:forced", text="bye", answered=False),
     'connection closed by the server at 6.005 s, frame 12, not answered by the client:'
     ' amqp:connection:forced "bye"', "closed: forced", "closed by server: forced"),
    (Ending("session", "end", 0, AT), "session ended by the client at 6.005 s, frame 12",
     "session ended", "session ended by client"),
    (Ending("link", "detach", 0, AT, closed=False), "link detached by the client at 6.005 s,"
     " frame 12", "link detached", "link detached by client"),
    (Ending("link", "detach", 0, AT, half=True), "link closed by the client at 6.005 s, frame 12,"
     " answered by the server with a detach that does not close", "link closed",
     "link closed by client"),
    (Ending("channel", "close", 1, AT, "406", "no"),
     'channel closed by the server at 6.005 s, frame 12: 406 "no"', "channel closed: 406",
     "channel closed by server: 406"),
]  # fmt: skip


@pytest.mark.parametrize(("ending", "full", "brief", "short"), WORDS)
def test_endings_in_words(ending, full, brief, short):
    assert full_words(ending, START) == full
    assert (brief_words(ending), short_words(ending)) == (brief, short)


def test_what_a_peer_says_cannot_move_the_cursor_and_is_not_endless():
    words = full_words(CLOSE._replace(condition="x\x1b[2J", text="\n" * 1000), START)
    assert "\x1b" not in words
    assert len(words) < 400


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no credit", "no credit for 2 s, since frame 12 (after 5); waiting for the server"),
        ("idle", "idle for 2 s, since frame 12 (after 5)"),
        ("unknown", "unknown for 2 s, since frame 12 (after 5)"),
    ],
)
def test_who_is_waited_for(kind, words):
    assert held_words(Constraint(kind, AT, 1, "after 5"), AT.time + 2 * 10**9) == words
