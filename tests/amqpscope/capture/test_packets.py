"""Packets taken apart: each link type, tags, IP with options, fragments and extension headers."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP, IPOption_Router_Alert, fragment
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import ARP, Dot1Q, Ether

from amqpscope.capture import packets
from amqpscope.capture.packets import Packets

TCP_PART = TCP(sport=40000, dport=5672, seq=7, ack=9, flags="PA", window=321)
IPV4 = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / TCP_PART / b"hello")
IPV6 = bytes(IPv6(src="::1", dst="::2") / TCP_PART / b"hello")
KEY4 = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + struct.pack(">HH", 40000, 5672)
KEY6 = bytes(15) + b"\x01" + bytes(15) + b"\x02" + struct.pack(">HH", 40000, 5672)
MACS = bytes(12)


def read(data, link=packets.RAW, captured=None, reader=None):
    """The segment of one packet, with other octets around it as in a block of a file."""
    data = bytes(data)
    end = len(data) if captured is None else captured
    block = b"\xff" * 3 + data[:end] + b"\x45" * 70
    return (reader or Packets()).segment(link, 5, block, 3, 3 + end, 3 + len(data))


def skipped(data, link=packets.RAW, captured=None):
    reader = Packets()
    assert read(data, link, captured, reader) is None
    assert reader.count == 1
    (reason,) = reader.skipped
    return reason


@pytest.mark.parametrize(
    ("link", "header4", "header6"),
    [
        (packets.ETHERNET, MACS + b"\x08\x00", MACS + b"\x86\xdd"),
        (packets.LINUX_SLL, bytes(14) + b"\x08\x00", bytes(14) + b"\x86\xdd"),
        (packets.LINUX_SLL2, b"\x08\x00" + bytes(18), b"\x86\xdd" + bytes(18)),
        (packets.NULL, b"\x02\0\0\0", b"\x0a\0\0\0"),
        (packets.NULL, b"\0\0\0\x02", b"\0\0\0\x18"),
        (packets.NULL, b"\x02\0\0\0", b"\x1c\0\0\0"),
        (packets.LOOP, b"\0\0\0\x02", b"\0\0\0\x1e"),
        (packets.RAW, b"", b""),
        (packets.RAW_BSD, b"", b""),
        (packets.RAW_OPENBSD, b"", b""),
    ],
)
def test_segment_on_each_link_type(link, header4, header6):
    for data, key in ((header4 + IPV4, KEY4), (header6 + IPV6, KEY6)):
        segment = read(data, link)
        assert (segment.packet, segment.time, segment.key) == (1, 5, key)
        assert (segment.seq, segment.ack, segment.flags, segment.window) == (7, 9, 0x18, 321)
        assert (segment.payload, segment.missing) == (b"hello", 0)


def test_raw_ipv4_and_raw_ipv6_have_link_types_of_their_own():
    assert read(IPV4, packets.RAW_IPV4).key == KEY4
    assert read(IPV6, packets.RAW_IPV6).key == KEY6


@pytest.mark.parametrize("tags", [(0x8100,), (0x88A8, 0x8100), (0x9100, 0x8100, 0x8100)])
def test_any_stack_of_vlan_tags_is_passed(tags):
    packet = Ether(type=tags[0])
    for following in (*tags[1:], 0x0800):
        packet /= Dot1Q(vlan=5, type=following)
    assert read(bytes(packet) + IPV4, packets.ETHERNET).payload == b"hello"


def test_ethernet_padding_is_no_payload():
    segment = read(MACS + b"\x08\x00" + IPV4 + bytes(13), packets.ETHERNET)
    assert (segment.payload, segment.missing) == (b"hello", 0)


def test_ip_and_tcp_options_are_passed():
    tcp = TCP(sport=40000, dport=5672, options=[("Timestamp", (1, 2))])
    header = IP(src="10.0.0.1", dst="10.0.0.2", options=[IPOption_Router_Alert()])
    segment = read(header / tcp / b"hello")
    assert (segment.key, segment.payload) == (KEY4, b"hello")


def test_length_zero_of_segmentation_offload_means_to_the_end():
    assert read(IP(len=0) / TCP() / b"much").payload == b"much"
    assert read(IPv6(plen=0) / TCP() / b"much").payload == b"much"


@pytest.mark.parametrize("data", [IPV4, IPV6])
def test_snap_length_tells_how_much_payload_is_missing(data):
    segment = read(data, captured=len(data) - 3)
    assert (segment.payload, segment.missing) == (b"he", 3)


def test_snap_length_inside_the_tcp_options_leaves_no_payload():
    data = bytes(IP() / TCP(options=[("Timestamp", (1, 2))]) / b"hello")
    segment = read(data, captured=20 + 24)
    assert (segment.payload, segment.missing) == (b"", 5)


def test_ip_length_beyond_the_packet_is_no_cut():
    segment = read(IP(len=500) / TCP() / b"hello")
    assert (segment.payload, segment.missing) == (b"hello", 0)


def test_ipv6_extension_headers_are_passed():
    chain = IPv6(src="::1", dst="::2") / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting()
    chain /= IPv6ExtHdrDestOpt() / AH(icv=bytes(12)) / IPv6ExtHdrFragment(m=0, offset=0)
    assert read(chain / TCP_PART / b"hello").key == KEY6


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 1, 2, 0)])
def test_ipv4_fragments_are_put_together(order):
    parts = fragment(IP(IPV4[:20]) / TCP_PART / bytes(range(250)), fragsize=104)
    reader = Packets()
    segments = [read(parts[i], reader=reader) for i in order]
    assert segments[:-1] == [None] * (len(order) - 1)
    assert segments[-1].payload == bytes(range(250))
    assert segments[-1].packet == len(order)
    assert reader.skipped == {}


def test_ipv6_fragments_are_put_together():
    whole = IPV6[40:] + bytes(range(100))
    ip = IPv6(src="::1", dst="::2")
    reader = Packets()
    first = ip / IPv6ExtHdrFragment(m=1, offset=0, nh=6, id=9) / whole[:64]
    last = ip / IPv6ExtHdrFragment(m=0, offset=8, nh=6, id=9) / whole[64:]
    assert read(last, reader=reader) is None
    segment = read(first, reader=reader)
    assert (segment.key, segment.payload) == (KEY6, b"hello" + bytes(range(100)))


@pytest.mark.parametrize(
    ("data", "link", "reason"),
    [
        (Ether() / ARP(), packets.ETHERNET, packets.NOT_IP),
        (IP() / UDP(), packets.RAW, packets.NOT_TCP),
        (IPv6() / UDP(), packets.RAW, packets.NOT_TCP),
        (IPv6(nh=59), packets.RAW, packets.NOT_TCP),
        (IPV4, 127, "link type 127"),
        (IP(len=19) / TCP(), packets.RAW, packets.MALFORMED),
        (IP(ihl=4) / TCP(), packets.RAW, packets.MALFORMED),
        (IP() / TCP(dataofs=4), packets.RAW, packets.MALFORMED),
        (IP() / TCP(dataofs=9), packets.RAW, packets.MALFORMED),
        (IP(len=30) / TCP(), packets.RAW, packets.MALFORMED),
        (b"", packets.RAW, packets.CUT_OFF),
        (b"\x00" * 5, packets.RAW, packets.NOT_IP),
    ],
)
def test_other_packets_are_counted_under_the_reason(data, link, reason):
    assert skipped(data, link) == reason


@pytest.mark.parametrize("captured", [0, 13, 14, 33, 34, 53])
def test_headers_cut_off_by_the_snap_length(captured):
    assert skipped(MACS + b"\x08\x00" + IPV4, packets.ETHERNET, captured) == packets.CUT_OFF


def test_packet_with_nothing_behind_its_address_family_is_no_ip():
    assert skipped(b"\0\0\0\x07" + IPV4, packets.NULL) == packets.NOT_IP


@given(
    st.sampled_from([0, 1, 12, 108, 113, 276, 228, 229, 500]),
    st.sampled_from([b"", MACS + b"\x08\x00", MACS + b"\x86\xdd", MACS + b"\x81\x00"]),
    st.binary(max_size=90),
)
def test_any_octets_give_a_segment_inside_the_packet_or_a_reason(link, head, tail):
    reader = Packets()
    segment = read(head + tail, link, reader=reader)
    assert reader.count == 1
    if segment is not None:
        assert segment.missing == 0
        assert segment.payload in head + tail
