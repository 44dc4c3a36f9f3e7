"""What recorded messages follow from."""

from amqpscope.protocols.replay_acts import Act, Cue
from amqpscope.protocols.replay_origins import Origins, Passed


def cue(turn):
    return Cue(None, "", turn)


def act(index):
    made = Act("transfer", None, (0,), None)
    made.index = index
    return made


def test_a_message_follows_from_the_one_that_it_passes_on_by_turn():
    origins, (one, two) = Origins(), map(cue, range(2))
    for each in (one, two):
        origins.receive(each, Passed("same"))
    for index in range(3):
        origins.send(act(index), Passed("same"))
    assert origins.found == {0: (one,), 1: (two,)}


def test_a_reply_follows_from_the_newest_message_of_its_id():
    origins, (one, two) = Origins(), map(cue, range(2))
    origins.receive(one, Passed("ask", ("id",)))
    origins.receive(two, Passed("ask again", ("id",)))
    origins.send(act(0), Passed("reply", ("id",)))
    assert origins.found == {0: (two,)}


def test_a_message_that_comes_once_more_follows_from_its_refusal():
    origins, (came, refusal) = Origins(), map(cue, range(2))
    origins.receive(came, Passed("same"))
    origins.send(act(0), Passed("same", (), (refusal,)))
    origins.send(act(1), Passed("same"))
    assert origins.found == {0: (came,), 1: (refusal,)}


def test_of_a_message_that_nobody_sent_before_nothing_is_known():
    origins = Origins()
    origins.send(act(0), Passed("news", ("id",)))
    assert origins.found == {}
