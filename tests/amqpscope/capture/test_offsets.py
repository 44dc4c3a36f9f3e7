from amqpscope.capture.offsets import MAX_MARKS, Lane
from amqpscope.stream.types import BEYOND


def test_an_acknowledgement_covers_what_was_complete_by_then(talk):
    lane = Lane()
    chunk = talk().say(0, b"x" * 100)
    out = []
    lane.emit(b"abcd", 30, chunk, 0, out)
    lane.emit(b"", 60, chunk, 0, out)
    lane.emit(b"ef", 100, chunk, 0, out)
    lane.outside = 110
    acknowledged = [lane.acknowledged_inside(ack) for ack in (-1, 0, 29, 30, 99, 100, 110, 30)]
    assert acknowledged == [-1, 0, 0, 4, 4, 6, 6, 4]


def test_an_acknowledgement_of_octets_that_did_not_pass_covers_more_than_we_saw(talk):
    lane = Lane()
    chunk = talk().say(0, b"x" * 100)
    lane.emit(b"abcd", 30, chunk, 0, [])
    lane.outside = 30
    assert [lane.acknowledged_inside(ack) for ack in (30, 31, BEYOND)] == [4, BEYOND, BEYOND]


def test_without_acknowledgements_memory_is_bounded(talk):
    lane = Lane()
    chunk = talk().say(0, b"x")
    for place in range(3 * MAX_MARKS):
        lane.emit(b"x", place + 1, chunk, 0, [])
        lane.outside = place + 1
    assert len(lane._outer) <= MAX_MARKS
    assert lane.acknowledged_inside(3 * MAX_MARKS) == 3 * MAX_MARKS
    assert lane.acknowledged_inside(0) <= 2 * MAX_MARKS
