"""What the tables show, gathered for `pipeline report`; Spark is not needed for this.

The result is one plain object, which the writers in `report_text` and `report_html` share and
`--format json` prints. Whatever is counted comes with an example: the capture, the packet in it
and, where it is about a frame, its number in the ring.
"""

from __future__ import annotations

import shlex
from bisect import bisect_right
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
Row = dict[str, Any]
Place = tuple[str, int]
"""A ring and the number of a connection in it."""


class Tables:
    """The tables of a directory, row by row."""

    def __init__(self, path: str) -> None:
        self.directory = Directory(path)
        self.state = self.directory.read()

    def rows(
        self, table: str, columns: tuple[str, ...], chosen: ds.Expression | None = None
    ) -> Iterator[Row]:
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
            scanned = fragment.to_batches(
                schema=schema, columns=list(columns), filter=chosen, batch_size=ROWS
            )
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
    captures = list(tables.rows("captures", ("ring", "path", "octets", "packets", "first_packet")))
    places = Places(captures, connections)
    links = Links(tables)
    found = Findings(tables.state.run)
    for row in tables.rows(
        "findings",
        ("ring", "connection", "frame", "rule", "name", "severity", "certainty", "peer",
         "product", "message", "file", "file_packet", "day"),
    ):  # fmt: skip
        found.take(row)
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
        "worst": found.worst(places, links.stalls, top),
        "stalls": [
            {**places.peers(place), "stalled": ns / 1e9, "example": places.connection(place)}
            for place, ns in most(links.stalls, top)
        ],
        "latency": links.latency.object(),
        "slowest": slowest(tables, links, places),
        "addresses": top_addresses(links.addresses, places, top),
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
        self.days: dict[str, Report] = {}
        self.connections: dict[Place, Report] = {}

    def take(self, row: Row) -> None:
        """One more."""
        severity = row["severity"]
        fresh = row["run"] == self.newest
        self.severities[severity] += 1
        self.fresh[severity] += fresh
        rule = self.rules.setdefault(
            (row["rule"], severity, row["peer"]),
            {"rule": row["rule"], "name": row["name"], "severity": severity,
             "peer": row["peer"], "count": 0, "new": 0, "example": row},
        )  # fmt: skip
        rule["new"] += fresh
        product = row["product"] or UNKNOWN
        known = self.products.setdefault(
            (product, row["peer"]), {"product": product, "peer": row["peer"], **nothing(row)}
        )
        mine = self.connections.setdefault((row["ring"], row["connection"]), nothing(row))
        day = self.days.setdefault(row["day"], {"day": row["day"], **nothing(row)})
        for each in (rule, known, mine, day):
            each["count"] += 1
            each["example"] = min(each["example"], row, key=gravity)
        for each in (known, mine, day):
            each[severity] += 1

    def by_rule(self) -> list[Report]:
        """The gravest first, then the most frequent."""
        order = sorted(
            self.rules.values(),
            key=lambda each: (
                SEVERITIES.index(each["severity"]), -each["count"], each["rule"], each["peer"],
            ),
        )  # fmt: skip
        return [shown(each) for each in order]

    def by_product(self) -> list[Report]:
        """The most frequent first."""
        order = sorted(self.products.values(), key=lambda each: (-each["count"], each["product"]))
        return [shown(each) for each in order]

    def by_day(self) -> list[Report]:
        """Each day on which something was found."""
        return [shown(self.days[day]) for day in sorted(self.days)]

    def worst(self, places: Places, stalls: dict[Place, int], top: int) -> list[Report]:
        """The connections with the most errors, then warnings."""
        order = sorted(
            self.connections.items(),
            key=lambda each: (*(-each[1][severity] for severity in SEVERITIES), each[0]),
        )
        return [
            {**places.peers(place), **shown(found), "stalled": stalls.get(place, 0) / 1e9}
            for place, found in order[:top]
        ]


def nothing(row: Row) -> Report:
    """Counts of no findings yet, of which this is the first."""
    return {"count": 0, **dict.fromkeys(SEVERITIES, 0), "example": row}


def gravity(row: Row) -> tuple[int, str, int]:
    """Which of some findings to show: the gravest, and of these the first."""
    return SEVERITIES.index(row["severity"]), row["ring"], row["frame"]


def shown(each: Report) -> Report:
    """Counts with the place of their example."""
    row = each["example"]
    found = where(row["ring"], row["file"], row["file_packet"])
    return {**each, "example": {**found, "frame": row["frame"], "message": row["message"]}}


def where(ring: str, path: str, packet: int) -> Report:
    """Where to look, and how."""
    command = f"amqpscope read {shlex.quote(path)} -Y 'packet == {packet}'"
    return {"capture": path, "packet": packet, "ring": ring, "command": command}


