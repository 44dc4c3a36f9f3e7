"""The door to scapy: the classes of both families, told apart on one port."""

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession
from scapy.utils import wrpcap

from dissectors import scapy_layers
from dissectors.notation import parse
from dissectors.scapy_layers import AMQP, AMQP091, AMQPHeader, AMQPOpen, BasicPublish, units

OPENED = parse("header AMQP 1.0.0") + parse('open container-id="c"')
PUBLISHED = parse('basic.publish[1] exchange="x" routing-key="k"') + parse('content-body[1] "x"')


def segment(octets):
    """A segment to the port of AMQP, dissected."""
    return TCP(bytes(TCP(sport=40000, dport=5672) / Raw(octets)))


def test_each_family_has_its_layers_on_the_port():
    assert AMQPOpen in segment(OPENED)
    assert BasicPublish in segment(PUBLISHED)
    assert AMQPHeader not in segment(PUBLISHED)


@pytest.mark.parametrize("octets", [OPENED, PUBLISHED])
def test_units_are_listed_in_either_family(octets):
    found = list(units(segment(octets)))
    assert len(found) == 2
    assert bytes(found[0]) == octets


def test_a_session_finds_frames_cut_anywhere(tmp_path):
    packets = [
        Ether() / IP() / TCP(sport=sport, dport=dport, seq=1 + at, flags="A") / Raw(part)
        for sport, dport, data in ((40000, 5672, OPENED), (5672, 40000, OPENED))
        for at in range(0, len(data), 7)
        if (part := data[at : at + 7])
    ]
    wrpcap(str(tmp_path / "a.pcap"), packets)
    found = sniff(offline=str(tmp_path / "a.pcap"), session=TCPSession)
    assert sum(AMQPOpen in packet for packet in found) == 2


def test_the_port_can_be_left_to_1_0():
    scapy_layers.unbind()
    try:
        left, opened = segment(PUBLISHED), segment(OPENED)
    finally:
        scapy_layers.bind()
    assert bytes(left[Raw]) == PUBLISHED
    assert AMQPOpen in opened


@pytest.mark.parametrize("frame", [AMQP, AMQP091])
def test_a_crafted_segment_goes_to_the_amqp_port(frame):
    made = TCP() / frame()
    assert 5672 in (made.sport, made.dport)


def test_the_classes_of_both_families_are_exported():
    assert {"AMQP", "AMQPTransfer", "AMQP091", "BasicPublish"} <= set(scapy_layers.__all__)
    assert all(hasattr(scapy_layers, name) for name in scapy_layers.__all__)
