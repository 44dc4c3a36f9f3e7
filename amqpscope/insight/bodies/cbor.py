"""CBOR (RFC 8949): one value, or a sequence of them."""

from __future__ import annotations

from typing import Any, Final

from amqpscope.insight.bodies.octet_reader import OctetReader, Unreadable
from amqpscope.insight.bodies.outline import Pairs, Tagged, Word

UINT, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE = range(8)
FLOATS: Final = {25: ">e", 26: ">f", 27: ">d"}
SIMPLES: Final[dict[int, Any]] = {20: False, 21: True, 22: None, 23: Word("undefined")}
INDEFINITE: Final = 31
BREAK: Final = 0xFF
BIGNUMS: Final = {2: 0, 3: -1}
"""Tags of byte strings that are numbers, and what a negative one counts from."""


class CborReader(OctetReader):
    """Reads CBOR."""

    def read_value(self, into: list[Any], depth: int) -> None:
        """Read a value and append it."""
        major, info = divmod(self.uint(1), 32)
        if major == SIMPLE:
            into.append(self.simple(info))
            return
        if info == INDEFINITE:
            self.indefinite(into, major, depth)
            return
        number = self.argument(info)
        if major in (UINT, NEGATIVE):
            into.append(number if major == UINT else -1 - number)
        elif major in (BYTES, TEXT):
            into.append(self.take(number) if major == BYTES else self.text(number))
        else:
            holder: list[Any] = (
                Tagged(str(number)) if major == TAG else Pairs() if major == MAP else []
            )
            into.append(holder)
            count = {ARRAY: number, MAP: 2 * number, TAG: 1}[major]
            self.read_items(holder, count, depth)
            if number in BIGNUMS and major == TAG and isinstance(holder[0], bytes):
                big = int.from_bytes(holder[0][:128], "big")
                into[-1] = Word(hex(big if number == 2 else -1 - big))

    def argument(self, info: int) -> int:
        """The number in the head of a value."""
        if info < 24:
            return info
        if info > 27:
            raise Unreadable(f"additional information {info} is not in use")
        return self.uint(1 << (info - 24))

    def simple(self, info: int) -> Any:
        """A float or another simple value."""
        if info in FLOATS:
            return self.number(FLOATS[info])
        if info == INDEFINITE:
            raise Unreadable("a break without a beginning")
        number = self.argument(info)
        return SIMPLES[number] if number in SIMPLES else Word(f"simple({number})")

    def indefinite(self, into: list[Any], major: int, depth: int) -> None:
        """Items up to a break; the pieces of a string are joined."""
        if major not in (BYTES, TEXT, ARRAY, MAP):
            raise Unreadable(f"major type {major} has no indefinite length")
        holder: list[Any] = Pairs() if major == MAP else []
        into.append(holder)
        while not (self.at < len(self.data) and self.data[self.at] == BREAK):
            self.read_items(holder, 1, depth)
        self.at += 1
        if major == BYTES and all(isinstance(piece, bytes) for piece in holder):
            into[-1] = b"".join(holder)
        elif major == TEXT and all(type(piece) is str for piece in holder):
            into[-1] = "".join(holder)
        elif major in (BYTES, TEXT):
            raise Unreadable("a string is made of other values than strings")
