"""Text to values of 0-8, 0-9 and 0-9-1 (see `notation`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from dissectors.notation_scanner import ISO_TIME, NAME, WORD, Scanner
from dissectors.v0_9.codec import MAX_DEPTH
from dissectors.v0_9.encodings import AS_SPOKEN, AS_WRITTEN, KINDS
from dissectors.v0_9.notation_text import CONTENTS, PLAIN_KEY, UNMARKED
from dissectors.v0_9.primitives import readable
from dissectors.v0_9.rows import Field
from dissectors.v0_9.values import (
    Byte,
    Char,
    Content,
    FieldArray,
    Float,
    Int,
    Long,
    PosixTime,
    ScaledDecimal,
    Short,
    Table,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
    Value,
)
from dissectors.wire import MAX_FRAME_SIZE

_LETTER: Final = re.compile(r"'([0-9a-f]{2}|[A-Za-z])(?![A-Za-z0-9])")
_DECIMAL: Final = re.compile(r"([+-]?\d+)e-(\d+)")
_SECOND: Final = timedelta(seconds=1)
_INTEGER: Final = re.compile(r"[+-]?\d+")
_NUMBERS: Final[dict[str, Callable[[int], Value]]] = {
    "int8": Byte, "uint8": Ubyte, "int16": Short, "uint16": Ushort, "int32": Int,
    "uint32": Uint, "int64": Long, "uint64": Ulong, "timestamp": PosixTime,
}  # fmt: skip


def read_argument(scanner: Scanner, field: Field) -> Value:
    """The value of a declared field."""
    scanner.space()
    if field.type == "table":
        return read_table(scanner, 0)
    if field.type == "bit":
        return _boolean(scanner)
    if field.type == "shortstr":
        return _text(scanner, short=True)
    if field.type == "longstr":
        return _text(scanner, short=False)
    if field.type == "content":
        return _content(scanner)
    return scanner.time(_SECOND) if field.type == "timestamp" else scanner.integer()


def _boolean(scanner: Scanner) -> bool:
    word = scanner.take(NAME, "true or false")
    if word[0] not in {"true", "false"}:
        scanner.fail("expected true or false", word.start())
    return word[0] == "true"


def _text(scanner: Scanner, *, short: bool) -> Value:
    if scanner.text.startswith('"', scanner.at):
        text = scanner.string()
        return text * _times(scanner, len(text))
    if not scanner.text.startswith(('b"', "0x"), scanner.at):
        scanner.fail('expected text as "...", or octets as b"..." or 0x...')
    octets = scanner.binary()
    raw = octets * _times(scanner, len(octets))
    return readable(raw) if short else raw


def _times(scanner: Scanner, size: int) -> int:
    """How often the octets before it are to be repeated: `0x00*4096`."""
    if not scanner.eat("*"):
        return 1
    start = scanner.at
    times = scanner.integer()
    if not 0 <= times * max(size, 1) <= MAX_FRAME_SIZE:
        scanner.fail("this is too often", start)
    return times


def read_octets(scanner: Scanner) -> bytes:
    """The octets of a body, as text or binary."""
    scanner.space()
    found: str | bytes = _text(scanner, short=False)
    return found.encode("utf-8") if isinstance(found, str) else found


def _content(scanner: Scanner) -> Content:
    word = scanner.take(WORD, "inline, reference or a number")
    if word[0] not in CONTENTS and not word[0].isdecimal():
        scanner.fail("expected inline, reference or a number", word.start())
    if word[0] in CONTENTS:
        kind = CONTENTS.index(word[0])
    else:
        kind = scanner.to_integer(word[0], word.start())
    scanner.space()
    return Content(kind, _text(scanner, short=False))


def read_table(scanner: Scanner, depth: int) -> Table:
    """Fields in braces."""
    scanner.expect("{")
    pairs: list[tuple[str, Value]] = []
    letters = bytearray()
    while scanner.peek() != "}":
        name = _key(scanner)
        scanner.expect("=")
        value, letter = read_item(scanner, depth + 1)
        pairs.append((name, value))
        letters.append(letter)
    scanner.at += 1
    return Table(pairs, bytes(letters))


def _key(scanner: Scanner) -> str:
    found = PLAIN_KEY.match(scanner.text, scanner.at)
    if found is not None and not scanner.text.startswith('b"', scanner.at):
        scanner.at = found.end()
        return found[0]
    key: str = _text(scanner, short=True)
    return key


def _array(scanner: Scanner, depth: int) -> FieldArray:
    scanner.expect("[")
    items: list[Value] = []
    letters = bytearray()
    while scanner.peek() != "]":
        value, letter = read_item(scanner, depth + 1)
        items.append(value)
        letters.append(letter)
    scanner.at += 1
    return FieldArray(items, bytes(letters))


def read_item(scanner: Scanner, depth: int) -> tuple[Value, int]:
    """A value of a table or array and its letter."""
    if depth > MAX_DEPTH:
        scanner.fail(f"values are nested more than {MAX_DEPTH} deep")
    start = scanner.at
    first = scanner.peek()
    start = scanner.at
    if first == "{":
        return _marked(scanner, read_table(scanner, depth), "table", start)
    if first == "[":
        return _marked(scanner, _array(scanner, depth), "array", start)
    if first == '"':
        return _marked(scanner, scanner.string(), "longstr", start)
    if scanner.text.startswith(('b"', "0x"), start):
        return _marked(scanner, scanner.binary(), "bytes", start)
    word = scanner.take(WORD, "a value")[0]
    if word == "null":
        return _marked(scanner, None, "void", start)
    if word in {"true", "false"}:
        return _marked(scanner, word == "true", "boolean", start)
    if ISO_TIME.fullmatch(word):
        scanner.at = start
        return _marked(scanner, scanner.time(_SECOND), "timestamp", start)
    if _INTEGER.fullmatch(word):
        return _marked(scanner, scanner.to_integer(word, start), "int32", start)
    return _fraction(scanner, word, start)


def _fraction(scanner: Scanner, word: str, start: int) -> tuple[Value, int]:
    """A number with a point, or a decimal."""
    scaled = _DECIMAL.fullmatch(word)
    mark = _LETTER.match(scanner.text, scanner.at)
    if scaled is not None and mark is not None and mark[1] == "D":
        scanner.at = mark.end()
        unscaled, places = (scanner.to_integer(digits, start) for digits in scaled.groups())
        return ScaledDecimal(places, unscaled), ord("D")
    try:
        number = float(word)
    except ValueError:
        scanner.fail("expected a value", start)
    return _marked(scanner, number, "double", start)


def _marked(scanner: Scanner, value: Value, kind: str, start: int) -> tuple[Value, int]:
    """A value with the letter that follows it, or the usual one, as that letter's type."""
    found = _LETTER.match(scanner.text, scanner.at)
    if found is None:
        letter = ord(UNMARKED[kind])
    else:
        scanner.at = found.end()
        letter = int(found[1], 16) if len(found[1]) == 2 else ord(found[1])
        kind = KINDS[(AS_WRITTEN if isinstance(value, str) else AS_SPOKEN)[letter]]
    if type(value) is int and kind in _NUMBERS:
        wide = kind == "int64" and value >= 1 << 63  # the text of 0-9-1 has `l` unsigned
        return _NUMBERS["uint64" if wide else kind](value), letter
    if kind == "float" and type(value) in {int, float}:
        return Float(value), letter
    if kind == "double" and type(value) is int:
        return float(value), letter
    if kind == "char" and isinstance(value, str):
        return Char(value), letter
    if not isinstance(value, _FITTING.get(kind, ())):
        scanner.fail(f"the letter {chr(letter)!r} is not for this value", start)
    return value, letter


_FITTING: Final[dict[str, tuple[type, ...]]] = {
    "void": (type(None),),
    "boolean": (bool,),
    "double": (float,),
    "shortstr": (str,),
    "longstr": (str, bytes),
    "bytes": (bytes,),
    "table": (Table,),
    "array": (FieldArray,),
}
