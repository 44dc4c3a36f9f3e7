"""What `proxy` says and leaves to others: URLs, secrets, ports in the recording."""

import base64
import hashlib
import os
import socket
import subprocess
import sys

import pytest

from dissectors.notation import parse_conversation
from kit.proxy import tls_peers
from kit.proxy.relaying import PATIENCE, receive
from kit.proxy.tls_peers import Certified

TALK = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
server: open container-id="s"
client: close
server: close
"""
LINES = list(parse_conversation(TALK))


@pytest.mark.parametrize(
    "url",
    [
        "amqp://user:hunter2@127.0.0.1:99999",
        "amqp://user:hunter2@127.0.0.1:0",
        "amqp://user:hunter2@127.0.0.1:x",
        "amqp://user:hunter2@",
        "amqp://user:hunter2",
        "user:hunter2",
        "amqp://user:hun/hunter2@127.0.0.1",
        "amqp://user:hunter2@[::1",
        "ftp://user:hunter2@127.0.0.1",
        "user:hunter2@no-such-host.invalid",
        "amqp://user:hunter2@192.0.2.1:1:hunter2",
        "AMQPS://user:hunter2@127.0.0.1:1:2",
    ],
)
def test_a_password_in_the_url_is_never_shown(amqpscope, tmp_path, url):
    done = amqpscope("proxy", url, "--listen", "127.0.0.1:0", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_password_in_the_url_is_not_shown_while_it_runs_either(proxy, server):
    run = proxy(f"amqp://user:hunter2@{server()}", "--", "true")
    assert run.wait() == 0
    assert "hunter2" not in "".join(run.said + run.printed)


def test_it_says_once_that_the_recording_holds_secrets(proxy, server):
    run = proxy(server(), "--write", "f.pcapng")
    with run.connect() as client:
        client.sendall(b"x")
        client.recv(1)
    run.end()
    told = [line for line in run.said if "passwords and tokens" in line]
    assert len(told) == 1
    assert "; the recording will hold passwords and tokens as clients send them" in told[0]


def test_a_recording_to_standard_output_is_refused_in_one_line(amqpscope, tmp_path):
    done = amqpscope("proxy", "amqp://127.0.0.1", "--write", "-", cwd=tmp_path)
    assert done.returncode == 2
    assert "Error: --write needs a file, not standard output" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("upstream", "options", "scheme"),
    [
        ("amqp", (), "amqp"),
        ("amqps", ("--insecure",), "amqp"),
        ("amqps", ("--insecure", "--cert", "{cert}"), "amqps"),
        ("amqps", ("--pass-tls",), "amqps"),
        ("amqp", ("--pass-tls",), "amqp"),
        ("ws", (), "ws"),
        ("wss", ("--insecure",), "ws"),
        ("wss", ("--pass-tls",), "wss"),
    ],
)
def test_the_commands_url_has_the_scheme_that_it_should_speak(
    proxy, server, tmp_path, upstream, options, scheme
):
    cert = Certified(tmp_path, "localhost").path
    given = [option.format(cert=cert) for option in options]
    code = "import os; print(os.environ['AMQPSCOPE_PROXY_URL'])"
    run = proxy(f"{upstream}://{server()}", *given, "--", sys.executable, "-c", code)
    assert run.wait() == 0, run.said
    assert run.printed[0].startswith(f"{scheme}://127.0.0.1:")


def tls_broker(server, certified, before=lambda peer: None, wrap=bytes):
    """A TLS server that holds its part of the conversation."""
    context = tls_peers.server(certified)

    def serve(peer):
        with context.wrap_socket(peer, server_side=True) as tls:
            before(tls)
            for line in LINES:
                if line.peer == "server":
                    tls.sendall(wrap(line.raw))
                else:
                    receive(tls, len(masked(line.raw)) if wrap is not bytes else len(line.raw))

    return server(serve)


def hold(client, wrap=bytes, unwrap=bytes):
    for line in LINES:
        if line.peer == "client":
            client.sendall(wrap(line.raw))
        else:
            receive(client, len(unwrap(line.raw)))


def masked(octets):
    """A WebSocket frame of a client; the mask changes nothing."""
    return bytes([0x82, 0x80 | len(octets)]) + bytes(4) + octets


def framed(octets):
    """A WebSocket frame of a server."""
    return bytes([0x82, len(octets)]) + octets


KEY = base64.b64encode(bytes(16)).decode()
ASK = (
    "GET /amqp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: amqp\r\n\r\n"
).encode()
ACCEPT = base64.b64encode(
    hashlib.sha1(f"{KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
).decode()
AGREE = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Accept: {ACCEPT}\r\nSec-WebSocket-Protocol: amqp\r\n\r\n"
).encode()


def seen_by_tshark(path):
    """The performatives that Wireshark finds, without being told anything."""
    done = subprocess.run(
        ["tshark", "-r", path, "-Y", "amqp", "-T", "fields", "-e", "amqp.performative"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [word for line in done.stdout.split() for word in line.split(",")]


@pytest.mark.tshark
def test_wireshark_opens_what_was_inside_tls_as_amqp(proxy, server, tmp_path):
    certified = Certified(tmp_path, "localhost", "127.0.0.1")
    there = tls_broker(server, certified)
    run = proxy(f"amqps://{there}", "--cafile", certified.ca, "-w", "f.pcapng")
    with run.connect() as client:
        hold(client)
    assert run.end() == 0
    assert f"and port 5672 for {there.port}, which" in run.wait_for("Wireshark")
    assert seen_by_tshark(tmp_path / "f.pcapng") == ["16", "16", "24", "24"]


@pytest.mark.tshark
def test_wireshark_opens_websocket_that_was_inside_tls_as_amqp(proxy, server, tmp_path):
    certified = Certified(tmp_path, "localhost", "127.0.0.1")

    def upgrade(peer):
        assert receive(peer, len(ASK)) == ASK
        peer.sendall(AGREE)

    there = tls_broker(server, certified, upgrade, framed)
    run = proxy(f"wss://{there}", "--cafile", certified.ca, "-w", "f.pcapng")
    with socket.create_connection(run.address, PATIENCE) as client:
        client.sendall(ASK)
        assert receive(client, len(AGREE)) == AGREE
        hold(client, masked, framed)
    assert run.end() == 0
    assert "and port 80 for " in run.wait_for("Wireshark")
    found = subprocess.run(
        ["tshark", "-r", tmp_path / "f.pcapng", "-Y", "websocket"],
        capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    assert len(found.stdout.splitlines()) >= 4


def test_a_certificate_with_a_common_name_alone_is_refused(proxy, server, tmp_path):
    done = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost",
         "-days", "2"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip("openssl is not installed")
    (tmp_path / "both.pem").write_bytes(
        (tmp_path / "cert.pem").read_bytes() + (tmp_path / "key.pem").read_bytes()
    )
    certified = type("Given", (), {"path": tmp_path / "both.pem"})
    there = tls_broker(server, certified)
    run = proxy(f"amqps://localhost:{there.port}", "--cafile", "cert.pem")
    with run.connect() as client:
        client.sendall(LINES[0].raw)
        assert client.recv(8) == b""
    run.wait_for("is not for the host localhost")
    run.end()
