"""Bodies that are what their rows say, and those that are not."""

import pytest

from amqpscope.model.v1_0.field_checks import FITNESS, unfit
from dissectors.notation import parse
from dissectors.v1_0.framing import decode_unit


def body(line):
    return decode_unit(parse(line)).body


@pytest.mark.parametrize(
    "line",
    [
        "transfer[0] handle=0",
        'transfer[0] handle=0 delivery-tag=b"01234567890123456789012345678901" rcv-settle-mode=1',
        "flow[0] incoming-window=0 next-outgoing-id=0 outgoing-window=0 properties={:a=1}",
        "disposition[0] role=false first=0 state=accepted()",
        'attach[0] name="" handle=0 role=true snd-settle-mode=2 target=coordinator()',
        "close error=error(condition=:a info={:b=1})",
        "close",
    ],
)
def test_fit(line):
    assert not unfit(body(line))


@pytest.mark.parametrize(
    "line",
    [
        "transfer[0]",
        'transfer[0] handle=0 delivery-tag=b"012345678901234567890123456789012"',
        "transfer[0] handle=0 rcv-settle-mode=2",
        "transfer[0] handle=0 delivery-id=ulong 1",
        "flow[0] incoming-window=0 next-outgoing-id=0",
        'flow[0] incoming-window=0 next-outgoing-id=0 outgoing-window=0 properties={"a"=1}',
        "flow[0] incoming-window=0 next-outgoing-id=0 outgoing-window=0 properties={:a=1 :a=2}",
        "end[0] error=null +[null]",
        'close error=error(condition="a")',
        'close error=error(description="no condition")',
        'attach[0] name="" handle=0 role=true source=source(durable=3)',
    ],
)
def test_unfit(line):
    assert unfit(body(line))


def test_only_choices_that_are_numbers_have_a_highest():
    ranged = {made.row.name: list(fitness.ranged) for made, fitness in FITNESS.items()}
    assert ranged["attach"] == [3, 4]
    assert ranged["disposition"] == []