class Places:
    """Which capture has a packet of a ring, and who talks on a connection."""

    def __init__(self, captures: list[Row], connections: dict[Place, Row]) -> None:
        self.connections = connections
        self.files: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for row in captures:
            self.files[row["ring"]].append((row["first_packet"], row["path"]))
        for files in self.files.values():
            files.sort()

    def packet(self, ring: str, packet: int) -> Report:
        """Where a packet of a ring is."""
        files = self.files[ring]
        first, path = files[max(bisect_right(files, (packet, "\U0010ffff")) - 1, 0)]
        return where(ring, path, packet - first + 1)

    def connection(self, place: Place) -> Report:
        """Where a connection begins."""
        return self.packet(place[0], self.connections[place]["first_packet"])

    def peers(self, place: Place) -> Report:
        """Who talks on a connection."""
        row = self.connections.get(place, {})
        names = ("client", "server", "client_product", "server_product", "first_packet", "gaps")
        known = {name: row.get(name) for name in names}
        return {"ring": place[0], "connection": place[1], **known}


class Links:
    """Stalls by connection, numbers by address and sender, and all latencies."""

    def __init__(self, tables: Tables) -> None:
        self.stalls: Counter[Place] = Counter()
        self.addresses: dict[tuple[str, str], Report] = {}
        self.latency = Histogram()
        self.slowest: Row | None = None
        """The link on which a delivery took longest to be settled."""
        for row in tables.rows("sessions", ("ring", "connection", "stalled_ns")):
            self.stalls[row["ring"], row["connection"]] += row["stalled_ns"]
        columns = ("ring", "connection", "name", "address", "sender", "deliveries", "transfers",
                   "octets", "outcomes", "latency", "latency_count", "latency_max_ns",
                   "stalled_ns")  # fmt: skip
        for row in tables.rows("links", columns):
            self.take(row)

    def take(self, row: Row) -> None:
        """One more link."""
        place = row["ring"], row["connection"]
        self.stalls[place] += row["stalled_ns"]
        histogram = Histogram()
        for latency, count in row["latency"]:
            histogram.fill(latency, count)
        histogram.count, histogram.largest = row["latency_count"], row["latency_max_ns"]
        self.latency.merge(histogram)
        if histogram.count and (
            self.slowest is None or histogram.largest > self.slowest["latency_max_ns"]
        ):
            self.slowest = row
        key = row["address"] or "", row["sender"]
        known = self.addresses.setdefault(
            key,
            {"address": key[0], "sender": key[1], "deliveries": 0, "transfers": 0, "octets": 0,
             "outcomes": Counter(), "latency": Histogram(), "stalled": 0.0,
             "busiest": (0, *place, "")},
        )  # fmt: skip
        for name in ("deliveries", "transfers", "octets"):
            known[name] += row[name]
        known["outcomes"].update(dict(row["outcomes"]))
        known["latency"].merge(histogram)
        known["stalled"] += row["stalled_ns"] / 1e9
        known["busiest"] = max(known["busiest"], (row["deliveries"], *place, row["name"] or ""))


def slowest(tables: Tables, links: Links, places: Places) -> Report | None:
    """The delivery that took longest to be settled."""
    link = links.slowest
    if link is None:
        return None
    field = ds.field
    chosen = (
        (field("latency_ns") == link["latency_max_ns"])
        & (field("ring") == link["ring"])
        & (field("connection") == link["connection"])
    )
    columns = ("ring", "frame", "packet", "link", "latency_ns")
    for row in tables.rows("deliveries", columns, chosen):
        found = places.packet(row["ring"], row["packet"])
        return {**found, "frame": row["frame"], "link": row["link"]}
    return None


def most(stalls: dict[Place, int], top: int) -> Iterable[tuple[Place, int]]:
    """The connections that were stalled longest."""
    order = sorted(stalls.items(), key=lambda each: (-each[1], each[0]))
    return [each for each in order[:top] if each[1]]


def top_addresses(
    addresses: dict[tuple[str, str], Report], places: Places, top: int
) -> list[Report]:
    """The addresses with the most deliveries, and where the busiest link's connection begins."""
    order = sorted(addresses.values(), key=lambda each: (-each["deliveries"], each["address"]))
    found = []
    for each in order[:top]:
        if each["deliveries"]:
            _, ring, connection, link = each.pop("busiest")
            example = {**places.connection((ring, connection)), "connection": connection}
            found.append(
                {**each, "outcomes": dict(each["outcomes"]), "latency": each["latency"].object(),
                 "example": {**example, "link": link or None}}
            )  # fmt: skip
    return found
