"""What is different between two archives, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from amqpscope.protocols.words import printable, seconds
from amqpscope.report.columns import cut
from amqpscope.spark.compare import GONE, NEW, SAME, WORSE
from amqpscope.wording import plural

Report = dict[str, Any]
MAX_ADDRESSES: Final = 3
"""Addresses that are named under a finding."""


def compare_text(found: Report, width: int) -> str:
    """The comparison in so many columns."""
    return "".join(f"{cut(line.rstrip(), width)}\n" for line in lines(found))


def lines(found: Report) -> Iterator[str]:
    """All sections, then what the exit code stands for."""
    for name in ("before", "after"):
        yield f"{name:7} {side_words(found[name])}"
    yield from findings(found)
    yield from latencies(found)
    yield from shares(found, "outcomes", "Outcomes")
    yield from shares(found, "redeliveries", "Redeliveries")
    yield from products(found)
    yield ""
    reasons = found["worse"]
    yield f"worse: {plural(len(reasons), 'reason')}" if reasons else "not worse"
    for reason in reasons:
        yield f"  {printable(reason)}"


def side_words(side: Report) -> str:
    """How much a side has."""
    days = "" if side["days"] is None else f", {' to '.join(dict.fromkeys(side['days']))}"
    return (
        f"{printable(side['tables'])} (run {side['run']}{days}):"
        f" {plural(side['connections'], 'connection')}, {plural(side['frames'], 'frame')},"
        f" {side['deliveries']:,} deliveries"
    )


def findings(found: Report) -> Iterator[str]:
    """Kinds of findings that have changed, in a million frames."""
    changed = [each for each in found["findings"] if each["change"] != SAME]
    if changed:
        yield ""
        yield "Findings in a million frames"
    for each in changed:
        yield (
            f"  {each['change']:7} {each['severity']:8} {each['rule']:11} {each['peer']:7}"
            f" {each['rate_before']:>11,.1f} -> {each['rate_after']:<11,.1f}"
            f" ({each['before']:,} -> {each['after']:,}) {chance(each)} {each['name']}"
        )
        if each["change"] in (NEW, WORSE):
            for place in each["addresses"][:MAX_ADDRESSES]:
                where = printable(place["address"] or "(no address)")
                yield f"{'':10}{place['before']:,} -> {place['after']:,} at {where}"
    same = len(found["findings"]) - len(changed)
    if same:
        yield f"  {same:,} more {'kind' if same == 1 else 'kinds'} without a change beyond chance"


def latencies(found: Report) -> Iterator[str]:
    """Addresses at which something takes longer, or less long."""
    changed = [each for each in found["latency"] if each["change"] != SAME]
    if changed:
        yield ""
        yield "Latency (median, 99th percentile)"
    for each in changed:
        spans = ", ".join(
            f"{span(each[f'{name}_before'])} -> {span(each[f'{name}_after'])}"
            for name in ("p50", "p99")
        )
        yield f"  {each['change']:7} {each['kind']}, {place_words(each)}: {spans} {chance(each)}"


def shares(found: Report, part: str, title: str) -> Iterator[str]:
    """Outcomes and redeliveries whose share has changed."""
    changed = [each for each in found[part] if each["change"] != SAME]
    if changed:
        yield ""
        yield title
    for each in changed:
        what = f"{each['outcome']}, " if "outcome" in each else ""
        yield (
            f"  {each['change']:7} {what}{place_words(each)}: {each['share_before']:.2%} of"
            f" {each['of_before']:,} -> {each['share_after']:.2%} of {each['of_after']:,}"
            f" {chance(each)}"
        )


def products(found: Report) -> Iterator[str]:
    """Products and versions that came or went."""
    for change, title in ((NEW, "New products and versions"), (GONE, "Gone")):
        mine = [each for each in found["products"] if each["change"] == change]
        if mine:
            yield ""
            yield title
        for each in mine:
            name = printable(f"{each['product']} {each['version'] or ''}".strip())
            yield f"  {each['peer']:7} {name}, {plural(each['connections'], 'connection')}"


def place_words(each: Report) -> str:
    """An address, and who sends there."""
    sender = f", sent by the {each['sender']}" if "sender" in each else ""
    return f"{printable(each['address'] or '(no address)')}{sender}"


def chance(each: Report) -> str:
    """How likely a change is where nothing has changed."""
    return "p<0.0001" if each["p"] < 0.0001 else f"p={each['p']:.4f}"


def span(time: float) -> str:
    """A duration."""
    return seconds(int(time * 1e9))
