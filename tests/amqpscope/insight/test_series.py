"""Series over time: bounded, nothing lost of their extremes, and the model's own numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.insight.series import Plots, Series
from kit.talks_v0_9 import OPENED, TALK, WORK

MS = 1_000_000


@pytest.fixture
def plots(opened):
    """The series of a made capture."""

    def make(text, most_links=256):
        return gathered(opened(text), most_links)

    return make


def gathered(path, most_links=256):
    found, analyzer = Plots(most_links), Analyzer()
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    found.take(step)
    return found


def going_on(plots):
    """What messages still move over, by its kind."""
    return [link.kind for link in plots._lanes.values()]


def values(series):
    return [point.last for point in series.points()]


def test_few_values_are_kept_as_they_are():
    series = Series()
    for time, value in ((5 * MS, 3), (6 * MS, 1), (9 * MS, None)):
        series.add(time, value)
    assert values(series) == [3, 1, None]
    assert series.start == 5 * MS
    assert (series.low, series.high, series.last, series.count) == (1, 3, None, 2)


def test_a_dip_stays_visible_in_a_day_of_values():
    series = Series(slices=100)
    for second in range(86_400):
        series.add(second * 1000 * MS, 0 if second == 40_000 else 50)
    points = series.points()
    assert len(points) <= 100
    dips = [point for point in points if point.low == 0]
    assert len(dips) == 1
    assert dips[0].time <= 40_000_000 * MS < dips[0].until


@given(st.lists(st.tuples(st.integers(0, 10**13), st.none() | st.integers(-5, 10**6))))
def test_nothing_of_the_extremes_and_counts_is_lost(pairs):
    series = Series(slices=16)
    pairs.sort(key=lambda pair: pair[0])
    for time, value in pairs:
        series.add(time, value)
    points = series.points()
    known = [value for _, value in pairs if value is not None]
    assert len(points) <= 16
    assert sum(point.events for point in points) == len(known)
    assert sum(point.total for point in points) == sum(known)
    full = [point for point in points if point.events]
    assert min((point.low for point in full), default=0) == min(known, default=0)
    assert max((point.high for point in full), default=0) == max(known, default=0)
    assert [point.time for point in points] == sorted({point.time for point in points})


def test_times_that_go_back_a_little_do_no_harm():
    series = Series()
    series.add(10 * MS, 1)
    series.add(9 * MS, 2)
    assert values(series) == [2]


def test_rates_count_stretches_without_events_too():
    series = Series()
    for time in (0, 1, 2, 3, 1000):
        series.add(time * MS, 1)
    rates = series.rates(slices=10)
    assert len(rates) <= 10
    width = rates[1][0] - rates[0][0]
    assert sum(rate for _, rate in rates) * width / 1e9 == pytest.approx(5)
    assert rates[4][1] == 0


def test_a_burst_in_a_long_time_is_no_high_rate():
    series = Series()
    for time in (5, 6, 7):
        series.add(time * MS, 1)
    ((_, rate),) = series.rates(slices=10, over=10_000 * MS)
    assert rate == pytest.approx(3, rel=0.01)


LINK = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
@1.0s server: flow next-incoming-id=0 incoming-window=5 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=2
@2.0s client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
@3.0s client: transfer handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
@5.0s server: disposition role=receiver first=0 last=1 settled=true state=accepted()
@6.0s client: detach handle=0 closed=true
@6.0s server: detach handle=0 closed=true
"""


def test_the_numbers_of_a_link(plots):
    (link,) = plots(LINK).links
    assert (link.name, link.address, link.sender, link.connection) == ("s", "q", "client", 1)
    assert values(link.credit) == [None, 2, 1, 0, None]
    assert values(link.window) == [5, 4, 3]
    assert values(link.unsettled) == [1, 2, 0]
    assert link.deliveries.count == 2
    assert (link.latency.count, link.latency.low, link.latency.high) == (2, 2000 * MS, 3000 * MS)


def test_links_beyond_the_most_are_counted(plots):
    found = plots(LINK, most_links=0)
    assert (found.links, found.left_out) == ([], 1)


def test_what_is_gone_is_let_go(root):
    found = gathered(root / "captures" / "v10_proton-labbroker_manylinks.pcap")
    assert len(found.links) == 80
    assert going_on(found) == []
    assert not found._windows


