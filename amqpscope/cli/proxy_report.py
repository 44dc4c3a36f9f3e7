"""What `proxy` prints about the traffic, and the exit code that comes of it."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Final, TextIO

from amqpscope.capture.ring import Readable, Ring
from amqpscope.capture.source import CaptureError, later_than
from amqpscope.check.result import CaptureResult
from amqpscope.cli.output import UNREADABLE, complain, printing, silence
from amqpscope.proxy.control import Watch
from amqpscope.report.lint import finding_object
from amqpscope.report.lint_text import LintText
from amqpscope.runs.gate import counted, emptiness, lost_packets, shortfalls
from amqpscope.runs.live import Live, ProxyOutput

ALLOW: Final = "nothing was checked (--allow-empty if that is meant)"


def analyse(path: str, watch: Watch, wishes: ProxyOutput, out: TextIO, fd: int = -1) -> int:
    """Follow the recording to its end and print; the exit code.

    `fd` is that of the recording's first file, if it is open already.
    """
    try:
        with printing():
            live = Live(path, watch, wishes, out, complain, fd)
            checked = live.run()
    except CaptureError as error:
        for line in watch.told():
            complain(line)
        complain(f"{error}; what passes is not analysed")
        return UNREADABLE
    # It may be the recording that ended, and not the relay.
    in_order = watch.in_order or not watch.ended
    short = shortfalls(checked, watch.latest, in_order=in_order, lost_files=live.lost_files)
    for line in short:
        if line != lost_packets(watch.latest):  # which is said where the recording is
            complain(line)
    if not wishes.lint:
        if checked.packets and not checked.frames and not checked.notes:
            complain(f"{checked.path}: no AMQP in {counted(checked.packets, 'packet')}")
        problem = watch.latest is not None and watch.latest.problem is not None
        broken = problem or live.lost_files or checked.error is not None
        return UNREADABLE if broken or not in_order else 0
    if watch.latest is not None and not wishes.allow_empty:
        empty = emptiness(checked, watch.latest, answered=live.gathered.answered)
        if empty:
            hint = "; does the command connect to AMQPSCOPE_PROXY_URL?" if wishes.command else ""
            complain(f"{empty}: {ALLOW}{hint if not watch.latest.accepted else ''}")
            short.append(f"{empty}: nothing was checked")
    written = report(checked, short, wishes, out)
    if short or not written:
        return UNREADABLE
    return int(any(map(wishes.selection.fails, checked.findings)))


def report(checked: CaptureResult, short: list[str], wishes: ProxyOutput, out: TextIO) -> bool:
    """Write the findings in the format that was asked for; False when that could not be."""
    form = wishes.options.form
    if short:
        # So that no format takes what was not checked for clean.
        checked.error, checked.unreadable, checked.problems = "; ".join(short), True, []
    try:
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="backslashreplace")
        if form == "html":
            write_html(checked, wishes, out)
        else:
            out.write(text_of(checked, form, wishes))
        out.flush()
    except BrokenPipeError:
        # Who reads it may stop early (`| head`), which changes no exit code.
        silence()
    except OSError as error:
        complain(f"cannot write the report: {(error.strerror or str(error)).lower()}")
        return False
    return True


def text_of(checked: CaptureResult, form: str, wishes: ProxyOutput) -> str:
    """The findings as `lint` writes them; and as JSON lines."""
    from amqpscope.report import github, junit, lint, sarif

    if form == "jsonl":
        objects = (finding_object(finding, checked.path) for finding in checked.findings)
        return "".join(f"{json.dumps(each)}\n" for each in objects)
    if form == "json":
        return lint.json_text([checked])
    if form == "sarif":
        return sarif.sarif_text([checked])
    if form == "junit":
        return junit.junit_text([checked], wishes.selection.fails)
    if form == "github":
        return github.github_text([checked])
    if checked.unreadable and not checked.findings:
        return ""  # "nothing found" would be true and misleading
    options = wishes.options
    writer = LintText(width=options.width, colour=options.colour, plain=options.plain)
    return "".join(f"{line}\n" for line in writer.lines([checked]))


def write_html(checked: CaptureResult, wishes: ProxyOutput, out: TextIO) -> None:
    """The page of `lint --format html`."""
    from amqpscope.cli.html import Report

    places: dict[str, Readable] = {}
    if files := files_of(checked.path):
        places[checked.path] = Ring(checked.path, files)
    Report(show_secrets=wishes.options.show_secrets, places=places).write(out, [checked])


def files_of(first: str) -> tuple[str, ...]:
    """The files of a rotated recording that are there; none when it is one file."""
    found = [first] if os.path.exists(first) else []
    path = first
    while path := later_than(path):
        found.append(path)
    return tuple(found) if found != [first] else ()


def standard(wishes: ProxyOutput) -> TextIO:
    """Where to print: the command has standard output for itself."""
    return sys.stderr if wishes.command else sys.stdout
