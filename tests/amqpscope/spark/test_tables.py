"""Tables with a row for each frame, delivery, minute and message against what one process says."""

from collections import Counter, defaultdict

import pytest

from amqpscope.insight.counters import Histogram
from amqpscope.rules.broker import history
from amqpscope.spark.schema import TABLES, arrow_schema
from kit.spark.known_messages import KnownMessages
from kit.spark.questions import answered
from kit.spark.same import (
    begun_in_rows,
    begun_in_units,
    frames_of_rows,
    frames_of_units,
    latencies,
    replayed,
    sums_of_links,
    sums_of_minutes,
)
from kit.spark.without_spark import tables

pa = pytest.importorskip("pyarrow")

SLICE = 4000
"""Octets of a slice: most captures have several, and connections that span them."""
ENDED = "the link or connection ended without an outcome"


@pytest.fixture(scope="module")
def both(root):
    """Of each capture its tables, the lines of `read` and the connections of `stats`."""
    paths = sorted(path for path in (root / "captures").iterdir() if ".pcap" in path.suffix)
    assert len(paths) > 50
    return {path.name: (tables([path], SLICE), *replayed(path)) for path in paths}


@pytest.fixture(scope="module")
def messages(root, both):
    """Of each capture its tables, and what one process knows of its messages."""
    return {
        name: (rows, KnownMessages(root / "captures" / name)) for name, (rows, *_) in both.items()
    }


def test_frames_are_those_that_read_prints(both):
    wrong = [
        name
        for name, (rows, units, _) in both.items()
        if frames_of_rows(rows["frames"]) != frames_of_units(units)
    ]
    assert wrong == []


def test_deliveries_begin_where_read_shows_it(both):
    found = {
        name: (begun_in_rows(rows["deliveries"], units), begun_in_units(units))
        for name, (rows, units, _) in both.items()
    }
    assert sum(len(expected) for _, expected in found.values()) > 500
    assert [name for name, (mine, expected) in found.items() if mine != expected] == []


def test_deliveries_add_up_to_the_latencies_that_stats_gives(both):
    wrong = [
        name
        for name, (rows, _, connections) in both.items()
        if latencies(rows["deliveries"]) != {
            key: each["latency"]
            for key, each in sums_of_links(connections).items()
            if each["latency"]
        }
    ]  # fmt: skip
    assert wrong == []


def test_minutes_add_up_to_what_stats_gives(both):
    found = {
        name: (sums_of_minutes(rows["statistics"]), sums_of_links(connections))
        for name, (rows, _, connections) in both.items()
    }
    assert sum(len(expected) for _, expected in found.values()) > 100
    assert [name for name, (mine, expected) in found.items() if mine != expected] == []


def test_stalls_of_minutes_add_up_to_those_of_links_and_sessions(both):
    wrong, total = [], 0
    for name, (rows, *_) in both.items():
        found, expected = Counter(), Counter()
        for row in rows["statistics"]:
            link = row["connection"], "link", row["link_id"]
            session = row["connection"], "session", row["session_id"]
            found[link] += row["stalls"] + row["stalled_ns"]
            found[session] += row["window_stalls"] + row["window_stalled_ns"]
            assert row["stalled_ns"] <= 60 * 10**9
        for table, key in (("links", "link"), ("sessions", "session")):
            for row in rows[table]:
                place = row["connection"], key, row[f"{key}_id"]
                expected[place] += row["stalls"] + row["stalled_ns"]
        total += expected.total()
        if +found != +expected:
            wrong.append(name)
    assert total > 10**9
    assert wrong == []


def test_there_is_a_row_for_each_journey_with_what_trace_says_of_it(messages):
    wrong, count = [], 0
    for name, (rows, known) in messages.items():
        expected = sorted(
            (
                min((leg.mark.frame for leg in journey.legs), default=0),
                journey.envelope.id_text or None, journey.envelope.size, journey.envelope.family,
                journey.published, journey.delivered, journey.doubtful or None,
            )
            for journey in known.journeys
        )  # fmt: skip
        names = ("message", "id", "octets", "protocol", "published", "deliveries", "doubt")
        found = sorted(tuple(row[each] for each in names) for row in rows["messages"])
        count += len(found)
        if sorted(map(repr, found)) != sorted(map(repr, expected)):
            wrong.append(name)
    assert count > 400
    assert wrong == []


