"""What `proxy` prints about the traffic, and the exit code that comes of it."""

from __future__ import annotations

import io
import os
import sys
from typing import Final, TextIO

from amqpscope.capture.ring import Ring
from amqpscope.capture.source import CaptureError, later_than
from amqpscope.check.result import CaptureResult
from amqpscope.cli.output import UNREADABLE, complain, printing, silence
from amqpscope.proxy.control import Watch
from amqpscope.report.formats import FINDING_FORMATS
from amqpscope.report.lint import jsonl_text
from amqpscope.runs.gate import emptiness, lost_packets, shortfalls
from amqpscope.runs.input import Input
from amqpscope.runs.live import Live, ProxyOutput
from amqpscope.wording import reason_of

ALLOW: Final = "nothing was checked (--allow-empty if that is meant)"


def analyse(path: str, watch: Watch, output: ProxyOutput, out: TextIO, fd: int = -1) -> int:
    """Follow the recording to its end and print; the exit code.

    `fd` is that of the recording's first file, if it is open already.
    """
    try:
        with printing():
            live = Live(path, watch, output, out, complain, fd)
            checked = live.follow()
    except CaptureError as error:
        for line in watch.new_lines():
            complain(line)
        complain(f"{error}; traffic is not analysed")
        return UNREADABLE
    # It may be the recording that ended, and not the relay.
    in_order = watch.in_order or not watch.ended
    short = shortfalls(checked, watch.latest, in_order=in_order, lost_files=live.lost_files)
    for line in short:
        if line != lost_packets(watch.latest):  # which is said where the recording is
            complain(line)
    if not output.lint:
        if checked.packets and not checked.frames and not checked.notes:
            complain(f"{checked.path}: {checked.no_amqp}")
        problem = watch.latest is not None and watch.latest.problem is not None
        broken = problem or live.lost_files or checked.error is not None
        return UNREADABLE if broken or not in_order else 0
    if watch.latest is not None and not output.allow_empty:
        empty = emptiness(checked, watch.latest, answered=live.live.answered)
        if empty:
            hint = "; does the command connect to AMQPSCOPE_PROXY_URL?" if output.command else ""
            complain(f"{empty}: {ALLOW}{hint if not watch.latest.accepted else ''}")
            short.append(f"{empty}: nothing was checked")
    written = report(checked, short, output, out)
    if short or not written:
        return UNREADABLE
    return int(any(map(output.selection.fails, checked.findings)))


def report(checked: CaptureResult, short: list[str], output: ProxyOutput, out: TextIO) -> bool:
    """Write the findings in the format that was asked for; False when that could not be."""
    if short:
        # So that no format takes what was not checked for clean.
        checked.error, checked.unreadable, checked.problems = "; ".join(short), True, []
    try:
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="backslashreplace")
        if output.form == "html":
            write_html(checked, output, out)
        else:
            out.write(text_of(checked, output))
        out.flush()
    except BrokenPipeError:
        # Who reads it may stop early (`| head`), which changes no exit code.
        silence()
    except OSError as error:
        complain(f"cannot write the report: {reason_of(error)}")
        return False
    return True


def text_of(checked: CaptureResult, output: ProxyOutput) -> str:
    """The findings as `lint` writes them; and as JSON lines."""
    if output.form == "jsonl":
        return jsonl_text([checked])
    if output.form == "text" and checked.unreadable and not checked.findings:
        return ""  # "nothing found" would be true and misleading
    return FINDING_FORMATS[output.form]([checked], output.look, output.selection.fails)


def write_html(checked: CaptureResult, output: ProxyOutput, out: TextIO) -> None:
    """The page of `lint --format html`."""
    from amqpscope.cli.html import Report

    files = files_of(checked.path)
    source = Input(Ring(checked.path, files) if files else checked.path)
    Report(output.look.show_secrets).write(out, [(source, checked)])


def files_of(first: str) -> tuple[str, ...]:
    """The files of a rotated recording that are there; none when it is one file."""
    found = [first] if os.path.exists(first) else []
    path = first
    while path := later_than(path):
        found.append(path)
    return tuple(found) if found != [first] else ()


def standard(output: ProxyOutput) -> TextIO:
    """Where to print: the command has standard output for itself."""
    return sys.stderr if output.command else sys.stdout
