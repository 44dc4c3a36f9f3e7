"""What an attach states of its link."""

from __future__ import annotations

import pytest

from amqpscope.model.v1_0.terms import FIRST, MIXED, SECOND, Terms, outlives_session
from dissectors.v1_0.bodies import Attach, Coordinator, Released, Source, Target
from dissectors.v1_0.values import Array, Symbol

ACCEPTED = "amqp:accepted:list"


def test_an_attach_that_was_not_seen_leaves_the_defaults():
    terms = Terms(None)
    assert not terms.clear
    assert (terms.snd_settle_mode, terms.rcv_settle_mode) == (MIXED, FIRST)
    assert (terms.address, terms.max_message_size, terms.outcomes) == ("", 0, ())


def test_zero_is_a_settle_mode_and_no_limit():
    terms = Terms(Attach("l", 0, True, 0, SECOND, max_message_size=0))
    assert (terms.snd_settle_mode, terms.rcv_settle_mode, terms.max_message_size) == (0, SECOND, 0)


@pytest.mark.parametrize(
    ("role", "source", "target", "address"),
    [
        (False, Source("reply"), Target("orders"), "orders"),
        (True, Source("orders"), Target("me"), "orders"),
        (False, Source("me"), Target(), "me"),
        (False, Source("me"), Coordinator(), "$coordinator"),
        (False, None, None, ""),
    ],
)
def test_the_address_is_that_of_the_node_at_the_broker(role, source, target, address):
    attach = Attach("l", 0, role, source=source, target=target)
    assert Terms(attach).address == address
    assert Terms(attach).coordinator == (address == "$coordinator")
    assert Terms(attach).anonymous == (isinstance(target, Target) and target.address is None)


def test_the_default_outcome_is_among_those_that_a_source_lists():
    listed = Source("q", default_outcome=Released(), outcomes=Array(0xA3, [Symbol(ACCEPTED)]))
    terms = Terms(Attach("l", 0, True, source=listed))
    assert terms.outcomes == (ACCEPTED, "amqp:released:list")


@pytest.mark.parametrize(
    ("terminus", "kept"),
    [
        ({}, False),
        ({"expiry_policy": Symbol("session-end")}, False),
        ({"expiry_policy": Symbol("never")}, True),
        ({"expiry_policy": Symbol("connection-close")}, True),
        ({"timeout": 5}, True),
    ],
)
def test_whether_a_terminus_outlives_its_session_is_said_by_its_own_peer(terminus, kept):
    assert outlives_session(Attach("l", 0, False, source=Source("q", **terminus))) == kept
    assert outlives_session(Attach("l", 0, True, target=Target("q", **terminus))) == kept
    assert not outlives_session(Attach("l", 0, True, source=Source("q", **terminus)))
