"""The letters that precede the values of field tables.

The text of 0-9-1 and the products that implement it disagree about two letters, `s` and `l`; all
other letters mean the same wherever they are defined. So a letter is read also where the dialect
does not define it: the value shows what was meant, and a rule can report that it should not be
there.
"""

from __future__ import annotations

from typing import Final

VOID: Final = 1
BOOL: Final = 2
INT8: Final = 3
UINT8: Final = 4
INT16: Final = 5
UINT16: Final = 6
INT32: Final = 7
UINT32: Final = 8
INT64: Final = 9
UINT64: Final = 10
FLOAT: Final = 11
DOUBLE: Final = 12
DECIMAL: Final = 13
TIME: Final = 14
SHORT_STRING: Final = 15
LONG_STRING: Final = 16
BYTES: Final = 17
FIELD_TABLE: Final = 18
FIELD_ARRAY: Final = 19
CHARACTER: Final = 20

KINDS: Final = (
    "unknown", "void", "boolean", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
    "uint64", "float", "double", "decimal", "timestamp", "shortstr", "longstr", "bytes", "table",
    "array", "char",
)  # fmt: skip
WIDTHS: Final = bytes((0, 0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 5, 8, 0, 0, 0, 0, 0, 1))
"""Octets of a value whose size is fixed."""

_SHARED: Final = {
    "S": LONG_STRING, "I": INT32, "D": DECIMAL, "T": TIME, "F": FIELD_TABLE,
    "V": VOID, "t": BOOL, "b": INT8, "B": UINT8, "U": INT16, "u": UINT16,
    "i": UINT32, "L": INT64, "f": FLOAT, "d": DOUBLE, "A": FIELD_ARRAY, "x": BYTES,
    "c": LONG_STRING, "C": LONG_STRING, "k": CHARACTER,
    "\0": VOID,
}  # fmt: skip
"""`c`, `C` and `k` are of Qpid for Java; a zero octet has been seen in the place of `V`."""


def _kinds(**own: int) -> bytes:
    meant = {ord(letter): kind for letter, kind in (_SHARED | own).items()}
    return bytes([meant.get(octet, 0) for octet in range(256)])


AS_SPOKEN: Final = _kinds(s=INT16, l=INT64)
"""What products mean."""
AS_WRITTEN: Final = _kinds(s=SHORT_STRING, l=UINT64)
"""What the text of 0-9-1 says."""

BEFORE_0_9: Final = "SIDTF"
OF_0_9: Final = "SIDTFV"
OF_0_9_1: Final = "SIDTFVtbBUuiLlfdsA"
OF_PRODUCTS: Final = "SIDTFVtbBsuilLfdAx"
