"""What the tables show, gathered for `pipeline report`; Spark is not needed for this.

The result is one plain object, which the writers in `report_text` and `report_html` share and
`--format json` prints. Whatever is counted comes with an example: the capture, the packet in it
and the frame of its ring.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from amqpscope.rules import SEVERITIES
from amqpscope.spark.manifest import Directory
from amqpscope.spark.schema import arrow_schema
from amqpscope.statistics import Histogram

VERSION: Final = 1
ROWS: Final = 100_000
UNKNOWN: Final = "(unknown)"

Report = dict[str, Any]
Place = tuple[str, int]
"""A ring and the number of a connection in it."""


class Tables:
    """The tables of a directory, row by row."""

    def __init__(self, path: str) -> None:
        self.directory = Directory(path)
        self.state = self.directory.read()

    def rows(self, table: str, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """Some columns of all rows, with the number of the run that wrote them."""
        schema = arrow_schema(table).append(pa.field("day", pa.string()))
        root = f"{self.directory.root}/{table}"
        if not self.directory.names(table):
            return
        data = ds.dataset(
            root, schema=schema, format="parquet", filesystem=self.directory.system,
            partitioning=ds.partitioning(pa.schema([("day", pa.string())]), flavor="hive"),
        )  # fmt: skip
        for fragment in data.get_fragments():
            run = int(fragment.path.rpartition("/")[2].split("-")[1])
            scanned = fragment.to_batches(schema=schema, columns=list(columns), batch_size=ROWS)
            for batch in scanned:
                for row in batch.to_pylist():
                    row["run"] = run
                    yield row


def make_report(path: str, top: int) -> Report:
    """Everything that is shown."""
    tables = Tables(path)
    connections = {
        (row["ring"], row["connection"]): row
        for row in tables.rows(
            "connections",
            ("ring", "connection", "client", "server", "client_product", "server_product",
             "client_frames", "server_frames", "gaps", "first_packet", "time_ns", "last_ns"),
        )
    }  # fmt: skip
    stalls, addresses, latency = links_of(tables)
    found = Findings(tables.state.run)
    for row in tables.rows(
        "findings",
        ("ring", "connection", "frame", "rule", "name", "severity", "certainty", "peer",
         "product", "message", "file", "file_packet", "day"),
    ):  # fmt: skip
        found.take(row)
    captures = list(tables.rows("captures", ("ring", "path", "octets", "packets", "first_packet")))
    frames = sum(row["client_frames"] + row["server_frames"] for row in connections.values())
    return {
        "version": VERSION,
        "directory": path,
        "runs": tables.state.run,
        "captures": len(captures),
        "octets": sum(row["octets"] for row in captures),
        "packets": sum(row["packets"] for row in captures),
        "connections": len(connections),
        "frames": frames,
        "findings": {severity: found.severities[severity] for severity in SEVERITIES},
        "new_findings": {severity: found.fresh[severity] for severity in SEVERITIES},
        "rules": found.by_rule(),
        "products": found.by_product(),
        "days": found.by_day(),
        "worst": found.worst(connections, stalls, top),
        "stalls": [stall(place, ns, connections) for place, ns in most(stalls, top)],
        "latency": latency.object(),
        "addresses": top_addresses(addresses, top),
        "quarantine": [
            {"path": row["path"], "reason": row["reason"], "whole": row["whole"]}
            for row in tables.rows("quarantine", ("path", "reason", "whole"))
        ],
    }


class Findings:
    """Findings counted in several ways, each with an example."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.severities: Counter[str] = Counter()
        self.fresh: Counter[str] = Counter()
        self.rules: dict[tuple[str, str, str], Report] = {}
        self.products: dict[tuple[str, str], Report] = {}
        self.days: dict[str, Counter[str]] = defaultdict(Counter)
        self.connections: dict[Place, Report] = {}

    def take(self, row: dict[str, Any]) -> None:
        """One more."""
        severity = row["severity"]
        fresh = row["run"] == self.newest
        self.severities[severity] += 1
        self.fresh[severity] += fresh
        self.days[row["day"]][severity] += 1
        rule = self.rules.setdefault(
            (row["rule"], severity, row["peer"]),
            {"rule": row["rule"], "name": row["name"], "severity": severity,
             "peer": row["peer"], "count": 0, "new": 0, "example": example(row)},
        )  # fmt: skip
        rule["count"] += 1
        rule["new"] += fresh
        product = row["product"] or UNKNOWN
        known = self.products.setdefault(
            (product, row["peer"]),
            {"product": product, "peer": row["peer"], "count": 0,
             **dict.fromkeys(SEVERITIES, 0), "example": example(row)},
        )  # fmt: skip
        known["count"] += 1
        known[severity] += 1
        mine = self.connections.setdefault(
            (row["ring"], row["connection"]),
            {"count": 0, **dict.fromkeys(SEVERITIES, 0), "example": example(row)},
        )
        mine["count"] += 1
        mine[severity] += 1

    def by_rule(self) -> list[Report]:
        """The gravest first, then the most frequent."""
        return sorted(
            self.rules.values(),
            key=lambda each: (
                SEVERITIES.index(each["severity"]), -each["count"], each["rule"], each["peer"],
            ),
        )  # fmt: skip

    def by_product(self) -> list[Report]:
        """The most frequent first."""
        return sorted(self.products.values(), key=lambda each: (-each["count"], each["product"]))

    def by_day(self) -> list[Report]:
        """Each day on which something was found."""
        return [
            {"day": day, **{severity: self.days[day][severity] for severity in SEVERITIES}}
            for day in sorted(self.days)
        ]

    def worst(
        self, connections: dict[Place, dict[str, Any]], stalls: dict[Place, int], top: int
    ) -> list[Report]:
        """The connections with the most errors, then warnings."""
        order = sorted(
            self.connections.items(),
            key=lambda each: (*(-each[1][severity] for severity in SEVERITIES), each[0]),
        )
        return [
            {**peers(place, connections), **found, "stalled": stalls.get(place, 0) / 1e9}
            for place, found in order[:top]
        ]


