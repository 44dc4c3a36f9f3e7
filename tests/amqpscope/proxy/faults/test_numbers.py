"""Numbers that two peers no longer share, against a model that writes all of them down."""

from hypothesis import given
from hypothesis import strategies as st

from amqpscope.protocols.peers_numbers import NumberMap, Serial

PASS, HIDE, INSERT = range(3)


@given(st.lists(st.sampled_from((PASS, HIDE, INSERT)), max_size=40), st.integers(0, 5))
def test_each_number_has_its_place_for_either_peer(steps, start):
    numbers = NumberMap()
    theirs, ours = start, start
    seen = {}
    inserted = set()
    for step in steps:
        if step == INSERT:
            assert numbers.insert(theirs) == ours
            inserted.add(ours)
            ours += 1
            continue
        if step == HIDE:
            numbers.hide(theirs)
        else:
            seen[theirs] = ours
            ours += 1
        theirs += 1
    back = {value: key for key, value in seen.items()}
    for number in range(start, theirs):
        assert numbers.to_receiver(number) == seen.get(number)
    for number in range(start, ours):
        assert numbers.to_sender(number) == back.get(number)
    covered = [n for low, high in numbers.ranges_to_sender(start, ours - 1)
               for n in range(low, high + 1)]  # fmt: skip
    assert covered == sorted(seen)
    covered = [n for low, high in numbers.ranges_to_receiver(start, theirs - 1)
               for n in range(low, high + 1)]  # fmt: skip
    assert covered == sorted(back)


def test_a_number_of_32_bits_goes_on_behind_its_end():
    serial = Serial()
    assert [serial.meet(n) for n in (0xFFFFFFFE, 0xFFFFFFFF, 0, 1)] == [
        0xFFFFFFFE,
        0xFFFFFFFF,
        1 << 32,
        (1 << 32) + 1,
    ]
    assert serial.unwrap(0xFFFFFFFF) == 0xFFFFFFFF
