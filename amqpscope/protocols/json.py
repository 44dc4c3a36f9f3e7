"""JSON put together by hand, as far as all families write it alike.

A dict for each frame and a pass of `json.dumps` over it would cost more than all the decoding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any, Final

from amqpscope.stream.framer import Frame
from dissectors.errors import Malformed
from dissectors.masking import masked
from dissectors.secrets import MASK, harmless, secret_key
from dissectors.wire import Header

if TYPE_CHECKING:
    from mypy_extensions import i64

text: Final[Callable[[str], str]] = encode_basestring_ascii
"""A string as JSON, with quotes."""

SMALL: Final = [str(number) for number in range(1000)]
PADDED: Final = [f"{number:03}" for number in range(1000)]
"""Numbers below a thousand as text: making the text each time costs more."""


def put_number(out: list[str], number: int) -> None:
    """Write a whole number."""
    if 0 <= number < 1_000_000:
        small: i64 = number
        if small < 1000:
            out.append(SMALL[small])
        else:
            out.append(SMALL[small // 1000])
            out.append(PADDED[small % 1000])
    else:
        out.append(str(number))


def put_time(out: list[str], nanoseconds: int) -> None:
    """A part of a second, to the microsecond, or to the nanosecond where the capture has it."""
    part: i64 = nanoseconds
    micro = part // 1000
    out.append(PADDED[micro // 1000])
    out.append(PADDED[micro % 1000])
    if part % 1000 != 0:
        out.append(PADDED[part % 1000])


def put_damage(out: list[str], frame: Frame) -> None:
    """What is missing of a frame, and what is malformed in it."""
    if frame.missing:
        out.append(f', "missing": {frame.missing}')
    faults = frame.unit.faults
    if faults:
        out.append(f', "malformed": [{", ".join(map(fault_json, faults))}]')


def fault_json(fault: Malformed) -> str:
    """A fault of a frame as JSON."""
    return (
        f'{{"offset": {fault.offset}, "path": {text(fault.path)}, "reason": {text(fault.reason)}}}'
    )


def masked_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a frame without their secrets."""
    return {
        name: MASK if secret_key(name) and not harmless(value) else masked(value)
        for name, value in fields.items()
    }


def header_text(header: Header) -> str:
    """The fields of a protocol header."""
    return (
        f'{{"protocol-id": {header.id}, "major": {header.major}, '
        f'"minor": {header.minor}, "revision": {header.revision}}}'
    )


def finite(value: float, tag: str) -> str:
    """A number as JSON has it, or under its type where JSON has none."""
    made = repr(float(value))
    return made if math.isfinite(value) else f'{{"{tag}": "{made}"}}'
