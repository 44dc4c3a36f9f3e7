"""0-8, 0-9 and 0-9-1 as scapy packets: dissecting, crafting, changing, reassembling."""

import pytest
from hypothesis import given, settings
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession
from scapy.utils import PcapReader, wrpcap

from dissectors import scapy_layers
from dissectors.scapy_layers import (
    AMQP091,
    AMQP09Header,
    ShortHeartbeat,
    frame_class,
    layers,
    units,
)
from dissectors.v0_9.dialects import NAMES, dialect
from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_frame,
    encode_header,
    encode_heartbeat,
    encode_method,
)
from dissectors.v0_9.framing import decode_unit
from dissectors.v0_9.values import Table
from kit.dissectors.samples import CAPTURES
from kit.dissectors.strategies_v0_9 import damaged, frames

RABBIT = dialect("0-9-1-rabbit")
LAYERS = layers("0-9-1-rabbit")
PUBLISH = encode_method(RABBIT, "basic.publish", {"exchange": "x", "routing-key": "k"}, 1)
HEADER = encode_content_header(RABBIT, "basic", 5, {"headers": {"a": [1]}, "priority": 3}, 1)
BODY = encode_body(b"hello", 1)
MESSAGE = PUBLISH + HEADER + BODY


@pytest.mark.parametrize("name", NAMES)
def test_every_method_has_a_layer_with_its_fields(name):
    spoken = dialect(name)
    head = spoken.heads[0]
    for plan in spoken.by_name.values():
        raw = encode_method(spoken, plan.name, {}, 1, head=head)
        packet = frame_class(name)(raw)
        assert packet.payload.name == plan.name
        assert len(packet.payload.fields_desc) == len(plan.names)
        assert bytes(packet) == raw
        assert bytes(frame_class(name)(channel=1) / type(packet.payload)()) == raw


def test_layers_are_exported_by_their_names():
    assert scapy_layers.BasicPublish is LAYERS["BasicPublish"]
    assert "QueueDeclareOk" in scapy_layers.__all__
    assert layers("0-8")["BasicPublish"] is not LAYERS["BasicPublish"]


@pytest.mark.parametrize("name", NAMES)
def test_no_field_is_hidden_by_a_method_of_its_class(name):
    made = layers(name).values()
    fields = [(layer, field.name) for layer in made for field in layer.fields_desc]
    assert not [f for layer, f in fields if any(f in vars(base) for base in layer.__mro__)]


def test_a_method_is_dissected():
    packet = AMQP091(PUBLISH)
    assert (packet.type, packet.channel, packet.size, packet.end) == (1, 1, 11, 0xCE)
    publish = packet[LAYERS["BasicPublish"]]
    assert (publish.exchange, publish.routing_key, publish.mandatory) == ("x", "k", False)
    assert packet.summary() == (
        'AMQP 0-9-1-rabbit method channel=1 / basic.publish exchange="x" routing-key="k"'
    )
    assert 'routing_key= "k"' in packet.show(dump=True)


def test_frames_are_crafted():
    made = AMQP091(channel=1) / LAYERS["BasicPublish"](exchange="x", routing_key=b"k")
    assert bytes(made) == PUBLISH
    made = AMQP091(channel=1) / LAYERS["BasicContentHeader"](
        body_size=5, headers={"a": [1]}, priority=3
    )
    assert bytes(made) == HEADER
    assert bytes(AMQP091(type=3, channel=1) / b"hello") == BODY
    assert bytes(AMQP091(type=8)) == encode_heartbeat()
    assert bytes(ShortHeartbeat()) == encode_heartbeat(short=True)
    assert bytes(AMQP09Header()) == encode_header(RABBIT)
    assert bytes(AMQP091(type=8, size=9, end=0)) == bytes.fromhex("08 0000 00000009 00")


def test_a_keyword_as_a_fields_name_gets_an_underscore():
    made = AMQP091(channel=1) / LAYERS["BasicQos"](prefetch_count=5, global_=True)
    assert decode_unit(bytes(made), RABBIT).method.get("global") is True


def test_a_changed_field_is_encoded_and_the_size_follows():
    packet = AMQP091(PUBLISH)
    packet.payload.routing_key = "orders"
    fields = {"exchange": "x", "routing-key": "orders"}
    assert bytes(packet) == encode_method(RABBIT, "basic.publish", fields, 1)


def test_a_change_inside_a_table_is_noticed():
    packet = AMQP091(HEADER)
    packet.payload.headers.get("a").append(7)
    packet.payload.headers.get("a").letters += b"I"
    table = Table([("a", [1, 7])], b"A")
    assert bytes(packet) == encode_content_header(
        RABBIT, "basic", 5, {"headers": table, "priority": 3}, 1
    )


