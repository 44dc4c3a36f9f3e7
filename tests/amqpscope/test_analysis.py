"""Pieces of TCP streams in, Steps out: what a Step says of its unit, and which units there are."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.stream.types import CLIENT, PEERS, SERVER, Chunk, Connection, Gap

LINKS = """
client: attach name="a" handle=0 role=sender source=source() target=target(address="orders")
                initial-delivery-count=0
client: attach name="b" handle=1 role=sender source=source() target=target(address="bills")
                initial-delivery-count=0
server: attach name="a" handle=5 role=receiver source=source() target=target(address="orders")
server: attach name="b" handle=6 role=receiver source=source() target=target(address="bills")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
             handle=5 delivery-count=0 link-credit=10
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
             handle=6 delivery-count=0 link-credit=10
"""


@pytest.fixture
def steps():
    """All Steps of a capture."""

    def read(path, decode_as=None, **options):
        analyzer = Analyzer(decode_as)
        with Pieces(str(path), server_ports=decode_as or {}, **options) as pieces:
            return [s for batch in pieces for piece in batch for s in analyzer.feed(piece)]

    return read


def named(steps, name):
    return [step for step in steps if step.frame.unit.name == name]


def test_units_are_numbered_in_the_order_they_are_complete(steps, opened):
    found = steps(opened(""))
    assert [step.frame.number for step in found] == [1, 2, 3, 4, 5, 6]
    assert [PEERS[step.frame.sender] for step in found] == ["client", "server"] * 3


def test_a_step_knows_its_link_by_the_name_also_from_the_other_side(steps, opened):
    found = steps(opened(LINKS))
    assert [step.event.link.name for step in named(found, "flow")] == ["a", "b"]
    assert [step.event.link.node() for step in named(found, "flow")] == ["orders", "bills"]


def test_a_message_in_one_transfer(steps, opened):
    text = 'client: transfer handle=0 delivery-id=0 delivery-tag=b"1" | data(b"x")\n'
    (step,) = named(steps(opened(LINKS + text)), "transfer")
    event = step.event
    assert (event.link.name, event.delivery.delivery_id) == ("a", 0)
    assert event.message == b"\0Su\xa0\x01x"


def test_interleaved_deliveries_are_whole_at_their_last_transfers(steps, opened):
    text = """
client: transfer handle=0 delivery-id=0 delivery-tag=b"1" more=true | raw 0x005375b000000006
client: transfer handle=1 delivery-id=1 delivery-tag=b"1" more=true | raw 0x005375a004
client: transfer handle=0 more=true | raw 0x414141
client: transfer handle=1 more=true | raw 0x4242
client: transfer handle=1 delivery-id=1 | raw 0x4242
client: transfer handle=0 | raw 0x414141
"""
    found = named(steps(opened(LINKS + text)), "transfer")
    assert [step.event.delivery.delivery_id for step in found] == [0, 1, 0, 1, 1, 0]
    assert [step.event.message for step in found[:4]] == [None] * 4
    assert found[4].event.message == b"\0Su\xa0\x04BBBB"
    assert found[5].event.message == b"\0Su\xb0\0\0\0\x06AAAAAA"


def test_an_aborted_delivery_gives_no_message(steps, opened):
    text = """
client: transfer handle=0 delivery-id=0 delivery-tag=b"1" more=true | raw 0x005375a00141
client: transfer handle=0 delivery-id=0 aborted=true
"""
    found = named(steps(opened(LINKS + text)), "transfer")
    assert [step.event.message for step in found] == [None, None]


def test_a_capture_that_begins_later_on_the_known_port(steps, recorded):
    text = """
