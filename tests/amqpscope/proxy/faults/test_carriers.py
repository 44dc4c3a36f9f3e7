"""Faults inside TLS and WebSocket: the same as on plain sockets."""

import json
import os
import threading

import pytest

from amqpscope.proxy import control_socket
from amqpscope.proxy.ca import load_or_make_ca
from amqpscope.proxy.faults.websocket import WebSocket, unmask
from kit.proxy.tls_peers import NOW

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
RESPONSE = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"


def upgraded():
    made = WebSocket()
    for side, head in enumerate((REQUEST, RESPONSE)):
        (piece,) = made.cut(side, head)
        assert piece.raw == head
        assert not piece.plain
    return made


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 300_000])
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_wrapped_is_taken_apart_again(side, size):
    octets = bytes(n % 251 for n in range(size))
    made = upgraded()
    wrapped = made.wrap(side, octets)
    for step in (1 << 20, 7):
        if step == 7 and size > 1000:
            continue
        found = [
            piece
            for at in range(0, len(wrapped), step)
            for piece in made.cut(side, wrapped[at : at + step])
        ]
        assert [(piece.raw, piece.payload) for piece in found] == [(wrapped, octets)]
    assert bool(wrapped[1] & 0x80) == (side == 0)


def test_pieces_pass_as_they_came_once_all_inside_them_may():
    made = upgraded()
    for payload in (b"abc", b"defg"):
        for piece in made.cut(1, made.wrap(1, payload)):
            made.keep(1, piece)
    assert made.release(1, 2) == b""
    assert made.release(1, 4) == made.wrap(1, b"abc")
    assert made.rest(1, 4) == made.wrap(1, b"d")
    assert made.unpassed_octets(1) == made.wrap(1, b"defg")


def test_all_that_was_received_and_has_not_passed_is_known_when_a_fault_acts():
    made = upgraded()
    ping = b"\x89\x80" + b"abcd"
    parts = made.wrap(0, b"half a frame"), ping, made.wrap(0, b"the rest"), made.wrap(0, b"more")
    pieces = made.take_each(0, b"".join(parts) + b"\x82")
    for _ in range(3):
        made.keep(0, next(pieces))
    assert made.rest(0, 0) == ping
    assert made.unpassed_octets(0) == b"".join(parts) + b"\x82"
    assert [piece.payload for piece in pieces] == [b"more"]


def test_a_ping_passes_between_frames():
    made = upgraded()
    ping = b"\x89\x80" + b"abcd"
    (piece,) = made.cut(0, ping)
    assert piece.raw == ping
    assert not piece.plain


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        RESPONSE[:-2] + b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
    ],
)
def test_what_cannot_be_taken_apart_passes_untouched(response):
    made = WebSocket()
    made.cut(0, REQUEST)
    octets = response + b"\x82\x05hello"
    assert b"".join(piece.raw for piece in made.cut(1, octets)) == octets
    assert b"".join(piece.raw for piece in made.cut(0, b"\x82\x01")) == b"\x82\x01"


@pytest.mark.parametrize(
    "offer",
    [
        b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n",
        b"sec-websocket-extensions: permessage-deflate,\r\n  x-other\r\n",
        b"Sec-WebSocket-Extensions: permessage-deflate\r\nSEC-WEBSOCKET-EXTENSIONS: x\r\n",
    ],
)
def test_no_extension_is_offered_to_the_upstream(offer):
    made = WebSocket()
    octets = REQUEST[:-2] + offer + b"Origin: x\r\n\r\n"
    pieces = [piece for at in range(len(octets)) for piece in made.cut(0, octets[at : at + 1])]
    assert [piece.raw for piece in pieces] == [REQUEST[:-2] + b"Origin: x\r\n\r\n"]
    assert "permessage-deflate is not offered" in made.news


def test_extensions_are_left_alone_where_there_is_no_fault():
    made = WebSocket(extended=True)
    offer = b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    for side, head in enumerate((REQUEST[:-2] + offer, RESPONSE[:-2] + offer)):
        assert b"".join(piece.raw for piece in made.cut(side, head)) == head
    assert made.refused
    assert "uses permessage-deflate: frames cannot be held" in made.news


def test_a_mask_is_its_own_contrary():
    assert unmask(unmask(b"hello", b"abcd"), b"abcd") == b"hello"
    assert unmask(b"\x00\x00\x00\x00\x00", b"abcd") == b"abcda"


@pytest.mark.parametrize(("near", "far"), [("amqps", "amqps"), ("ws", "ws"), ("wss", "wss")])
@pytest.mark.parametrize(
    ("rule", "transfers"),
    [
        ("transfer && from == client => delay 30ms times=3", "equal"),
        ("transfer && from == server => duplicate times=1", "more"),
    ],
)
def test_a_client_and_a_broker_go_on_behind_a_fault(
    carried, proxy, config, amqpscope, tmp_path, near, far, rule, transfers
):
    recording = tmp_path / "run.pcapng"
    ca = load_or_make_ca(config, NOW).path
    command = proxy(
        carried.url(far), "--cafile", carried.certified.ca, "--write", recording, "--no-tui",
        "--fault", rule,
    )  # fmt: skip
    url = f"{near}://localhost:{command.address[1]}"
    digest = carried.exchange(url, ca, f"{near}-{transfers}")
    assert (digest == carried.direct(near)) == (transfers == "equal")
    assert command.end() == 0
    declined = any("permessage-deflate is not offered" in line for line in command.said)
    assert declined == near.startswith("ws")
    assert any("acted on" in line and "acted on 0" not in line for line in command.said)
    read = amqpscope("read", "--format", "jsonl", recording)
    frames = [json.loads(line) for line in read.stdout.splitlines()]
    assert {frame["connection"] for frame in frames} == {1, 2}
    assert not [frame for frame in frames if frame["kind"] == "malformed"]


@pytest.mark.parametrize("scheme", ["amqps", "wss"])
def test_frames_are_held_and_resumed_inside_tls_and_websocket(
    carried, proxy, config, tmp_path, monkeypatch, scheme
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ca = load_or_make_ca(config, NOW).path
    command = proxy(
        carried.url(scheme), "--cafile", carried.certified.ca, "--no-tui", "--fault",
        "transfer || disposition => hold", env={**os.environ},
    )  # fmt: skip
    port, done, held = command.address[1], threading.Event(), []

    def resume():
        while not done.wait(0.01):
            question = {"do": "decide", "number": "all", "action": "resume"}
            held.extend(control_socket.ask(str(port), question)["decided"])

    person = threading.Thread(target=resume)
    person.start()
    try:
        digest = carried.exchange(f"{scheme}://localhost:{port}", ca, f"{scheme}-held")
    finally:
        done.set()
        person.join()
    assert digest == carried.direct(scheme)
    assert len(held) > 1
    assert command.end() == 0
