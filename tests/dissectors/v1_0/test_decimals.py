"""The vectors were worked out by hand from the layout of IEEE 754-2008, 3.5.2."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.v1_0.decimals import FORMATS, read_decimal, write_decimal
from dissectors.v1_0.values import same
from kit.dissectors.samples import octets
from kit.dissectors.strategies_v1_0 import decimals

# fmt: off
VECTORS = [
    # decimal32: sign, 8 bits exponent (bias 101), 23 bits coefficient
    ("decimal32",  "32 80 00 01", "1"),
    ("decimal32",  "b2 80 00 01", "-1"),
    ("decimal32",  "32 80 00 00", "0"),
    ("decimal32",  "b2 80 00 00", "-0"),
    ("decimal32",  "32 00 00 0f", "1.5"),
    ("decimal32",  "31 80 04 d2", "12.34"),
    ("decimal32",  "33 00 00 07", "7E+1"),
    ("decimal32",  "32 ff ff ff", "8388607"),            # the largest of the short form
    ("decimal32",  "6c a0 00 00", "8388608"),            # 100 implied, then 21 bits of zero
    ("decimal32",  "6c b8 96 7f", "9999999"),            # all digits
    ("decimal32",  "77 f8 96 7f", "9.999999E+96"),       # the largest number
    ("decimal32",  "00 00 00 01", "1E-101"),             # the smallest
    ("decimal32",  "5f 80 00 00", "0E+90"),
    ("decimal32",  "78 00 00 00", "Infinity"),
    ("decimal32",  "f8 00 00 00", "-Infinity"),
    ("decimal32",  "7c 00 00 00", "NaN"),
    ("decimal32",  "7e 00 00 00", "sNaN"),
    ("decimal32",  "fc 00 00 2a", "-NaN42"),
    # decimal64: 10 bits exponent (bias 398), 53 bits coefficient
    ("decimal64",  "31 c0 00 00 00 00 00 01", "1"),
    ("decimal64",  "b1 c0 00 00 00 00 00 00", "-0"),
    ("decimal64",  "31 a0 00 00 00 00 00 0f", "1.5"),
    ("decimal64",  "31 df ff ff ff ff ff ff", "9007199254740991"),
    ("decimal64",  "6c 70 00 00 00 00 00 00", "9007199254740992"),
    ("decimal64",  "6c 73 86 f2 6f c0 ff ff", "9999999999999999"),
    ("decimal64",  "77 fb 86 f2 6f c0 ff ff", "9.999999999999999E+384"),
    ("decimal64",  "78 00 00 00 00 00 00 00", "Infinity"),
    ("decimal64",  "fe 00 00 00 00 00 00 00", "-sNaN"),
    # decimal128: 14 bits exponent (bias 6176), 113 bits coefficient
    ("decimal128", "30 40 00 00 00 00 00 00 00 00 00 00 00 00 00 01", "1"),
    ("decimal128", "b0 40 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "-0"),
    ("decimal128", "30 3c 00 00 00 00 00 00 00 00 00 00 00 00 04 d2", "12.34"),
    ("decimal128", "30 41 ed 09 be ad 87 c0 37 8d 8e 63 ff ff ff ff", "9" * 34),
    ("decimal128", "78 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "Infinity"),
]
NOT_CANONICAL = [
    ("decimal32",  "6c b8 96 80", "0"),                  # ten million has eight digits
    ("decimal32",  "6c bf ff ff", "0"),
    ("decimal32",  "7c 0f 42 40", "NaN"),                # a payload of a million
    ("decimal32",  "78 00 00 01", "Infinity"),
    ("decimal64",  "6c 73 86 f2 6f c1 00 00", "0"),
    ("decimal128", "6c 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "0"),
]
# fmt: on


@pytest.mark.parametrize(("kind", "raw", "text"), VECTORS)
def test_a_number_and_its_octets(kind, raw, text):
    value = read_decimal(octets(raw), kind)
    assert same(value, FORMATS[kind].made(text))
    assert write_decimal(value, kind) == octets(raw)


@pytest.mark.parametrize(("kind", "raw", "text"), NOT_CANONICAL)
def test_octets_that_are_not_canonical_count_as_zero(kind, raw, text):
    value = read_decimal(octets(raw), kind)
    assert value.is_zero() if text == "0" else str(value) == text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("decimal32", "10000000"),
        ("decimal32", "1E+91"),
        ("decimal32", "1E-102"),
        ("decimal64", "1E+370"),
    ],
)
def test_what_does_not_fit_without_rounding_is_refused(kind, text):
    with pytest.raises(ValueError, match="does not fit"):
        write_decimal(Decimal(text), kind)


@pytest.mark.parametrize("kind", FORMATS)
@given(data=st.data())
def test_every_number_comes_back(kind, data):
    value = data.draw(decimals(kind))
    assert same(read_decimal(write_decimal(value, kind), kind), value)


@pytest.mark.parametrize("kind", FORMATS)
@given(data=st.data())
def test_any_octets_are_a_number_that_can_be_written(kind, data):
    width = FORMATS[kind].octets
    value = read_decimal(data.draw(st.binary(min_size=width, max_size=width)), kind)
    assert same(read_decimal(write_decimal(value, kind), kind), value)
