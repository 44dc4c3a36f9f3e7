"""The commands `broker` and `trace` and the broker rules of `lint`, on real traffic of RabbitMQ."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pika
import pytest

import amqpscope as package
from kit.exchange_broker import write

PERSISTENT = 2


@pytest.fixture(scope="module")
def recordings(rabbitmq, tmp_path_factory):
    """What clients of both families did with RabbitMQ, each story in a capture of its own."""
    if find_spec("proton") is None:
        pytest.skip("python-qpid-proton is not installed")
    folder = tmp_path_factory.mktemp("recordings")
    paths = {}
    for story in (confirmed, given_back, dead_letter, fanned_out, one_point_zero, both):
        path = paths[story.__name__] = folder / f"{story.__name__}.pcapng"
        with package.proxied(f"amqp://127.0.0.1:{rabbitmq.port}", write=path) as proxy:
            story(proxy)
    return paths


def connect(proxy):
    return pika.BlockingConnection(pika.ConnectionParameters(proxy.host, proxy.port))


def publish(channel, queue, *ids, exchange=""):
    for id in ids:
        properties = pika.BasicProperties(message_id=id, delivery_mode=PERSISTENT)
        channel.basic_publish(exchange, queue, f"body of {id}".encode(), properties)


def confirmed(proxy):
    """Published with confirms on one connection, consumed and acknowledged on another."""
    producer, consumer = connect(proxy), connect(proxy)
    channel = producer.channel()
    channel.queue_declare("confirmed")
    channel.confirm_delivery()
    publish(channel, "confirmed", *(f"c{number}" for number in range(20)))
    taking = consumer.channel()
    for method, _, _ in taking.consume("confirmed"):
        taking.basic_ack(method.delivery_tag)
        if method.delivery_tag == 20:
            break
    taking.cancel()
    producer.close()
    consumer.close()


def given_back(proxy):
    """Requeued once, then lost with a connection, then acknowledged."""
    producer = connect(proxy)
    channel = producer.channel()
    channel.queue_declare("given")
    publish(channel, "given", "g1")
    first = connect(proxy)
    taking = first.channel()
    method, _, _ = next(taking.consume("given"))
    taking.basic_nack(method.delivery_tag, requeue=True)
    next(taking.consume("given"))
    first.close()
    second = connect(proxy)
    taking = second.channel()
    method, _, _ = next(taking.consume("given"))
    taking.basic_ack(method.delivery_tag)
    taking.cancel()
    second.close()
    producer.close()


def dead_letter(proxy):
    """Rejected, and found again in another queue."""
    connection = connect(proxy)
    channel = connection.channel()
    channel.queue_declare("dead")
    channel.queue_declare("doomed", arguments={
        "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead",
    })  # fmt: skip
    publish(channel, "doomed", "d1")
    method, _, _ = next(channel.consume("doomed"))
    channel.basic_reject(method.delivery_tag, requeue=False)
    channel.cancel()
    method, _, _ = next(channel.consume("dead"))
    channel.basic_ack(method.delivery_tag)
    channel.cancel()
    connection.close()


def fanned_out(proxy):
    """One publish to an exchange, one copy in each of two queues."""
    connection = connect(proxy)
    channel = connection.channel()
    for queue in ("left", "right"):
        channel.queue_declare(queue)
        channel.queue_bind(queue, "amq.fanout")
    publish(channel, "key", "f1", exchange="amq.fanout")
    for queue in ("left", "right"):
        method, _, _ = next(channel.consume(queue))
        channel.basic_ack(method.delivery_tag)
        channel.cancel()
    connection.close()


def one_point_zero(proxy):
    """Messages of 1.0: accepted, released and then accepted, and rejected."""
    from proton import Message
    from proton.utils import BlockingConnection

    def blocking():
        return BlockingConnection(proxy.address, timeout=20, allowed_mechs="PLAIN",
                                  user="guest", password="guest")  # fmt: skip

    producer, consumer = blocking(), blocking()
    sender = producer.create_sender("/queue/one")
    for number in range(10):
        sender.send(Message(id=f"o{number}", body=f"number {number}", durable=True))
    receiver = consumer.create_receiver("/queue/one", credit=1)
    for number in range(12):
        receiver.receive(timeout=20)
        if number in (3, 5):
            receiver.release(delivered=False)
        elif number == 9:
            receiver.reject()
        else:
            receiver.accept()
        if number < 10:
            receiver.flow(1)
        if number == 10:
            break
    producer.close()
    consumer.close()


def both(proxy):
    """Published in 0-9-1, consumed in 1.0."""
    from proton.utils import BlockingConnection

    producer = connect(proxy)
    channel = producer.channel()
    channel.queue_declare("both", durable=True)
    publish(channel, "both", "b1", "b2")
    consumer = BlockingConnection(proxy.address, timeout=20, allowed_mechs="PLAIN",
                                  user="guest", password="guest")  # fmt: skip
    receiver = consumer.create_receiver("/amq/queue/both", credit=2)
    for _ in range(2):
        receiver.receive(timeout=20)
        receiver.accept()
    consumer.close()
    producer.close()


def run(*arguments):
    command = [sys.executable, "-m", "amqpscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def profile_of(path):
    done = run("broker", "--format", "json", "--closed-world", path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["findings"] == []
    [profile] = document["brokers"]
    return profile


@pytest.mark.parametrize("world", [(), ("--closed-world",)])
def test_rabbitmq_is_accused_of_nothing(recordings, world):
    done = run("lint", "--format", "json", "--fail-on", "never", *world, *recordings.values())
    found = json.loads(done.stdout)["findings"]
    about = ("BRK", "A09-BAS-28", "A09-BAS-34", "A09-BAS-37", "A09-TX-07", "A09-QUE")
    assert [each for each in found if each["rule"].startswith(about)] == []


def test_what_is_confirmed_and_acknowledged_is_counted_so(recordings):
    profile = profile_of(recordings["confirmed"])
    assert profile["product"] == "RabbitMQ"
    assert profile["connections"] == 2
    counts = profile["counts"]
    assert (counts["published"], counts["publish accepted"]) == (20, 20)
    assert (counts["delivered"], counts["delivery accepted"]) == (20, 20)
    assert profile["recognised"] == {"the same octets": 20}
    assert profile["ways"] == [{"source": "confirmed", "target": "confirmed", "messages": 20}]
    assert profile["ledgers"] == []


def test_redeliveries_are_told_from_duplicates(recordings):
    profile = profile_of(recordings["given_back"])
    assert profile["counts"]["delivered again"] == 2
    assert profile["attempts"] == {
        "redelivered after lost": {"marked": 1},
        "redelivered after released": {"marked": 1},
    }


def test_equal_messages_without_an_id_are_no_duplicates(root):
    profile = profile_of(root / "captures" / "v10_proton-labbroker_drain.pcap")
    assert profile["counts"]["published again"] == 3
    assert "delivered again" not in profile["counts"]
    assert [each["kind"] for each in profile["ledgers"]] == ["published more than once"]


def test_a_dead_letter_is_followed_to_its_queue(recordings):
    profile = profile_of(recordings["dead_letter"])
    assert {(way["source"], way["target"]) for way in profile["ways"]} == {
        ("doomed", "doomed"), ("doomed", "dead"),
    }  # fmt: skip


def test_copies_of_an_exchange_are_no_duplicates(recordings):
    profile = profile_of(recordings["fanned_out"])
    assert {(way["source"], way["target"]) for way in profile["ways"]} == {
        ("exchange amq.fanout/key", "left"), ("exchange amq.fanout/key", "right"),
    }  # fmt: skip


def test_messages_of_1_0_are_recognised_by_their_octets(recordings):
    profile = profile_of(recordings["one_point_zero"])
    assert profile["counts"]["published"] == 10
    assert profile["recognised"].get("the same octets", 0) >= 10


def test_a_message_that_changes_its_protocol_is_followed(recordings):
    profile = profile_of(recordings["both"])
    assert profile["counts"]["delivered"] == 2
    assert sum(profile["recognised"].values()) == 2
    assert "not published in view" not in profile["recognised"]


def test_one_message_is_traced_by_its_id_and_by_a_frame(recordings):
    path = recordings["given_back"]
    by_id = run("trace", "--format", "json", "g1", path)
    [message] = json.loads(by_id.stdout)["messages"]
    assert (message["published"], message["delivered"]) == (1, 3)
    whys = [each["why"].partition(" on connection")[0] for each in message["history"]]
    assert whys[0] == "published to given"
    assert whys[-1] == "accepted, says the consumer"
    frame = message["history"][1]["frame"]
    by_frame = run("trace", "--format", "json", frame, path)
    assert json.loads(by_frame.stdout)["messages"] == [message]
    drawn = run("trace", "g1", path).stdout
    assert "published to given" in drawn
    assert "redelivered from given" in drawn


def test_an_id_that_no_message_has_is_an_error(recordings):
    done = run("trace", "nobody", recordings["confirmed"])
    assert done.returncode == 2
    assert "no message has the id 'nobody'" in done.stderr


def test_the_page_needs_nothing_else(recordings, tmp_path):
    page = tmp_path / "broker.html"
    assert run("broker", "--format", "html", "-o", page, recordings["confirmed"]).returncode == 0
    text = page.read_text()
    assert "<h2>broker 127.0.0.1:" in text
    assert "<td>publisher confirms -&gt; on</td><td>1</td>" in text
    assert "http" not in text.replace("http-equiv", "")


def test_an_unreadable_capture_is_one_line(tmp_path):
    path = tmp_path / "none.pcap"
    for command in (("broker",), ("trace", "x")):
        done = run(*command, path)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert not done.stdout


def test_without_messages_nothing_is_judged(amqpscope, root):
    done = amqpscope("broker", root / "captures" / "v10_rhea-rabbitmq_idle.pcap")
    assert done.returncode == 0
    assert "none: no messages were seen" in done.stdout
    assert "nothing found" not in done.stdout


def test_a_trace_fits_the_terminal():
    from amqpscope.report.trace import TraceText

    for width in (80, 100, 120):
        text = TraceText(width=width)
        sides = [
            text.place_arrow(7, (left, left, "published to some queue of ours")) for left in (1, 0)
        ]
        assert sides[0].index("│") == sides[1].index("│")
        assert 28 + max(map(len, sides)) <= width


SENT = """
A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true
          | properties(message-id="m1") data(b"x")
