"""TLS through the relay itself: real sockets, real peers, and what the recording holds."""

import contextlib
import json
import socket
import ssl
import subprocess
import threading
import time

import pytest

from amqpscope.proxy.ca import load_or_make_ca
from amqpscope.proxy.sniff import IN_BAND_TLS_HEADER
from amqpscope.proxy.tls_policy import TlsOptions
from dissectors.notation import parse
from kit.proxy import tls_peers
from kit.proxy.relaying import PATIENCE, digest, echo, memory, noise, receive, receive_all, talks
from kit.proxy.tls_peers import NOW, VERSIONS, Certified

HEADER = b"AMQP\x00\x01\x00\x00"
OPEN = bytes.fromhex("0000001c02000000 005310 c00f02 a10163 a1096c6f63616c686f7374")


@pytest.fixture
def broker(tmp_path):
    return Certified(tmp_path, "localhost", "127.0.0.1")


@pytest.fixture
def secured(server, broker):
    """Start a TLS server; `in_band` lets AMQP's header come first."""

    def start(handler=echo, version=None, in_band=False, keylog=None):
        context = tls_peers.server(broker, version)
        context.keylog_filename = keylog

        def serve(peer):
            if in_band:
                assert receive(peer, 8) == IN_BAND_TLS_HEADER
                peer.sendall(IN_BAND_TLS_HEADER)
            peer.settimeout(PATIENCE)
            with context.wrap_socket(peer, server_side=True) as tls:
                handler(tls)

        return server(serve)

    return start


@pytest.fixture
def wrapped(config):
    """Speak TLS on a socket, trusting the local CA."""

    def wrap(peer, version=None, name="localhost"):
        ca = load_or_make_ca(config, NOW).path
        return tls_peers.client(ca, version).wrap_socket(peer, server_hostname=name)

    return wrap


def upstream(broker, **more):
    """TLS toward 127.0.0.1, verified."""
    given = {"upstream_tls": True, "upstream_host": "127.0.0.1", "cafile": str(broker.ca)}
    return TlsOptions(**{**given, **more})


def only_talk(relayed):
    relayed.settle()
    relayed.stop()
    (talk,) = talks(relayed.path).values()
    return talk


def tls_echo(peer):
    """Answer with the same octets until close_notify, then close."""
    while octets := peer.recv(1 << 16):
        peer.sendall(octets)
    with contextlib.suppress(OSError):
        peer.unwrap()


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("sides", ["tls-plain", "plain-tls", "tls-tls"])
def test_octets_come_back_unchanged_and_are_recorded(
    relay, server, secured, wrapped, broker, sides, version
):
    near, far = sides.split("-")
    said = HEADER + noise(3_000_000)

    def answer(peer):
        peer.sendall(receive(peer, len(said)))

    if far == "tls":
        behind, tls = secured(answer, version), upstream(broker)
    else:
        behind, tls = server(answer), TlsOptions()
    relayed = relay(f"amqps://{behind}" if far == "tls" else behind, tls=tls)
    with relayed.connect() as plain:
        peer = wrapped(plain, version) if near == "tls" else plain
        peer.sendall(said)
        heard = receive(peer, len(said))
        peer.close()
    assert digest(heard) == digest(said)
    talk = only_talk(relayed)
    assert [digest(octets) for octets in talk.octets] == [digest(said)] * 2


def test_nothing_goes_to_a_tls_upstream_in_the_clear(relay, server, broker):
    """The client speaks at once; a server that never answers must have seen a ClientHello."""
    seen = []

    def listen(peer):
        seen.append(peer.recv(1 << 16))
        peer.recv(1)

    relayed = relay(f"amqps://{server(listen)}", tls=upstream(broker))
    for _ in range(50):
        with relayed.connect() as peer:
            peer.sendall(HEADER)
            while not seen:
                pass
            assert seen.pop()[:1] == b"\x16"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("sides", ["tls-plain", "plain-tls"])