def test_a_lost_segment_makes_credit_unknown_not_wrong(root):
    found = gathered(root / "captures" / "dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap")
    assert all(point.low >= 0 for link in found.links for point in link.credit.points())


def test_frames_that_cross_an_end_begin_no_new_series(root):
    found = gathered(root / "captures" / "v10_rhea-rabbitmq_outcomes.pcap")
    assert sorted(link.sender for link in found.links) == ["client", "server"]


def series_of(plots, kind):
    return next(link for link in plots.links if link.kind == kind)


def test_a_consumer_is_plotted_against_its_prefetch(recorded):
    consumer = series_of(gathered(recorded(TALK)), "consumer")
    assert (consumer.name, consumer.address, consumer.sender) == ("t", "q", "server")
    assert consumer.limit == 1
    assert values(consumer.credit) == [1, 0, 1]
    assert values(consumer.unsettled) == [0, 1, 0]
    assert consumer.deliveries.count == 1
    assert (consumer.latency.count, consumer.latency.high) == (1, 1000 * MS)
    assert consumer.window is None


def test_publishes_of_a_channel_are_plotted_until_their_confirms(recorded):
    channel = series_of(gathered(recorded(TALK)), "channel")
    assert (channel.name, channel.sender) == ("channel 1", "client")
    assert values(channel.unsettled) == [1, 0]
    assert channel.deliveries.count == 1
    assert (channel.latency.count, channel.latency.high) == (1, 500 * MS)
    assert not channel.credit.count


def test_without_confirms_nothing_is_unconfirmed(recorded):
    channel = series_of(gathered(recorded(f"""{OPENED}
    client: basic.publish[1] routing-key="q"
    client: content-header[1] class=basic body-size=0
    """)), "channel")  # fmt: skip
    assert channel.deliveries.count == 1
    assert not channel.unsettled.count


def test_without_a_prefetch_there_is_nothing_left_of_it(recorded):
    text = TALK.replace("prefetch-count=1", "prefetch-count=0")
    consumer = series_of(gathered(recorded(text)), "consumer")
    assert not consumer.credit.count
    assert values(consumer.unsettled) == [0, 1, 0]


def test_a_closed_channel_ends_the_series_of_its_consumers(recorded):
    found = gathered(recorded(TALK + "@4s client: channel.close[1] reply-code=200\n"))
    consumer = series_of(found, "consumer")
    assert consumer.credit.last is None
    assert going_on(found) == []


def test_a_cancelled_consumer_ends_its_series(recorded):
    found = gathered(
        recorded(f"""{TALK}
    @4s client: basic.cancel[1] consumer-tag="t"
    server: basic.cancel-ok[1] consumer-tag="t"
    """)
    )
    assert series_of(found, "consumer").unsettled.last is None
    assert going_on(found) == ["channel"]


def test_a_tag_that_two_channels_use_names_two_consumers(recorded):
    second = f"client: channel.open[2]\nserver: channel.open-ok[2]\n{WORK}".replace("[1]", "[2]")
    found = gathered(recorded(TALK + second.replace('queue="q"', 'queue="other"')))
    consumers = [link for link in found.links if link.kind == "consumer"]
    assert [(link.name, link.address) for link in consumers] == [("t", "q"), ("t", "other")]


def test_a_tag_that_is_used_again_after_the_server_cancelled_names_another_consumer(recorded):
    found = gathered(
        recorded(f"""{TALK}
    @4s server: basic.cancel[1] consumer-tag="t" no-wait=true
    @5s client: basic.consume[1] queue="other" consumer-tag="t"
    server: basic.consume-ok[1] consumer-tag="t"
    """)
    )
    consumers = [link for link in found.links if link.kind == "consumer"]
    assert [link.address for link in consumers] == ["q", "other"]


def test_exchanges_and_queues_have_their_deliveries_as_they_are_counted(recorded):
    found = gathered(recorded(TALK))
    for name, sender, kind in (("exchange amq.topic", "client", "exchange"),
                               ("queue q", "server", "queue")):  # fmt: skip
        (series,) = found.deliveries(1, name, sender, kind)
        assert series.count == 1


def test_consumers_beyond_the_most_are_counted(recorded):
    found = gathered(recorded(TALK), most_links=0)
    assert (found.links, found.left_out, found.places) == ([], 2, {})
