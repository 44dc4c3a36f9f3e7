"""pcap and pcapng records: byte orders, clocks, blocks, damage."""

import struct

import pytest
from scapy.layers.inet import IP, TCP

from amqpscope.capture.formats import MAX_RECORD, MAX_TIME, Damage, Pcap, Pcapng
from amqpscope.capture.packets import Packets

PACKET = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2) / b"hello")
RAW = 101


def pcap(order="<", magic=0xA1B2C3D4, link=RAW):
    return struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)


def record(data=PACKET, order="<", seconds=3, ticks=4, original=None, extra=b""):
    original = len(data) if original is None else original
    return struct.pack(order + "IIII", seconds, ticks, len(data), original) + extra + data


class Writer:
    """Blocks of a pcapng section in one byte order."""

    def __init__(self, order="<"):
        self.order = order

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def block(self, kind, body):
        body += bytes(-len(body) % 4)
        size = self.pack("I", len(body) + 12)
        return self.pack("I", kind) + size + body + size

    def section(self):
        return self.block(0x0A0D0D0A, self.pack("IHHq", 0x1A2B3C4D, 1, 0, -1))

    def option(self, code, value):
        return self.pack("HH", code, len(value)) + value + bytes(-len(value) % 4)

    def interface(self, *options, link=RAW, snaplen=0):
        return self.block(1, self.pack("HHI", link, 0, snaplen) + b"".join(options))

    def packet(self, ticks=0, data=PACKET, number=0, original=None, options=b""):
        original = len(data) if original is None else original
        head = self.pack("IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), original)
        return self.block(6, head + data + bytes(-len(data) % 4) + options)

    def simple(self, data=PACKET, original=None):
        return self.block(3, self.pack("I", original or len(data)) + data)


BOTH = [Writer("<"), Writer(">")]
LITTLE = Writer("<")


def taken(form, data):
    """The segments of a whole file, which must be the same in two halves as at once."""
    halves = []
    secrets = []
    reader = form(Packets(), secrets)
    rest = reader.take(data[: len(data) // 2], halves)
    assert reader.take(data[rest:], halves) == len(data) - rest
    segments = []
    assert form(Packets(), []).take(data, segments) == len(data)
    assert [vars_of(s) for s in halves] == [vars_of(s) for s in segments]
    return segments


def vars_of(segment):
    return (segment.packet, segment.time, segment.key, segment.seq, segment.payload)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("magic", "extra", "time"),
    [
        (0xA1B2C3D4, b"", 3000004000),
        (0xA1B23C4D, b"", 3000000004),
        (0xA1B2CD34, bytes(8), 3000004000),
    ],
)
def test_pcap_in_each_byte_order_and_clock(order, magic, extra, time):
    data = pcap(order, magic) + 2 * record(order=order, extra=extra)
    segments = taken(Pcap, data)
    assert [(s.packet, s.time, s.payload) for s in segments] == [
        (1, time, b"hello"),
        (2, time, b"hello"),
    ]


def test_pcap_link_type_ignores_the_frame_check_bits():
    assert len(taken(Pcap, pcap(link=RAW | 0x14000000) + record())) == 1


def test_pcap_record_cut_by_the_snap_length():
    (segment,) = taken(Pcap, pcap() + record(PACKET[:-2], original=len(PACKET)))
    assert (segment.payload, segment.missing) == (b"hel", 2)


def test_pcap_original_length_below_the_captured_one_is_not_believed():
    (segment,) = taken(Pcap, pcap() + record(original=0))
    assert (segment.payload, segment.missing) == (b"hello", 0)


def test_pcap_record_of_insane_length_is_damage():
    out = []
    data = pcap() + record() + struct.pack("<IIII", 0, 0, MAX_RECORD + 1, 0)
    with pytest.raises(Damage) as caught:
        Pcap(Packets(), []).take(data, out)
    assert caught.value.at == 24 + len(record())
    assert len(out) == 1


@pytest.mark.parametrize("data", [pcap()[:10], pcap() + record()[:5], pcap() + record()[:-1]])
def test_pcap_says_what_it_needs(data):
    reader = Pcap(Packets(), [])
    at = reader.take(data, [])
    assert reader.need > len(data) - at


@pytest.mark.parametrize("w", BOTH)
def test_pcapng_enhanced_packet(w):
    (segment,) = taken(Pcapng, w.section() + w.interface() + w.packet(3000004))
    assert (segment.packet, segment.time, segment.payload) == (1, 3000004000, b"hello")


@pytest.mark.parametrize("w", BOTH)
def test_pcapng_obsolete_packet(w):
    body = w.pack("HHIIII", 0, 7, 0, 5, len(PACKET), len(PACKET)) + PACKET
    (segment,) = taken(Pcapng, w.section() + w.interface() + w.block(2, body))
    assert (segment.time, segment.payload) == (5000, b"hello")


@pytest.mark.parametrize("w", BOTH)
def test_pcapng_simple_packet_has_the_time_of_the_one_before(w):
    data = w.section() + w.interface() + w.packet(5) + w.simple()
    assert [s.time for s in taken(Pcapng, data)] == [5000, 5000]


def test_pcapng_simple_packet_is_cut_at_the_interface_snap_length():
    w = LITTLE
    cut = w.simple(PACKET[:43], original=len(PACKET))
    (segment,) = taken(Pcapng, w.section() + w.interface(snaplen=43) + cut)
    assert (segment.payload, segment.missing) == (b"hel", 2)


@pytest.mark.parametrize("w", BOTH)
@pytest.mark.parametrize(
    ("resolution", "ticks", "time"),
    [
        (0, 7, 7000000000),
        (3, 1500, 1500000000),
        (6, 7, 7000),
        (9, 7, 7),
        (12, 7999, 7),
        (0x80, 2, 2000000000),
        (0x80 | 10, 512, 500000000),
        (0x80 | 32, 3 << 31, 1500000000),
    ],
)
def test_pcapng_clock_in_powers_of_ten_and_two(w, resolution, ticks, time):
    interface = w.interface(w.option(9, bytes([resolution])), w.option(0, b""))
    (segment,) = taken(Pcapng, w.section() + interface + w.packet(ticks))
    assert segment.time == time


@pytest.mark.parametrize("w", BOTH)
def test_pcapng_time_offset_in_seconds(w):
    interface = w.interface(w.option(1, b"a comment"), w.option(14, w.pack("q", 100)))
    (segment,) = taken(Pcapng, w.section() + interface + w.packet(1))
    assert segment.time == 100000001000


@pytest.mark.parametrize(("offset", "time"), [(-(1 << 62), 0), (1 << 62, MAX_TIME)])
def test_pcapng_absurd_clock_stays_within_bounds(offset, time):
    w = LITTLE
    interface = w.interface(w.option(14, w.pack("q", offset)), w.option(9, b"\x7f"))
    (segment,) = taken(Pcapng, w.section() + interface + w.packet(1))
    assert segment.time == time


def test_pcapng_sections_have_their_own_byte_order_and_interfaces():
    little, big = BOTH
    data = little.section() + little.interface(link=1) + little.interface()
    data += little.packet(1, number=1)
    data += big.section() + big.interface() + big.packet(2)
    assert [(s.packet, s.time) for s in taken(Pcapng, data)] == [(1, 1000), (2, 2000)]


def test_pcapng_comments_and_unknown_blocks_are_passed():
    w = LITTLE
    comment = w.option(1, b"look at this") + w.option(0, b"")
    data = w.section() + w.block(0x0BAD, b"custom") + w.interface() + w.block(5, bytes(12))
    (segment,) = taken(Pcapng, data + w.packet(options=comment))
    assert segment.payload == b"hello"


def test_pcapng_packet_of_an_undescribed_interface_is_counted():
    w = LITTLE
    packets = Packets()
    out = []
    Pcapng(packets, []).take(w.section() + w.packet() + w.interface() + w.packet(), out)
    assert packets.skipped == {"interface without a description": 1}
    assert [s.packet for s in out] == [2]


@pytest.mark.parametrize("w", BOTH)
def test_pcapng_tls_secrets_are_collected(w):
    secrets = []
    keys = b"CLIENT_RANDOM aa bb\n"
    other = w.block(10, w.pack("II", 0x57474B4C, 4) + b"wire")
    block = w.block(10, w.pack("II", 0x544C534B, len(keys)) + keys)
    Pcapng(Packets(), secrets).take(w.section() + other + block, [])
    assert secrets == [keys]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (LITTLE.pack("III", 6, 8, 0), "a block of 8 octets"),
        (LITTLE.pack("III", 6, 13, 0), "a block of 13 octets"),
        (LITTLE.pack("III", 6, MAX_RECORD + 4, 0), "a block of 16777220 octets"),
        (LITTLE.pack("III", 6, 12, 16), "ends with the length 16"),
        (LITTLE.block(6, bytes(8)), "needs 28 octets has 16"),
        (LITTLE.block(6, LITTLE.pack("IIIII", 0, 0, 0, 9, 9)), "needs 37 octets has 28"),
        (LITTLE.block(3, b""), "needs 12 octets has 8"),
        (LITTLE.block(3, LITTLE.pack("I", 9)), "needs 21 octets has 12"),
        (LITTLE.block(2, bytes(4)), "needs 28 octets has 12"),
        (LITTLE.block(1, bytes(4)), "needs 16 octets has 12"),
        (b"\x0a\x0d\x0d\x0a" + bytes(8), "byte-order magic 00 00 00 00"),
    ],
)
def test_pcapng_damage_is_told_with_its_place(bad, message):
    w = LITTLE
    good = w.section() + w.interface() + w.packet()
    out = []
    with pytest.raises(Damage, match=message) as caught:
        Pcapng(Packets(), []).take(good + bad, out)
    assert caught.value.at == len(good)
    assert len(out) == 1
