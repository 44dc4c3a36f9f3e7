"""What is different between two archives: `pipeline compare`, as one plain object.

Findings are compared by their rate per million frames, outcomes and redeliveries by their share,
latencies by their whole distribution. What is worse is so with a severity that the user cares
about, or by more than chance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Final

from amqpscope.findings import SEVERITIES
from amqpscope.insight.counters import WIDTH, Histogram
from amqpscope.spark.sides import Side, merge_keys
from amqpscope.spark.significance import judge, rate_p, share_p, shift_p

VERSION: Final = 1
MILLION: Final = 1_000_000
LEAST: Final = 0.1
"""The part by which a median or a 99th percentile has to move to matter."""
GOOD: Final = ("accepted", "acked", "confirmed", "presettled")
"""Outcomes that nobody has to look into."""
NEW, WORSE, GONE, BETTER, SAME = CHANGES = ("new", "worse", "gone", "better", "same")

Report = dict[str, Any]

FINDINGS: Final = """
    SELECT rule, any_value(name), severity, peer, coalesce(address, ''), count(*)
    FROM findings GROUP BY rule, severity, peer, coalesce(address, '') ORDER BY ALL"""
SETTLED: Final = """
    SELECT address, sender, each.key, sum(each.value) FROM (
        SELECT coalesce(address, '') AS address, sender, unnest(map_entries(latency)) AS each
        FROM statistics) GROUP BY ALL ORDER BY ALL"""
DELIVERED: Final = f"""
    SELECT coalesce(address, ''), 'server',
        CAST(floor(ln(greatest(latency_ns, 1)) / {WIDTH!r}) AS INTEGER), count(*)
    FROM hops WHERE attempt = 1 AND latency_ns IS NOT NULL GROUP BY ALL ORDER BY ALL"""
OUTCOMES: Final = """
    SELECT address, sender, each.key, sum(each.value) FROM (
        SELECT coalesce(address, '') AS address, sender, unnest(map_entries(outcomes)) AS each
        FROM statistics) GROUP BY ALL ORDER BY ALL"""
REDELIVERED: Final = """
    SELECT coalesce(address, ''), sender, sum(deliveries), sum(redelivered) FROM statistics
    WHERE link_id IS NOT NULL AND sender = 'server' GROUP BY ALL ORDER BY ALL"""
PRODUCTS: Final = """
    SELECT peer, coalesce(product, ''), coalesce(version, ''), count(*) FROM (
        SELECT 'client' AS peer, client_product AS product, client_version AS version
        FROM connections
        UNION ALL SELECT 'server', server_product, server_version FROM connections)
    WHERE product IS NOT NULL GROUP BY ALL ORDER BY ALL"""


def compare(before: Side, after: Side, alpha: float, fail_on: str) -> Report:
    """All that is different."""
    sides = [side_object(side) for side in (before, after)]
    found: Report = {
        "version": VERSION,
        "before": sides[0],
        "after": sides[1],
        "alpha": alpha,
        "findings": findings(before, after, sides, alpha),
        "latency": [
            *latencies("settle", SETTLED, before, after, alpha),
            *latencies("publish to deliver", DELIVERED, before, after, alpha),
        ],
        "outcomes": outcomes(before, after, alpha),
        "redeliveries": redeliveries(before, after, alpha),
        "products": products(before, after),
    }
    found["worse"] = list(reasons(found, fail_on))
    return found


def side_object(side: Side) -> Report:
    """How much a side has."""
    frames, connections = side.rows(
        "SELECT sum(client_frames + server_frames), count(*) FROM connections"
    )[0]
    (deliveries,) = side.rows("SELECT sum(deliveries) FROM statistics")[0]
    days = None if side.days is None else [day.isoformat() for day in side.days]
    return {
        "tables": side.path, "run": side.run, "days": days, "connections": connections,
        "frames": int(frames or 0), "deliveries": int(deliveries or 0),
    }  # fmt: skip


def findings(before: Side, after: Side, sides: list[Report], alpha: float) -> list[Report]:
    """Each kind of finding on both sides: those that matter most first."""
    kinds: dict[tuple[str, str, str], Report] = {}
    for at, side in enumerate((before, after)):
        for rule, name, severity, peer, address, count in side.rows(FINDINGS):
            kind = kinds.setdefault(
                (rule, severity, peer),
                {"rule": rule, "name": name, "severity": severity, "peer": peer,
                 "counts": [0, 0], "addresses": defaultdict(lambda: [0, 0])},
            )  # fmt: skip
            kind["counts"][at] += count
            kind["addresses"][address][at] += count
    frames = [side["frames"] for side in sides]
    tests = judge([rate_p(k["counts"][0], frames[0], k["counts"][1], frames[1])
                   for k in kinds.values()])  # fmt: skip
    found = []
    for kind, test in zip(kinds.values(), tests, strict=True):
        counts = kind.pop("counts")
        rates = [rate(count, of) for count, of in zip(counts, frames, strict=True)]
        change = trend(counts, rates, test.adjusted < alpha)
        addresses = [
            {"address": address or None, "before": pair[0], "after": pair[1]}
            for address, pair in kind.pop("addresses").items()
        ]
        addresses.sort(key=lambda each: (each["before"] - each["after"], each["address"] or ""))
        found.append(
            {**kind, "change": change, "before": counts[0], "after": counts[1],
             "rate_before": rates[0], "rate_after": rates[1], "p": test.adjusted,
             "addresses": addresses}
        )  # fmt: skip
    found.sort(key=gravity)
    return found


def gravity(each: Report) -> tuple[int, int, int, str, str]:
    """The place of a kind of finding: what is new or worse first, then the gravest."""
    change, severity = CHANGES.index(each["change"]), SEVERITIES.index(each["severity"])
    return change, severity, -each["after"], each["rule"], each["peer"]


def rate(count: int, frames: int) -> float:
    """So many in a million frames."""
    return round(count * MILLION / frames, 3) if frames else 0.0


def trend(counts: list[int], rates: list[float], surely: bool) -> str:
    """What has become of a kind of finding."""
    if not counts[0]:
        return NEW
    if not counts[1]:
        return GONE
    if not surely:
        return SAME
    return WORSE if rates[1] > rates[0] else BETTER


def latencies(
    kind: str, query: str, before: Side, after: Side, alpha: float
) -> list[Report]:  # fmt: skip
    """How long things took at each address that both sides have."""
    sides = [by_address(side, query) for side in (before, after)]
    keys = [key for key in sides[0] if key in sides[1]]
    tests = judge([shift_p(sides[0][key], sides[1][key]) for key in keys])
    found = []
    for key, test in zip(keys, tests, strict=True):
        times = [histogram(side[key]) for side in sides]
        pairs = [[each.percentile(percent) for each in times] for percent in (50, 99)]
        grown = [after > before * (1 + LEAST) for before, after in pairs]
        shrunk = [after < before * (1 - LEAST) for before, after in pairs]
        change = SAME
        if test.adjusted < alpha and (grown[0] or (grown[1] and not shrunk[0])):
            change = WORSE
        elif test.adjusted < alpha and any(shrunk):
            change = BETTER
        found.append(
            {"kind": kind, "address": key[0] or None, "sender": key[1], "change": change,
             "count_before": times[0].count, "count_after": times[1].count,
             "p50_before": pairs[0][0], "p50_after": pairs[0][1],
             "p99_before": pairs[1][0], "p99_after": pairs[1][1], "p": test.adjusted}
        )  # fmt: skip
    return found


def by_address(side: Side, query: str) -> dict[tuple[str, str], dict[int, int]]:
    """How many durations lie in each class, by address and sender."""
    found: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for (address, sender, place), count in side.counts(query).items():
        found[address, sender][place] = count
    return found


def histogram(classes: dict[int, int]) -> Histogram:
    """Durations whose shortest and longest are only known by their class."""
    found = Histogram()
    for place, count in classes.items():
        found.fill(place, count)
    found.count = sum(classes.values())
    found.largest = 1 << 62
    return found


def outcomes(before: Side, after: Side, alpha: float) -> list[Report]:
    """How deliveries ended at each address that both sides have."""
    sides: list[dict[tuple[str, str], Counter[str]]] = []
    for side in (before, after):
        mine: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for (address, sender, outcome), count in side.counts(OUTCOMES).items():
            mine[address, sender][outcome] += count
        sides.append(mine)
    keys = [key for key in sides[0] if key in sides[1]]
    rows = [
        (key, outcome, sides[0][key], sides[1][key])
        for key in keys
        for outcome in merge_keys(sides[0][key], sides[1][key])
    ]
    tests = judge([share_p(a[o], a.total(), b[o], b.total()) for _, o, a, b in rows])
    return [
        {"address": key[0] or None, "sender": key[1], "outcome": outcome,
         **shares(a[outcome], a.total(), b[outcome], b.total(), test.adjusted < alpha,
                  is_bad=outcome not in GOOD),
         "p": test.adjusted}
        for (key, outcome, a, b), test in zip(rows, tests, strict=True)
    ]  # fmt: skip


def shares(
    count: int, of: int, count_after: int, of_after: int, surely: bool, *, is_bad: bool
) -> Report:
    """Two shares, and what has become of the first."""
    share, share_after = count / of if of else 0.0, count_after / of_after if of_after else 0.0
    change = SAME
    if surely:
        change = WORSE if (share_after > share) == is_bad else BETTER
    return {
        "change": change, "before": count, "of_before": of, "after": count_after,
        "of_after": of_after, "share_before": round(share, 6), "share_after": round(share_after, 6),
    }  # fmt: skip


def redeliveries(before: Side, after: Side, alpha: float) -> list[Report]:
    """How many deliveries were repeated ones, at each address that both sides have."""
    sides = [
        {row[:2]: (int(row[2] or 0), int(row[3] or 0)) for row in side.rows(REDELIVERED)}
        for side in (before, after)
    ]
    keys = [key for key in sides[0] if key in sides[1] and (sides[0][key][1] or sides[1][key][1])]
    pairs = [
        (sides[0][key][1], sides[0][key][0], sides[1][key][1], sides[1][key][0]) for key in keys
    ]
    tests = judge([share_p(*pair) for pair in pairs])
    return [
        {"address": key[0] or None, **shares(*pair, test.adjusted < alpha, is_bad=True),
         "p": test.adjusted}
        for key, pair, test in zip(keys, pairs, tests, strict=True)
    ]  # fmt: skip


def products(before: Side, after: Side) -> list[Report]:
    """Products and versions that only one side has."""
    sides = [side.counts(PRODUCTS) for side in (before, after)]
    return [
        {"peer": key[0], "product": key[1], "version": key[2] or None,
         "change": GONE if key in sides[0] else NEW,
         "connections": sides[0].get(key) or sides[1].get(key)}
        for key in merge_keys(*sides)
        if (key in sides[0]) != (key in sides[1])
    ]  # fmt: skip


def reasons(found: Report, fail_on: str) -> list[str]:
    """Why the second side is worse, one line each; nothing where it is not."""
    if fail_on == "never":
        return []
    grave = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    lines = [
        f"{each['severity']} {each['rule']} of the {each['peer']} is {each['change']}:"
        f" {each['rate_before']:,g} -> {each['rate_after']:,g} in a million frames"
        for each in found["findings"]
        if each["severity"] in grave and each["change"] in (NEW, WORSE)
    ]
    parts: tuple[tuple[str, Callable[[Report], str]], ...] = (
        ("latency", lambda each: f"{each['kind']} latency at {each['address'] or '(no address)'}"),
        ("outcomes", lambda each: f"{each['outcome']} at {each['address'] or '(no address)'}"),
        ("redeliveries", lambda each: f"redeliveries at {each['address'] or '(no address)'}"),
    )
    for part, words in parts:
        lines += [f"{words(each)}: worse" for each in found[part] if each["change"] == WORSE]
    return lines
