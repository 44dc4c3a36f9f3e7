"""The report for the terminal, and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from amqpscope.report.stats import seconds
from amqpscope.report.summary import printable, size
from amqpscope.spark.report import Report

WIDTH = 80


def report_json(report: Report) -> str:
    """The whole report."""
    return json.dumps(report, indent=1) + "\n"


def report_text(report: Report) -> str:
    """The report in 80 columns."""
    return "".join(f"{line[:WIDTH].rstrip()}\n" for line in lines(report))


def lines(report: Report) -> Iterator[str]:
    """All sections."""
    yield f"{report['captures']:,} captures ({size(report['octets'])}), {report['runs']:,} runs"
    yield (
        f"{report['packets']:,} packets, {report['connections']:,} connections,"
        f" {report['frames']:,} frames"
    )
    counts, new = report["findings"], report["new_findings"]
    yield ", ".join(
        f"{counts[severity]:,} {severity}" + (f" ({new[severity]:,} new)" if new[severity] else "")
        for severity in counts
    )
    yield "to look at a place: amqpscope read CAPTURE -Y 'packet == NUMBER'"
    for section in (rules, products, days, worst, stalls, latency, addresses, quarantine):
        yield from section(report)


def heading(text: str) -> list[str]:
    """A section begins."""
    return ["", text, "-" * len(text)]


def rules(report: Report) -> Iterator[str]:
    """Findings by rule, each with a place to look at."""
    if report["rules"]:
        yield from heading("findings by rule")
    for each in report["rules"]:
        new = f"{each['new']:,} new" if each["new"] else ""
        yield (
            f"{each['count']:8,} {each['rule']:8} {each['severity']:7} {each['peer']:6}"
            f" {each['name'][:34]:34} {new}"
        )
        yield f"{'':8} {place(each['example'])}"


def place(at: Report) -> str:
    """Where to look."""
    name = printable(at["capture"].rpartition("/")[2])
    frame = f"frame {at['frame']:,}: " if "frame" in at else ""
    return f"{frame}{name} packet {at['packet']:,}"


def products(report: Report) -> Iterator[str]:
    """Findings by who caused them."""
    if report["products"]:
        yield from heading("findings by product at fault")
    for each in report["products"]:
        yield (
            f"{each['count']:8,} {printable(each['product'])[:28]:28} {each['peer']:6}"
            f" {each['error']:,} errors, {each['warning']:,} warnings, {each['info']:,} info"
        )
        yield f"{'':8} {place(each['example'])}"


def days(report: Report) -> Iterator[str]:
    """Findings by day."""
    if report["days"]:
        yield from heading("findings by day")
    most = max((each["error"] + each["warning"] for each in report["days"]), default=0) or 1
    for each in report["days"]:
        total = each["error"] + each["warning"]
        bar = "#" * round(24 * total / most)
        yield f"{each['day']} {each['error']:7,} errors {each['warning']:7,} warnings {bar}"
        yield f"{'':10} {place(each['example'])}"


def worst(report: Report) -> Iterator[str]:
    """The worst connections."""
    if report["worst"]:
        yield from heading("worst connections")
    for each in report["worst"]:
        ring = each["ring"].rpartition("/")[2]
        yield f"{printable(ring)} connection {each['connection']:,}: {who(each)}"
        stalled = f", stalled {seconds(int(each['stalled'] * 1e9))}" if each["stalled"] else ""
        yield f"  {each['error']:,} errors, {each['warning']:,} warnings{stalled}"
        yield f"  {place(each['example'])}"


def who(each: Report) -> str:
    """Both peers."""
    return f"{each['client']} -> {each['server']} {each['server_product'] or ''}".rstrip()


def stalls(report: Report) -> Iterator[str]:
    """Where senders waited."""
    if report["stalls"]:
        yield from heading("stalled for want of credit or window")
    for each in report["stalls"]:
        ring = each["ring"].rpartition("/")[2]
        time = seconds(int(each["stalled"] * 1e9))
        yield f"{time:>10}  {printable(ring)} connection {each['connection']:,}: {who(each)}"
        yield f"{'':10}  from {place(each['example'])}"


def latency(report: Report) -> Iterator[str]:
    """How long deliveries took to be settled."""
    if report["latency"]:
        yield from heading("settle latency")
        yield percentiles(report["latency"])
        if report["slowest"]:
            yield f"  the slowest: {place(report['slowest'])}"


def percentiles(found: dict[str, float]) -> str:
    """Percentiles in words."""
    return ", ".join(f"{name} {seconds(int(value * 1e9))}" for name, value in found.items())


def addresses(report: Report) -> Iterator[str]:
    """The busiest addresses."""
    if report["addresses"]:
        yield from heading("top addresses")
    for each in report["addresses"]:
        name = printable(each["address"]) or "(none)"
        yield (
            f"{each['deliveries']:10,} deliveries {size(each['octets']):>9}"
            f" by the {each['sender']:6} {name}"
        )
        outcomes = ", ".join(f"{count:,} {name}" for name, count in each["outcomes"].items())
        if outcomes:
            yield f"{'':10} {outcomes}"
        if each["latency"]:
            yield f"{'':10} settled after {percentiles(each['latency'])}"
        yield f"{'':10} e.g. connection {each['example']['connection']:,}, from" + (
            f" {place(each['example'])}"
        )


def quarantine(report: Report) -> Iterator[str]:
    """What could not be read."""
    if report["quarantine"]:
        yield from heading("not read, or not to the end")
    for each in report["quarantine"]:
        yield printable(each["path"])
        yield f"  {printable(each['reason'])}"
