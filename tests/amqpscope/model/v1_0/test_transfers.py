"""Which delivery a transfer belongs to."""

from __future__ import annotations

import pytest

from amqpscope.model.v1_0.event import KIND
from kit.exchange import play

FIRST = 'client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"0" message-format=0 more=true'


def deliveries(text: str) -> list[int | None]:
    """The number of the delivery of each transfer."""
    played = play(text, "sending")
    return [
        step.event.delivery.number
        for step in played.steps
        if step.frame.unit.name == "transfer" and step.event.delivery is not None
    ]


@pytest.mark.parametrize(
    ("then", "numbers"),
    [
        ("handle=0", [0, 0]),
        ("handle=0 delivery-id=0", [0, 0]),
        ('handle=0 delivery-tag=b"1"', [0, 0]),
        ("handle=0 delivery-id=1", [0, 0]),
        ('handle=0 delivery-id=1 delivery-tag=b"1"', [0, 1]),
    ],
)
def test_a_transfer_goes_on_unless_both_id_and_tag_are_others(then, numbers):
    assert deliveries(f'{FIRST} | data(b"0")\nclient: transfer[0] {then} | data(b"1")') == numbers


def test_a_delivery_that_was_interrupted_can_go_on():
    text = f"""
        {FIRST} | data(b"0")
        client: transfer[0] handle=0 delivery-id=1 delivery-tag=b"1" message-format=0 | data(b"1")
        client: transfer[0] handle=0 delivery-id=0 | data(b"2")
        """
    assert deliveries(text) == [0, 1, 0]
    assert [finding.rule for finding in play(text, "sending").findings] == ["DLV-009"]


def test_after_a_wrong_id_either_way_of_counting_on_is_taken():
    for third in (6, 2):
        text = "".join(
            f'client: transfer[0] handle=0 delivery-id={number} delivery-tag=b"{place}"'
            f' message-format=0 | data(b"0")\n'
            for place, number in enumerate((0, 5, third))
        )
        assert [finding.rule for finding in play(text, "sending").findings] == ["DLV-007"]


def test_every_kind_has_the_number_that_its_name_has():
    from amqpscope.model.v1_0 import event

    for name, bit in KIND.items():
        constant = getattr(event, name.upper().replace("-", "_"), bit)
        assert constant == bit, name
