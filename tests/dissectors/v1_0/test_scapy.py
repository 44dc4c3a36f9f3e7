"""AMQP 1.0 as scapy packets: dissecting, crafting, changing, reassembling."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.config import conf
from scapy.layers.inet import IP, TCP
from scapy.packet import Padding, Raw, bind_bottom_up, fuzz, split_bottom_up
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession
from scapy.utils import rdpcap, wrpcap
from scapy.volatile import RandBin, RandInt

from dissectors import scapy_layers
from dissectors.scapy_layers import (
    AMQP,
    AMQPAccepted,
    AMQPAttach,
    AMQPBegin,
    AMQPClose,
    AMQPData,
    AMQPDescribed,
    AMQPDisposition,
    AMQPError,
    AMQPFlow,
    AMQPHeader,
    AMQPMessage,
    AMQPMessageAnnotations,
    AMQPMessageHeader,
    AMQPOpen,
    AMQPProperties,
    AMQPSaslInit,
    AMQPSource,
    AMQPTransfer,
    AMQPUnits,
    AMQPValue,
    units,
)
from dissectors.scapy_units import MAX_CHAIN
from dissectors.v1_0.bodies import Accepted, Open, Source, Transfer
from dissectors.v1_0.encode import As, Spelled, encode, encode_frame, encode_message
from dissectors.v1_0.framing import decode_unit, measure
from dissectors.v1_0.message import read_section, walk
from dissectors.v1_0.scapy_layers import LAYERS, MADE, SECTION_LAYERS
from dissectors.v1_0.tables import COMPOSITES, RESTRICTED
from dissectors.v1_0.values import Array, Described, Long, Map, Symbol, Ubyte, Ulong, same

CAPTURES = Path(__file__).parents[3] / "captures"
NAMES = [
    "v10_proton-labbroker_manylinks",
    "v10_proton-labbroker_tx",
    "v10_proton-labbroker_types",
    "v10_proton-rhea_filters",
    "v10_proton-rhea_outcomes",
    "v10_rhea-rabbitmq_idle",
    "v10_rhea-rabbitmq_simple",
]


def streams(name):
    """The octets of each direction of each connection in a capture without loss."""
    found = {}
    for packet in rdpcap(str(CAPTURES / f"{name}.pcap")):
        tcp = packet[TCP]
        size = packet[IP].len - 4 * packet[IP].ihl - 4 * tcp.dataofs
        key = (packet[IP].src, tcp.sport, packet[IP].dst, tcp.dport)
        start, octets = found.get(key, (tcp.seq + 1, b""))
        if size and tcp.seq - start == len(octets):
            octets += bytes(tcp.payload)[:size]
        found[key] = (start, octets)
    return {key: octets for key, (_, octets) in found.items()}


def split(octets):
    at = 0
    while at < len(octets):
        size = measure(octets, at, len(octets))
        yield octets[at : at + size]
        at += size


def frames(name):
    return [unit for octets in streams(name).values() for unit in split(octets)]


def decoded(packet):
    unit = decode_unit(bytes(packet))
    assert unit.faults == []
    return unit.body


@pytest.fixture
def on_port():
    """Let scapy see AMQP on other ports for a while."""
    bound = []

    def bind(port):
        for side in ("sport", "dport"):
            bind_bottom_up(TCP, AMQP, **{side: port})
            bound.append({side: port})

    yield bind
    for where in bound:
        split_bottom_up(TCP, AMQP, **where)


# Rows.


def test_every_row_has_a_layer_with_its_fields():
    for row in COMPOSITES:
        names = [field.name.replace("-", "_") for field in row.fields]
        assert [field.name for field in LAYERS[row.name].fields_desc] == names


def test_every_section_has_a_layer():
    rows = [row for row in (*COMPOSITES, *RESTRICTED) if "section" in row.provides]
    assert sorted(SECTION_LAYERS) == sorted(row.code for row in rows)


def test_layers_are_exported_by_their_names():
    assert {"AMQPOpen", "AMQPSaslMechanisms", "AMQPSource", "AMQPTransactionalState"} <= set(MADE)
    assert set(MADE) <= set(scapy_layers.__all__)
    assert all(getattr(scapy_layers, name).__name__ == name for name in MADE)


@pytest.mark.parametrize("row", COMPOSITES, ids=lambda row: row.name)
def test_no_field_has_a_value_unless_set(row):
    assert bytes(LAYERS[row.name]()) == encode(LAYERS[row.name]().amqp())
    assert all(value is None for value in LAYERS[row.name]().amqp())


# Real traffic.


@pytest.mark.parametrize("name", NAMES)
def test_captured_frames_round_trip(name):
    raws = frames(name)
    assert len(raws) > 10
    assert [bytes(AMQP(raw)) for raw in raws] == raws
    assert [bytes(AMQP(raw).copy()) for raw in raws] == raws


@pytest.mark.parametrize("name", NAMES)
def test_captured_bodies_are_the_decoders(name):
    for raw in frames(name):
        unit, packet = decode_unit(raw), AMQP(raw)
        if unit.body is not None:
            assert packet.payload.amqp() == unit.body
            assert (packet.channel, packet.type, packet.size) == (unit.channel, unit.type, len(raw))


@pytest.mark.parametrize("name", NAMES)
def test_captured_bodies_survive_encoding_anew(name):
    for raw in frames(name):
        unit, packet = decode_unit(raw), AMQP(raw)
        packet.clear_cache()
        again = decode_unit(bytes(packet))
        assert (again.body, again.header, again.channel) == (unit.body, unit.header, unit.channel)


def test_captured_message_sections_are_the_decoders():
    seen = 0
    for raw in frames("v10_proton-labbroker_types"):
        packet = AMQP(raw)
        if AMQPMessage not in packet:
            continue
        octets = raw[decode_unit(raw).payload :]
        for section, layer in zip(walk(octets)[0], packet[AMQPMessage].sections, strict=False):
            value = layer.amqp()
            inner = value.value if isinstance(value, Described) else value
            assert same(inner, read_section(octets, section)[0])
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("name", NAMES)
def test_whole_streams_round_trip_as_one_chain(name):
    for octets in streams(name).values():
        packet = AMQP(octets)
        assert bytes(packet) == octets
        assert [bytes_of(unit) for unit in units(packet)] == list(split(octets))


def bytes_of(unit):
    """The octets of one unit of a chain."""
    if isinstance(unit, AMQPHeader):
        return unit.self_build()
    body, _ = unit.inside()
    return unit.head(len(body)) + body


@pytest.mark.parametrize("name", NAMES)
def test_shown_and_summarised(name):
    for raw in frames(name):
        packet = AMQP(raw)
        assert packet.summary().startswith("AMQP")
        assert packet.show(dump=True).startswith("###[ AMQP")
        assert repr(packet)


# Streams cut into segments.


def segments(streams, size, path):
    """Write the streams as a capture with segments of at most so many octets, interleaved."""
    packets = []
    for (source, sport, destination, dport), octets in streams.items():
        ip = IP(src=source, dst=destination)
        for place, at in enumerate(range(0, len(octets), size)):
            tcp = TCP(sport=sport, dport=dport, seq=1000 + at, ack=1, flags="A")
            packets.append((place, ip / tcp / Raw(octets[at : at + size])))
    packets.sort(key=lambda pair: pair[0])
    wrpcap(str(path), [packet for _, packet in packets])


def sniffed(path):
    """The units that scapy finds in a capture, by direction."""
    found = {}
    for packet in sniff(offline=str(path), session=TCPSession, quiet=True):
        key = (packet[IP].src, packet[TCP].sport, packet[IP].dst, packet[TCP].dport)
        found.setdefault(key, []).extend(map(bytes_of, units(packet)))
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 64, 100, 1448])
def test_session_finds_frames_cut_anywhere(size, tmp_path):
    wanted = streams("v10_rhea-rabbitmq_simple")
    segments(wanted, size, tmp_path / "cut.pcap")
    assert sniffed(tmp_path / "cut.pcap") == {
        key: list(split(octets)) for key, octets in wanted.items() if octets
    }


@pytest.mark.parametrize("name", ["v10_proton-labbroker_manylinks", "v10_proton-labbroker_tx"])
def test_session_finds_the_frames_of_a_capture(name, on_port):
    wanted = {key: list(split(octets)) for key, octets in streams(name).items() if octets}
    for _, sport, _, dport in wanted:
        on_port(min(sport, dport))
    assert {k: v for k, v in sniffed(CAPTURES / f"{name}.pcap").items() if v} == wanted


def test_session_finds_many_frames_in_one_segment(tmp_path):
    octets = encode_frame(Transfer(0, 1, b"x"), payload=b"y") * 1500
    segments({("10.0.0.1", 4000, "10.0.0.2", 5672): octets}, 60000, tmp_path / "many.pcap")
    (found,) = sniffed(tmp_path / "many.pcap").values()
    assert b"".join(found) == octets
    assert len(found) == 1500


def test_frame_cut_off_by_the_end_of_the_stream_is_shown(tmp_path):
    octets = encode_frame(Transfer(0, 1, b"x"), payload=b"y" * 100)[:50]
    parts = (octets[:30], "A"), (octets[30:], "FA")
    ports = {"sport": 5672, "dport": 9}
    wrpcap(
        str(tmp_path / "end.pcap"),
        [IP() / TCP(seq=1 + 30 * i, flags=f, **ports) / Raw(d) for i, (d, f) in enumerate(parts)],
    )
    (found,) = sniffed(tmp_path / "end.pcap").values()
    assert found == [octets]


def test_another_protocol_on_the_port_passes_as_raw():
    octets = b"GET / HTTP/1.1\r\n\r\n"
    packet = IP(bytes(IP() / TCP(sport=5672, dport=9) / Raw(octets)))
    assert bytes(packet[Raw]) == octets
    assert AMQP.tcp_reassemble(octets, {}, {}) == Raw(octets)


def test_frames_of_0_9_are_none_of_1_0():
    octets = bytes.fromhex("01 0000 00000005 000a000b00 ce") * 3
    assert AMQP.tcp_reassemble(octets, {}, {}) == Raw(octets)


@pytest.mark.parametrize("size", range(8))
def test_reassembly_waits_for_a_whole_header(size):
    assert AMQP.tcp_reassemble(bytes(AMQPHeader())[:size], {}, {}) is None or size == 0


# Octets that are unusual or damaged.

BODY = Open("c", max_frame_size=1000)
ODD = {
    "empty": "00000008 02 00 0000",
    "symbolic descriptor": encode_frame(Spelled(BODY, Symbol("amqp:open:list"))).hex(),
    "ulong descriptor": encode_frame(Spelled(BODY, As(0x80, Ulong(0x10)), 0xD0, 10)).hex(),
    "wide values": encode_frame(Open(As(0xB1, "c"), max_frame_size=As(0x70, 5))).hex(),
    "extended header": encode_frame(BODY, 3, extended=b"12345678").hex(),
    "octets after open": encode_frame(BODY, payload=b"trailing").hex(),
    "items past the row": "00000012 02 00 0000 005318 c005 03 40 5201 41",
    "frame type 7": "0000000c 02 07 1234 deadbeef",
    "doff 1": "0000000c 01 00 0000 00531845",
    "doff past the end": "0000000c 09 00 0000 00531845",
    "no descriptor": "0000000a 02 00 0000 5201",
    "descriptor cut": "0000000b 02 00 0000 0053 80",
    "vendor descriptor": "00000015 02 00 0000 00 80 0000468c00000004 a10178",
    "unknown described body": encode_frame(Described(Ulong(0x99), ["x", 1])).hex(),
    "performative that is no list": "0000000d 02 00 0000 005310 5201",
    "list size too large": "0000000e 02 00 0000 005310 c0ff01",
    "field of a wrong type": encode_frame(Open("c", max_frame_size=Ulong(9))).hex(),
    "string not UTF-8": "00000011 02 00 0000 005310 c004 01 a101ff",
    "sasl-init on channel 5": "00000012 02 01 0005 005341 c005 01 a302 5858",
    "protocol header": "414d5150 03 01 00 00",
    "header of 0-9-1": "414d5150 00 00 09 01",
    "size below 8": "00000004 02 00 0000",
    "size too large": "7fffffff 02 00 0000 00531845",
    "three octets": "000000",
    "cut frame": encode_frame(BODY).hex()[:-6],
    "frame and a piece": "00000008 02 00 0000 0000 0010 02",
    "frame and garbage": "00000008 02 00 0000 ffffffffffffffffff",
}


@pytest.mark.parametrize("raw", [bytes.fromhex(raw) for raw in ODD.values()], ids=list(ODD))
def test_unusual_octets_round_trip(raw):
    packet = AMQP(raw)
    assert bytes(packet) == raw
    assert bytes(packet.copy()) == raw
    assert packet.show(dump=True)
    assert packet.summary()


@given(st.binary(min_size=1, max_size=80))
def test_any_octets_round_trip(raw):
    assert bytes(AMQP(raw)) == raw


@given(st.binary(max_size=60), st.integers(0, 255), st.integers(0, 2))
def test_any_frame_round_trips(rest, doff, kind):
    raw = (8 + len(rest)).to_bytes(4, "big") + bytes((doff, kind, 0, 1)) + rest
    packet = AMQP(raw)
    assert bytes(packet) == raw
    packet.show(dump=True)
    packet.summary()


RAWS = [raw for name in NAMES[1:4] for raw in frames(name)]


@given(st.sampled_from(RAWS), st.data())
def test_mutated_frames_round_trip(raw, data):
    at = data.draw(st.integers(0, len(raw) - 1))
    mutated = raw[:at] + bytes((data.draw(st.integers(0, 255)),)) + raw[at + 1 :]
    packet = AMQP(mutated)
    assert bytes(packet) == mutated
    packet.show(dump=True)
    packet.summary()


def test_damaged_layer_keeps_its_octets_when_another_changes():
    raw = bytes.fromhex(ODD["list size too large"])
    packet = AMQP(raw)
    packet.channel = 7
    assert bytes(packet) == raw[:6] + b"\0\7" + raw[8:]


@pytest.mark.parametrize("depth", [50, 95, 99, 100, 101, 5000])
def test_deeply_nested_values_round_trip(depth):
    value = b"\x45"
    for _ in range(depth):
        value = b"\xd0" + (len(value) + 4).to_bytes(4, "big") + b"\0\0\0\1" + value
    raw = encode_frame(Transfer(0), payload=b"\0\x53\x77" + value)
    packet = AMQP(raw)
    assert bytes(packet) == raw
    assert packet.copy().show(dump=True)


def test_debugging_dissectors_raises_nothing(monkeypatch):
    monkeypatch.setattr(conf, "debug_dissector", True)
    for raw in ODD.values():
        AMQP(bytes.fromhex(raw))


# Crafting.


def test_transfer_is_built():
    packet = AMQP(channel=1) / AMQPTransfer(handle=0, delivery_id=1, delivery_tag=b"x") / b"payload"
    assert bytes(packet) == encode_frame(Transfer(0, 1, b"x"), 1, b"payload")


def test_empty_frame_is_built():
    assert bytes(AMQP()) == bytes.fromhex("00000008 02 00 0000")


def test_header_is_built():
    assert bytes(AMQPHeader(id=3)) == b"AMQP\3\1\0\0"
    assert bytes(AMQPHeader() / AMQP()) == b"AMQP\0\1\0\0" + bytes(AMQP())


def test_sasl_frame_has_its_type():
    packet = AMQP() / AMQPSaslInit(mechanism="PLAIN", initial_response="\0u\0p")
    assert packet.type == 1
    body = decoded(packet)
    assert (body.mechanism, body.initial_response) == (Symbol("PLAIN"), b"\0u\0p")


def test_extended_header_sets_the_data_offset():
    packet = AMQP(extended=b"12345") / AMQPClose()
    assert (packet.doff, packet.size) == (4, 20)
    assert bytes(packet) == encode_frame(decoded(AMQP() / AMQPClose()), extended=b"12345\0\0\0")


def test_wrong_sizes_can_be_set():
    packet = AMQP(size=5, doff=9) / AMQPClose()
    assert bytes(packet) == bytes.fromhex("00000005 09 00 0000 005318 45")


def test_natural_python_values_become_the_types_of_the_fields():
    body = decoded(
        AMQP()
        / AMQPAttach(
            name="link",
            handle=0,
            role="receiver",
            snd_settle_mode="mixed",
            source=AMQPSource(
                address="q",
                expiry_policy="never",
                filter={"f": Described(Symbol("apache.org:selector-filter:string"), "a = 1")},
                outcomes=["amqp:accepted:list"],
            ),
            unsettled={b"tag": AMQPAccepted()},
            properties={"product": "x"},
        )
    )
    assert (body.role, body.snd_settle_mode) == (True, 2)
    assert body.source.expiry_policy == Symbol("never")
    assert isinstance(body.source.filter[0][0], Symbol)
    assert body.source.outcomes == Array(0xA3, [Symbol("amqp:accepted:list")])
    assert body.unsettled == Map([(b"tag", Accepted())])
    assert isinstance(body.properties[0][0], Symbol)


def test_error_is_a_packet_in_a_field():
    error = AMQPError(condition="amqp:not-found", description="no such queue")
    body = decoded(AMQP() / AMQPClose(error=error))
    assert body.error.condition == Symbol("amqp:not-found")


def test_list_and_array_values_stay_whole():
    value = Array(0x50, [Ubyte(1), Ubyte(5)])
    message = AMQPMessage(sections=[AMQPValue(value=value), AMQPValue(value=[1, 2, 3])])
    packet = AMQP() / AMQPTransfer(handle=0) / message
    assert len(list(packet)) == 1
    first, second = AMQP(bytes(packet))[AMQPMessage].sections
    assert first.value == value
    assert second.value == [1, 2, 3]


def test_message_is_built_of_sections():
    message = AMQPMessage(
        sections=[
            AMQPMessageHeader(durable=True, priority=9),
            AMQPMessageAnnotations(value={"x-opt-jms-msg-type": 5}),
            AMQPProperties(message_id="m", content_type="text/plain"),
            AMQPData(value=b"hello"),
        ]
    )
    packet = AMQP(bytes(AMQP() / AMQPTransfer(handle=0) / message))
    assert packet[AMQPMessageHeader].priority == 9
    assert packet[AMQPProperties].content_type == Symbol("text/plain")
    assert packet[AMQPMessageAnnotations].value == Map([(Symbol("x-opt-jms-msg-type"), Long(5))])
    assert packet[AMQPData].value == b"hello"


def test_chosen_encodings_are_kept():
    packet = AMQP() / AMQPOpen(container_id=As(0xB1, "c"))
    assert bytes(packet).endswith(bytes.fromhex("b100000001 63"))


def test_random_values_make_sound_frames():
    packet = AMQP() / AMQPTransfer(handle=RandInt(), delivery_tag=RandBin(9))
    for _ in range(20):
        body = decoded(packet)
        assert len(body.delivery_tag) == 9
        assert body.handle < 1 << 32


def test_fuzzed_frames_are_built():
    for _ in range(20):
        assert bytes(fuzz(AMQP() / AMQPTransfer(handle=1)))


def test_crafted_segment_goes_to_the_amqp_port():
    packet = IP() / TCP() / AMQP() / AMQPClose()
    assert packet.dport == 5672
    again = IP(bytes(packet))
    assert AMQPClose in again


# Changing.


def test_changed_field_is_encoded_and_the_size_follows():
    packet = AMQP(encode_frame(Transfer(0, 1, b"x"), 4, b"payload"))
    packet[AMQPTransfer].handle = 70000
    assert bytes(packet) == encode_frame(Transfer(70000, 1, b"x"), 4, b"payload")
    assert packet.size == len(bytes(packet))


def test_change_inside_a_nested_value_is_noticed():
    packet = AMQP(bytes(AMQP() / AMQPAttach(name="l", handle=0, source=AMQPSource(address="a"))))
    packet[AMQPAttach].source.address = "b"
    assert decoded(packet).source.address == "b"


def test_change_inside_a_list_is_noticed():
    raw = encode_frame(Transfer(0), payload=encode_message([("amqp-value", [1, [2]])]))
    packet = AMQP(raw)
    packet[AMQPValue].value[1].append(3)
    assert AMQP(bytes(packet))[AMQPValue].value == [1, [2, 3]]


def test_change_leaves_other_layers_as_they_were():
    wide = encode_frame(Open(As(0xB1, "c")))
    flow = AMQP(wide + bytes(AMQP() / AMQPFlow(incoming_window=1) / b"") + wide)
    flow[AMQPFlow].incoming_window = 2
    assert bytes(flow) == wide + bytes(AMQP() / AMQPFlow(incoming_window=2)) + wide


def test_change_keeps_items_past_the_row():
    raw = bytes.fromhex("00000012 02 00 0000 005318 c005 03 40 5201 41")
    packet = AMQP(raw)
    assert bytes(packet) == raw
    packet[AMQPClose].error = AMQPError(condition="amqp:not-found")
    assert list(AMQP(bytes(packet))[AMQPClose].amqp())[1:] == [1, True]


def test_link_name_is_the_field_and_not_the_layers():
    packet = AMQP(bytes(AMQP() / AMQPAttach(name="link-1", handle=0)))
    layer = packet[AMQPAttach]
    assert layer.name == "link-1"
    layer.name = "link-2"
    assert decoded(packet).name == "link-2"
    assert "###[ attach ]###" in packet.show(dump=True)


def test_deleted_field_is_absent():
    packet = AMQP(encode_frame(Transfer(0, 1, b"x")))
    del packet[AMQPTransfer].delivery_tag
    assert decoded(packet) == Transfer(0, 1)


# Chains.


def test_units_are_chained():
    octets = bytes(AMQPHeader()) + bytes(AMQP() / AMQPOpen(container_id="c")) + bytes(AMQP())
    packet = AMQP(octets)
    assert packet.layers() == [AMQPHeader, AMQP, AMQPOpen, AMQP]
    assert packet.getlayer(AMQP, 2).payload.layers() == []


def test_chain_can_be_crafted():
    chain = AMQP() / AMQPBegin(next_outgoing_id=0) / AMQP(channel=2) / AMQPFlow(handle=1)
    alone = (
        bytes(AMQP() / AMQPBegin(next_outgoing_id=0)),
        bytes(AMQP(channel=2) / AMQPFlow(handle=1)),
    )
    assert bytes(chain) == b"".join(alone)
    assert chain.size == len(alone[0])


@pytest.mark.parametrize("count", [MAX_CHAIN, MAX_CHAIN + 1, 5000])
def test_long_chains_end_in_a_list(count):
    octets = bytes(AMQP() / AMQPDisposition(role="sender", first=1)) * count
    packet = AMQP(octets)
    assert bytes(packet) == octets
    assert len(list(units(packet))) == count
    assert (AMQPUnits in packet) is (count > MAX_CHAIN)
    assert packet.getlayer(AMQP, count) is not None
    assert packet.summary()


def test_continuation_of_a_message_is_raw():
    packet = AMQP(encode_frame(Transfer(0, more=True), payload=b"\x05middle of something"))
    assert packet[Raw].load == b"\x05middle of something"


def test_message_that_goes_on_in_another_frame_is_shown_as_far_as_it_goes():
    whole = encode_message([("amqp-value", 1), ("data", b"x" * 300)])
    packet = AMQP(encode_frame(Transfer(0, more=True), payload=whole[:100]))
    assert [type(section) for section in packet[AMQPMessage].sections] == [AMQPValue]
    assert isinstance(packet[AMQPMessage].payload, Raw)


def test_unknown_body_is_a_described_value():
    packet = AMQP(encode_frame(Described(Ulong(0x99), ["x", 1])))
    assert packet[AMQPDescribed].descriptor == 0x99
    assert packet[AMQPDescribed].value == ["x", 1]


def test_performative_inside_a_message_is_a_packet():
    raw = encode_frame(Transfer(0), payload=encode(Described(Ulong(0x77), Source("q"))))
    assert AMQP(raw)[AMQPValue].value.address == "q"


def test_padding_is_no_part_of_the_frame():
    packet = AMQP() / AMQPClose() / Padding(b"pad")
    assert bytes(packet) == bytes(AMQP() / AMQPClose()) + b"pad"


def test_session_starts_without_a_word():
    code = (
        "from scapy.all import *\n"
        "from dissectors.scapy_layers import AMQP, AMQPOpen\n"
        "print(bytes(AMQP() / AMQPOpen(container_id='c')).hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::Warning:dissectors", "-c", code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == encode_frame(Open("c")).hex()
    assert "dissectors" not in done.stderr
