"""What a peer has said of the connection as a whole."""

from __future__ import annotations

import pytest

from amqpscope.model.fault import EVERYTHING, MAX_BREACHES, MAX_FAULTS, Breaches
from amqpscope.model.mark import NOWHERE, Mark
from amqpscope.model.v1_0.connection import Connection, ConnectionEnd, Fault
from dissectors.v1_0.bodies import Close, Error, Open
from dissectors.v1_0.values import Symbol


@pytest.mark.parametrize(
    ("said", "size", "channel"),
    [
        (None, 512, 0),
        (Open(container_id="c"), 0xFFFFFFFF, 65535),
        (Open(container_id="c", max_frame_size=4096, channel_max=0), 4096, 0),
        (Open(container_id="c", max_frame_size=100, channel_max=7), 512, 7),
    ],
)
def test_limits_are_those_of_the_open(said, size, channel):
    end = ConnectionEnd(0, True)
    end.open = said
    assert end.max_frame_size == size
    assert end.channel_max == channel


def test_a_peer_discards_after_a_close_with_an_error_only():
    end = ConnectionEnd(0, True)
    assert not end.discarding
    end.set_close(Close(), NOWHERE)
    assert not end.discarding
    end.set_close(Close(error=Error(condition=Symbol("amqp:internal-error"))), NOWHERE)
    assert end.discarding


def test_knowledge_does_not_shrink():
    end = ConnectionEnd(0, True)
    end.prove(100)
    end.prove(40)
    assert end.proved == 100


def test_a_connection_is_closing_once_either_peer_says_so():
    connection = Connection(True)
    assert not connection.closing
    connection.ends[1].set_close(Close(), NOWHERE)
    assert connection.closing


def test_faults_are_remembered_with_a_limit_the_oldest_and_the_newest():
    connection = Connection(True)
    for number in range(5 * MAX_FAULTS):
        connection.blame(Fault(f"X-{number}", True, 0, NOWHERE))
    assert len(connection.faults) == MAX_FAULTS
    assert connection.faults[0].rule == "X-0"
    assert connection.faults[-1].rule == f"X-{5 * MAX_FAULTS - 1}"
    assert not connection.clean(0)
    assert connection.clean(1)


def breach(frame, peer=1):
    return Fault("X-001", True, peer, Mark(frame, 0, 0, 0))


def test_the_first_violation_of_a_place_is_kept_while_the_place_is_there():
    breaches = Breaches()
    breaches.touch(3, breach(10), 5)
    breaches.touch(3, breach(11), 5)
    assert breaches.touched[1][3].mark.frame == 10
    breaches.touch(3, breach(20), 15)
    assert breaches.touched[1][3].mark.frame == 20
    assert not breaches.touched[0]


def test_violations_in_more_places_than_are_told_apart_touch_everything():
    breaches = Breaches()
    for channel in range(MAX_BREACHES + 9):
        breaches.touch(channel, breach(channel + 1), 0)
    assert len(breaches.touched[1]) == MAX_BREACHES + 1
    assert breaches.touched[1][EVERYTHING].mark.frame == MAX_BREACHES + 1
