"""Frames in the user's editor, until they are right or left as they were."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from typing import Final

from amqpscope.proxy.faults.errors import FaultError
from amqpscope.proxy.faults.notation import COMMENT, find_error
from amqpscope.wording import reason_of

USUAL: Final = "vi"
HELP: Final = """\
# One frame a line, in the notation of `amqpscope explain`. All of them are sent in the place of the
# one that is held. Left as it is, or empty, the frame is held on.
"""


class EditorError(Exception):
    """An editor that cannot be run; one line says why."""


def edit_text(text: str, dialect: str) -> str | None:
    """What the user makes of a frame, with errors shown until there are none; None: nothing."""
    shown, problem = text, ""
    while True:
        written = run_editor(HELP + problem + shown + "\n")
        shown = "\n".join(line for line in written.split("\n") if not line.startswith(COMMENT))
        shown = shown.strip()
        if not shown or shown == text:
            return None
        error = find_error(shown, dialect)
        if error is None:
            return shown
        if error_comment(error) == problem:
            return None  # an editor that changes nothing would be opened for ever
        problem = error_comment(error)


def error_comment(error: FaultError) -> str:
    """What is wrong, as comments."""
    return "".join(f"{COMMENT} {line}\n" for line in str(error).split("\n"))


def run_editor(text: str) -> str:
    """Let the user change a text; EditorError if that cannot be.

    The editor has the terminal for itself: Ctrl-C in it ends no proxy.
    """
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or USUAL)
    descriptor, path = tempfile.mkstemp(prefix="amqpscope-", suffix=".amqp")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        code = run_in_foreground([*words, path])
        if code:
            raise EditorError(f"{words[0]} ended with exit code {code}")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise EditorError(f"{words[0]}: {reason_of(error)}") from error
    finally:
        os.unlink(path)


def run_in_foreground(command: list[str]) -> int:
    """Run a command as the one that the keys of the terminal go to; its exit code."""
    if not sys.__stdin__ or not os.isatty(0):
        return subprocess.run(command, check=False).returncode
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with subprocess.Popen(command, stdin=0, stdout=1, stderr=2, process_group=0) as process:
            os.tcsetpgrp(0, process.pid)
            while os.WIFSTOPPED((status := os.waitpid(process.pid, os.WUNTRACED))[1]):
                os.killpg(process.pid, signal.SIGCONT)  # there is no shell to go back to
            process.returncode = os.waitstatus_to_exitcode(status[1])
        return process.returncode
    finally:
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, before)
