"""A screen whose terminal vanishes ends, whenever that happens."""

import contextlib
import fcntl
import os
import pty
import select
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
