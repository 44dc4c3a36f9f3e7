"""Control messages, and what a delivery has to do with transactions."""

from __future__ import annotations

import pytest

from amqpscope.model.v1_0.transaction import MAX_CONTROL, read_control
from dissectors.v1_0.bodies import Declare, Discharge
from kit.exchange import play


@pytest.mark.parametrize(
    ("octets", "bodies", "value"),
    [
        ("00 53 77 00 53 31 45", [0x77], Declare()),
        ("00 53 77 00 53 32 c0 05 02 a0 01 74 41", [0x77], Discharge(b"t", True)),
        ("00 53 70 45 00 53 77 00 53 31 45", [0x77], Declare()),
        ("00 53 75 a0 01 78", [0x75], None),
        ("", [], None),
    ],
)
def test_a_control_message_is_read(octets, bodies, value):
    found = read_control(bytes.fromhex(octets))
    assert found.readable
    assert (found.bodies, found.value) == (bodies, value)


@pytest.mark.parametrize("octets", [b"\0", b"\0\x53\x77\0\x53\x31", bytes(MAX_CONTROL + 1)])
def test_a_damaged_or_huge_one_is_not(octets):
    assert not read_control(octets).readable


def test_an_ordinary_connection_is_not_followed():
    played = play(
        'client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 | data(b"0")'
        "\nserver: disposition[0] role=receiver first=0 settled=true state=accepted()",
        "sending",
    )
    assert not played.steps[-1].conversation.talk.tracker.transactions.active
    assert played.steps[-2].event.delivery.work is None


def test_a_posting_knows_its_transaction_and_provisional_outcome():
    played = play(
        """
        client: transfer[0] handle=1 delivery-id=1 delivery-tag=b"1" message-format=0
                state=transactional-state(txn-id=b"t") | data(b"1")
        server: disposition[0] role=receiver first=1
                state=transactional-state(txn-id=b"t" outcome=accepted())
        """,
        "transaction",
    )
    work = played.steps[-2].event.delivery.work
    assert work.transaction.id == b"t"
    assert work.outcome.row.name == "accepted"


def test_a_control_link_that_comes_back_takes_the_place_of_the_old_one():
    played = play(
        """
        client: detach[0] handle=0 closed=true
        server: detach[0] handle=0 closed=true
        client: attach[0] name="ctrl" handle=0 role=sender source=source() target=coordinator()
                initial-delivery-count=0
        """,
        "transaction",
    )
    links = played.steps[-1].conversation.talk.tracker.transactions.links
    assert [len(each) for each in links] == [1, 0]
