"""IEEE 754 decimals in binary integer coding (BID), exact in both directions.

The first bits after the sign say the form: 11110 infinity, 11111 NaN, 11 a coefficient whose top
bits are an implied 100, else exponent and then the coefficient. A coefficient past the format's
digits is not canonical and counts as zero; so does such a payload of a NaN.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple

from dissectors.v1_0.values import Decimal32, Decimal64, Decimal128


class Format(NamedTuple):
    """The parameters of one width."""

    octets: int
    digits: int
    bias: int
    trailing: int
    """Bits of the coefficient in the short form."""
    made: type[Decimal]


FORMATS: Final = {
    "decimal32": Format(4, 7, 101, 23, Decimal32),
    "decimal64": Format(8, 16, 398, 53, Decimal64),
    "decimal128": Format(16, 34, 6176, 113, Decimal128),
}


def read_decimal(raw: bytes, kind: str) -> Decimal:
    """The number that these octets say."""
    form = FORMATS[kind]
    bits = int.from_bytes(raw, "big")
    width = form.octets * 8
    negative = bits >> (width - 1)
    top = (bits >> (width - 6)) & 0x1F
    exponent_bits = width - 1 - form.trailing
    sign = "-" if negative else ""
    if top == 0b11110:
        return form.made(f"{sign}Infinity")
    if top == 0b11111:
        signalling = bits >> (width - 7) & 1
        payload = bits & ((1 << (form.trailing - 3)) - 1)
        if payload >= 10 ** (form.digits - 1):
            payload = 0
        return form.made(f"{sign}{'sNaN' if signalling else 'NaN'}{payload or ''}")
    if top >> 3 == 0b11:
        exponent = bits >> (form.trailing - 2) & ((1 << exponent_bits) - 1)
        coefficient = (0b100 << (form.trailing - 2)) | bits & ((1 << (form.trailing - 2)) - 1)
    else:
        exponent = bits >> form.trailing & ((1 << exponent_bits) - 1)
        coefficient = bits & ((1 << form.trailing) - 1)
    if coefficient >= 10**form.digits:
        coefficient = 0
    return form.made((negative, _digits(coefficient), exponent - form.bias))


def write_decimal(value: Decimal, kind: str) -> bytes:
    """The octets for a number, which must fit the format without rounding."""
    form = FORMATS[kind]
    negative, digits, exponent = value.as_tuple()
    width = form.octets * 8
    coefficient = int("".join(map(str, digits)) or "0")
    if exponent == "F":
        bits = 0b11110 << (width - 6)
    elif isinstance(exponent, str):
        bits = 0b11111 << (width - 6) | (exponent == "N") << (width - 7) | coefficient
    else:
        biased = exponent + form.bias
        exponent_bits = width - 1 - form.trailing
        if coefficient >= 10**form.digits or not 0 <= biased < 3 << (exponent_bits - 2):
            raise ValueError(f"{value} does not fit {kind}")
        if coefficient >> form.trailing:
            low = coefficient & ((1 << (form.trailing - 2)) - 1)
            bits = 0b11 << (width - 3) | biased << (form.trailing - 2) | low
        else:
            bits = biased << form.trailing | coefficient
    return (negative << (width - 1) | bits).to_bytes(form.octets, "big")


def _digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(number)))