client: flow next-incoming-id=0 incoming-window=1 next-outgoing-id=0 outgoing-window=1 handle=7
server: transfer handle=2 delivery-id=9 delivery-tag=b"9" | data(b"x")
"""
    found = steps(recorded(text, handshake=False))
    assert [step.frame.unit.name for step in found] == ["flow", "transfer"]
    assert found[0].event.link.name == ""
    assert found[1].event.delivery.delivery_id == 9


def test_a_capture_that_begins_later_on_another_port_needs_to_be_told(steps, recorded):
    path = recorded("client: close\nserver: close\n", handshake=False, port=9999)
    assert steps(path) == []
    found = steps(path, {9999: "amqp-1.0"})
    assert [PEERS[step.frame.sender] for step in found] == ["client", "server"]


def test_the_header_is_enough_on_any_port(steps, recorded):
    path = recorded("client: header AMQP 1.0.0\nserver: header AMQP 1.0.0\n", port=12345)
    assert len(steps(path)) == 2


def test_a_header_cut_in_two_segments(steps, recorded):
    path = recorded("client: octets 0x414d51\nclient: octets 0x5000010000\nclient: empty\n")
    assert [step.frame.unit.name for step in steps(path)] == ["header", "empty"]


def test_a_header_whose_end_is_missing_is_not_completed_by_what_follows():
    analyzer = Analyzer()
    connection = Connection(("10.0.0.1", 40000), ("10.0.0.2", 5672), True)
    analyzer.feed(Chunk(connection, CLIENT, 0, b"AMQP\0", 1, 0, 0))
    analyzer.feed(Gap(connection, CLIENT, 5, 3, 1, 0))
    analyzer.feed(Chunk(connection, CLIENT, 8, b"\x01\0\0", 2, 0, 0))
    assert analyzer.protocols == []


def test_a_hole_in_the_answer_of_a_1_0_server_to_a_client_of_0_9_1():
    analyzer = Analyzer()
    connection = Connection(("10.0.0.1", 40000), ("10.0.0.2", 5672), True)
    begun = b"AMQP\0\x01\0\0\0\0\0\x40\x02\0\0\0\0\x53\x10"
    empty = b"\0\0\0\x08\x02\0\0\0"
    steps = []
    for piece in (
        Chunk(connection, CLIENT, 0, b"AMQP\0\0\x09\x01", 1, 0, 0),
        Chunk(connection, SERVER, 0, begun, 2, 0, 8),
        Gap(connection, SERVER, len(begun), 53, 3, 0),
        Chunk(connection, SERVER, 72, empty, 3, 0, 8),
    ):
        steps += analyzer.feed(piece)
    assert [step.frame.unit.name for step in steps] == ["header", "header", "malformed", "empty"]


@pytest.mark.parametrize(
    ("header", "protocol"),
    [
        ("00000901", "amqp-0-9-1"),
        ("01010009", "amqp-0-9"),
        ("01010800", "amqp-0-8"),
        ("01010901", "amqp-0-8"),
        ("01010a03", "amqp-10-3"),
        ("0101000b", "amqp-0-x"),
    ],
)
def test_a_protocol_before_1_0_is_recognised_by_its_header(steps, recorded, header, protocol):
    heartbeat = "08000000000000ce" if protocol != "amqp-10-3" else "0800000000000000ce"
    for first, rest in ((f"414d5150{header}", heartbeat), ("414d51", f"50{header}{heartbeat}")):
        found = steps(recorded(f"client: octets 0x{first}\nclient: octets 0x{rest}\n"))
        assert [(s.conversation.protocol, s.frame.unit.name) for s in found] == [
            (protocol, "header"),
            (protocol, "heartbeat"),
        ]


def test_another_protocol_of_the_family_is_recognised_and_left_alone(steps, recorded):
    found = steps(recorded("client: octets 0x414d51500101000a\nclient: octets 0x01000000\n"))
    assert [(s.conversation.protocol, s.frame.unit.name) for s in found] == [
        ("amqp-0-10", "header")
    ]


def test_other_protocols_give_nothing(steps, recorded):
    assert steps(recorded("client: octets 0x474554202f20485454502f312e310d0a\n")) == []


@pytest.mark.parametrize("version", ["00000901", "00010000"])
def test_a_client_that_is_answered_with_a_header_meant_to_speak_amqp(steps, recorded, version):
    text = f"client: octets 0x414d5151{version}\nserver: octets 0x414d5150{version}\n"
    garbled, answer = steps(recorded(text))
    assert garbled.frame.unit.faults
    assert answer.frame.unit.header is not None


def test_a_client_that_is_answered_with_nothing_may_mean_anything(steps, tmp_path):
    path = tmp_path / "silent.pcapng"
    with path.open("wb") as file:
        talk = ConnectionWriter(CaptureWriter(file), ("10.0.0.1", 40000), ("10.0.0.2", 5672))
        talk.open(0)
        talk.data(CLIENT, 1, b"AMQQ\0\0\x09\x01")
        talk.finish(SERVER, 2)
    assert steps(path) == []


def test_connections_are_numbered(steps, tmp_path, recorded):
    one = recorded("client: header AMQP 1.0.0\n", name="one.pcapng").read_bytes()
    two = recorded("client: header AMQP 1.0.0\n", name="two.pcapng", port=5673).read_bytes()
    both = tmp_path / "both.pcapng"
    both.write_bytes(one + two)  # pcapng may have several sections
    assert [step.conversation.number for step in steps(both)] == [1, 2]


def test_a_hole_ends_a_delivery_that_was_open(steps, root):
    found = steps(root / "captures" / "dmg_snap128-v10_proton-labbroker_large512.pcap")
    assert all(step.event.message is None for step in named(found, "transfer"))
    assert [step.frame.unit.kind for step in found].count("malformed") == 0


def test_frames_after_lost_segments_are_found(steps, root):
    whole = steps(root / "captures" / "fmt_pcapng-v10_proton-rabbitmq_manylinks.pcapng")
    holes = steps(root / "captures" / "dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap")
    assert len(whole) == 443
    assert len(holes) == 436
    assert {step.frame.raw for step in holes} < {step.frame.raw for step in whole}


def test_order_of_arrival_changes_nothing_but_packets(steps, root):
    whole = steps(root / "captures" / "fmt_pcapng-v10_proton-rabbitmq_manylinks.pcapng")
    mixed = steps(root / "captures" / "dmg_outoforder-v10_proton-rabbitmq_manylinks.pcap")
    for sender in (0, 1):
        sent = [
            [s.frame.raw for s in found if s.frame.sender == sender] for found in (whole, mixed)
        ]
        assert sent[0] == sent[1]
