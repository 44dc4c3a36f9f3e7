"""The report for the terminal, and for programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Final

from amqpscope.protocols.words import escaped, printable, seconds, size
from amqpscope.report.columns import cut, wrap
from amqpscope.spark.report_places import Report
from amqpscope.wording import plural

WIDTH: Final = 80
DEEP: Final = " " * 9
"""Before what belongs to the line above."""


WITH_VALUE: Final = ("-Y", "--keylog", "--decode-as")
"""Options of `read` that are told something."""


class Command(str):
    """A line to copy, of which nothing may be missing."""

    __slots__ = ()


def report_json(report: Report) -> str:
    """The whole report."""
    return json.dumps(report, indent=1) + "\n"


def report_text(report: Report, width: int = WIDTH) -> str:
    """The report in so many columns; commands go on in the next line, as a shell takes them."""
    text: list[str] = []
    for line in lines(report, width):
        folded = (
            wrap_command(line, width) if isinstance(line, Command) else [cut(line.rstrip(), width)]
        )
        text.extend(folded)
    return "".join(f"{line}\n" for line in text)


def wrap_command(command: Command, width: int) -> list[str]:
    """A command in lines, cut between its words."""
    words: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        # An option stays with what it is given.
        if words and words[-1] in WITH_VALUE:
            words[-1] += f" {word}"
        else:
            words.append(word)
    found = [DEEP + words[0]]
    for word in words[1:]:
        if len(found[-1]) + len(word) + 3 > width:
            found[-1] += " \\"
            found.append(f"{DEEP}  {word}")
        else:
            found[-1] += f" {word}"
    return found


def lines(report: Report, width: int) -> Iterator[str]:
    """All sections."""
    yield f"{plural(report['captures'], 'capture')} ({size(report['octets'])}), " + (
        plural(report["runs"], "run")
    )
    yield ", ".join(plural(report[f"{name}s"], name) for name in ("packet", "connection", "frame"))
    found, new = report["findings"], report["new_findings"]
    yield ", ".join(
        severity_count(found[severity], severity)
        + (f" ({new[severity]:,} new)" if new[severity] else "")
        for severity in found
    )
    yield from rules(report, width)
    for section in (products, days, worst, stalls, latency, addresses):
        yield from section(report)
    yield from quarantine(report, width)


def severity_count(number: int, severity: str) -> str:
    """`1 error`, `2 errors`, `2 info`."""
    return f"{number:,} info" if severity == "info" else plural(number, severity)


def severities(each: Report, *names: str) -> str:
    """How many findings there are of some severities."""
    return ", ".join(severity_count(each[name], name) for name in names)


def heading(text: str) -> list[str]:
    """A section begins."""
    return ["", text, "-" * len(text)]


def rules(report: Report, width: int) -> Iterator[str]:
    """Findings by rule, each with a place to look at."""
    if report["rules"]:
        yield from heading("findings by rule")
    wide = max((len(each["rule"]) for each in report["rules"]), default=0)
    longest = max((len(each["name"]) for each in report["rules"]), default=0)
    room = min(max(width - wide - 36, 20), longest)
    for each in report["rules"]:
        new = f"{each['new']:,} new" if each["new"] else ""
        yield (
            f"{each['count']:8,} {each['rule']:{wide}} {each['severity']:7} {each['peer']:6}"
            f" {cut(each['name'], room):{room}} {new}"
        )
        yield from place_lines(each["example"])
        if each["new"] and each["new_example"]["command"] != each["example"]["command"]:
            yield from place_lines(each["new_example"], "the first new one: ")


def place_lines(at: Report, what: str = "") -> Iterator[str]:
    """Where something is, and how to look at it."""
    yield f"{DEEP}{what}{place(at)}"
    yield Command(at["command"])


def place(at: Report) -> str:
    """Where to look."""
    packet = f"{escaped(at['capture'].rpartition('/')[2])} packet {at['packet']:,}"
    return f"frame {at['frame']:,} of {ring_of(at)} ({packet})" if "frame" in at else packet


def products(report: Report) -> Iterator[str]:
    """Findings by who caused them."""
    if report["products"]:
        yield from heading("findings by product at fault")
    for each in report["products"]:
        yield (
            f"{each['count']:8,} {printable(each['product'])[:28]:28} {each['peer']:6}"
            f" {severities(each, 'error', 'warning', 'info')}"
        )
        yield from place_lines(each["example"])


def days(report: Report) -> Iterator[str]:
    """Findings by day."""
    if report["days"]:
        yield from heading("findings by day")
    most = max((each["error"] + each["warning"] for each in report["days"]), default=0) or 1
    for each in report["days"]:
        total = each["error"] + each["warning"]
        bar = "#" * round(24 * total / most)
        yield f"{each['day']} {each['error']:7,} errors, {each['warning']:7,} warnings {bar}"
        yield from place_lines(each["example"])


def worst(report: Report) -> Iterator[str]:
    """The worst connections."""
    if report["worst"]:
        yield from heading("worst connections")
    for each in report["worst"]:
        yield f"{ring_of(each)} connection {each['connection']:,}: {who(each)}"
        stalled = f", stalled {seconds(int(each['stalled'] * 1e9))}" if each["stalled"] else ""
        yield f"{DEEP}{severities(each, 'error', 'warning')}{stalled}"
        yield from place_lines(each["example"], f"{each['example']['rule']}: ")
        yield from place_lines(each["whole"], "all of it, from ")


def ring_of(each: Report) -> str:
    """The ring of a connection, by the last part of its name."""
    return escaped(each["ring"].rstrip("/").rpartition("/")[2])


def who(each: Report) -> str:
    """Both peers."""
    return f"{each['client']} -> {each['server']} {each['server_product'] or ''}".rstrip()


def stalls(report: Report) -> Iterator[str]:
    """Where senders waited."""
    if report["stalls"]:
        yield from heading("stalled for want of credit or window")
    for each in report["stalls"]:
        time = seconds(int(each["stalled"] * 1e9))
        yield f"{time:>8} {ring_of(each)} connection {each['connection']:,}: {who(each)}"
        yield from place_lines(each["example"], "the longest from ")


def latency(report: Report) -> Iterator[str]:
    """How long deliveries took to be settled."""
    if report["latency"]:
        yield from heading("settle latency")
        yield percentiles(report["latency"])
        if report["slowest"]:
            yield from place_lines(report["slowest"], "the slowest: ")


def percentiles(found: dict[str, float]) -> str:
    """Percentiles in words."""
    return ", ".join(f"{name} {seconds(int(value * 1e9))}" for name, value in found.items())


def addresses(report: Report) -> Iterator[str]:
    """The busiest addresses."""
    if report["addresses"]:
        yield from heading("top addresses")
    for each in report["addresses"]:
        name = printable(each["address"]) or "(none)"
        deliveries = "delivery" if each["deliveries"] == 1 else "deliveries"
        yield (
            f"{each['deliveries']:8,} {deliveries:10} {size(each['octets']):>9}"
            f" by the {each['sender']:6} {name}"
        )
        outcomes = ", ".join(f"{count:,} {name}" for name, count in each["outcomes"].items())
        if outcomes:
            yield f"{DEEP}{outcomes}"
        if each["latency"]:
            yield f"{DEEP}settled after {percentiles(each['latency'])}"
        yield from place_lines(
            each["example"], f"connection {each['example']['connection']:,}, from "
        )


def quarantine(report: Report, width: int) -> Iterator[str]:
    """What could not be read."""
    if report["quarantine"]:
        yield from heading("not read, or not to the end")
    for each in report["quarantine"]:
        yield escaped(each["path"])
        yield from wrap(printable(each["reason"]), width, DEEP)