def test_units_are_chained():
    raw = encode_header(RABBIT) + MESSAGE * 2 + encode_heartbeat(short=True) + PUBLISH
    packet = AMQP091(raw)
    assert [unit.payload.name if unit.payload else "" for unit in units(packet)][:3] == [
        "AMQP frame", "basic.publish", "basic content-header",
    ]  # fmt: skip
    assert len(list(units(packet))) == 9
    assert bytes(packet) == raw


@pytest.mark.parametrize("count", [31, 32, 33, 300])
def test_long_chains_end_in_octets_that_are_units_too(count):
    raw = PUBLISH * count
    packet = AMQP091(raw)
    assert bytes(packet) == raw
    assert len(list(units(packet))) == count


@pytest.mark.parametrize(
    "raw",
    [
        b"\x01",
        b"GET / HTTP/1.1\r\n",
        PUBLISH[:-4],
        PUBLISH + b"\xff\xff",
        PUBLISH[:-1] + b"\0",
        encode_frame(1, 1, bytes.fromhex("003c0028")),
        encode_frame(1, 1, bytes.fromhex("003c0028 0000 ff")),
        encode_frame(1, 1, PUBLISH[7:-1] + b"more"),
        encode_frame(1, 1, bytes.fromhex("00630063 0000")),
        encode_frame(2, 1, bytes.fromhex("003c 0000 0000000000000005 0001 8000 0161")),
        encode_frame(2, 1, bytes.fromhex("003c 0000 0000000000000005 ffff 0161")),
        encode_frame(2, 1, bytes(5)),
        encode_frame(7, 0, b"trace"),
        bytes.fromhex("04 0001 00001000 ce") + PUBLISH,
    ],
)
def test_unusual_octets_round_trip(raw):
    packet = AMQP091(raw)
    assert bytes(packet) == raw
    packet.show(dump=True)
    packet.summary()


@given(found=frames())
def test_any_frame_round_trips_and_survives_encoding_anew(found):
    spoken, head, raw = found
    packet = frame_class(spoken.name, head)(raw)
    assert bytes(packet) == raw
    packet.payload.raw_packet_cache = None
    assert bytes(packet) == raw
    packet.summary()


@given(found=damaged())
@settings(max_examples=100)
def test_damaged_frames_round_trip(found):
    spoken, head, raw = found
    if raw:  # of nothing scapy makes a packet of defaults
        assert bytes(frame_class(spoken.name, head)(raw)) == raw


def stream(client, server, path, size):
    """A capture of a connection, its octets in segments of a size."""
    packets = []
    for sport, dport, data in ((40000, 5672, client), (5672, 40000, server)):
        for at in range(0, len(data), size):
            layer = TCP(sport=sport, dport=dport, seq=1 + at, flags="A")
            packets.append(Ether() / IP() / layer / Raw(data[at : at + size]))
    wrpcap(str(path), packets)


def sniffed(path):
    found = sniff(offline=str(path), session=TCPSession)
    return [unit for packet in found if TCP in packet for unit in units(packet[TCP])]


@pytest.mark.parametrize("size", [5, 13, 1000])
def test_session_finds_frames_cut_anywhere(size, tmp_path):
    start = encode_method(
        RABBIT, "connection.start", {"server-properties": {"product": "RabbitMQ"}}
    )
    stream(encode_header(RABBIT) + MESSAGE, start, tmp_path / "a.pcap", size)
    names = [unit.payload.name for unit in sniffed(tmp_path / "a.pcap")]
    assert sorted(name for name in names if "." in name) == ["basic.publish", "connection.start"]


def test_session_keeps_to_the_dialect_that_the_header_announced(tmp_path):
    old = dialect("0-8")
    close = encode_method(old, "connection.close", {"reply-code": 200})
    stream(encode_header(old) + close, close, tmp_path / "a.pcap", 1000)
    found = [unit.payload.name for unit in sniffed(tmp_path / "a.pcap")]
    assert found.count("connection.close") == 2


def test_a_crafted_segment_goes_to_the_amqp_port():
    made = TCP() / AMQP091() / LAYERS["ConnectionClose"]()
    assert 5672 in (made.sport, made.dport)


@pytest.mark.parametrize(
    ("name", "count"),
    [("v091_amqplib-rabbitmq.pcap.gz", 124), ("v091_pika_basic-rabbitmq.pcap", 103)],
)
def test_session_finds_the_frames_of_a_capture(name, count):
    path = CAPTURES / name
    with PcapReader(str(path)) as reader:
        assert next(iter(reader)) is not None
    assert len(sniffed(path)) == count
