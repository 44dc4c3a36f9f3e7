import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.proxy.sniff import (
    IN_BAND_TLS_HEADER,
    MAX_HELLO,
    TAIL,
    Kind,
    Opening,
    is_closed,
    may_be_anything,
    sniff,
)
from dissectors.notation import parse


def hello(name=None, alpn=()):
    """The ClientHello that Python's ssl sends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if alpn:
        context.set_alpn_protocols(alpn)
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    return out.read()


def in_records(octets, size):
    """The same handshake message in records of another size."""
    message = octets[5:]
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2) + part for part in parts)


@pytest.mark.parametrize(
    ("octets", "kind"),
    [
        (b"AMQP\x00\x01\x00\x00", Kind.AMQP),
        (b"AMQP\x03\x01\x00\x00", Kind.AMQP),
        (b"AMQP\x00\x00\x09\x01", Kind.AMQP),
        (b"AMQP\x00", Kind.AMQP),
        (b"AMQP\x02\x02", Kind.AMQP),
        (IN_BAND_TLS_HEADER, Kind.IN_BAND_TLS),
        (IN_BAND_TLS_HEADER + b"\x16\x03", Kind.IN_BAND_TLS),
        (b"GET / HTTP/1.1\r\n", Kind.HTTP),
        (b"G", Kind.HTTP),
        (b"\x00", Kind.OTHER),
        (b"\x16\x04", Kind.OTHER),
        (b"AMQQ", Kind.OTHER),
    ],
)
def test_first_octets_tell_the_kind(octets, kind):
    assert sniff(octets) == Opening(kind)


@pytest.mark.parametrize("octets", [b"", b"A", b"AMQP", b"AMQP\x02\x01\x00", b"\x16", b"\x16\x03"])
def test_too_few_octets_are_not_judged(octets):
    assert sniff(octets) is None


@pytest.mark.parametrize(
    ("name", "alpn"), [("broker.example", ["amqp", "http/1.1"]), ("a", []), (None, ["h2"])]
)
def test_client_hello_tells_host_and_protocols(name, alpn):
    assert sniff(hello(name, alpn)) == Opening(Kind.TLS, name or "", tuple(alpn))


def test_client_hello_is_judged_when_complete_and_not_before():
    octets = hello("broker.example")
    assert [sniff(octets[:size]) for size in range(len(octets))] == [None] * len(octets)
    assert sniff(octets + b"more") == Opening(Kind.TLS, "broker.example")


@pytest.mark.parametrize("size", [1, 3, 100])
def test_client_hello_in_many_records(size):
    octets = in_records(hello("broker.example"), size)
    assert sniff(octets) == Opening(Kind.TLS, "broker.example")
    assert sniff(octets[:-1]) is None


def test_an_endless_client_hello_is_not_waited_for():
    octets = b"\x16\x03\x01\x00\x04\x01\xff\xff\xff"
    assert sniff(octets) == Opening(Kind.OTHER)
    part = b"\x16\x03\x01\x00\x01\x00"
    dripping = b"\x16\x03\x01\x00\x04\x01\x00\xff\xff" + part * (MAX_HELLO // len(part))
    assert sniff(dripping) == Opening(Kind.OTHER)


@pytest.mark.parametrize("at", [9, 10, 11, 30, 42])
def test_a_client_hello_with_another_version_or_random_is_still_tls(at):
    octets = bytearray(hello("broker.example", ["amqp"]))
    octets[at] ^= 0xFF
    assert sniff(octets).kind is Kind.TLS


@pytest.mark.parametrize(
    "octets",
    [
        b"\x16\x03\x05",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff\x01",
        b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\x16\x03\x01\x00\x06\x01\x00\x01\x00\x00\x00hello",
        b"\x16\x03 are the first octets of something else",
    ],
)
def test_what_is_no_client_hello_is_not_tls(octets):
    assert sniff(octets) == Opening(Kind.OTHER)


@pytest.mark.parametrize("broken", [43, 76, 77])
def test_a_client_hello_whose_lengths_do_not_fit_is_not_tls(broken):
    octets = bytearray(hello("broker.example", ["amqp"]))
    octets[broken] ^= 0xFF
    assert sniff(octets) == Opening(Kind.OTHER)


@pytest.mark.parametrize(
    ("octets", "anything"),
    [
        (b"", False),
        (b"A", True),
        (b"AMQP\x02\x01\x00", True),
        (b"\x16", True),
        (b"\x16\x03\x01\x02", True),
        (b"\x16\x03\x01\x02\x00\x01", False),
    ],
)
def test_a_beginning_too_short_to_be_more_likely_tls(octets, anything):
    assert sniff(octets) is None
    assert may_be_anything(octets) is anything


@given(st.binary(max_size=200))
def test_any_octets_are_judged_without_an_error(octets):
    sniff(octets)
    sniff(b"\x16\x03\x01" + len(octets).to_bytes(2) + b"\x01" + octets)


@pytest.mark.parametrize(
    ("client", "server", "closed"),
    [
        ("close", "close", True),
        ("close", 'close error=error(condition=:amqp:connection:forced description="bye")', True),
        ("close", "flow next-incoming-id=0", False),
        ("connection.close-ok", "connection.close reply-code=320", True),
        ("connection.close reply-code=200", "connection.close-ok", True),
        ("connection.close reply-code=200", "basic.ack delivery-tag=1", False),
    ],
)
def test_an_orderly_close_is_known_by_the_last_octets(client, server, closed):
    tails = [(b"x" * 70 + parse(text, "0-9-1-rabbit"))[-TAIL:] for text in (client, server)]
    assert is_closed(*tails) == closed
    assert not is_closed(b"", tails[1] + b"\0")
