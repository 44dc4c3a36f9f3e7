"""A value written in a filter, ready to be compared with values of every wire type.

A number compares with numbers, text with text, with binary as UTF-8 and with uuids; an unquoted
word may also be one of the spec's names for a value (`second`), octets (`0a:ff`) or true and false.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from amqpscope.filter.durations import parse_seconds
from amqpscope.filter.errors import FilterError, did_you_mean
from amqpscope.filter.lexer import Is
from amqpscope.filter.parser import Literal
from amqpscope.protocols.shapes import Holds, Shape, describe
from dissectors.values import Float, Timestamp, Uuid, Value

LESS: Final = -1
SAME: Final = 0
MORE: Final = 1
UNLIKE: Final = 2
"""Neither is more than the other: they are of different types, or one is not a number."""


class Operand:
    """One value, as each type that it can be taken for; None where it cannot."""

    def __init__(self, text: str) -> None:
        self.text: str | None = text
        self.octets: bytes | None = text.encode("utf-8", "surrogatepass")
        self.number: int | float | None = None
        self.decimal: Decimal | None = None
        self.single: float | None = None
        """The number as nearly as a float of 32 bits can hold it."""
        self.flag: bool | None = None
        self.moment: int | None = None
        """Milliseconds since the epoch, when the text is a date."""
        self.uuid = text.replace("-", "").lower()

    def order(self, value: Value) -> int:
        """How a value of the wire compares with this one."""
        if isinstance(value, str):
            return SAME if value == self.text else compare_text(value, self.text)
        if isinstance(value, bool):
            return UNLIKE if value is not self.flag else SAME
        if isinstance(value, int):
            number = self.number
            if number is None and isinstance(value, Timestamp):
                number = self.moment
            return UNLIKE if number is None else compare_number(value, number)
        if isinstance(value, Uuid):
            return SAME if value.hex() == self.uuid else UNLIKE
        if isinstance(value, bytes):
            return UNLIKE if self.octets is None else compare_octets(value, self.octets)
        if isinstance(value, Float):
            return UNLIKE if self.single is None else compare_number(value, self.single)
        if isinstance(value, float):
            return UNLIKE if self.number is None else compare_number(value, self.number)
        if isinstance(value, Decimal):
            return UNLIKE if self.decimal is None else compare_decimal(value, self.decimal)
        return UNLIKE


def compare_number(one: float, other: float) -> int:
    """Order of two numbers; a NaN has none."""
    if one == other:
        return SAME
    return LESS if one < other else MORE if one > other else UNLIKE


def compare_text(one: str, other: str | None) -> int:
    """Order of two texts by code points."""
    if other is None:
        return UNLIKE
    return LESS if one < other else MORE


def compare_octets(one: bytes, other: bytes) -> int:
    """Order of two binaries."""
    if one == other:
        return SAME
    return LESS if one < other else MORE


def compare_decimal(one: Decimal, other: Decimal) -> int:
    """Order of two decimals; a NaN has none, and a signalling one does not raise."""
    if one.is_nan() or other.is_nan():
        return UNLIKE
    if one == other:
        return SAME
    return LESS if one < other else MORE


def operand(text: str, literal: Literal, shape: Shape, field: str) -> Operand:
    """A literal as it is meant beside a field; an error where the two can never meet."""
    made = plain(text, literal)
    name = literal.text.lower() if literal.kind == Is.WORD else ""
    if name in ("true", "false"):
        made.flag = name == "true"
    elif Holds.BOOLEAN in shape.holds and made.number in (0, 1):
        made.flag = made.number == 1
    if Holds.DURATION in shape.holds and literal.kind == Is.WORD:
        with suppress(ValueError):
            made.number = parse_seconds(literal.text)
    if Holds.TEXT in shape.holds and not shape.closed:
        made.text = literal.text  # a container may well be called 5
    for label, value in shape.choices:
        if label.lower() == literal.text.lower() and literal.kind in (Is.WORD, Is.STRING):
            choose(made, value)
    if not possible(made, shape):
        names = [label for label, _ in shape.choices]
        near = did_you_mean(literal.text, names)
        message = f"{field} is {describe(shape)}{near}"
        raise FilterError(text, literal.position, literal.length, message)
    return made


def plain(text: str, literal: Literal) -> Operand:
    """A literal by itself, whatever is beside it."""
    made = Operand(literal.text)
    if literal.kind == Is.NUMBER:
        made.text = None
        try:
            set_number(made, literal.text)
        except ValueError:
            raise FilterError(
                text, literal.position, literal.length, "this number is too long"
            ) from None
        if literal.text[:2].lower() == "0x" and len(literal.text) % 2 == 0:
            made.octets = bytes.fromhex(literal.text[2:])
    elif literal.kind == Is.OCTETS:
        made.octets = bytes.fromhex(literal.text.replace(":", ""))
    else:
        made.moment = moment(literal.text)
    return made


def set_number(made: Operand, said: str) -> None:
    """Take a literal for a number of every kind."""
    if "x" in said.lower():
        number: int | float = int(said, 16)
        made.decimal = Decimal(number)
    else:
        try:
            number = int(said) if said.lstrip("-").isdigit() else float(said)
            made.decimal = Decimal(said)
        except InvalidOperation:
            raise ValueError(said) from None
    made.number = number
    try:
        made.single = struct.unpack(">f", struct.pack(">f", number))[0]
    except (OverflowError, struct.error):
        made.single = float("inf") if number > 0 else float("-inf")


def moment(said: str) -> int | None:
    """A date and time as milliseconds since the epoch; without a zone it is UTC."""
    try:
        when = datetime.fromisoformat(said)
        return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def choose(made: Operand, value: int | str | bool) -> None:
    """Let an operand also be the value that a name stands for."""
    if isinstance(value, bool):
        made.flag = value
    elif isinstance(value, int):
        made.number = value
    else:
        made.text = value


def possible(made: Operand, shape: Shape) -> bool:
    """A field of this shape can hold such a value."""
    if Holds.ANY in shape.holds:
        return True
    if shape.closed:
        return any(made.text == value for _, value in shape.choices)
    return (
        (bool({Holds.NUMBER, Holds.DURATION} & shape.holds) and made.number is not None)
        or (Holds.TIME in shape.holds and (made.number is not None or made.moment is not None))
        or (Holds.BOOLEAN in shape.holds and made.flag is not None)
        or (Holds.TEXT in shape.holds and made.text is not None)
        or Holds.BINARY in shape.holds
    )
