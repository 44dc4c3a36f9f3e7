"""A recorded broker for programs: `amqpscope.replayed`."""

import asyncio
import re
import socket
import time

import pika
import pytest

import amqpscope
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.protocols.replay_acts import Choices
from amqpscope.replay.player import Patience
from amqpscope.replay.stage import ClientStage, ReplayError, Settings
from amqpscope.runs.input import Input
from amqpscope.runs.replayed import read_conversations
from kit import ROOT
from kit.conversation import record
from kit.exchange_v0_9 import script

OUTCOMES = ROOT / "captures" / "v10_proton-labbroker_outcomes.pcap"
BASIC = ROOT / "captures" / "v091_pika_basic-rabbitmq.pcap"


def test_a_program_that_never_connects_is_reported():
    with pytest.raises(amqpscope.Diverged, match="no client came"), amqpscope.replayed(BASIC):
        pass


def connect_by_another_protocol():
    with (
        amqpscope.replayed(BASIC) as broker,
        socket.create_connection((broker.host, broker.port)) as client,
    ):
        client.sendall(b"AMQP\x00\x01\x00\x00")
        assert client.recv(8) == b"AMQP\x00\x00\x09\x01"


def test_a_client_of_another_protocol_is_reported():
    with pytest.raises(amqpscope.Diverged, match="begins with the header"):
        connect_by_another_protocol()


def test_a_capture_without_amqp_is_refused():
    with pytest.raises(ReplayError, match="README"), amqpscope.replayed(ROOT / "README.md"):
        pass


def connect_to_another_host():
    with amqpscope.replayed(BASIC) as broker:
        where = pika.ConnectionParameters(broker.host, broker.port, virtual_host="other")
        pika.BlockingConnection(where).close()


def test_another_virtual_host_is_reported():
    with pytest.raises(amqpscope.Diverged, match="virtual-host expected /, seen other"):
        connect_to_another_host()


def play_client(broker, capture, *connections):
    """The recorded clients of some connections, against a broker."""
    chosen = [
        each
        for number in connections
        for each in read_conversations(Input(str(capture)), (number,))
    ]
    for recorded in chosen:
        stage = ClientStage(Settings([recorded], Choices(secrets=True)), broker.host, broker.port)
        asyncio.run(stage.run())
        assert [each.divergences for each in stage.outcomes] == [[]]


def test_clients_that_come_in_another_order_find_their_conversations():
    with amqpscope.replayed(OUTCOMES) as broker:
        play_client(broker, OUTCOMES, 3, 4, 1, 2)
    assert sorted(outcome.connection for outcome in broker.outcomes) == [1, 2, 3, 4]


def test_a_conversation_can_be_played_again_and_again():
    with amqpscope.replayed(BASIC, loop=True) as broker:
        play_client(broker, BASIC, 1, 1, 1)
    assert [outcome.connection for outcome in broker.outcomes] == [1, 1, 1]


ASKED = 'client: queue.declare[1] queue="q"\n'
DROPPED = "server: RST\n"
ANSWERED = """
server: queue.declare-ok[1] queue="q"
client: channel.close[1] reply-code=200
server: channel.close-ok[1]
client: connection.close[0] reply-code=200
server: connection.close-ok[0]
"""


def test_a_client_comes_again_after_a_recorded_drop(tmp_path):
    with (tmp_path / "drop.pcapng").open("wb") as file:
        writer = CaptureWriter(file)
        for port, end in enumerate((DROPPED, ANSWERED), 50000):
            talk = ConnectionWriter(writer, ("127.0.0.1", port), ("127.0.0.1", 5672))
            record(script(ASKED + end, "channel"), talk)
    with amqpscope.replayed(tmp_path / "drop.pcapng") as broker:
        with pytest.raises(pika.exceptions.AMQPError):
            declare(broker)
        declare(broker)
    assert [outcome.connection for outcome in broker.outcomes] == [1, 2]


def declare(broker):
    where = pika.ConnectionParameters(broker.host, broker.port, heartbeat=0)
    connection = pika.BlockingConnection(where)
    connection.channel().queue_declare("q")
    connection.close()


