"""Who ended a connection, channel or consumer of AMQP 0-9, when, and with which error."""

import pytest

from amqpscope.model.v0_9.ending import (
    channel_ending,
    connection_ending,
    consumer_ending,
    over_at,
)
from amqpscope.stream.types import Connection
from kit.exchange_v0_9 import Player, script

START = 1_700_000_000_000_000_000
NONE = ("", "")
FAILED = ("541", "INTERNAL_ERROR")
CLOSE = 'connection.close reply-code=541 reply-text="INTERNAL_ERROR"'


def played(text):
    """The model after an exchange that begins with a consumer of a queue."""
    said = script(text, "consuming")
    player = Player(Connection(("127.0.0.1", 50000), ("127.0.0.1", 5672), True), said)
    for each in said:
        player.take(each)
    return player.talk.tracker.connection


def told(ending):
    if ending is None:
        return None
    seconds = (ending.mark.time - START) / 1e9
    return (ending.what, ending.how, ending.peer, seconds, bool(ending.frame),
            (ending.condition, ending.text), ending.answered)  # fmt: skip


ENDINGS = [
    # what happens: how the connection, the channel and the consumer ended
    ("", None, None, None),
    ("@1s client: END\n@1s server: END", None, None, None),
    ('@1s client: basic.cancel[1] consumer-tag="t"', None, None,
     ("consumer", "cancel", 0, 1, True, NONE, True)),
    ('@1s server: basic.cancel[1] consumer-tag="t" no-wait=true', None, None,
     ("consumer", "cancel", 1, 1, True, NONE, True)),
    ('@1s server: channel.close[1] reply-code=406 reply-text="no"', None,
     ("channel", "close", 1, 1, True, ("406", "no"), False),
     ("channel", "close", 1, 1, True, ("406", "no"), False)),
    (f"@1s server: {CLOSE}\n@2s client: connection.close-ok\n@3s client: FIN",
     ("connection", "close", 1, 1, True, FAILED, True),
     ("connection", "close", 1, 1, True, FAILED, True),
     ("connection", "close", 1, 1, True, FAILED, True)),
    ("@1s client: connection.close reply-code=200 reply-text=\"bye\"",
     ("connection", "close", 0, 1, True, NONE, False),
     ("connection", "close", 0, 1, True, NONE, False),
     ("connection", "close", 0, 1, True, NONE, False)),
    ("@6s server: RST\n@6s client: RST", ("connection", "rst", 1, 6, False, NONE, True),
     ("connection", "rst", 1, 6, False, NONE, True),
     ("connection", "rst", 1, 6, False, NONE, True)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "connection", "channel", "consumer"), ENDINGS)
def test_how_it_ended(text, connection, channel, consumer):
    model = played(text)
    place = model.channels.get(1) or model.closed[1]
    [known] = [*place.consumers.values(), *place.gone.values()]
    assert told(connection_ending(model)) == connection
    assert told(channel_ending(model, place)) == channel
    assert told(consumer_ending(model, place, known)) == consumer


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        (f"@1s server: {CLOSE}", 0),
        (f"@1s server: {CLOSE}\n@2s client: connection.close-ok", 2),
        (f"@1s server: {CLOSE}\n@2s client: connection.close-ok\n@4s server: FIN", 4),
        ("@6s server: RST\n@6s client: RST", 6),
        ("@7s client: END\n@7s server: END", 7),
    ],
)
def test_durations_run_to_the_end_of_tcp_or_of_the_capture(text, seconds):
    assert over_at(played(text)) == (START + seconds * 10**9 if seconds else 0)