def test_an_answer_after_the_clients_end_comes_through(
    relay, server, secured, config, broker, sides, version
):
    """Half-closed TLS: Python's own sockets cannot read on, so the client is a `Peer`."""
    answer = noise(300_000)

    def late(peer):
        heard = b""
        while octets := peer.recv(1 << 16):
            heard += octets
        peer.sendall(heard + answer)
        with contextlib.suppress(OSError):
            peer.unwrap() if isinstance(peer, ssl.SSLSocket) else peer.shutdown(socket.SHUT_WR)

    if sides == "plain-tls":
        relayed = relay(f"amqps://{secured(late, version)}", tls=upstream(broker))
        with relayed.connect() as peer:
            peer.sendall(HEADER)
            peer.shutdown(socket.SHUT_WR)
            heard = receive_all(peer)
    else:
        relayed = relay(server(late), tls=TlsOptions())
        heard = ask_and_hang_up(relayed, load_or_make_ca(config, NOW).path, version)
    assert heard == HEADER + answer
    talk = only_talk(relayed)
    assert talk.octets == [HEADER, HEADER + answer]
    assert talk.ends == ["fin", "fin"]


def ask_and_hang_up(relayed, ca, version):
    """Send the header and close_notify over TLS, then read all."""
    peer = tls_peers.Peer(tls_peers.client(ca, version), "localhost")
    with relayed.connect() as wire:
        wire.sendall(peer.turn(b""))
        while not peer.done:
            wire.sendall(peer.turn(wire.recv(1 << 16)))
        peer.say(HEADER)
        wire.sendall(peer.turn(b""))
        peer.hang_up()
        wire.sendall(peer.sent.read())
        while not peer.eof and (octets := wire.recv(1 << 16)):
            peer.turn(octets)
    assert peer.eof
    return peer.plain


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "given", [{"in_band": True, "upstream_tls": False}, {"upstream_tls": False}]
)
def test_in_band_tls_on_both_sides(relay, secured, wrapped, broker, version, given):
    relayed = relay(secured(tls_echo, version, in_band=True), tls=upstream(broker, **given))
    with relayed.connect() as plain:
        plain.sendall(IN_BAND_TLS_HEADER)
        assert receive(plain, 8) == IN_BAND_TLS_HEADER
        with wrapped(plain, version) as peer:
            peer.sendall(HEADER)
            assert receive(peer, 8) == HEADER
    talk = only_talk(relayed)
    assert talk.octets == [IN_BAND_TLS_HEADER + HEADER] * 2


def test_a_fault_acts_inside_in_band_tls(relay, secured, wrapped, broker):
    changed = parse('open container-id="c" hostname="h"')
    fault = {"on": "open && from == client", "action": 'set hostname="h"', "name": "other-host"}
    tls = upstream(broker, upstream_tls=False)
    relayed = relay(secured(tls_echo, in_band=True), tls=tls, faults=(fault,))
    with relayed.connect() as plain:
        near = plain.getsockname()[1]
        plain.sendall(IN_BAND_TLS_HEADER)
        assert receive(plain, 8) == IN_BAND_TLS_HEADER
        with wrapped(plain) as peer:
            peer.sendall(HEADER + OPEN)
            assert receive(peer, 8 + len(changed)) == HEADER + changed
    relayed.settle()
    relayed.stop()
    recorded = talks(relayed.path)
    first = recorded.pop(near)
    (second,) = recorded.values()
    assert first.octets == [
        IN_BAND_TLS_HEADER + HEADER + OPEN,
        IN_BAND_TLS_HEADER + HEADER + changed,
    ]
    assert second.octets == [IN_BAND_TLS_HEADER + HEADER + changed] * 2


def test_in_band_tls_upstream_from_a_plain_client(relay, secured, broker):
    tls = upstream(broker, in_band=True, upstream_tls=False)
    relayed = relay(secured(tls_echo, in_band=True), tls=tls)
    with relayed.connect() as peer:
        peer.sendall(HEADER)
        assert receive(peer, 8) == HEADER
    assert only_talk(relayed).octets == [HEADER] * 2


def test_in_band_tls_that_upstream_refuses(relay, server):
    def refuse(peer):
        assert receive(peer, 8) == IN_BAND_TLS_HEADER
        peer.sendall(HEADER)

    relayed = relay(server(refuse), tls=TlsOptions())
    with relayed.connect() as peer:
        peer.sendall(IN_BAND_TLS_HEADER)
        assert receive_all(peer) == HEADER
    assert only_talk(relayed).octets == [IN_BAND_TLS_HEADER, HEADER]