def test_faults_of_the_proxy_act_in_front_of_a_recorded_broker():
    how = {"faults": ["basic.qos => disconnect"], "allow_divergence": True}
    with amqpscope.replayed(BASIC, **how) as broker:
        where = pika.ConnectionParameters(broker.host, broker.port, heartbeat=0)
        channel = pika.BlockingConnection(where).channel()
        channel.queue_declare("p1", arguments={"x-max-length": 1000})
        with pytest.raises(pika.exceptions.AMQPError):
            channel.basic_qos(prefetch_count=3)


PROGRAM_CHANGES = [
    ({"queue": "p9"}, 'frame 10, queue.declare .*queue expected "p1", seen "p9"'),
    ({"declares_exchange": False}, "frame 12, exchange.declare .*did not come"),
    ({"key": "b.#"}, 'frame 14, queue.bind .*routing-key expected "a.#", seen "b.#"'),
    ({"prefetch": 1}, "frame 16, basic.qos .*prefetch-count expected 3, seen 1"),
    ({"purges": True}, "queue.purge .*not in the recording"),
]


@pytest.mark.parametrize(("changes", "told"), PROGRAM_CHANGES)
def test_a_program_that_was_changed_in_one_call_is_reported_there(changes, told):
    with amqpscope.replayed(BASIC, allow_divergence=True) as broker:
        run_program(broker, **changes)
    assert re.search(told, broker.lines[0])


def run_program(broker, *, queue="p1", declares_exchange=True, purges=False, key="a.#", prefetch=3):
    """The beginning of the recorded program, with a call changed."""
    where = pika.ConnectionParameters(broker.host, broker.port, heartbeat=0)
    connection = pika.BlockingConnection(where)
    channel = connection.channel()
    channel.queue_declare(queue, arguments={"x-max-length": 1000})
    if declares_exchange:
        channel.exchange_declare("ex1", "topic")
    if purges:
        channel.queue_purge("p1")
    channel.queue_bind("p1", "ex1", key)
    channel.basic_qos(prefetch_count=prefetch)
    connection.close()


def test_a_rate_is_kept():
    presettled = ROOT / "captures" / "v10_proton-labbroker_presettled.pcap"
    with amqpscope.replayed(presettled) as broker:
        settings = Settings(
            read_conversations(Input(str(presettled))), Choices(secrets=True, rate=50)
        )
        start = time.monotonic()
        asyncio.run(ClientStage(settings, broker.host, broker.port).run())
    assert time.monotonic() - start > 0.25  # 20 messages, of which the first five may go at once


def fail_in_a_block():
    with amqpscope.replayed(BASIC):
        raise ValueError("of the test")


def test_a_test_that_fails_shows_where_its_client_diverged():
    with pytest.raises(ValueError, match="of the test") as caught:
        fail_in_a_block()
    assert "no client came" in "\n".join(caught.value.__notes__)


def test_a_server_that_never_answers_is_one_difference():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        (recorded,) = read_conversations(Input(str(BASIC)))
        settings = Settings([recorded], Choices(secrets=True), Patience(0.2, 0.4))
        stage = ClientStage(settings, *mute.getsockname())
        asyncio.run(stage.run())
    ((only,),) = [each.divergences for each in stage.outcomes]
    assert only.where == "the connection is not set up: the server does not answer"


WAITED = """
client: queue.declare[1] queue="q"
server: queue.declare-ok[1] queue="q"
client: FIN
server: FIN
"""


def test_a_server_that_was_left_does_not_leave_first(tmp_path):
    with (tmp_path / "left.pcapng").open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("127.0.0.1", 50000), ("127.0.0.1", 5672))
        record(script(WAITED, "channel"), talk)
    (recorded,) = read_conversations(Input(str(tmp_path / "left.pcapng")))
    assert recorded.ends == ["fin", "fin"]
    assert (recorded.part(0, Choices()).ending, recorded.part(1, Choices()).ending) == ("fin", "")
