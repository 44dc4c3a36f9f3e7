"""`amqpscope proxy` as a user runs it: what it prints, how it ends, what it leaves behind."""

import fcntl
import json
import os
import pty
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time

import pytest

from dissectors.notation import parse_conversation
from kit.proxy.relaying import PATIENCE, noise, receive, receive_all, split, talks

HELLO = """
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="c"
server: open container-id="s"
client: begin next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
"""
GOOD = (
    HELLO
    + """
client: close
server: close
"""
)
BAD = (
    HELLO
    + """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=1
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
client: close
server: close
"""
)
FRAMES = 8
BROKEN = "FLW-016"


@pytest.fixture
def talk(server):
    """A server for a conversation, and a client that holds it: `there, hold = talk(text)`."""

    def prepare(text):
        lines = list(parse_conversation(text))

        def part(peer, mine):
            for line in lines:
                if line.peer == mine:
                    peer.sendall(line.raw)
                else:
                    assert receive(peer, len(line.raw)) == line.raw

        def hold(address):
            with socket.create_connection(address, PATIENCE) as client:
                part(client, "client")
                client.shutdown(socket.SHUT_WR)
                assert receive_all(client) == b""

        return server(lambda peer: part(peer, "server")), hold

    return prepare


def test_frames_come_as_they_pass(proxy, talk):
    there, hold = talk(GOOD)
    run = proxy(there, "--write", "run.pcapng")
    hold(run.address)
    run.wait_for(f"{FRAMES:5} ", run.printed)
    assert run.end() == 0
    assert len(run.printed) == FRAMES + 1
    assert run.said[-1] == "amqpscope: 13 packets recorded: run.pcapng"


def test_the_recording_is_written_once_more_without_names(proxy, talk, tmp_path):
    there, hold = talk(GOOD)
    run = proxy(there, "--write", "run.pcapng", "--scrub")
    hold(run.address)
    assert run.end() == 0
    assert "amqpscope: run.scrubbed.pcapng: " in "\n".join(run.said)
    assert (tmp_path / "run.scrubbed.pcapng").stat().st_size > 0


def test_what_is_shown_live_is_what_the_recording_shows(proxy, talk, amqpscope, tmp_path):
    there, hold = talk(BAD)
    run = proxy(there, "--write", "run.pcapng", "--format", "jsonl")
    hold(run.address)
    assert run.end() == 0
    objects = [json.loads(line) for line in run.printed]
    frames = [each for each in objects if each["kind"] != "finding"]
    read = amqpscope("read", "--format", "jsonl", "run.pcapng", cwd=tmp_path)
    assert (read.returncode, read.stderr) == (0, "")
    recorded = [json.loads(line) for line in read.stdout.splitlines()]
    assert frames == [each for each in recorded if each["kind"] != "finding"]
    found = [each for each in objects if each.pop("kind") == "finding"]
    lint = amqpscope("lint", "--format", "json", "run.pcapng", cwd=tmp_path)
    order = sorted(found, key=lambda each: (each["frame"], each["rule"]))
    assert order == json.loads(lint.stdout)["findings"]
    assert BROKEN in {each["rule"] for each in found}


def test_a_finding_stands_below_its_frame(proxy, talk):
    there, hold = talk(BAD)
    run = proxy(there)
    hold(run.address)
    run.end()
    (line,) = [line for line in run.printed if f"error[{BROKEN}]" in line]
    assert "transfer-without-credit (client)" in line
    assert "transfer" in run.printed[run.printed.index(line) - 1]


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (GOOD, (), 0),
        (BAD, (), 1),
        (BAD, ("--fail-on", "never"), 0),
        (BAD, ("--select", BROKEN, "--ignore", "MSG"), 1),
    ],
    ids=["clean", "broken", "never", "chosen"],
)
def test_lint_ends_as_lint_does(proxy, talk, amqpscope, tmp_path, text, options, code):
    there, hold = talk(text)
    run = proxy(there, "--lint", "--write", "run.pcapng", *options)
    hold(run.address)
    assert run.end() == code
    lint = amqpscope("lint", *options, "run.pcapng", cwd=tmp_path)
    assert lint.returncode == code
    assert run.printed == lint.stdout.splitlines()


def test_lint_of_a_rotated_recording_sees_all_of_it(proxy, talk, server):
    there, hold = talk(BAD)
    run = proxy(there, "--lint", "--write", "run.pcapng", "--rotate", "0.000001s", "--keep", "50")
    hold(run.address)
    assert run.end() == 1
    assert any(BROKEN in line for line in run.printed)


