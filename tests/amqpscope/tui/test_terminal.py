"""The screen and its terminal: keys that come in a burst, and a terminal that vanishes."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

PATIENCE = 20


@pytest.mark.parametrize("word", [b"", b"\x1b[?1049h", b"transfer"], ids=["early", "new", "shown"])
def test_a_screen_ends_with_its_terminal(root, word):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    # Not the leader of a session, to whom the system would send a signal.
    process = subprocess.Popen(
        [sys.executable, "-m", "amqpscope", "read", root / "captures" / "demo.pcapng"],
        stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(theirs)
    seen, start = b"", time.monotonic()
    if not word:
        time.sleep(0.5)
    with contextlib.suppress(OSError):
        # It must end whatever it has shown by then.
        while word not in seen and time.monotonic() < start + PATIENCE:
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 1 << 16)
    os.close(ours)
    try:
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("burst", "shown"),
    [
        (b"/transfer && aborted == false\r", b"filter: transfer && aborted == false"),
        (b"sqpid\r", b"search: qpid"),
        (b";queue\r", "» queue".encode()),
        (b";first s; / and s again\r", "» first s; / and s again".encode()),
    ],
    ids=["filter", "search", "note", "keys in a note"],
)
def test_what_is_pasted_behind_a_key_goes_to_its_prompt(root, burst, shown):
    """Over a slow connection a key and the text behind it come together."""
    pid, screen = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm-256color"
        path = str(root / "captures" / "demo.pcapng")
        os.execv(sys.executable, [sys.executable, "-m", "amqpscope", "read", path])
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    try:
        drawn(screen, b"header")
        os.write(screen, burst)
        drawn(screen, shown)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(screen)


def drawn(screen, words):
    """Wait until words are drawn."""
    seen, end = b"", time.monotonic() + PATIENCE
    while words not in seen:
        assert time.monotonic() < end, (words, seen)
        if select.select([screen], [], [], 1)[0]:
            seen += os.read(screen, 1 << 16)
