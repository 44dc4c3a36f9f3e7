"""The PROXY protocol, in both versions and both directions."""

import socket
import struct

import pytest

from amqpscope.capture.pieces import Pieces
from amqpscope.proxy.clock import Limits
from amqpscope.proxy.proxy_header import HeaderError, parse_header, write_header
from kit.proxy.relaying import receive, receive_all, was_reset

SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
V4 = (("192.0.2.7", 40_000), ("198.51.100.1", 5672))
V6 = (("2001:db8::7", 40_000), ("2001:db8::1", 5672))


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("addresses", [V4, V6])
def test_what_is_written_is_read_again_octet_by_octet(version, addresses):
    octets = write_header(version, *addresses)
    assert parse_header(octets + b"AMQP") == (*addresses, len(octets))
    assert all(parse_header(octets[:size]) is None for size in range(len(octets)))


def test_a_header_as_others_write_it():
    line = b"PROXY TCP4 192.0.2.7 198.51.100.1 40000 5672\r\n"
    assert write_header("v1", *V4) == line
    ours = struct.pack(">4s4sHH", bytes((192, 0, 2, 7)), bytes((198, 51, 100, 1)), 40_000, 5672)
    assert write_header("v2", *V4) == SIGNATURE + b"\x21\x11\x00\x0c" + ours
    # TLVs behind the addresses.
    longer = SIGNATURE + b"\x21\x11\x00\x10" + ours + b"\x04\x00\x01x"
    assert parse_header(longer) == (*V4, len(longer))


@pytest.mark.parametrize(
    "octets",
    [b"PROXY UNKNOWN\r\n", SIGNATURE + b"\x20\x00\x00\x00", SIGNATURE + b"\x21\x31\x00\x02ab"],
)
def test_a_header_that_says_nothing_of_the_client(octets):
    assert parse_header(octets) == (None, None, len(octets))


@pytest.mark.parametrize(
    "octets",
    [
        b"AMQP",
        b"PROXY TCP4 192.0.2.7 198.51.100.1 40000\r\n",
        b"PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
        b"PROXY TCP4 192.0.2.7 198.51.100.1 70000 1\r\n",
        b"PROXY TCP4 192.0.2.7 198.51.100.1 -1 1\r\n",
        b"PROXY TCP5 a b 1 2\r\n",
        b"PROXY " + b"x" * 200,
        SIGNATURE + b"\x11\x11\x00\x00",
        SIGNATURE + b"\x21\x11\x00\x04abcd",
        SIGNATURE + b"\x21\x11\xff\xff",
    ],
)
def test_no_header(octets):
    with pytest.raises(HeaderError):
        parse_header(octets)


def recorded_clients(path):
    with Pieces(str(path)) as pieces:
        return {piece.connection.client for batch in pieces for piece in batch}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_address_in_the_header_is_recorded_and_passed_on(relay, server, version):
    size = len(write_header(version, *V6))

    def handler(peer):
        peer.sendall(receive(peer, size + 5))

    near = relay(server(handler), accept_proxy=True, send_proxy=version)
    with near.connect() as client:
        client.sendall(write_header("v1", *V6) + b"hello")
        assert receive_all(client) == write_header(version, *V6) + b"hello"
    near.settle()
    near.stop()
    assert recorded_clients(near.path) == {V6[0]}


def test_without_a_header_of_the_client_the_upstream_gets_its_own_address(relay, server):
    near = relay(server(lambda peer: peer.sendall(peer.recv(200))), send_proxy="v1")
    with near.connect() as client:
        own, other = client.getsockname(), client.getpeername()
        expected = f"PROXY TCP4 127.0.0.1 127.0.0.1 {own[1]} {other[1]}\r\n"
        assert receive_all(client).decode() == expected


def test_a_client_without_a_header_is_turned_away(relay, server):
    near = relay(server(), accept_proxy=True, limits=Limits(connect=0.3))
    with near.connect() as client, near.connect() as silent:
        client.sendall(b"AMQP\x00\x01\x00\x00")
        assert was_reset(client)
        assert was_reset(silent)
        ports = [each.getsockname()[1] for each in (client, silent)]
    near.settle()
    assert near.watch.new_lines() == [
        f"client 127.0.0.1:{ports[0]}: sent no PROXY header (--accept-proxy)",
        f"client 127.0.0.1:{ports[1]}: no PROXY header for 0.3 s (--connect-timeout)",
    ]


def test_a_header_in_pieces_and_a_client_that_leaves(relay, server):
    near = relay(server(), accept_proxy=True)
    with near.connect() as gone:
        gone.sendall(b"PROXY TCP4")
    with near.connect() as client:
        for octet in write_header("v2", *V4):
            client.sendall(bytes((octet,)))
        client.sendall(b"hello")
        client.shutdown(socket.SHUT_WR)
        assert receive_all(client) == b"hello"