def test_it_ends_when_the_traffic_does_if_told_so(proxy, talk):
    there, hold = talk(BAD)
    run = proxy(there, "--lint", "--exit-when-idle", "0.3")
    hold(run.address)
    begun = time.monotonic()
    assert run.wait() == 1
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_in_order_when_asked_to(proxy, server, number, tmp_path):
    run = proxy(server(), "--write", "run.pcapng")
    with run.connect() as client:
        client.sendall(b"x")
        client.recv(1)
        assert run.end(number) == 0
        assert client.recv(1) == b""
    (talk,) = talks(tmp_path / "run.pcapng").values()
    assert talk.octets == [b"x", b"x"]
    assert talk.ends == ["capture", "capture"]


def test_a_temporary_recording_is_told_at_the_end(proxy, server, tmp_path):
    run = proxy(server())
    with run.connect() as client:
        client.sendall(b"x")
        client.recv(1)
    run.end()
    path = run.said[-1].rpartition(": ")[2]
    assert path.startswith(str(tmp_path))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert talks(path)


def test_nothing_is_left_behind_when_nothing_passed(proxy, server, tmp_path):
    run = proxy(server())
    assert run.address
    assert run.end() == 0
    assert list(tmp_path.iterdir()) == []


def test_traffic_goes_on_when_the_analysis_is_killed_and_is_checked_at_the_end(proxy, talk):
    there, hold = talk(BAD)
    run = proxy(there, "--lint")
    hold(run.address)
    os.kill(run.child(), signal.SIGKILL)
    run.wait_for("the analysis ended by signal 9; traffic continues and is recorded")
    hold(run.address)
    assert run.end() == 1
    assert sum(BROKEN in line and "error[" in line for line in run.printed) == 2


def test_traffic_goes_on_when_nobody_reads_the_output(proxy, talk):
    there, hold = talk(GOOD)
    reader, writer = os.pipe()
    run = proxy(there, stdout=writer)
    os.close(writer)
    os.close(reader)
    hold(run.address)
    run.wait_for("nobody reads the output any more; traffic continues")
    hold(run.address)
    assert run.end() == 0


def test_traffic_goes_on_when_the_output_is_stuck(proxy, talk, server):
    there, hold = talk(GOOD)
    reader, writer = os.pipe()
    run = proxy(there, "-V", "-x", "--show-secrets", stdout=writer)
    os.close(writer)
    for _ in range(100):
        hold(run.address)
    run.process.send_signal(signal.SIGINT)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    assert run.wait() == 0
    assert text.count(b"container-id") >= 200


def test_the_analysis_ends_by_itself_when_the_relay_is_killed(proxy, talk, tmp_path):
    there, hold = talk(GOOD)
    run = proxy(there, "--write", "run.pcapng")
    hold(run.address)
    run.process.kill()
    run.wait_for("the relay has died; what it passed on up to then is in run.pcapng")
    run.wait()
    assert len(run.printed) == FRAMES + 1


