"""What was around a connection, as a comment: written, read, and not trusted."""

import pytest

from amqpscope.stream.carrier import note_carrier, read_carrier
from amqpscope.stream.marks import CARRIER
from amqpscope.stream.types import Connection


def plain():
    return Connection(("10.0.0.1", 1), ("10.0.0.2", 2), True)


def test_a_connection_with_nothing_around_it_has_no_comment():
    assert note_carrier(plain()) == ""


def test_flags_are_kept():
    connection = plain()
    connection.disordered, connection.unseen = True, [False, True]
    again = plain()
    read_carrier(again, note_carrier(connection))
    assert (again.disordered, again.encrypted, again.unseen) == (True, False, [False, True])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"tls": 1}', '{"tls": {"hello": 3}}', '{"websocket": null}', '{"unseen": 7}'],
)
def test_a_comment_that_cannot_be_read_says_nothing(text):
    connection = plain()
    read_carrier(connection, CARRIER + text)
    assert (connection.tls, connection.websocket) == (None, None)
    assert connection.unseen == [False, False]
