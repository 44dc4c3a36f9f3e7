"""Values of 1.0 know their types, and are the same only as themselves."""

import pickle

import pytest

from dissectors.v1_0.values import (
    Array,
    Char,
    Decimal32,
    Described,
    Float,
    Map,
    Symbol,
    Timestamp,
    Uint,
    Ulong,
    Uuid,
    same,
    type_of,
)

TYPED = [
    (None, "null"), (True, "boolean"), ("x", "string"), (b"x", "binary"), (1.0, "double"),
    ([], "list"), (Uint(1), "uint"), (Ulong(1), "ulong"), (Float(1), "float"), (Char("x"), "char"),
    (Symbol("x"), "symbol"), (Timestamp(1), "timestamp"), (Uuid(bytes(16)), "uuid"),
    (Decimal32("1.0"), "decimal32"), (Map(), "map"), (Array(0x40), "array"),
    (Described(1, 2), "described"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "name"), TYPED, ids=[name for _, name in TYPED])
def test_a_value_knows_its_type(value, name):
    assert type_of(value) == name


@pytest.mark.parametrize("value", [value for value, _ in TYPED], ids=[name for _, name in TYPED])
def test_only_the_value_itself_is_the_same(value):
    assert [other for other, _ in TYPED if same(value, other)] == [value]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (Uint(1), Ulong(1)), (Symbol("a"), "a"), (1.0, Float(1.0)), (0.0, -0.0),
        (Decimal32("1.0"), Decimal32("1.00")), (Array(0x40), Array(0x41)),
        (Array(0x60, (), (Symbol("a"),)), Array(0x60)), ([1], [True]),
    ],
)  # fmt: skip
def test_near_values_are_not_the_same(one, other):
    assert not same(one, other)


def test_not_a_number_is_the_same_as_itself():
    assert same(float("nan"), float("nan"))
    assert same(Decimal32("NaN12"), Decimal32("NaN12"))


def test_a_map_keeps_order_and_duplicates_and_finds_the_first():
    pairs = Map([(Symbol("b"), 1), (Symbol("a"), 2), (Symbol("b"), 3)])
    assert list(pairs.keys()) == ["b", "a", "b"]
    assert pairs.get("b") == 1
    assert pairs.get("c") is None


def test_equal_values_have_equal_hashes():
    assert hash(Map([("a", 1)])) == hash(Map([("a", 1)]))
    assert hash(Array(0x60, [1])) == hash(Array(0x60, [1]))
    assert hash(Described("a", 1)) == hash(Described("a", 1))


def test_a_uuid_is_read_as_people_write_it():
    assert str(Uuid(bytes(range(16)))) == "00010203-0405-0607-0809-0a0b0c0d0e0f"


@pytest.mark.parametrize(
    "value", [Map([("a", Uint(1))]), Described(Symbol("a"), [Char("b")]), Array(0x70, [Uint(1)])]
)
def test_values_travel_between_processes(value):
    assert same(pickle.loads(pickle.dumps(value)), value)
