"""What a proxy noted in its recording says whom a finding is to be laid to."""

import pytest

from amqpscope.stream.marks import FAULT, Marks
from amqpscope.stream.types import CLIENT, SERVER

FIRST, ACTED, LAST = 5, 10, 20
"""A packet that a peer answers, the one where a fault acted, and the end of the connection."""


@pytest.fixture
def marks():
    def make(action):
        made = Marks()
        # Before the client the proxy plays the server.
        made.add(ACTED, SERVER, f"{FAULT}f: {action} on basic.get-ok")
        return made

    return make


@pytest.mark.parametrize("action", ["drop", "stall"])
def test_what_the_proxy_leaves_out_in_a_peers_place_is_not_that_peers(marks, action):
    assert marks(action).fault_between(FIRST, LAST, SERVER) == "f"


def test_a_real_peer_is_excused_only_where_it_saw_something_illegal(marks):
    assert marks("drop").fault_between(FIRST, LAST, CLIENT) == "f"
    assert marks("stall").fault_between(FIRST, LAST, CLIENT) == ""


def test_what_was_complete_before_a_fault_counts(marks):
    assert marks("drop").fault_between(FIRST, ACTED - 1, SERVER) == ""
    assert marks("drop").fault_between(ACTED + 1, LAST, SERVER) == ""
