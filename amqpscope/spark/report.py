"""What the tables show, gathered for `pipeline report`: DuckDB counts, and Spark is not needed.

The result is one plain object, which the writers in `report_text` and `report_html` share and
`--format json` prints. Whatever is counted comes with an example: the capture and the packet in
it, the number of the frame in the ring, and the command that opens it.
"""

from __future__ import annotations

from typing import Any, Final

from amqpscope.findings import SEVERITIES
from amqpscope.insight.statistics import Histogram
from amqpscope.spark import report_queries as sql
from amqpscope.spark.report_places import Place, Places, Report, Row
from amqpscope.spark.report_queries import Asked
from amqpscope.spark.tables import Snapshot

VERSION: Final = 1


def make_report(path: str, top: int) -> Report:
    """Everything that is shown."""
    snapshot = Snapshot(path)
    with Asked(snapshot) as tables:
        rules, products, days = (tables.rows(q) for q in (sql.RULES, sql.PRODUCTS, sql.DAYS))
        worst, stalls = tables.rows(sql.WORST, top), tables.rows(sql.STALLS, top)
        addresses, slowest = tables.rows(sql.ADDRESSES, top), slowest_delivery(tables)
        examples = [row["example"] for row in (*rules, *products, *days, *worst, *addresses)]
        examples += [row["new_example"] for row in rules if row["new_example"]]
        found = {place_of(row) for row in (*examples, *stalls, *slowest)}
        places = Places(tables, found)
        (totals,), (latency,) = tables.rows(sql.TOTALS), tables.rows(sql.LATENCY)
        counts = {s: {row["severity"]: 0 for row in rules} for s in ("count", "new")}
        for row in rules:
            for name, by_severity in counts.items():
                by_severity[row["severity"]] += row[name]
        return {
            "version": VERSION,
            "directory": path,
            "runs": snapshot.state.run,
            **totals,
            "findings": {each: counts["count"].get(each, 0) for each in SEVERITIES},
            "new_findings": {each: counts["new"].get(each, 0) for each in SEVERITIES},
            "rules": [with_examples(row, places) for row in rules],
            "products": [with_examples(row, places) for row in products],
            "days": [with_examples(row, places) for row in days],
            "worst": [worst_connection(row, places) for row in worst],
            "stalls": [stalled_connection(row, places) for row in stalls],
            "latency": histogram(latency).object(),
            "slowest": next((begun(row, places) for row in slowest), None),
            "addresses": [address_object(row, places) for row in addresses],
            "quarantine": tables.rows(sql.QUARANTINE),
        }


def place_of(row: Row) -> Place:
    """The connection that a row is of."""
    return row["ring"], row["connection"]


def with_examples(row: Row, places: Places) -> Report:
    """Counts with the places of their examples."""
    examples = {name: row[name] and finding_place(row[name], places)
                for name in row if "example" in name}  # fmt: skip
    return {**row, **examples}


def finding_place(example: Row, places: Places) -> Report:
    """Where a finding is."""
    found = places.frame(example["ring"], example["frame"], example["packet"])
    return {**found, "rule": example["rule"], "message": example["message"]}


def worst_connection(row: Row, places: Places) -> Report:
    """A connection with many findings."""
    place = place_of(row)
    return {**places.peers(place), **with_examples(row, places),
            "stalled": row["stalled"] / 1e9, "whole": places.connection(place)}  # fmt: skip


def stalled_connection(row: Row, places: Places) -> Report:
    """A connection that was stalled for long, and where its longest stall begins."""
    place = place_of(row)
    example = places.begin(place, row["frame"], row["packet"])
    return {**places.peers(place), "stalled": row["stalled"] / 1e9, "example": example}


def slowest_delivery(tables: Asked) -> list[Row]:
    """The delivery that took longest to be settled, if there is one."""
    links = tables.rows(sql.SLOWEST_LINK)
    return [row for link in links for row in tables.rows(sql.SLOWEST, *link.values())]


def begun(row: Row, places: Places) -> Report:
    """Where a delivery or a link begins."""
    found = places.begin(place_of(row), row["frame"], row["packet"])
    return {**found, "link": row["link"] or None}


def address_object(row: Row, places: Places) -> Report:
    """An address with many deliveries, and where the first of its busiest link is."""
    return {
        **{name: row[name] for name in ("address", "sender", "deliveries", "transfers", "octets")},
        "outcomes": row["outcomes"] or {}, "latency": histogram(row).object(),
        "stalled": row["stalled"] / 1e9, "example": begun(row["example"], places),
    }  # fmt: skip


def histogram(row: Row) -> Histogram:
    """Durations as a query has added them up."""
    found = Histogram()
    classes: dict[Any, Any] = row["latency"] or {}
    for place, count in classes.items():
        found.fill(place, int(count))
    found.count = int(row["latency_count"] or 0)
    found.smallest, found.largest = row["latency_min_ns"] or 0, row["latency_max_ns"] or 0
    return found