@pytest.mark.tshark
@pytest.mark.parametrize(
    ("version", "logging"), list(zip(VERSIONS, ("client", "server"), strict=True))
)
def test_tls_that_is_passed_on_is_decrypted_with_the_key_log_of_a_peer(
    relay, secured, broker, amqpscope, tmp_path, version, logging
):
    keylog = str(tmp_path / "keys.txt")
    behind = secured(tls_echo, version, keylog=keylog if logging == "server" else None)
    relayed = relay(behind, keylog=keylog)
    context = tls_peers.client(broker.ca, version)
    context.keylog_filename = keylog if logging == "client" else None
    with (
        relayed.connect() as plain,
        # The server's own certificate: nobody ends TLS in between.
        context.wrap_socket(plain, server_hostname="localhost") as peer,
    ):
        peer.sendall(HEADER + OPEN)
        assert receive(peer, len(HEADER + OPEN)) == HEADER + OPEN
    relayed.settle()
    relayed.stop()
    read = amqpscope("read", "--format", "jsonl", relayed.path)
    assert read.stderr == ""
    units = map(json.loads, read.stdout.splitlines())
    frames = [unit["name"] for unit in units if unit["kind"] != "finding"]
    assert sorted(frames) == ["header", "header", "open", "open"]
    # Peers log some secrets only after they were used, and tshark takes those of a recording in
    # its order; we do not, as the frames above show.
    assert performatives(relayed.path, behind.port, keylog) == ["16", "16"]


def performatives(path, port, keylog):
    """The performatives that tshark finds."""
    command = ["tshark", "-r", path, "-d", f"tcp.port=={port},tls", "-d", f"tls.port=={port},amqp"]
    fields = [
        "-o",
        f"tls.keylog_file:{keylog}",
        "-Y",
        "amqp.performative",
        "-T",
        "fields",
        "-e",
        "amqp.performative",
    ]
    done = subprocess.run([*command, *fields], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("sides", ["tls-plain", "plain-tls"])
def test_a_peer_that_does_not_read_stops_the_other_and_memory_stays(
    relay, server, secured, wrapped, broker, sides
):
    go_on = threading.Event()
    heard = []

    def slow(peer):
        heard.append(receive(peer, 8))
        go_on.wait(PATIENCE)
        heard.append(receive(peer, len(sent)))
        peer.sendall(b"done")

    sent = bytearray()
    if sides == "plain-tls":
        relayed = relay(f"amqps://{secured(slow)}", tls=upstream(broker))
    else:
        relayed = relay(server(slow), tls=TlsOptions())
    with contextlib.closing(relayed.connect()) as peer:
        if sides == "tls-plain":
            peer = wrapped(peer)
        peer.sendall(HEADER)
        while not heard:
            time.sleep(0.01)
        before = memory(relayed.process.pid)
        fill(peer, sent)
        assert len(sent) < 64 << 20
        assert memory(relayed.process.pid) - before < 8 << 10
        go_on.set()
        peer.settimeout(PATIENCE)
        assert receive(peer, 4) == b"done"
        peer.close()
    assert digest(heard[1]) == digest(sent)
    # OpenSSL may have sent more records than it said when it would have had to wait.
    assert only_talk(relayed).octets[0].startswith(HEADER + sent)


def fill(peer, sent):
    """Send until nothing is taken for half a second."""
    part = noise(1 << 16)
    peer.settimeout(0)
    idle = 0
    while idle < 50:
        try:
            sent += part[: peer.send(part)]
            idle = 0
        except (BlockingIOError, ssl.SSLWantWriteError):
            idle += 1
            time.sleep(0.01)


def test_rude_clients_are_a_line_at_most_and_others_go_on(proxy, server, wrapped):
    command = proxy(f"amqp://{server(echo)}", "--no-tui")
    with command.connect() as plain, wrapped(plain) as good:
        good.sendall(HEADER)
        assert receive(good, 8) == HEADER
        command.connect().close()
        with command.connect() as rude:
            rude.sendall(tls_peers.Peer(tls_peers.client(None), "localhost").turn(b""))
            rude.sendall(b"\x17\x03\x03\x00\x10" + bytes(16))
            assert receive_all(rude)[:1] == b"\x16"
        with command.connect() as rude:
            rude.sendall(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00")
            assert receive(rude, 10) == b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
        with command.connect() as rude:
            rude.sendall(b"\x16\x03\x01\x00\x80\x01")
        command.wait_for("client 127.0.0.1")
        good.sendall(b"still here")
        assert receive(good, 10) == b"still here"
    assert command.end() == 0
    told = [line for line in command.said if "client 127.0.0.1" in line]
    assert len(told) == 1, command.said
