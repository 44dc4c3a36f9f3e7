"""Faults of a running proxy, over its socket and the command line."""

import json
import os
import socket
import stat
import subprocess
import sys

import pytest

from amqpscope.proxy import control_socket
from dissectors.notation import parse, write
from kit.proxy.brokers import free_ports
from kit.proxy.relaying import echo, receive

HEADER = parse("header AMQP 1.0.0")
OPEN = parse('open container-id="c"')


@pytest.fixture
def running(proxy, server, tmp_path, monkeypatch):
    """Start the command with faults; gives it, and runs `amqpscope faults` against it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    def start(*rules, options=()):
        given = [*options, *(word for rule in rules for word in ("--fault", rule))]
        command = proxy(f"amqp://{server(echo)}", "--no-tui", *given, env={**os.environ})

        def ask(*words):
            return subprocess.run(
                [sys.executable, "-m", "amqpscope", "faults", *map(str, words)],
                capture_output=True, text=True, env={**os.environ}, check=False,
            )  # fmt: skip

        command.wait_for("listening on")
        return command, ask

    return start


def test_faults_are_listed_added_and_removed_while_the_proxy_runs(running):
    command, ask = running('open => set hostname="h" times=1')
    port = command.address[1]
    assert "fault-1: open => set hostname" in ask("list", "--proxy", port).stdout
    added = ask("add", "empty => drop", "--name", "quiet")
    assert added.returncode == 0
    assert added.stdout == "quiet: empty => drop (matched 0, acted on 0)\n"
    with command.connect() as peer:
        peer.sendall(HEADER + OPEN + parse("empty") + parse("close"))
        expected = HEADER + parse('open container-id="c" hostname="h"') + parse("close")
        assert receive(peer, len(expected)) == expected
    assert "quiet: empty => drop (matched 1, acted on 1)" in ask("list").stdout
    assert ask("remove", "quiet").returncode == 0
    assert "quiet" not in ask("list").stdout
    gone = ask("remove", "quiet")
    assert gone.returncode == 2
    assert "there is no fault quiet" in gone.stderr
    assert command.end() == 0
    assert any("fault-1: matched 1 frame, acted on 1" in line for line in command.said)


def test_a_proxy_is_found_by_each_port_that_it_listens_on(running, tmp_path):
    ports = free_ports(2)
    options = [word for port in ports for word in ("--listen", f"127.0.0.1:{port}")]
    command, ask = running("open => drop", options=options)
    for name in (command.address[1], *ports):
        assert "fault-1: open => drop" in ask("list", "--proxy", name).stdout
    assert "fault-1" in ask("list").stdout
    missing = ask("list", "--proxy", "1")
    assert missing.returncode == 2
    assert f"no proxy listens on 1, but on {command.address[1]}" in missing.stderr
    assert command.end() == 0
    assert not list(tmp_path.rglob("*.sock"))


def test_the_socket_is_for_its_owner_alone_and_goes_with_the_proxy(running, tmp_path):
    command, ask = running()
    path = tmp_path / "amqpscope" / f"{command.address[1]}.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert command.end() == 0
    assert not path.exists()
    assert "no proxy runs" in ask("list").stderr


def test_a_folder_that_is_open_to_others_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "amqpscope").mkdir()
    (tmp_path / "amqpscope").chmod(0o755)
    with pytest.raises(PermissionError, match="is open to others"):
        control_socket.require_private(control_socket.folder())


def test_rubbish_on_the_socket_hurts_nobody(running, tmp_path):
    command, ask = running("open => drop")
    path = str(tmp_path / "amqpscope" / f"{command.address[1]}.sock")
    for rubbish in (b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"{}\n", b"x" * 400_000, b'"do"\n'):
        with socket.socket(socket.AF_UNIX) as end:
            end.connect(path)
            end.settimeout(5)
            try:
                end.sendall(rubbish)
                assert b"error" in end.recv(1000) or rubbish[:1] == b"x"
            except ConnectionError:
                assert rubbish[:1] == b"x"
    assert "fault-1" in ask("list").stdout
    assert command.end() == 0


def test_a_held_frame_waits_for_a_decision(running):
    command, ask = running("open || empty => hold")
    with command.connect() as peer:
        peer.settimeout(10)
        peer.sendall(HEADER + OPEN)
        assert receive(peer, 8) == HEADER
        while "1: connection 1 from client" not in (held := ask("held").stdout):
            pass
        assert 'open "c"' in held
        wrong = ask("edit", 1, "open container-id=c")
        assert wrong.returncode == 2
        assert "open container-id=c\n                  ^\n" in wrong.stderr
        assert ask("edit", 1, 'open container-id="x"').returncode == 0
        # The echo comes back as the server's, and is held in its turn.
        while "2: connection 1 from server" not in ask("held").stdout:
            pass
        assert json.loads(ask("held", "--format", "json").stdout)[0]["number"] == 2
        assert ask("resume").returncode == 0
        changed = parse('open container-id="x"')
        assert write(receive(peer, len(changed))) == 'open container-id="x"'
        wrong = ask("resume", 1)
        assert wrong.returncode == 2
        assert "no frame 1 waits" in wrong.stderr
    assert command.end() == 0


def test_a_held_frame_is_changed_in_an_editor(running, monkeypatch):
    command, ask = running("open && from == client => hold")
    with command.connect() as peer:
        peer.sendall(HEADER + OPEN)
        receive(peer, 8)
        while not ask("held").stdout:
            pass
        for editor, reason in (("true", "nothing was changed"), ("false", "exit code 1")):
            monkeypatch.setenv("EDITOR", editor)
            left = ask("edit", 1)
            assert left.returncode == 2
            assert reason in left.stderr
        monkeypatch.setenv("EDITOR", """sed -i 's/"c"/"d"/'""")
        assert ask("edit", 1).returncode == 0
        changed = parse('open container-id="d"')
        assert write(receive(peer, len(changed))) == 'open container-id="d"'
    assert command.end() == 0


def test_the_proxy_can_end_while_a_frame_is_held(running):
    command, _ = running("open => hold")
    with command.connect() as peer:
        peer.sendall(HEADER + OPEN)
        receive(peer, 8)
        assert command.end() == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--fault", "opne => drop"), "did you mean open"),
        (("--fault", "open => drop nothing"), "^^^^^^^"),
        (("--faults", "none.toml"), "no such file"),
    ],
)
def test_a_wrong_fault_is_shown_before_anything_listens(proxy, arguments, reason):
    command = proxy("amqp://127.0.0.1:1", "--no-tui", *arguments)
    assert command.wait() == 2
    assert any(reason in line for line in command.said)
    assert not any("listening" in line or "Traceback" in line for line in command.said)
