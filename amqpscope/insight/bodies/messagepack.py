"""MessagePack: one value, or several one after the other."""

from __future__ import annotations

from typing import Any, Final

from amqpscope.insight.bodies.octet_reader import OctetReader, Unreadable
from amqpscope.insight.bodies.outline import Pairs, Tagged

CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}
NUMBERS: Final = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
BINARY, EXTENSION, STRING, ARRAY, MAP = range(5)
SIZED: Final = {
    # the first octet: what follows, and how many octets its size has
    0xC4: (BINARY, 1), 0xC5: (BINARY, 2), 0xC6: (BINARY, 4),
    0xC7: (EXTENSION, 1), 0xC8: (EXTENSION, 2), 0xC9: (EXTENSION, 4),
    0xD9: (STRING, 1), 0xDA: (STRING, 2), 0xDB: (STRING, 4),
    0xDC: (ARRAY, 2), 0xDD: (ARRAY, 4), 0xDE: (MAP, 2), 0xDF: (MAP, 4),
}  # fmt: skip


class MessagePackReader(OctetReader):
    """Reads MessagePack."""

    def read_value(self, into: list[Any], depth: int) -> None:
        """Read a value and append it."""
        first = self.uint(1)
        if first < 0x80:
            into.append(first)
        elif first >= 0xE0:
            into.append(first - 256)
        elif first < 0xC0:
            kind = MAP if first < 0x90 else ARRAY if first < 0xA0 else STRING
            self.sized_value(into, kind, first & (0x1F if kind == STRING else 0x0F), depth)
        elif first in CONSTANTS:
            into.append(CONSTANTS[first])
        elif first in NUMBERS:
            into.append(self.number(NUMBERS[first]))
        elif first in SIZED:
            kind, width = SIZED[first]
            self.sized_value(into, kind, self.uint(width), depth)
        elif 0xD4 <= first <= 0xD8:
            self.sized_value(into, EXTENSION, 1 << (first - 0xD4), depth)
        else:
            raise Unreadable(f"0x{first:02x} begins no value")

    def sized_value(self, into: list[Any], kind: int, size: int, depth: int) -> None:
        """A value whose size is known."""
        if kind in (ARRAY, MAP):
            holder: list[Any] = Pairs() if kind == MAP else []
            into.append(holder)
            self.read_items(holder, size * (2 if kind == MAP else 1), depth)
        elif kind == EXTENSION:
            extension = Tagged(f"ext {self.number('>b')}")
            into.append(extension)
            extension.append(self.take(size))
        else:
            into.append(self.take(size) if kind == BINARY else self.text(size))
