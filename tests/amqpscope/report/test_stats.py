"""Statistics as text and for JSON."""

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.insight.statistics import Statistics
from amqpscope.protocols.words import seconds
from amqpscope.report.stats import stats_lines, stats_object
from amqpscope.stream.types import End


@pytest.fixture
def connections(good):
    analyzer, numbers = Analyzer(), Statistics()
    with Pieces(str(good)) as pieces:
        for batch in pieces:
            for piece in batch:
                for step in analyzer.feed(piece):
                    numbers.take(step)
                if isinstance(piece, End):
                    numbers.end(analyzer.conversation_of(piece.connection))
    return numbers.finish()


def test_a_connection_is_a_tree_of_sessions_and_links(connections):
    lines = list(stats_lines(connections))
    assert lines[0] == "connection 1  10.0.0.1:40000 -> 10.0.0.2:5672  amqp-1.0"
    assert lines[1] == "  containers c -> s"
    assert lines[2].endswith("(client + server) in 2 s")
    assert "  session of the client on channel 0: 2 transfers" in lines
    at = lines.index("  s  q  (sent by the client)")
    assert lines[at + 1] == "    2 deliveries, 2 transfers, 12 B, 1 accepted, 1 not settled"
    assert lines[at + 2].startswith("    settled after p50 ")
    assert lines[at + 3] == "    out of credit 2 times, 1 s in all, 1 s at most"
    assert lines[lines.index("addresses") + 1] == "  q  (sent by the client)"


def test_json_has_the_same_numbers(connections):
    found = stats_object("good.pcapng", connections)
    assert list(found) == ["capture", "connections", "addresses"]
    [connection] = found["connections"]
    assert (connection["connection"], connection["client"]) == (1, "10.0.0.1:40000")
    assert connection["frames"] == {"client": 6, "server": 7}
    assert connection["sessions"][0] == {
        "peer": "client", "channel": 0, "transfers": 2,
        "window_stalls": {"count": 0, "total": 0.0, "longest": 0.0}, "ended": None,
    }  # fmt: skip
    [link] = connection["links"]
    assert (link["name"], link["address"], link["sender"]) == ("s", "q", "client")
    assert link["outcomes"] == {"accepted": 1}
    assert link["credit_stalls"] == {"count": 2, "total": 1.0, "longest": 1.0}
    assert list(link["settle_latency"]) == ["p50", "p90", "p99", "max"]
    [address] = found["addresses"]
    assert (address["address"], address["deliveries"]) == ("q", 2)


def test_captured_names_cannot_move_the_cursor(connections):
    connections[0].links[0].name = connections[0].links[0].address = "\x1b[2J"
    connections[0].containers[0] = "\x1b[2J"
    assert "\x1b" not in "".join(stats_lines(connections))


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1500, "1.5 us"),
        (2_340_000, "2.34 ms"),
        (61_000_000_000, "61 s"),
    ],
)
def test_durations_have_the_unit_that_suits_them(nanoseconds, shown):
    assert seconds(nanoseconds) == shown
