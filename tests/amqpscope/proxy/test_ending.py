"""How `proxy` ends: by signals, with its command, with its terminal; and in bounded time."""

import fcntl
import os
import pty
import resource
import signal
import socket
import stat
import struct
import sys
import termios
import threading
import time

import pytest

from dissectors.notation import parse
from kit.proxy.relaying import PATIENCE, echo, noise, receive, receive_all, split

SOON = 13
"""Seconds within which SIGTERM ends everything, on a busy machine."""


def in_own_group(proxy, there, *arguments):
    """The command in a process group of its own, as a shell starts it."""
    return proxy(there, *arguments, start_new_session=True)


def is_gone(pid):
    """Whether a process has ended, or is about to."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


CLEANS_UP = """
import os, signal, socket, sys, time
client = socket.create_connection(("127.0.0.1", int(os.environ["AMQPSCOPE_PROXY_PORT"])))
client.sendall(b"begun")
assert client.recv(5) == b"begun"
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.5)
    client.sendall(b"clean")
    assert client.recv(5) == b"clean"
    print("cleaned up", flush=True)
    sys.exit(5)
"""


def test_ctrl_c_lets_the_command_clean_up_through_the_proxy(proxy, server):
    run = in_own_group(proxy, server(), "--", sys.executable, "-c", CLEANS_UP)
    run.wait_for("ready", run.printed)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.wait() == 5
    assert run.printed[-1] == "cleaned up"
    assert "Ctrl-C again" in run.wait_for("interrupted: the command may clean up")


STUBBORN = """
import signal, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_ignores_signals_is_killed(proxy, server, number):
    run = proxy(server(), "--", sys.executable, "-c", STUBBORN)
    run.wait_for("ready", run.printed)
    begun = time.monotonic()
    assert run.end(number) == 128 + signal.SIGKILL
    assert time.monotonic() - begun < SOON
    run.wait_for("did not end on SIGTERM: killed")


def test_a_second_ctrl_c_ends_a_command_that_does_not(proxy, server):
    run = proxy(server(), "--", sys.executable, "-c", STUBBORN)
    run.wait_for("ready", run.printed)
    run.process.send_signal(signal.SIGINT)
    run.wait_for("Ctrl-C again")
    begun = time.monotonic()
    assert run.end(signal.SIGINT) == 128 + signal.SIGKILL
    assert time.monotonic() - begun < SOON


def test_a_command_dies_with_the_proxy(proxy, server):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    run = proxy(server(), "--", sys.executable, "-c", code)
    until = time.monotonic() + PATIENCE
    while not run.printed and time.monotonic() < until:
        time.sleep(0.01)
    run.process.kill()
    assert is_gone(int(run.printed[0]))


