"""What `read` and `stats` say of a capture, in the words of the tables that have a row for each
frame, delivery and minute.
"""

import json
from collections import Counter, defaultdict

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.check.selection import Selection
from amqpscope.insight.statistics import Histogram, Statistics
from amqpscope.report.jsonl import JsonLines, seconds

COUNTED = ("transfers", "deliveries", "octets")


def replayed(path):
    """The lines that `read --format jsonl` prints, and the connections that `stats` counts."""
    statistics, analyzer, printer = Statistics(), Analyzer(rules=Selection().rules()), JsonLines()
    units = []
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    statistics.take(step)
                    units.append(json.loads(printer.line(step)))
    return units, statistics.finish()


def frames_of_units(units):
    """Lines of `read` as rows of frames."""
    return [
        {
            **{name: unit[name] for name in ("frame", "packet", "connection", "protocol", "kind",
                                             "channel", "name", "findings")},
            "time": unit["time"], "sender": unit["from"], "octets": unit["size"],
            "link": unit.get("link") or None,
            "wire_id": unit.get("delivery", unit.get("publish")),
        }
        for unit in units
    ]  # fmt: skip


def frames_of_rows(rows):
    """Rows of frames, without what `read` does not print; only 1.0 has links by name."""
    names = ("frame", "packet", "connection", "protocol", "kind", "channel", "name", "findings",
             "sender", "octets", "wire_id")  # fmt: skip
    return [
        {
            **{name: row[name] for name in names},
            "time": float(seconds(row["time_ns"])),
            "link": (row["link"] or None) if row["protocol"] == "amqp-1.0" else None,
        }
        for row in sorted(rows, key=lambda row: row["frame"])
    ]


def begun_in_units(units):
    """The deliveries of 1.0 in the lines that `read` prints: transfers up to one without more."""
    found, last = [], {}
    for unit in units:
        if unit["name"] == "transfer" and "link" in unit and "delivery" in unit:
            key = unit["connection"], unit["from"], unit["channel"], unit["link"]
            current = last.get(key)
            if current is None or current["wire_id"] != unit["delivery"]:
                current = {"octets": 0, "transfers": 0, "wire_id": unit["delivery"],
                           "frame": unit["frame"], "packet": unit["packet"]}  # fmt: skip
                found.append(current)
            current["octets"] += unit.get("payload", 0)
            current["transfers"] += 1
            fields = unit["fields"]
            last[key] = current if fields.get("more") and not fields.get("aborted") else None
    return found


def sums_of_links(connections):
    """What `stats` counts, by connection, sender and address."""
    found = defaultdict(sums)
    for numbers in connections:
        for link in numbers.links:
            into = found[numbers.number, link.sender, link.address or None]
            into["transfers"] += link.transfers
            into["deliveries"] += link.deliveries
            into["octets"] += link.bytes
            into["outcomes"].update(link.outcomes)
            into["latency"].update(link.latency.classes)
            into["longest"] = max(into["longest"], link.latency.largest)
    return {key: each for key, each in found.items() if each["transfers"] or each["deliveries"]}


def sums():
    return {"transfers": 0, "deliveries": 0, "octets": 0, "outcomes": Counter(),
            "latency": Counter(), "longest": 0}  # fmt: skip


def sums_of_minutes(rows):
    """Rows of statistics, their minutes added up."""
    found = defaultdict(sums)
    for row in rows:
        if not row["transfers"] and not row["settled"]:
            continue  # of a session, or a minute in which a link only had no credit
        into = found[row["connection"], row["sender"], row["address"] or None]
        for name in COUNTED:
            into[name] += row[name]
        into["outcomes"].update(dict(row["outcomes"]))
        into["latency"].update(dict(row["latency"]))
        into["longest"] = max(into["longest"], row["latency_max_ns"])
        assert row["settled"] == sum(dict(row["latency"]).values())
    return dict(found)


def begun_in_rows(rows, units):
    """Rows of deliveries, of connections that speak 1.0, as `begun_in_units` has them."""
    connections = {unit["connection"] for unit in units if unit["protocol"] == "amqp-1.0"}
    names = ("frame", "packet", "wire_id", "octets", "transfers")
    return [
        {name: row[name] for name in names}
        for row in sorted(rows, key=lambda row: row["frame"])
        if row["connection"] in connections
    ]


def latencies(rows):
    """How long deliveries took to be settled, by connection, sender and address."""
    found = defaultdict(Histogram)
    for row in rows:
        if row["latency_ns"] is not None and not (row["presettled"] or row["aborted"]):
            key = row["connection"], row["sender"], row["address"] or None
            found[key].add(row["latency_ns"])
    return {key: each.classes for key, each in found.items()}
