"""Values of AMQP 1.0 that contain no others: octets to numbers, strings, symbols (spec 1.6).

The codec reads the constructor, and hands what follows it to one of these by its high half, which
says how many octets the value has.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from dissectors.errors import Damage, Malformed
from dissectors.native import mypyc_attr
from dissectors.v1_0.decimals import read_decimal
from dissectors.v1_0.encodings import label
from dissectors.v1_0.values import Char, Float, Symbol, Timestamp, Uuid, Value
from dissectors.wire import NO_FAULTS, u16, u32

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_FAULTS: Final = 32
"""Faults noted in one frame; with more, the octets are simply not what they were taken for."""
MAX_SYMBOLS: Final = 4096
"""Symbols kept for reuse. They come from a small vocabulary, unless somebody plays tricks."""
MAX_KEPT_SYMBOL: Final = 64
"""Octets of a symbol worth keeping."""

_FLOAT: Final = struct.Struct(">f").unpack_from
_DOUBLE: Final = struct.Struct(">d").unpack_from
_symbols: Final[dict[bytes, Symbol]] = {}


@mypyc_attr(acyclic=True)
class PrimitiveReader:
    """A walk over octets that reads what contains no other values."""

    def __init__(self, data: bytes, at: int = 0, trace: list[int] | None = None) -> None:
        self.data = data
        self.at: i64 = at
        self.trace = trace
        self.faults: list[Malformed] = NO_FAULTS
        self.depth: i64 = 0
        self.empty: i64 = 0
        """Array elements without octets so far."""

    def note(self, fault: Malformed) -> None:
        """Keep a fault and go on."""
        if len(self.faults) >= MAX_FAULTS:
            raise Malformed(Damage.LIMIT, fault.offset, f"more than {MAX_FAULTS} faults")
        self.fail(fault)

    def fail(self, fault: Malformed) -> None:
        """Keep the fault at which reading ended."""
        if self.faults is NO_FAULTS:
            self.faults = []
        self.faults.append(fault)

    def take(self, code: i64, width: i64, end: i64) -> i64:
        """Move over `width` octets and say where they begin."""
        at = self.at
        if at + width > end:
            raise Malformed(
                Damage.TRUNCATED, at, f"{label(code)} needs {width} octets, {end - at} remain"
            )
        self.at = at + width
        return at

    def one_octet(self, code: i64, end: i64) -> Value:
        """A value of one octet."""
        at = self.take(code, 1, end)
        octet: i64 = self.data[at]
        if code == 0x52 or code == 0x53 or code == 0x50:
            return octet
        if code == 0x56:
            if octet > 1:
                self.note(
                    Malformed(Damage.BOOLEAN, at, f"boolean octet is 0x{octet:02x}, not 0 or 1")
                )
            return octet != 0
        if code == 0x51 or code == 0x54 or code == 0x55:
            return octet - 256 if octet > 127 else octet
        return self.unknown(code, at)

    def four_octets(self, code: i64, end: i64) -> Value:
        """A value of four octets."""
        at = self.take(code, 4, end)
        if code == 0x70:
            return u32(self.data, at)
        number = u32(self.data, at)
        if code == 0x71:
            return number - 0x100000000 if number > 0x7FFFFFFF else number
        if code == 0x72:
            return Float(_FLOAT(self.data, at)[0])
        if code == 0x73:
            return self.char(number, at)
        if code == 0x74:
            return read_decimal(self.data[at : at + 4], "decimal32")
        return self.unknown(code, at)

    def char(self, number: i64, at: i64) -> Value:
        """One Unicode scalar value, or a fault."""
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            self.note(Malformed(Damage.CHAR, at, f"0x{number:x} is no Unicode scalar value"))
            return None
        return Char(chr(number))

    def eight_octets(self, code: i64, end: i64) -> Value:
        """A value of eight octets."""
        at = self.take(code, 8, end)
        raw = self.data[at : at + 8]
        if code == 0x80:
            return int.from_bytes(raw, "big")
        if code == 0x81:
            return int.from_bytes(raw, "big", signed=True)
        if code == 0x83:
            return Timestamp(int.from_bytes(raw, "big", signed=True))
        if code == 0x82:
            return _DOUBLE(self.data, at)[0]
        if code == 0x84:
            return read_decimal(raw, "decimal64")
        return self.unknown(code, at)

    def rare(self, code: i64, end: i64) -> Value:
        """Two and sixteen octets, and codes that nothing is assigned to."""
        shape = code >> 4
        if shape == 0x6:
            at = self.take(code, 2, end)
            number = u16(self.data, at)
            if code == 0x60:
                return number
            if code == 0x61:
                return number - 65536 if number > 32767 else number
            return self.unknown(code, at)
        if shape == 0x9:
            at = self.take(code, 16, end)
            if code == 0x98:
                return Uuid(self.data[at : at + 16])
            if code == 0x94:
                return read_decimal(self.data[at : at + 16], "decimal128")
            return self.unknown(code, at)
        if shape == 0x4:
            return self.unknown(code, self.at)
        raise Malformed(Damage.UNKNOWN_CODE, self.at - 1, f"no encoding has the code 0x{code:02x}")

    def variable(self, code: i64, end: i64) -> Value:
        """Binary, string and symbol."""
        start = self.at
        size: i64
        if code < 0xB0:
            size = self.data[self.take(code, 1, end)]
        else:
            size = u32(self.data, self.take(code, 4, end))
        at = self.take(code, size, end)
        raw = self.data[at : at + size]
        low = code & 0xF
        if low == 0:
            return raw
        if low == 1:
            try:
                return raw.decode("utf-8")
            except UnicodeDecodeError as error:
                self.note(
                    Malformed(Damage.UTF8, at + error.start, f"string is not UTF-8: {error.reason}")
                )
                return raw.decode("utf-8", "backslashreplace")
        if low == 3:
            return self.symbol(raw, at)
        return self.unknown(code, start)

    def symbol(self, raw: bytes, at: i64) -> Value:
        """A symbol, of which the same few come again and again."""
        known = _symbols.get(raw)
        if known is not None:
            return known
        if not raw.isascii():
            self.note(Malformed(Damage.ASCII, at, "symbol has an octet of 0x80 or more"))
            return Symbol(raw.decode("ascii", "backslashreplace"))
        made = Symbol(raw.decode("ascii"))
        if len(_symbols) < MAX_SYMBOLS and len(raw) <= MAX_KEPT_SYMBOL:
            _symbols[raw] = made
        return made

    def unknown(self, code: i64, at: i64) -> Value:
        """A code that is not assigned, though its high half says how long the value is."""
        self.note(Malformed(Damage.UNKNOWN_CODE, at - 1, f"no encoding has the code 0x{code:02x}"))
        return None
