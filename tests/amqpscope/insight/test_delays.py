"""How long messages take through a broker, and how that is shown."""

import pytest

from amqpscope.insight.counters import Histogram
from amqpscope.insight.delays import Delays
from amqpscope.insight.statistics import Statistics
from amqpscope.report.stats import stats_lines, stats_object
from amqpscope.runs.run import Run
from kit.exchange_broker import write
from kit.stories import AGAIN, LOST_ONE, deliver, publish


@pytest.fixture
def measure(tmp_path):
    """The numbers of an exchange, and the times through the broker."""

    def run(text, letters="ABC"):
        path = tmp_path / "story.pcapng"
        write(text, "through", path, letters)
        numbers, delays = Statistics(), Delays()
        with Run(str(path)) as run:
            for batch in run:
                for step in batch.steps:
                    numbers.take(step)
                    delays.take(step)
        return numbers.finish(), delays.by_address

    return run


def delays(measured):
    document = stats_object("story.pcapng", *measured)
    return {
        (each["address"], each["sender"]): each["publish_to_deliver"]
        for each in document["addresses"]
    }


def test_the_time_through_the_broker_is_that_of_first_deliveries(measure):
    found = delays(measure(AGAIN))
    assert found["q", "client"] is None
    assert found["q", "server"] == {"messages": 1, "p50": 1.0, "p90": 1.0, "p99": 1.0, "max": 1.0}


def test_only_messages_that_were_seen_on_both_legs_count(measure):
    assert delays(measure(deliver(7, 0) + publish(8)))["q", "server"] is None
    assert delays(measure(LOST_ONE, "BC"))["q", "server"] is None
    text = "\n".join(stats_lines(*measure(publish(0) + deliver(7, 0) + deliver(0, 1, 2.0))))
    assert "publish to deliver p50 2 s, p90 2 s, p99 2 s, max 2 s (1 of 2)" in text


@pytest.mark.parametrize("durations", [[5_000_000] * 3, [1, 1_000_003], [999, 999, 12345]])
def test_percentiles_lie_within_the_durations(durations):
    found, merged = Histogram(), Histogram()
    for duration in durations:
        found.add(duration)
    merged.merge(found)
    for each in (found, merged):
        for percent in (1, 50, 90, 99, 100):
            assert min(durations) <= round(each.percentile(percent) * 1e9) <= max(durations)
