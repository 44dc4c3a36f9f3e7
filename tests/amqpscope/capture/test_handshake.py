"""What a TLS handshake shows in the clear, in real ones and in odd ones."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.capture.handshake import Handshake, read_certificate
from amqpscope.capture.pieces import Pieces
from amqpscope.stream.types import CLIENT, SERVER, Tls


def facts_of(path):
    """What was seen of TLS in a capture with one connection."""
    with Pieces(str(path)) as pieces:
        found = {piece.connection for batch in pieces for piece in batch}
    [connection] = found
    assert connection.opened
    return connection.tls


def test_a_real_handshake_of_tls_1_2(root):
    tls = facts_of(root / "captures" / "v091_tls-TLSv1_2-pika-rabbitmq.pcap")
    assert (tls.hello, tls.server_name, tls.version) == ([4, 0], "localhost", 0x0303)
    assert tls.certificate.names == ["localhost"]
    assert tls.certificate.not_before < tls.quiet < tls.certificate.not_after
    assert (tls.alerts, tls.plain) == ([], [False, False])


def test_a_real_handshake_of_tls_1_3_hides_its_certificate(root):
    tls = facts_of(root / "captures" / "v10_tls-proton-rabbitmq.pcap")
    assert (tls.server_name, tls.version, tls.certificate) == ("localhost", 0x0304, None)


def hello(name, protocols):
    """The first records of a real client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(protocols)
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("size", [None, 1, 100])
def test_a_hello_is_read_however_it_is_cut_into_records(size):
    tls = Tls()
    handshake = Handshake(tls)
    message = hello("Broker.Example", ["amqp", "http/1.1"])[5:]
    for at in range(0, len(message), size or len(message)):
        part = message[at : at + (size or len(message))]
        handshake.record(CLIENT, b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part, 7)
    assert (tls.hello, tls.server_name) == ([7, 0], "broker.example")
    assert tls.alpn == ["amqp", "http/1.1"]


def test_alerts_count_while_they_are_in_the_clear():
    tls = Tls()
    handshake = Handshake(tls)
    handshake.record(SERVER, bytes.fromhex("15 03 03 00 02 02 46"), 5)
    handshake.record(SERVER, bytes.fromhex("14 03 03 00 01 01"), 6)
    handshake.record(SERVER, bytes.fromhex("15 03 03 00 02 01 00"), 7)
    assert tls.alerts == [(SERVER, 70, 5)]


@given(st.lists(st.tuples(st.sampled_from((20, 21, 22, 23)), st.binary(max_size=60)), max_size=8))
def test_any_records_are_taken(records):
    handshake = Handshake(Tls())
    for kind, body in records:
        handshake.record(CLIENT, bytes((kind, 3, 3)) + len(body).to_bytes(2, "big") + body, 1)


@given(st.integers(1, 2), st.binary(max_size=120))
def test_any_hello_is_taken(kind, body):
    record = bytes((kind,)) + len(body).to_bytes(3, "big") + body
    Handshake(Tls()).record(CLIENT, b"\x16\x03\x03" + len(record).to_bytes(2, "big") + record, 1)


@given(st.binary(max_size=80))
def test_octets_that_are_no_certificate_say_nothing(octets):
    assert read_certificate(octets) is None
