"""What the tables show, gathered for `pipeline report`; Spark is not needed for this.

The result is one plain object, which the writers in `report_text` and `report_html` share and
`--format json` prints. Whatever is counted comes with an example: the capture and the packet in
it, the number of the frame in the ring, and the command that opens it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import pyarrow.dataset as ds

from amqpscope.findings import SEVERITIES
from amqpscope.insight.statistics import Histogram
from amqpscope.spark.report_places import Place, Places, Report, Row
from amqpscope.spark.tables import Snapshot

VERSION: Final = 1
UNKNOWN: Final = "(unknown)"


def make_report(path: str, top: int) -> Report:
    """Everything that is shown."""
    tables = Snapshot(path)
    connections = {
        (row["ring"], row["connection"]): row
        for row in tables.rows(
            "connections",
            ("ring", "connection", "client", "server", "client_product", "server_product",
             "client_frames", "server_frames", "gaps", "first_packet", "first_frame"),
        )
    }  # fmt: skip
    columns = ("ring", "path", "ordinal", "octets", "packets", "first_packet")
    captures = list(tables.rows("captures", columns))
    places = Places(captures, connections, tables.state.rings)
    links = Links(tables)
    found = Findings(tables.state.newest(), places)
    for row in tables.rows(
        "findings",
        ("ring", "connection", "frame", "packet", "rule", "name", "severity", "certainty", "peer",
         "product", "message", "file", "day"),
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
        "worst": found.worst(links.stalls, top),
        "stalls": [
            {**places.peers(place), "stalled": ns / 1e9, "example": links.stall(place, places)}
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

    def __init__(self, newest: set[tuple[str, str]], places: Places) -> None:
        self.newest = newest
        """The files in which findings are new."""
        self.places = places
        self.severities: Counter[str] = Counter()
        self.fresh: Counter[str] = Counter()
        self.rules: dict[tuple[str, str, str], Report] = {}
        self.products: dict[tuple[str, str], Report] = {}
        self.days: dict[str, Report] = {}
        self.connections: dict[Place, Report] = {}

    def take(self, row: Row) -> None:
        """One more."""
        severity = row["severity"]
        fresh = (row["ring"], row["file"]) in self.newest
        self.severities[severity] += 1
        self.fresh[severity] += fresh
        rule = self.rules.setdefault(
            (row["rule"], severity, row["peer"]),
            {"rule": row["rule"], "name": row["name"], "severity": severity,
             "peer": row["peer"], "count": 0, "new": 0, "example": row, "new_example": None},
        )  # fmt: skip
        if fresh:
            rule["new"] += 1
            rule["new_example"] = min(rule["new_example"] or row, row, key=gravity)
        product = row["product"] or UNKNOWN
        known = self.products.setdefault(
            (product, row["peer"]), {"product": product, "peer": row["peer"], **nothing(row)}
        )
        mine = self.connections.setdefault((row["ring"], row["connection"]), nothing(row))
        when = str(row["day"])
        day = self.days.setdefault(when, {"day": when, **nothing(row)})
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
        return [self.with_examples(each) for each in order]

    def by_product(self) -> list[Report]:
        """The most frequent first."""
        order = sorted(self.products.values(), key=lambda each: (-each["count"], each["product"]))
        return [self.with_examples(each) for each in order]

    def by_day(self) -> list[Report]:
        """Each day on which something was found."""
        return [self.with_examples(self.days[day]) for day in sorted(self.days)]

    def worst(self, stalls: dict[Place, int], top: int) -> list[Report]:
        """The connections with the most errors, then warnings."""
        order = sorted(
            self.connections.items(),
            key=lambda each: (*(-each[1][severity] for severity in SEVERITIES), each[0]),
        )
        places = self.places
        return [
            {**places.peers(place), **self.with_examples(found),
             "stalled": stalls.get(place, 0) / 1e9, "whole": places.connection(place)}
            for place, found in order[:top]
        ]  # fmt: skip

    def with_examples(self, each: Report) -> Report:
        """Counts with the places of their examples."""
        found = {name: row and self.place(row) for name, row in each.items() if "example" in name}
        return {**each, **found}

    def place(self, row: Row) -> Report:
        """Where a finding is."""
        found = self.places.frame(row["ring"], row["frame"], row["packet"])
        return {**found, "rule": row["rule"], "message": row["message"]}


def nothing(row: Row) -> Report:
    """Counts of no findings yet, of which this is the first."""
    return {"count": 0, **dict.fromkeys(SEVERITIES, 0), "example": row}


def gravity(row: Row) -> tuple[int, str, int]:
    """Which of some findings to show: the gravest, and of these the first."""
    return SEVERITIES.index(row["severity"]), row["ring"], row["frame"]


class Links:
    """Stalls by connection, numbers by address and sender, and all latencies."""

    def __init__(self, tables: Snapshot) -> None:
        self.stalls: Counter[Place] = Counter()
        self.longest: dict[Place, Row] = {}
        """The session or link with the longest of them."""
        self.addresses: dict[tuple[str, str], Report] = {}
        self.latency = Histogram()
        self.slowest: Row | None = None
        """The link on which a delivery took longest to be settled."""
        stalled = ("ring", "connection", "stalled_ns", "longest_ns", "longest_frame",
                   "longest_packet")  # fmt: skip
        for row in tables.rows("sessions", stalled):
            self.count_stalls(row)
        columns = ("ring", "connection", "name", "address", "sender", "deliveries", "transfers",
                   "octets", "outcomes", "latency", "latency_count", "latency_min_ns",
                   "latency_max_ns", "first_frame", "first_packet")  # fmt: skip
        for row in tables.rows("links", (*columns, *stalled[2:])):
            self.count_stalls(row)
            self.take(row)

    def count_stalls(self, row: Row) -> None:
        """Count the stalls of a session or link."""
        place = row["ring"], row["connection"]
        self.stalls[place] += row["stalled_ns"]
        self.longest[place] = min(self.longest.get(place, row), row, key=shortness)

    def stall(self, place: Place, places: Places) -> Report:
        """Where the longest stall of a connection begins."""
        row = self.longest[place]
        return places.begin(place, row["longest_frame"], row["longest_packet"])

    def take(self, row: Row) -> None:
        """One more link."""
        histogram = Histogram()
        for latency, count in row["latency"]:
            histogram.fill(latency, count)
        histogram.count = row["latency_count"]
        histogram.smallest, histogram.largest = row["latency_min_ns"], row["latency_max_ns"]
        self.latency.merge(histogram)
        if histogram.count and (
            self.slowest is None or histogram.largest > self.slowest["latency_max_ns"]
        ):
            self.slowest = row
        key = row["address"] or "", row["sender"]
        known = self.addresses.setdefault(
            key,
            {"address": key[0], "sender": key[1], "deliveries": 0, "transfers": 0, "octets": 0,
             "outcomes": Counter(), "latency": Histogram(), "stalled": 0.0, "busiest": row},
        )  # fmt: skip
        for name in ("deliveries", "transfers", "octets"):
            known[name] += row[name]
        known["outcomes"].update(dict(row["outcomes"]))
        known["latency"].merge(histogram)
        known["stalled"] += row["stalled_ns"] / 1e9
        known["busiest"] = min(known["busiest"], row, key=idleness)


def shortness(row: Row) -> tuple[int, int]:
    """Which of some sessions and links to show: that with the longest stall, and the first."""
    return -row["longest_ns"], row["longest_frame"] or 0


def idleness(row: Row) -> tuple[int, str, int, str]:
    """Which of some links to show: that with the most deliveries, and of these the first."""
    return -row["deliveries"], row["ring"], row["connection"], row["name"] or ""


def slowest(tables: Snapshot, links: Links, places: Places) -> Report | None:
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
    columns = ("ring", "connection", "frame", "packet", "link", "latency_ns")
    for row in tables.rows("deliveries", columns, chosen):
        found = places.begin((row["ring"], row["connection"]), row["frame"], row["packet"])
        return {**found, "link": row["link"]}
    return None


def most(stalls: dict[Place, int], top: int) -> Iterable[tuple[Place, int]]:
    """The connections that were stalled longest."""
    order = sorted(stalls.items(), key=lambda each: (-each[1], each[0]))
    return [each for each in order[:top] if each[1]]


def top_addresses(
    addresses: dict[tuple[str, str], Report], places: Places, top: int
) -> list[Report]:
    """The addresses with the most deliveries, and where the first of the busiest link is."""
    order = sorted(addresses.values(), key=lambda each: (-each["deliveries"], each["address"]))
    found = []
    for each in order[:top]:
        if each["deliveries"]:
            link = each.pop("busiest")
            place = link["ring"], link["connection"]
            example = places.begin(place, link["first_frame"], link["first_packet"])
            found.append(
                {**each, "outcomes": dict(each["outcomes"]), "latency": each["latency"].object(),
                 "example": {**example, "link": link["name"] or None}}
            )  # fmt: skip
    return found
