"""Two archives compared: what is different, and whether that is more than chance."""

import json
from datetime import UTC, datetime

import pytest

from amqpscope.insight.counters import Histogram
from amqpscope.spark.significance import judge, rate_p, share_p, shift_p

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

import pyarrow.dataset as ds  # noqa: E402

from amqpscope.spark.compare import compare  # noqa: E402
from amqpscope.spark.compare_html import compare_html  # noqa: E402
from amqpscope.spark.compare_text import compare_text  # noqa: E402
from amqpscope.spark.schema import TABLES, arrow_schema  # noqa: E402
from amqpscope.spark.sides import CHOICE, Side, SideError, day_of  # noqa: E402

DAY = datetime(2026, 11, 17, 12, tzinfo=UTC)
BLANK = {"string": "", "int": 0, "bigint": 0, "boolean": False, "timestamp": DAY}


class Written:
    """Tables in memory, as a directory has them."""

    class state:
        run = 1

    def __init__(self, rows):
        self.rows = rows

    def dataset(self, table):
        schema = arrow_schema(table).append(pa.field("day", pa.date32()))
        rows = [
            {**{c.name: BLANK.get(c.type) for c in TABLES[table]}, "day": DAY.date(), **row}
            for row in self.rows.get(table, ())
        ]
        return ds.dataset(pa.Table.from_pylist(rows, schema))


def side(*, frames=1_000_000, findings=(), latency=(), outcomes=None, again=0, version="1.0"):
    """What a release did: its frames, findings by rule, settle latencies and outcomes."""
    times = Histogram()
    for each in latency:
        times.add(each)
    ended = outcomes or {"accepted": 1000}
    minute = {"link_id": 0, "session_id": 0, "address": "orders", "sender": "server",
              "deliveries": sum(ended.values()), "redelivered": again,
              "latency": list(times.classes.items()), "outcomes": list(ended.items())}  # fmt: skip
    return Side("tables", Written({
        "connections": [{"client_frames": frames, "client_product": "shop",
                         "client_version": version, "server_product": "RabbitMQ"}],
        "statistics": [minute],
        "findings": [
            {"rule": rule, "name": rule.lower(), "severity": severity, "peer": "client",
             "address": "orders"}
            for rule, severity, count in findings
            for _ in range(count)
        ],
    }))  # fmt: skip


def compared(before, after, fail_on="error"):
    return compare(before, after, 0.01, fail_on)


def changes(found, part, key):
    return {each[key]: each["change"] for each in found[part]}


def test_findings_are_new_gone_worse_or_better_by_their_rate():
    before = side(findings=[("OLD", "error", 5), ("MORE", "warning", 100), ("LESS", "info", 400),
                            ("EVEN", "error", 100)])  # fmt: skip
    after = side(
        frames=10_000_000,
        findings=[("NEW", "error", 1), ("MORE", "warning", 1500), ("LESS", "info", 900),
                  ("EVEN", "error", 1010)],
    )  # fmt: skip
    found = compared(before, after)
    assert changes(found, "findings", "rule") == {
        "NEW": "new", "OLD": "gone", "MORE": "worse", "LESS": "better", "EVEN": "same",
    }  # fmt: skip
    new = found["findings"][0]
    assert (new["rule"], new["rate_after"], new["addresses"]) == (
        "NEW", 0.1, [{"address": "orders", "before": 0, "after": 1}],
    )  # fmt: skip
    assert [line.split()[1] for line in found["worse"]] == ["NEW"]
    assert [line.split()[1] for line in compared(before, after, "warning")["worse"]] == [
        "NEW", "MORE",
    ]  # fmt: skip
    assert compared(before, after, "never")["worse"] == []


def test_latencies_count_where_they_move_by_a_tenth_and_not_by_chance():
    steady = [1_000_000 + 1000 * (n % 97) for n in range(1000)]
    before = side(latency=steady)
    for slower, change in ((1.0, "same"), (1.05, "same"), (1.5, "worse"), (0.5, "better")):
        found = compared(before, side(latency=[int(each * slower) for each in steady]))
        assert changes(found, "latency", "address") == {"orders": change}, slower
    few = compared(side(latency=[1000] * 4), side(latency=[9000] * 4))
    assert changes(few, "latency", "address") == {"orders": "same"}


def test_outcomes_and_redeliveries_are_compared_by_their_share():
    before = side(outcomes={"accepted": 990, "rejected": 10}, again=5)
    after = side(outcomes={"accepted": 9000, "rejected": 1000}, again=900)
    found = compared(before, after)
    assert changes(found, "outcomes", "outcome") == {"accepted": "worse", "rejected": "worse"}
    assert changes(found, "redeliveries", "address") == {"orders": "worse"}
    assert len(found["worse"]) == 3
    back = compared(after, before)
    assert changes(back, "outcomes", "outcome") == {"accepted": "better", "rejected": "better"}
    assert back["worse"] == []


def test_versions_that_came_or_went_are_named():
    found = compared(side(version="1.0"), side(version="1.1"))
    assert [(each["change"], each["version"]) for each in found["products"]] == [
        ("gone", "1.0"), ("new", "1.1"),
    ]  # fmt: skip


def test_all_formats_say_the_same():
    found = compared(side(), side(findings=[("NEW", "error", 3)], version="<2>"))
    text, page = compare_text(found, 100), compare_html(found)
    assert "worse: 1 reason" in text
    assert "worse: 1 reason" in page
    assert "shop <2>" in text
    assert "&lt;2&gt;" in page
    assert "<2>" not in page
    assert max(map(len, text.splitlines())) <= 100
    assert json.loads(json.dumps(found)) == found


def test_sides_are_directories_runs_or_days():
    assert CHOICE.fullmatch("tables") is None
    assert CHOICE.fullmatch("me@host/tables") is None
    assert CHOICE.fullmatch("tables@12")["run"] == "12"
    assert CHOICE.fullmatch("a@b@2026-11-01..2026-11-02")["until"] == "2026-11-02"
    with pytest.raises(SideError, match="no day"):
        day_of("2026-11-31")


def test_days_choose_the_rows_of_these_days():
    rows = {"connections": [{"client_frames": 10}, {"client_frames": 1, "day": DAY.date()}]}
    rows["connections"][0]["day"] = datetime(2026, 11, 16, tzinfo=UTC).date()
    for given, frames in (("t@2026-11-16", 10), ("t@2026-11-16..2026-11-17", 11), ("t", 11)):
        one = Side(given, Written(rows))
        assert compared(one, one)["before"]["frames"] == frames


def test_probabilities_are_those_of_the_textbooks():
    assert rate_p(0, 1, 1, 1) == 1.0
    assert rate_p(2, 1, 12, 1) == pytest.approx(2 * (91 + 14 + 1) / 2**14)
    assert rate_p(20_000, 1, 20_600, 1) == pytest.approx(0.0029, rel=0.05)
    assert share_p(1, 10, 9, 10) == pytest.approx(2 * (10 * 10 + 1) / 184_756)
    assert share_p(0, 0, 1, 10) == 1.0
    assert shift_p({1: 10, 2: 10}, {1: 10, 2: 10}) == 1.0
    assert shift_p({1: 10}, {2: 10}) == pytest.approx(1.59e-5, rel=0.02)
    assert [round(each.adjusted, 4) for each in judge([0.01, 0.04, 0.03])] == [0.03, 0.06, 0.06]
