"""What the model makes of legal traffic: state, numbers and who knew what."""

from __future__ import annotations

import pytest

from amqpscope.model.v0_9.snapshot import snapshot
from amqpscope.stream.types import Connection
from kit.exchange_v0_9 import Player, play, script

PUBLISH = """
client: basic.publish[1] exchange="x" routing-key="k"
client: content-header[1] class=basic body-size=5
client: content-body[1] "hello"
"""
DELIVER = """
server: basic.deliver[1] consumer-tag="t" delivery-tag={tag} routing-key="q"
server: content-header[1] class=basic body-size=2
server: content-body[1] "hi"
"""


def played(text, setup, **how):
    """The model after an exchange."""
    connection = Connection(("127.0.0.1", 50000), ("127.0.0.1", 5672), how.get("complete", True))
    said = script(text, setup)
    player = Player(connection, said)
    for each in said:
        player.take(each)
    return player.talk.tracker.connection


def test_the_handshake_tells_limits_names_and_dialect():
    model = played("", "opened")
    assert (model.stage, model.virtual_host, model.user) == ("open", "/", "guest")
    assert (model.limit("channel_max"), model.limit("frame_max"), model.heartbeat) == (
        2047,
        131072,
        60,
    )
    assert model.dialect.name == "0-9-1-rabbit"
    assert "basic.nack" in model.ends[0].capabilities


@pytest.mark.parametrize(
    ("setup", "dialect"), [("plain", "0-9-1"), ("v0_9", "0-9"), ("v0_8", "0-8")]
)
def test_the_dialect_is_that_of_the_header_where_the_product_is_not_known(setup, dialect):
    assert played("", setup).dialect.name == dialect


def test_a_content_is_put_together():
    events = play(PUBLISH, "channel").events
    assert [event.message for event in events[-3:]] == [None, None, b"hello"]
    assert events[-1].publish is events[-3].publish


def test_a_body_in_several_frames_is_put_together():
    text = """
    client: basic.publish[1] routing-key="k"
    client: content-header[1] class=basic body-size=5
    client: content-body[1] "he"
    client: heartbeat
    server: heartbeat
    client: content-body[1] "llo"
    """
    assert play(text, "channel").events[-1].message == b"hello"


def test_publishes_are_numbered_in_confirm_mode_and_settled_by_confirms():
    model = played(PUBLISH * 3 + "server: basic.ack[1] delivery-tag=2 multiple=true", "confirming")
    confirms = model.channels[1].confirms
    assert list(confirms.outstanding) == [3]
    assert {number: how.outcome for number, how in confirms.settled.items()} == {1: "ack", 2: "ack"}


def test_deliveries_are_unacked_until_the_client_says_so():
    text = "".join(DELIVER.format(tag=tag) for tag in (1, 2, 3))
    model = played(text + "client: basic.ack[1] delivery-tag=2 multiple=true", "consuming")
    channel = model.channels[1]
    assert list(channel.deliveries.outstanding) == [3]
    assert (channel.consumers["t"].unacked, channel.consumers["t"].bytes) == (1, 6)


def test_a_rollback_gives_acknowledged_deliveries_back():
    text = DELIVER.format(tag=1) + DELIVER.format(tag=2)
    text += "client: basic.ack[1] delivery-tag=1\n"
    model = played(text + "client: tx.rollback[1]\nserver: tx.rollback-ok[1]", "transaction")
    assert list(model.channels[1].deliveries.outstanding) == [1, 2]
    model = played(text + "client: tx.commit[1]\nserver: tx.commit-ok[1]", "transaction")
    assert list(model.channels[1].deliveries.outstanding) == [2]


def test_a_queue_that_the_server_named_is_what_an_empty_name_means():
    text = """
    client: queue.declare[1]
    server: queue.declare-ok[1] queue="amq.gen-1"
    client: basic.consume[1] consumer-tag="t"
    server: basic.consume-ok[1] consumer-tag="t"
    """
    assert played(text, "channel").channels[1].consumers["t"].queue == "amq.gen-1"


def test_a_number_that_is_opened_again_is_another_channel():
    text = f"""
    {PUBLISH}
    client: channel.close[1] reply-code=200 reply-text="bye"
    server: channel.close-ok[1]
    client: channel.open[1]
    server: channel.open-ok[1]
    """
    channel = played(text, "confirming").channels[1]
    assert (channel.generation, channel.publishes, channel.confirms.on) == (1, 0, False)


def test_after_a_gap_the_channel_is_not_sure_until_it_is_opened_anew():
    text = """
    client: GAP
    client: basic.get[1] queue="q"
    """
    assert not played(text, "channel").channels[1].sure
    text += """
    client: channel.close[1] reply-code=200 reply-text="bye"
    server: channel.close-ok[1]
    client: channel.open[1]
    server: channel.open-ok[1]
    """
    assert played(text, "channel").channels[1].sure


def test_in_the_middle_of_a_connection_channels_are_assumed():
    text = "server: heartbeat\n" + DELIVER.format(tag=7) + "client: basic.ack[1] delivery-tag=7"
    model = played(text, "", complete=False)
    assert (model.stage, model.channels[1].assumed) == ("unknown", True)
    assert model.channels[1].consumers["t"].assumed


STUCK = {
    # what happened: what holds the channel, and who is waited for or ended it
    'server: connection.blocked reason="disk"': ("connection blocked", 1),
    "server: channel.flow[1] active=false\nclient: channel.flow-ok[1] active=false": (
        "channel flow stopped",
        1,
    ),
    'client: queue.declare[1] queue="slow"': ("waiting for a reply", 1),
    "client: channel.close[1] reply-code=200": ("channel closed", 0),
    "": ("idle", 0),
}


@pytest.mark.parametrize(("text", "held"), STUCK.items())
def test_what_holds_a_channel_is_told(text, held):
    channel = snapshot(played(text, "queue")).channels[0]
    assert (channel.constraint.kind, channel.constraint.peer) == held


def test_unconfirmed_publishes_hold_a_channel():
    held = snapshot(played(PUBLISH * 2, "confirming")).channels[0].constraint
    assert (held.kind, held.peer) == ("waiting for confirms", 1)
    assert "2 messages, the oldest is #1" in held.detail


def test_a_reached_prefetch_holds_a_consumer_until_the_client_acks():
    text = """
    client: basic.qos[1] prefetch-count=2
    server: basic.qos-ok[1]
    client: basic.consume[1] queue="q" consumer-tag="t"
    server: basic.consume-ok[1] consumer-tag="t"
    """
    text += DELIVER.format(tag=1)
    assert consumer(text).constraint.kind == "waiting for acks"
    text += DELIVER.format(tag=2)
    assert consumer(text).constraint.kind == "prefetch reached"
    assert "2 of 2 unacked by the consumer, the oldest is #1" in consumer(text).constraint.detail
    assert consumer(text).constraint.peer == 0
    text += "client: basic.ack[1] delivery-tag=2 multiple=true\n"
    assert consumer(text).constraint.kind == "idle"


def consumer(text):
    return snapshot(played(text, "queue")).channels[0].consumers[0]
