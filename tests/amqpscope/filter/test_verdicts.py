"""A filter's values beside values of every wire type."""

import re
from decimal import Decimal

import pytest

from amqpscope.filter.lexer import tokens
from amqpscope.filter.operands import LESS, MORE, SAME, UNLIKE, operand
from amqpscope.filter.parser import Parser
from amqpscope.filter.verdicts import Between, Contains, Equal, Matches, Ordered
from amqpscope.filter.view import leaves
from amqpscope.protocols.names import part
from amqpscope.protocols.shapes import ANY
from amqpscope.protocols.v1_0.filter_names import bodies
from dissectors.v1_0.bodies import Accepted, Error, Rejected, Source, TransactionalState
from dissectors.v1_0.values import (
    Array,
    Char,
    Decimal32,
    Described,
    Float,
    Int,
    Map,
    Symbol,
    Timestamp,
    Ubyte,
    Ulong,
    Uuid,
)


def made(text):
    assert len(tokens(text)) == 2
    return operand(text, Parser(text).value(), ANY, "field")


@pytest.mark.parametrize(
    ("text", "value", "order"),
    [
        ("7", Ubyte(7), SAME),
        ("7", Int(-7), LESS),
        ("7", Ulong(2**64 - 1), MORE),
        ("7.0", 7, SAME),
        ("7", 7.5, MORE),
        ("7", "7", UNLIKE),
        ("'7'", 7, UNLIKE),
        ("1", True, UNLIKE),
        ("true", True, SAME),
        ("true", 1, UNLIKE),
        ("false", True, UNLIKE),
        ("0.1", Float(0.10000000149011612), SAME),
        ("0.1", 0.1, SAME),
        ("0.1", Decimal32("0.1"), SAME),
        ("1e400", float("inf"), SAME),
        ("1e400", Float(3.4e38), LESS),
        ("0", float("nan"), UNLIKE),
        ("0", Decimal32("NaN"), UNLIKE),
        ("0", Decimal32("sNaN"), UNLIKE),
        ("0x10", Decimal("17"), MORE),
        ("abc", Symbol("abc"), SAME),
        ("'abc'", Char("b"), MORE),
        ("'é'", b"\xc3\xa9", SAME),
        ("0a:ff", b"\x0a\xff", SAME),
        ("0x0aff", b"\x0a\xff", SAME),
        ("0a:ff", "0a:ff", SAME),
        ("'a'", b"b", MORE),
        ("00112233-4455-6677-8899-aabbccddeeff", Uuid(bytes(range(0, 256, 17))), SAME),
        ("'00112233445566778899AABBCCDDEEFF'", Uuid(bytes(range(0, 256, 17))), SAME),
        ("1970-01-01T00:00:01Z", Timestamp(1000), SAME),
        ("1970-01-01", Timestamp(1), MORE),
        ("1970-01-01", 0, UNLIKE),
        ("5", Timestamp(4), LESS),
        ("x", None, UNLIKE),
    ],
)
def test_value_stands_to_operand(text, value, order):
    assert made(text).order(value) == order


def test_deliveries_of_a_disposition_compare_as_a_range():
    ids = range(3, 1 << 32)
    assert Equal(made("3")).accepts(ids)
    assert Equal(made("70000.5")).accepts(ids)
    assert not Equal(made("2")).accepts(ids)
    assert Ordered(made("9"), MORE, False).accepts(ids)
    assert Ordered(made("9"), LESS, False).accepts(ids)
    assert not Ordered(made("3"), LESS, False).accepts(ids)
    assert Between(made("1"), made("3")).accepts(ids)
    assert not Between(made("1"), made("2")).accepts(ids)


def test_contains_looks_into_text_and_octets():
    assert Contains(made("'b'")).accepts("abc")
    assert Contains(made("00:01")).accepts(b"\xff\x00\x01")
    assert Contains(made("5")).accepts(b"a5")
    assert not Contains(made("'b'")).accepts(5)


def test_matches_reads_binary_as_text():
    pattern = Parser("a matches '^é'").either().values[0].text

    assert Matches(re.compile(pattern)).accepts("é".encode() + b"\xff")


VALUE = Map(
    [
        (Symbol("list"), [1, Map([("deep", "x")])]),
        (Symbol("twice"), 1),
        (Symbol("twice"), 2),
        (Ulong(5), Described(Symbol("d"), ["y"])),
        (b"octets", Array(0x71, [7, 8])),
        ("null", None),
    ]
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["list", "0"], 1),
        (["list", "9"], None),
        (["list", "deep"], "x"),
        (["twice"], [1, 2]),
        (["5", "0"], "y"),
        (["octets", "1"], 8),
        (["null"], None),
        (["absent", "more"], None),
        (["list", "0", "more"], None),
    ],
)
def test_way_into_a_value(path, value):
    found = VALUE
    for name in path:
        found = part(found, name)
    assert found == value


def test_leaves_are_what_is_inside_and_composites_by_name():
    found = []
    leaves([VALUE, Accepted()], found)
    assert found == [1, "x", 1, 2, "y", 7, 8, "accepted"]


def test_field_of_a_composite_is_as_on_the_wire():
    source = Source(address="q")
    assert part(source, "address") == "q"
    assert part(source, "no-such") is None


def test_composites_are_found_at_any_depth():
    error = Error(condition=Symbol("amqp:internal-error"))
    state = TransactionalState(txn_id=b"t", outcome=Rejected(error=error))
    found = []
    bodies([Map([("k", Described(1, state))])], frozenset(("error", "rejected")), found)
    assert [body.row.name for body in found] == ["rejected", "error"]
