"""What dispositions do to the deliveries that they name."""

from __future__ import annotations

import pytest

from amqpscope.model.v1_0.outcomes import outcome
from amqpscope.model.v1_0.session import SessionEnd
from amqpscope.model.v1_0.settlement import provisional
from dissectors.v1_0.bodies import Accepted, Received, TransactionalState
from kit.exchange import Played, play


def sent(numbers: list[int]) -> str:
    return "".join(
        f'client: transfer[0] handle=0 delivery-id={number} delivery-tag=b"{number}"'
        f' message-format=0 | data(b"0")\n'
        for number in numbers
    )


def session(played: Played) -> SessionEnd:
    return played.steps[-1].conversation.talk.tracker.connection.ends[0].channels[0]


def test_an_outcome_inside_a_transaction_is_not_final():
    assert outcome(Accepted()) == "accepted"
    assert outcome(Received(0, 0)) == ""
    state = TransactionalState(b"t", Accepted())
    assert outcome(state) == ""
    assert provisional(state)


@pytest.mark.parametrize(
    ("first", "last", "left"),
    [(0, 0, [1, 2]), (0, 2, []), (1, 1000, [0]), (1, 2, [0])],
)
def test_a_range_settles_what_it_holds(first, last, left):
    word = f"server: disposition[0] role=receiver first={first} last={last} settled=true"
    played = play(f"{sent([0, 1, 2])}{word} state=accepted()", "sending")
    assert list(session(played).deliveries.live) == left


def test_a_range_may_pass_the_wrap():
    word = "server: disposition[0] role=receiver first=4294967295 last=0 settled=true"
    played = play(f"{sent([4294967295, 0])}{word} state=accepted()", "sending")
    assert not session(played).deliveries.live
    assert played.findings == []


def test_a_huge_range_is_not_walked():
    played = play(sent([0, 1, 2]), "sending")
    assert len(session(played).deliveries.find_range(0, 1 << 31)) == 3


def test_a_tag_is_free_once_its_delivery_is_settled():
    word = "server: disposition[0] role=receiver first=0 settled=true state=accepted()"
    played = play(f"{sent([0])}{word}", "sending")
    assert not session(played).handles[0].sending.unsettled


def test_deliveries_of_a_closed_link_are_forgotten_at_its_end():
    played = play(f"{sent([0])}client: detach[0] handle=0 closed=true", "sending")
    assert not session(played).deliveries.live
    played = play(f"{sent([0])}client: detach[0] handle=0", "sending")
    assert list(session(played).deliveries.live) == [0]
