"""The state at an instant as text and for JSON."""

import json

import pytest

from amqpscope.analysis import Analyzer
from amqpscope.capture.pieces import Pieces
from amqpscope.report.endings import Instant
from amqpscope.report.state import talk_lines, talk_object


@pytest.fixture
def state_at(good):
    """The connection after a frame of `good`, and the time."""

    def at(frame):
        analyzer = Analyzer(until=frame)
        steps = []
        with Pieces(str(good)) as pieces:
            for batch in pieces:
                for piece in batch:
                    steps += analyzer.feed(piece)
        return steps[-1].conversation, Instant(steps[-1].frame.time, steps[0].frame.time)

    return at


def test_a_link_is_shown_with_what_holds_it(state_at):
    talk, now = state_at(11)  # the first delivery is settled, half a second after it was sent
    assert list(talk_lines(talk, now)) == [
        "connection 1  c -> s  open",
        "  session on channels 0 / 0 (client / server)",
        "    may send 99 / 100 transfers, next-outgoing-id 1 / 0, unsettled 0 / 0",
        "    link s  - -> q  (client -> server, handles 0 / 0)",
        "      credit 0, delivery-count 1, 1 deliveries, 0 unsettled, modes mixed/first",
        "      no credit for 500 ms, since frame 10 (after 1 delivery); waiting for the server",
    ]


def test_what_is_not_known_is_a_question_mark(state_at):
    talk, now = state_at(5)
    assert list(talk_lines(talk, now))[:2] == [
        "connection 1  c -> s  open",
        "  session on channels 0 / ? (client / server)",
    ]


@pytest.mark.parametrize(("frame", "standing"), [(1, "opening"), (3, "opening"), (4, "open")])
def test_how_far_a_connection_is(state_at, frame, standing):
    talk, now = state_at(frame)
    assert next(talk_lines(talk, now)).endswith(f"  {standing}")


def test_json_has_the_same(state_at):
    talk, now = state_at(11)
    found = json.loads(json.dumps(talk_object(talk, now)))
    assert found["containers"] == {"client": "c", "server": "s"}
    [session] = found["sessions"]
    assert session["window"] == {"client": 99, "server": 100}
    [link] = session["links"]
    assert (link["name"], link["sender"], link["credit"], link["target"]) == ("s", "client", 0, "q")
    assert link["constraint"] == {
        "kind": "no credit", "since": 10, "seconds": 0.5, "peer": "server",
        "detail": "after 1 delivery",
    }  # fmt: skip
