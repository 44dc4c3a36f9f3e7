"""Values that every family has."""

import pickle

import pytest

from dissectors import values
from dissectors.v0_9 import values as v0_9
from dissectors.v1_0 import values as v1_0
from dissectors.values import Byte, Char, Float, Int, Long, Map, Short, Ubyte, Uint, Ulong, Ushort

INTEGERS = (Ubyte, Ushort, Uint, Ulong, Byte, Short, Int, Long)


@pytest.mark.parametrize("made", INTEGERS)
def test_an_integer_is_a_number_that_knows_its_width(made):
    assert made(1) == 1
    assert [other for other in INTEGERS if values.same(made(1), other(1))] == [made]


def test_maps_in_another_order_differ():
    assert Map([("a", 1), ("b", 2)]) != Map([("b", 2), ("a", 1)])


def test_a_text_is_looked_up_by_its_first_key():
    assert Map([(1, "a"), ("1", "b"), ("1", "c")]).get("1") == "b"


@pytest.mark.parametrize("value", [Uint(5), Float(0.5), Char("x"), Map([("a", Uint(1))])])
def test_values_travel_between_processes(value):
    assert values.same(pickle.loads(pickle.dumps(value)), value)


def test_each_family_has_the_shared_values_and_its_own():
    shared = {"Byte", "Char", "Float", "Int", "Long", "Map", "Ubyte", "Ulong", "Value", "same"}
    assert shared <= set(v0_9.__all__) & set(v1_0.__all__)
    assert set(v1_0.__all__) & {"Table", "FieldArray"} == set()
    assert set(v0_9.__all__) & {"Symbol", "Described"} == set()
