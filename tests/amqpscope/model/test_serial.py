"""Numbers of 32 bits that wrap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpscope.model.serial import MODULUS, distance, unwrap, wire

NUMBERS = st.integers(0, MODULUS - 1)
LAST = MODULUS - 1


@pytest.mark.parametrize(
    ("value", "base", "far"),
    [(1, 0, 1), (0, 1, -1), (0, LAST, 1), (LAST, 0, -1), (5, 5, 0), (1 << 31, 0, -(1 << 31))],
)
def test_distance_goes_the_shorter_way(value, base, far):
    assert distance(value, base) == far


@given(NUMBERS, st.integers(0, 1 << 40))
def test_unwrapped_reads_the_same_on_the_wire_and_is_near(value, near):
    found = unwrap(value, near)
    assert wire(found) == value
    assert abs(found - near) <= 1 << 31


@given(st.integers(0, 1 << 40), st.integers(-(1 << 31), (1 << 31) - 1))
def test_what_is_near_is_found_again(near, away):
    assert unwrap(wire(near + away), near) == near + away
