"""`--web`: the same screen in a real browser, for those who have its address."""

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from amqpscope.cli.web import without_web
from kit.chromium import Browser

pytest.importorskip("textual_serve")
ADDRESS = re.compile(r"open (http://127\.0\.0\.1:\d+/([\w-]{32})/) in a browser")
PATIENCE = 60
FULL = 40_000
"""Octets of a picture of the screen with frames; without them it has a fourth of that."""


@contextlib.contextmanager
def served(*arguments):
    """Run a command with --web; its process and the address that it prints."""
    command = [sys.executable, "-m", "amqpscope", *map(str, arguments), "--web"]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            line = next(line for line in process.stderr if ADDRESS.search(line))
            yield process, ADDRESS.search(line).groups()
        finally:
            process.kill()


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def status(url):
    try:
        with urlopen(url) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def has(browser: Browser, name):
    return name in browser.ask("document.body.className").split()


def test_the_screen_is_used_in_a_browser(browser, root, tmp_path):
    path = tmp_path / "a.pcapng"
    shutil.copy(root / "captures" / "demo.pcapng", path)
    notes = tmp_path / "a.pcapng.notes.toml"
    with served("read", path) as (process, (url, token)):
        assert status(url.replace(token, "x" * 32)) == status(url.replace(token + "/", "")) == 404
        browser.open(url)
        until(lambda: has(browser, "-first-byte"), "the screen is drawn")
        foreign = [each for each in browser.requests() if not each.startswith((url, "data:"))]
        assert foreign == []
        assert not [each for each in browser.complaints() if "Security" in str(each)]
        assert browser.ask("document.title") == "a.pcapng - amqpscope"

        until(lambda: len(browser.picture()) > FULL, "the frames are drawn")
        browser.press("m")
        browser.press("q")
        time.sleep(0.5)
        browser.press("Enter")
        until(notes.exists, "the note is kept")
        until(lambda: has(browser, "-closed"), "the screen is closed")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert "frame = 1\n" in notes.read_text(encoding="utf-8")


def test_a_proxy_is_shown_while_it_runs():
    with served("proxy", "amqp://127.0.0.1:1", "-l", "127.0.0.1:0") as (process, (url, _)):
        assert status(url) == 200
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        with pytest.raises(URLError):
            status(url)


def drawn(process, words):
    """Wait until a screen in a pseudo terminal shows some words; all that it has drawn."""
    seen = ""
    end = time.monotonic() + PATIENCE
    while words not in seen:
        assert time.monotonic() < end, (words, seen)
        if select.select([process], [], [], 1)[0]:
            seen += os.read(process, 1 << 16).decode(errors="replace")
    return seen


def test_the_screen_of_a_proxy_says_where_to_point_a_client(tmp_path, monkeypatch):
    """Each page runs `read` with the name of the proxy: here in a terminal, which can be read."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as unused:
        upstream = "{}:{}".format(*unused.getsockname())
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
    recording = tmp_path / "r.pcapng"
    proxy = ("proxy", f"amqp://{upstream}", "-l", f"127.0.0.1:{port}", "-w", recording)
    with served(*proxy) as (process, _):
        page = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        lines = [Path(f"/proc/{each}/cmdline").read_text().split("\0") for each in page]
        (command,) = [line for line in lines if "read" in line]
        child, screen = pty.fork()
        if child == 0:
            kept = without_web(command[1:-1])
            os.execv(sys.executable, [sys.executable, *kept])
        try:
            drawn(screen, f"connect one to 127.0.0.1:{port}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as end:
                end.recv(1)
            drawn(screen, f"✗ upstream {upstream}: connection refused")
            process.send_signal(signal.SIGINT)
            drawn(screen, "the relay has ended")
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(screen)


def test_the_command_that_draws_does_not_serve():
    given = ["read", "--web", "--web-port", "80", "--web-port=81", "a", "-Y", "x"]
    assert without_web(given) == ["read", "a", "-Y", "x"]
