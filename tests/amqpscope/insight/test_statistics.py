"""Counts, latencies and stalls."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.insight.statistics import Histogram, Stall, Statistics, addresses, endpoint

SECOND = 1_000_000_000


def gathered(path):
    analyzer, numbers = Analyzer(), Statistics()
    with Pieces(str(path)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    numbers.take(step)
    return numbers


def link_of(path):
    [connection] = gathered(path).finish()
    [link] = connection.links
    return link


def test_percentiles_are_within_two_percent():
    histogram = Histogram()
    for milliseconds in range(1, 1001):
        histogram.add(milliseconds * 1_000_000)
    found = histogram.object()
    for name, seconds in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert found[name] == pytest.approx(seconds, rel=0.025)
    assert found["max"] == 1.0


def test_a_histogram_of_nothing_has_no_percentiles():
    assert Histogram().object() is None
    assert Histogram().percentile(50) == 0.0


def test_no_percentile_is_beyond_the_largest():
    histogram = Histogram()
    histogram.add(1_000_001)
    histogram.add(0)
    assert histogram.percentile(99) <= 1_000_001 / 1e9


def test_histograms_are_added_up():
    one, other = Histogram(), Histogram()
    one.add(1000)
    other.add(5000)
    one.merge(other)
    assert (one.count, one.largest) == (2, 5000)


def test_a_stall_lasts_until_it_is_over_or_the_capture_ends():
    stall = Stall()
    for stalled, time in ((True, 1), (True, 2), (False, 5), (False, 6), (True, 10)):
        stall.update(stalled, time * SECOND, frame=time, packet=100 + time)
    stall.finish(11 * SECOND)
    assert stall.object() == {"count": 2, "total": 5.0, "longest": 4.0}
    assert (stall.frame, stall.packet) == (1, 101)


def test_of_several_stalls_the_longest_is_remembered_also_when_none_took_time():
    stall = Stall()
    for frame, (stalled, time) in enumerate(((True, 1), (False, 1), (True, 2), (False, 9)), 1):
        stall.update(stalled, time, frame, 10 * frame)
        if frame == 2:
            assert (stall.longest, stall.frame) == (0, 1)
    assert (stall.longest, stall.frame, stall.packet) == (7, 3, 30)


def test_a_connection_is_counted_by_peer_and_performative(good):
    [connection] = gathered(good).finish()
    assert (connection.client, connection.server) == ("10.0.0.1:40000", "10.0.0.2:5672")
    assert connection.containers == ["c", "s"]
    assert connection.frames == [6, 7]
    assert connection.names["transfer"] == 2
    assert connection.last - connection.first == 2 * SECOND
    assert [(s.peer, s.transfers) for s in connection.sessions] == [("client", 2), ("server", 0)]


def test_a_link_is_counted_with_outcomes_latency_and_stalls(good):
    link = link_of(good)
    assert (link.name, link.address, link.sender) == ("s", "q", "client")
    assert (link.deliveries, link.transfers) == (2, 2)
    assert dict(link.outcomes) == {"accepted": 1}
    assert link.latency.percentile(50) == pytest.approx(0.5, rel=0.03)
    # Without credit from the first transfer to the flow, and after the second one.
    assert (link.credit.count, link.credit.longest) == (2, SECOND)


OUTCOMES = [
    ("settled=true state=accepted()", "accepted"),
    ("settled=true state=rejected()", "rejected"),
    ("settled=true state=modified(delivery-failed=true)", "modified"),
    ("settled=true", "settled without a state"),
    ("settled=true state=received(section-number=0 section-offset=0)", "received"),
    ('settled=true state=transactional-state(txn-id=b"1")', "transactional"),
]


@pytest.mark.parametrize(("fields", "outcome"), OUTCOMES)
def test_outcomes_are_told_by_name(opened, fields, outcome):
    sending = """
client: attach name="s" handle=0 role=sender source=source() target=target(address="q")
        initial-delivery-count=0
server: attach name="s" handle=0 role=receiver source=source() target=target(address="q")
server: flow next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100
        handle=0 delivery-count=0 link-credit=9
client: transfer handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")
"""
    path = opened(f"{sending}server: disposition role=receiver first=0 {fields}\n")
    assert dict(link_of(path).outcomes) == {outcome: 1}


def test_what_is_over_is_not_kept(root):
    numbers = gathered(root / "captures" / "v10_proton-labbroker_manylinks.pcap")
    assert not any(places.links or places.sessions for places in numbers.places.values())
    assert sum(len(connection.links) for connection in numbers.finish()) > 40


def test_addresses_sum_up_their_links(root):
    connections = gathered(root / "captures" / "v10_proton-labbroker_manylinks.pcap").finish()
    found = addresses(connections).values()
    links = [link for connection in connections for link in connection.links]
    assert 0 < len(found) <= len(links)
    assert sum(each.deliveries for each in found) == sum(link.deliveries for link in links)
    assert sum(each.latency.count for each in found) == sum(link.latency.count for link in links)


@pytest.mark.parametrize(
    ("address", "shown"), [(("10.0.0.1", 5), "10.0.0.1:5"), (("::1", 5), "[::1]:5")]
)
def test_an_endpoint_is_an_address_with_its_port(address, shown):
    assert endpoint(address) == shown
