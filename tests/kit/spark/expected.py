"""What `lint` and `stats` say of a capture, and the same read back from the tables."""

import json

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.capture.ring import ring_in
from amqpscope.check.selection import Selection
from amqpscope.insight.statistics import Histogram, Statistics
from amqpscope.report.lint import finding_object
from amqpscope.report.stats import connection_object
from amqpscope.runs.lint import CheckSettings, check

NOT_KEPT = {"ended", "until", "unsettled", "transactions"}
"""Members of stats that the tables have no column for."""


def ordered(objects):
    """Objects in an order that depends on nothing but them."""
    return sorted(objects, key=lambda each: json.dumps(each, sort_keys=True))


def readable(path):
    """A file, or the ring that is in a directory."""
    return ring_in(str(path)) if path.is_dir() else str(path)


def linted(path):
    """The findings of a capture, and the counts that lint gives."""
    checked = check(readable(path), CheckSettings(Selection(), excerpts=False))
    return ordered(finding_object(finding, "") for finding in checked.findings), checked


def counted(path):
    """The statistics of a capture's connections."""
    statistics, analyzer = Statistics(), Analyzer()
    with Pieces(readable(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    statistics.take(step)
    return ordered(kept(connection_object(numbers)) for numbers in statistics.finish())


def kept(value):
    """What the tables keep of an object that stats prints."""
    if isinstance(value, dict):
        return {name: kept(each) for name, each in value.items() if name not in NOT_KEPT}
    return [kept(each) for each in value] if isinstance(value, list) else value


def findings_of(rows):
    """Rows of the table of findings as lint prints them."""
    same = ("rule", "name", "severity", "certainty", "peer", "message", "connection", "frame",
            "packet", "channel", "link", "path", "section")  # fmt: skip
    return ordered(
        {
            **{name: row[name] for name in same},
            "capture": "",
            "time": round(row["time_ns"] / 1e9, 6),
            "related": [
                {name: value for name, value in each.items() if value is not None}
                for each in row["related"]
            ],
        }
        for row in rows
    )


def statistics_of(connections, sessions, links):
    """Rows of three tables as stats prints them."""
    return ordered(connection_of(row, sessions, links) for row in connections)


def connection_of(row, sessions, links):
    def own(rows):
        mine = [each for each in rows if each["connection"] == row["connection"]]
        return sorted(mine, key=lambda each: each.get("link_id", each["session_id"]))

    peers = ("client", "server")
    return {
        "connection": row["connection"], "client": row["client"], "server": row["server"],
        "protocol": row["protocol"],
        "containers": {peer: row[f"{peer}_container"] for peer in peers},
        "frames": {peer: row[f"{peer}_frames"] for peer in peers},
        "bytes": {peer: row[f"{peer}_octets"] for peer in peers},
        "performatives": dict(row["performatives"]),
        "first": row["time_ns"] / 1e9, "last": row["last_ns"] / 1e9,
        "sessions": [
            {"peer": each["peer"], "channel": each["channel"], "transfers": each["transfers"],
             "window_stalls": stall_of(each)}
            for each in own(sessions)
        ],
        "links": [link_of(each) for each in own(links)],
    }  # fmt: skip


def stall_of(row):
    return {"count": row["stalls"], "total": row["stalled_ns"] / 1e9,
            "longest": row["longest_ns"] / 1e9}  # fmt: skip


def link_of(row):
    latency = Histogram()
    for place, count in row["latency"]:
        latency.fill(place, count)
    latency.count = row["latency_count"]
    latency.smallest, latency.largest = row["latency_min_ns"], row["latency_max_ns"]
    same = ("kind", "sender", "channel", "deliveries", "transfers", "presettled", "aborted")
    return {
        **{name: row[name] for name in same},
        "name": row["name"] or None, "address": row["address"] or None, "bytes": row["octets"],
        "outcomes": dict(row["outcomes"]), "settle_latency": latency.object(),
        "credit_stalls": stall_of(row),
    }  # fmt: skip


def tables_of(folder):
    """All rows of all tables of a directory by their ring, read without Spark."""
    from deltalake import DeltaTable

    from amqpscope.spark.schema import TABLES

    found = {}
    for table in TABLES:
        for row in DeltaTable(folder / table).to_pyarrow_table().to_pylist():
            found.setdefault(row["ring"], {}).setdefault(table, []).append(row)
    return found
