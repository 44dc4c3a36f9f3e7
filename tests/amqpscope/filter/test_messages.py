"""Filters about messages, which are followed from one connection to another."""

import pytest

from amqpscope.filter import FilterError, compile_filter
from amqpscope.filter.durations import parse_seconds
from amqpscope.runs.run import Run
from kit.exchange_broker import write
from kit.stories import AGAIN, LOST_ONE


@pytest.fixture
def select(tmp_path):
    """The frames of an exchange that a filter lets pass, counted from its first message."""

    def run(text, where):
        path = tmp_path / "filtered.pcapng"
        write(text, "through", path, "ABC")
        chosen, found, first = compile_filter(where), [], 0
        with Run(str(path)) as run:
            for batch in run:
                for step in batch.steps:
                    if step.frame.unit.name == "transfer":
                        first = first or step.frame.number
                    if chosen.matches(step):
                        found.append(step.frame.number - first)
        return found

    return run


@pytest.mark.parametrize(
    ("where", "frames"),
    [
        # published, accepted, then delivered and settled three times
        ('message.id == "m0"', [0, 1, 2, 3, 4, 5, 6, 7]),
        ("message.latency", [2, 3, 4, 5, 6, 7]),
        ("message.latency > 1s", [4, 5, 6, 7]),
        ("message.latency >= 3000ms && transfer", [4, 6]),
        ("message.latency in {2.5s..4s}", [4, 5]),
        ("message.settle == 0.5", [3, 4, 5, 6, 7]),
        ("message.deliveries > 1", [4, 5, 6, 7]),
        ("message.deliveries == 0", [0, 1]),
        ("message.state == waiting", [1, 3, 5]),
        ("message.state in {unanswered held}", [0, 2, 4, 6]),
        ("message.state == settled", [7]),
        ("!has message.state && disposition", []),
    ],
)
def test_what_a_frame_says_of_its_message_is_what_is_known_by_then(select, where, frames):
    assert select(AGAIN, where) == frames


def test_one_message_is_followed_by_any_of_its_frames(select, tmp_path):
    frames = select(LOST_ONE, 'message.id == "m2"')
    with Run(str(tmp_path / "filtered.pcapng")) as run:
        numbers = [
            step.frame.number
            for batch in run
            for step in batch.steps
            if step.frame.unit.name == "transfer"
        ]
    assert len(frames) == 4
    assert select(LOST_ONE, f"message.frame == {numbers[0] + frames[0]}") == frames
    assert select(LOST_ONE, f"message.frame == {numbers[0] + frames[2]}") == frames[2:]


def test_a_filter_that_does_not_ask_follows_nothing(select):
    chosen = compile_filter("message.size > 10 && transfer")
    assert not chosen.follows
    assert compile_filter("transfer && !(message.deliveries > 1)").follows


def test_a_second_capture_begins_anew(root):
    chosen = compile_filter("message.deliveries > 0")
    found = []
    for _ in range(2):
        with Run(str(root / "captures" / "v10_proton-labbroker_outcomes.pcap")) as run:
            found.append([s.frame.number for b in run for s in b.steps if chosen.matches(s)])
    assert found[0] == found[1] != []


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("message.latency > soon", "a duration (2s, 500ms)"),
        ("message.latency contains 1", "compare it with"),
        ("message.state == lost", "one of refused, unanswered"),
    ],
)
def test_what_makes_no_sense_is_refused(where, words):
    with pytest.raises(FilterError) as error:
        compile_filter(where)
    assert words in str(error.value)


def test_times_are_read_as_people_write_them():
    assert [parse_seconds(text) for text in ("2s", "1.5ms", "20us", "1min")] == [
        2,
        0.0015,
        2e-5,
        60,
    ]
    for text in ("2", "s", "2 s", "2x", "9999999999h"):
        with pytest.raises(ValueError, match="is not a time"):
            parse_seconds(text)