B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true
          | properties(message-id="m1") data(b"x")
"""


def test_a_trace_over_captures_with_long_names_is_no_wider(amqpscope, tmp_path):
    paths = [tmp_path / f"{name}-of-a-long-morning.pcap" for name in ("publishers", "consumers")]
    for path, letters in zip(paths, ("A", "BC"), strict=True):
        write(SENT, "through", path, letters)
    one, two, *rest = amqpscope("trace", "m1", *paths).stdout.splitlines()
    assert (one, two) == (f"A: {paths[0]}", f"B: {paths[1]}")
    assert [line.split()[1:3] for line in rest[2:4]] == [["A", "frame"], ["B", "frame"]]
    assert max(map(len, rest)) <= 100


IN_PARTS = """
A.client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true more=true
          | properties(message-id="long")
B.server: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" settled=true
          | properties(message-id="short") data(b"x")
A.client: transfer[0] handle=0 delivery-id=0 settled=true
          | data(b"y")
"""


def test_a_frame_of_another_connection_within_a_message_is_not_of_that_message(amqpscope, tmp_path):
    path = tmp_path / "parts.pcap"
    write(IN_PARTS, "through", path, "ABC")
    frames = [
        json.loads(line)
        for line in amqpscope("read", "--format", "jsonl", path).stdout.splitlines()
    ]
    first, between, last = [each["frame"] for each in frames if each["name"] == "transfer"]
    for frame, title in ((first, "long"), (between, "short"), (last, "long")):
        shown = amqpscope("trace", frame, path).stdout
        assert shown.startswith(f"message {title},"), shown


def test_lines_of_a_profile_are_folded(amqpscope, tmp_path):
    path = tmp_path / "sent.pcap"
    write(SENT, "through", path, "ABC")
    text = amqpscope("broker", path).stdout
    assert max(map(len, text.splitlines())) <= 100
    assert "--closed-world says that there are none" in " ".join(text.split())