def test_hops_are_the_frames_of_the_history_that_trace_prints(messages):
    wrong = []
    for name, (rows, known) in messages.items():
        expected = sorted(
            (mark.frame, connection, mark.time)
            for journey in known.journeys
            for mark, connection, _, why in history(journey)
            if why != ENDED
        )
        found = []
        for row in rows["hops"]:
            found.append((row["frame"], row["connection"], row["time_ns"]))
            if row["outcome_frame"] is not None:
                found.append((row["outcome_frame"], row["connection"], row["outcome_ns"]))
        if sorted(found) != expected:
            wrong.append(name)
    assert wrong == []


def test_messages_are_in_the_state_that_the_list_of_messages_shows(messages):
    found = {
        name: {row["message"]: (row["state"], row["redeliveries"]) for row in rows["messages"]}
        for name, (rows, _) in messages.items()
    }
    expected = {
        name: {frame: (state, known.redeliveries[frame]) for frame, state in known.states.items()}
        for name, (_, known) in messages.items()
    }
    wrong = {name: (found[name], expected[name]) for name in found if found[name] != expected[name]}
    assert wrong == {}


def test_first_hops_from_a_node_add_up_to_the_latencies_that_stats_gives(messages):
    wrong, count = [], 0
    for name, (rows, known) in messages.items():
        found = defaultdict(Histogram)
        for row in rows["hops"]:
            if row["attempt"] == 1 and row["latency_ns"] is not None:
                found[row["address"]].add(row["latency_ns"])
        mine = {address: times.classes for address, times in found.items()}
        count += len(mine)
        if mine != known.delays:
            wrong.append((name, mine, known.delays))
    assert count > 10
    assert wrong == []


def test_keys_join_without_fan_out(messages):
    for rows, _ in messages.values():
        numbers = [row["message"] for row in rows["messages"]]
        deliveries = {row["delivery_id"]: row for row in rows["deliveries"]}
        links = {(row["connection"], row["link_id"]): row for row in rows["links"]}
        sessions = {(row["connection"], row["session_id"]) for row in rows["sessions"]}
        minutes = [(row["connection"], row["link_id"], row["session_id"], row["time"])
                   for row in rows["statistics"]]  # fmt: skip
        assert len(set(numbers)) == len(numbers)
        assert len(deliveries) == len(rows["deliveries"])
        assert len(links) == len(rows["links"])
        assert len(sessions) == len(rows["sessions"])
        assert len(set(minutes)) == len(minutes)
        assert {row["message"] for row in rows["hops"]} == set(numbers)
        for table in ("deliveries", "findings", "statistics", "hops"):
            for row in rows[table]:
                if row["link_id"] is not None:
                    link = links[row["connection"], row["link_id"]]
                    assert (row["address"] or "") == link["address"], table
                    assert row.get("session_id") in (None, link["session_id"])
                if row.get("session_id") is not None:
                    assert (row["connection"], row["session_id"]) in sessions
        for table in ("findings", "hops"):
            for row in rows[table]:
                found = deliveries.get(row["delivery_id"])
                assert row["delivery_id"] is None or found["connection"] == row["connection"]
        assert all(row["link_id"] is not None for row in rows["deliveries"] + rows["hops"])
        known = {row["address"] or "" for row in rows["links"]}
        for row in rows["frames"]:
            assert row["link"] is None or row["address"] is None or row["address"] in known


def test_each_question_of_the_page_has_the_answer_that_is_printed_there(both, root):
    """As `pipeline run` of the captures that the page names would fill the tables."""
    rows = defaultdict(list)
    for name, (found, *_) in both.items():
        if name.startswith(("v", "mixed")):
            for table, own in found.items():
                rows[table] += [{**row, "ring": name} for row in own]
    known = {name: pa.Table.from_pylist(rows[name], arrow_schema(name)) for name in TABLES}
    page = (root / "amqpscope" / "spark" / "QUESTIONS.md").read_text()
    assert page.count("```sql") >= 10
    assert answered(page, known).splitlines() == page.splitlines()