def test_a_command_has_the_limits_of_whoever_started_us(proxy, server):
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    limits = (200, min(5000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    run = proxy(server(), "--", sys.executable, "-c", code, preexec_fn=limit)
    assert run.wait() == 0
    assert run.printed == [str(limits)]


def test_a_command_that_cannot_be_run_is_not_one_that_is_missing(proxy, server, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    assert proxy(server(), "--", script).wait() == 126
    script.chmod(stat.S_IRWXU)
    assert proxy(server(), "--", script).wait() == 126
    assert proxy(server(), "--", tmp_path).wait() == 126
    assert proxy(server(), "--", tmp_path / "missing").wait() == 127


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_under_way_arrives_before_the_end(proxy, server, number):
    got = []
    taken = threading.Event()

    def slow(peer):
        taken.set()
        time.sleep(0.05)
        got.append(receive_all(peer))

    there = server(slow)
    run = proxy(there)
    block = noise(600_000)
    with run.connect() as client:
        client.sendall(block)
        assert taken.wait(30)
        run.process.send_signal(number)
        assert receive_all(client) == b""
    assert run.wait() == 0
    assert got == [block]


def test_a_connection_that_never_rests_does_not_hold_the_end_up(proxy, server):
    run = proxy(server())
    ended = threading.Event()

    def chatter():
        try:
            with run.connect() as client:
                while client.send(b"x") and client.recv(1):
                    pass
        except OSError:
            pass
        ended.set()

    run.wait_for("listening")
    threading.Thread(target=chatter, daemon=True).start()
    time.sleep(0.5)
    begun = time.monotonic()
    assert run.end(signal.SIGINT) == 0
    assert time.monotonic() - begun < SOON
    assert ended.wait(PATIENCE)


def test_an_analysis_that_does_not_end_is_not_waited_for_after_sigterm(proxy, server):
    run = proxy(server(), "--lint")
    with run.connect() as client:
        client.sendall(b"x")
        receive(client, 1)
    child = run.child()
    os.kill(child, signal.SIGSTOP)
    begun = time.monotonic()
    assert run.end(signal.SIGTERM) == 2
    assert time.monotonic() - begun < SOON
    run.wait_for("the analysis was not finished")
    assert is_gone(child)


def test_an_analysis_that_somebody_has_stopped_goes_on_at_the_end(proxy, server):
    run = proxy(server(), "--lint", "--allow-empty")
    with run.connect() as client:
        client.sendall(b"x")
        receive(client, 1)
    os.kill(run.child(), signal.SIGSTOP)
    begun = time.monotonic()
    assert run.end(signal.SIGINT) == 0
    assert time.monotonic() - begun < SOON


@pytest.fixture
def on_terminal(proxy, server):
    """The proxy with its screen on a terminal of its own; and the other end of that terminal."""
    ends = []

    def start(*arguments, leads, handler=echo):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        pipes = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        environment = {**os.environ, "TERM": "xterm-256color"}
        how = {"env": environment, "preexec_fn": lead if leads else None, **pipes}
        run = proxy(server(handler), *arguments, **how)
        os.close(theirs)
        screen = Screen(ours)
        ends.append(screen)
        screen.wait_for(b"\x1b[?1049h")
        time.sleep(1)
        return run, screen

    yield start
    for end in ends:
        end.close()


class Screen:
    """What a terminal shows, read all the time."""

    def __init__(self, end):
        self.end = end
        self.seen = b""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while octets := os.read(self.end, 1 << 16):
                self.seen += octets
        except OSError:
            pass

    def wait_for(self, word):
        until = time.monotonic() + PATIENCE
        while word not in self.seen:
            assert time.monotonic() < until, self.seen
            time.sleep(0.02)

    def press(self, keys):
        for key in keys:
            os.write(self.end, bytes((key,)))

    def close(self):
        if self.end >= 0:
            os.close(self.end)
            self.end = -1


@pytest.mark.parametrize("leads", [True, False])
def test_the_screen_ends_with_its_terminal(on_terminal, leads):
    run, screen = on_terminal(leads=leads)
    child = run.child()
    screen.close()
    run.process.wait(SOON)
    assert is_gone(child)


@pytest.mark.parametrize("how", ["left", "killed", "closed"])
def test_a_frame_that_is_held_on_the_screen_is_passed_on_however_that_ends(on_terminal, how):
    header, opened = parse("header AMQP 1.0.0"), parse('open container-id="c"')
    received = []

    def note(peer):
        while octets := peer.recv(1 << 16):
            received.append(octets)

    run, screen = on_terminal(leads=False, handler=note)
    address = split(screen.seen.decode().partition("listening on ")[2].partition(",")[0])
    screen.press(b"i")
    screen.wait_for(b"hold:")
    screen.press(b"open\r")
    screen.wait_for(b"holding frames")
    with socket.create_connection(address, PATIENCE) as client:
        client.sendall(header + opened)
        screen.wait_for("‖ 1 held".encode())
        assert b"".join(received) in (b"", header)
        if how == "killed":
            os.kill(run.child(), signal.SIGKILL)
        elif how == "closed":
            screen.close()
        else:
            screen.press(b"qq")
        until = time.monotonic() + PATIENCE
        while b"".join(received) != header + opened:
            assert time.monotonic() < until, received
            time.sleep(0.02)


def test_the_screen_takes_a_filter_in_one_burst_and_ends_by_its_key_without_a_complaint(
    on_terminal,
):
    run, screen = on_terminal(leads=True)
    screen.wait_for(b"Hold")
    os.write(screen.end, b"ibasic.publish || queue.declare\r")
    screen.wait_for(b"holding frames that match basic.publish")
    screen.press(b"qq")
    assert run.process.wait(SOON) == 0
    assert b"this is a bug" not in screen.seen


def test_sigterm_ends_the_screen_and_leaves_the_terminal_as_it_was(on_terminal):
    run, screen = on_terminal(leads=True)
    child = run.child()
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(SOON) == 0
    assert is_gone(child)
    screen.wait_for(b"\x1b[?1049l")


def test_files_wait_for_the_screen_and_go_when_it_has_read_them(on_terminal, tmp_path):
    run, screen = on_terminal("--rotate", "0.05s", "--keep", "2", "-w", "f.pcapng", leads=True)
    address = split(screen.seen.decode().partition("listening on ")[2].partition(",")[0])
    oldest = []
    with socket.create_connection(address, PATIENCE) as client:
        until = time.monotonic() + PATIENCE
        while not oldest or oldest[-1] < "f-00010.pcapng":
            assert time.monotonic() < until, oldest
            client.sendall(b"x")
            assert client.recv(1) == b"x"
            time.sleep(0.06)
            oldest.append(min(path.name for path in tmp_path.glob("f-*.pcapng")))
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(SOON) == 0
    assert b"removed before" not in screen.seen
    assert len(list(tmp_path.glob("f-*.pcapng"))) == 2