def example(row: dict[str, Any]) -> Report:
    """Where to look, and how."""
    file, packet = row["file"], row["file_packet"]
    return {
        "capture": file,
        "packet": packet,
        "ring": row["ring"],
        "frame": row["frame"],
        "message": row["message"],
        "command": f"amqpscope read {quoted(file)} -Y 'packet == {packet}'",
    }


def quoted(path: str) -> str:
    """A path as the shell takes it."""
    import shlex

    return shlex.quote(path)


def peers(place: Place, connections: dict[Place, dict[str, Any]]) -> Report:
    """Who talks on a connection."""
    row = connections.get(place, {})
    return {
        "ring": place[0],
        "connection": place[1],
        **{name: row.get(name) for name in (
            "client", "server", "client_product", "server_product", "first_packet", "gaps")},
    }  # fmt: skip


def links_of(tables: Tables) -> tuple[dict[Place, int], dict[tuple[str, str], Report], Histogram]:
    """Stalls by connection, numbers by address and sender, and all latencies."""
    stalls: Counter[Place] = Counter()
    for row in tables.rows("sessions", ("ring", "connection", "stalled_ns")):
        stalls[row["ring"], row["connection"]] += row["stalled_ns"]
    addresses: dict[tuple[str, str], Report] = {}
    latency = Histogram()
    columns = ("ring", "connection", "name", "address", "sender", "deliveries", "transfers",
               "octets", "outcomes", "latency", "latency_count", "latency_max_ns",
               "stalled_ns")  # fmt: skip
    for row in tables.rows("links", columns):
        place = row["ring"], row["connection"]
        stalls[place] += row["stalled_ns"]
        histogram = Histogram()
        histogram.classes.update(dict(row["latency"]))
        histogram.count, histogram.largest = row["latency_count"], row["latency_max_ns"]
        latency.merge(histogram)
        key = row["address"] or "", row["sender"]
        known = addresses.setdefault(
            key,
            {"address": key[0], "sender": key[1], "deliveries": 0, "transfers": 0, "octets": 0,
             "outcomes": Counter(), "latency": Histogram(), "stalled": 0.0,
             "example": {"ring": place[0], "connection": place[1], "link": row["name"]}},
        )  # fmt: skip
        for name in ("deliveries", "transfers", "octets"):
            known[name] += row[name]
        known["outcomes"].update(dict(row["outcomes"]))
        known["latency"].merge(histogram)
        known["stalled"] += row["stalled_ns"] / 1e9
    return stalls, addresses, latency


def most(stalls: dict[Place, int], top: int) -> Iterable[tuple[Place, int]]:
    """The connections that were stalled longest."""
    order = sorted(stalls.items(), key=lambda each: (-each[1], each[0]))
    return [each for each in order[:top] if each[1]]


def stall(place: Place, ns: int, connections: dict[Place, dict[str, Any]]) -> Report:
    """How long a connection had links without credit or sessions without window."""
    return {**peers(place, connections), "stalled": ns / 1e9}


def top_addresses(addresses: dict[tuple[str, str], Report], top: int) -> list[Report]:
    """The addresses with the most deliveries."""
    order = sorted(addresses.values(), key=lambda each: (-each["deliveries"], each["address"]))
    return [
        {**each, "outcomes": dict(each["outcomes"]), "latency": each["latency"].object()}
        for each in order[:top]
        if each["deliveries"]
    ]