def test_a_full_disk_stops_the_recording_and_not_the_traffic(proxy, server, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    run = proxy(server(), "--lint", "--write", "run.pcapng", preexec_fn=limit)
    sent = noise(200_000)
    with run.connect() as client:
        for _ in range(5):
            client.sendall(sent)
            assert receive(client, len(sent)) == sent
        run.wait_for("recording stopped: run.pcapng: file too large; traffic goes on, not recorded")
        client.sendall(sent)
        assert receive(client, len(sent)) == sent
    assert run.end() == 2
    assert sum("recording stopped" in line for line in run.said) == 1
    (talk,) = talks(tmp_path / "run.pcapng").values()
    assert 100_000 < len(talk.octets[0]) < 300_000


def test_a_warning_when_others_can_reach_it(proxy, server):
    run = proxy(server(), "--listen", "0.0.0.0:0")
    assert "0.0.0.0 is not loopback" in run.wait_for("warning")
    assert run.end() == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("ftp://broker",), "ftp:// is not known, expected one of amqp://, amqps://"),
        (("amqp://",), "names no host, expected amqp://HOST:PORT"),
        (("amqp://127.0.0.1", "--listen", "::1:5673"), "an IPv6 address stands in brackets"),
        (("amqp://127.0.0.1", "--listen", "nonsense"), "expected HOST:PORT, as in 127.0.0.1:5673"),
        (("amqp://127.0.0.1", "--listen", "192.0.2.1:0"), "cannot listen on 192.0.2.1:0: cannot"),
        (("amqp://127.0.0.1", "--write", "no/run.pcapng"), "no/run.pcapng: no such file"),
        (("amqp://127.0.0.1", "--rotate", "5 apples"), "expected a size or a time, as in 100MB"),
        (("amqp://127.0.0.1", "--rotate", "10kB"), "expected at least 100kB"),
        (("amqp://127.0.0.1", "--keep", "3"), "--keep goes with --rotate"),
        (("amqp://127.0.0.1", "--select", "NOPE"), "'NOPE' is no rule or group"),
        (("amqp://127.0.0.1", "--config", "none.toml"), "none.toml: no such file"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(amqpscope, tmp_path, arguments, told):
    done = amqpscope("proxy", "--listen", "127.0.0.1:0", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_one_line(amqpscope, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = amqpscope("proxy", "amqp://127.0.0.1", "--listen", address, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"amqpscope: cannot listen on {address}: address already in use\n"


def test_a_file_that_is_there_is_left_alone(amqpscope, tmp_path):
    (tmp_path / "run.pcapng").write_text("precious")
    arguments = ("proxy", "amqp://127.0.0.1", "--listen", "127.0.0.1:0", "--write", "run.pcapng")
    done = amqpscope(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "amqpscope: run.pcapng: is there already, expected a new file\n"
    assert (tmp_path / "run.pcapng").read_text() == "precious"


CLIENT = """
import os, socket, sys
address = os.environ["AMQPSCOPE_PROXY_HOST"], int(os.environ["AMQPSCOPE_PROXY_PORT"])
assert os.environ["AMQPSCOPE_PROXY_URL"] == "amqp://%s:%d" % address
with socket.create_connection(address) as client:
    client.sendall(b"x")
    assert client.recv(1) == b"x"
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("code", [0, 3])
def test_a_command_is_run_through_it(proxy, server, code, tmp_path):
    command = ("--", sys.executable, "-c", CLIENT, code)
    run = proxy(server(), "--write", "run.pcapng", *command)
    assert run.wait() == code
    assert len(talks(tmp_path / "run.pcapng")) == 1


SPEAKER = """
import os, socket
with socket.create_connection(("127.0.0.1", int(os.environ["AMQPSCOPE_PROXY_PORT"]))) as client:
    for peer, raw in {lines!r}:
        if peer == "client":
            client.sendall(raw)
        else:
            client.recv(len(raw), socket.MSG_WAITALL)
"""


def test_a_command_that_goes_well_fails_when_its_traffic_breaks_a_rule(proxy, talk):
    there, _ = talk(BAD)
    script = SPEAKER.format(lines=[(line.peer, line.raw) for line in parse_conversation(BAD)])
    run = proxy(there, "--lint", "--", sys.executable, "-c", script)
    assert run.wait() == 1


def test_a_command_that_is_not_there_is_one_line(proxy, server):
    run = proxy(server(), "--", "no-such-command")
    assert run.wait() == 127
    assert "amqpscope: no-such-command: no such file or directory" in run.said


def test_a_growing_recording_can_be_read_by_others(proxy, talk, tmp_path, amqpscope):
    there, hold = talk(GOOD)
    run = proxy(there, "--write", "run.pcapng")
    hold(run.address)
    read = amqpscope("read", "run.pcapng", cwd=tmp_path)
    assert len(read.stdout.splitlines()) == FRAMES + 1
    assert run.end() == 0


def test_the_screen_opens_on_a_terminal_and_leaving_it_ends_all(proxy, talk, tmp_path):
    there, hold = talk(GOOD)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    pipes = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    run = proxy(there, "--write", "run.pcapng", env=environment, **pipes)
    os.close(theirs)
    said = read_screen(ours, b"upstream ").decode()
    hold(split(said.partition("listening on ")[2].partition(",")[0]))
    assert b"close" in read_screen(ours, b"close")
    os.write(ours, b"q")
    assert b"q again ends" in read_screen(ours, b"q again ends")
    os.write(ours, b"q")
    assert b"13 packets recorded: run.pcapng" in read_screen(ours, b"run.pcapng\r\n")
    assert run.wait() == 0
    os.close(ours)


def read_screen(terminal, word):
    """What a terminal shows, up to a word."""
    seen = b""
    until = time.monotonic() + PATIENCE
    while word not in seen and time.monotonic() < until:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 1 << 16)
            except OSError:
                break
    return seen


@pytest.mark.tshark
def test_tshark_opens_a_recording_without_a_warning(proxy, talk, tmp_path):
    there, hold = talk(GOOD)
    run = proxy(there, "--write", "run.pcapng")
    for _ in range(20):
        hold(run.address)
    run.end()
    done = subprocess.run(
        ["tshark", "-r", tmp_path / "run.pcapng", "-q", "-z", "expert,warn"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""
