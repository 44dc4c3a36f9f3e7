"""Units in the notation: what is the same in every family.

A unit is one line: its first word, then what the family says of it. A protocol header
(`header AMQP 1.0.0`) and octets that are no unit (`octets 0x0000000702`) are written alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from typing import Final

from dissectors.notation_scanner import NAME, WORD, NotationError, Scanner
from dissectors.wire import MAGIC, PROTOCOL_IDS

_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_PROTOCOLS: Final = {name: number for number, name in PROTOCOL_IDS.items()}


def header_text(raw: bytes) -> str:
    """A protocol header."""
    name = PROTOCOL_IDS.get(raw[4], str(raw[4]))
    return f"header {name} {raw[5]}.{raw[6]}.{raw[7]}"


def brackets(words: list[str]) -> str:
    """The channel and options behind a name; nothing if there are none."""
    return f"[{' '.join(words)}]" if words else ""


def reads_back(text: str, raw: bytes, read_text: Callable[[str], bytes]) -> bool:
    """Whether a line gives the octets that it was written from."""
    try:
        return read_text(text) == raw
    except NotationError:
        return False


def read_line(
    scanner: Scanner, expected: str, read_unit: Callable[[Scanner, str, int], bytes]
) -> bytes:
    """The octets of a whole line; `read_unit` takes the first word and where it begins."""
    scanner.space()
    name = scanner.take(NAME, expected)
    octets = read_unit(scanner, name[0], name.start())
    if scanner.peek():
        scanner.fail("expected nothing more")
    return octets


def is_header(scanner: Scanner, name: str) -> bool:
    """Whether a protocol header begins here, and not 1.0's message section of that name."""
    if name != "header" or scanner.peek() in {"[", "'"}:
        return False
    word = WORD.match(scanner.text, scanner.at)
    return word is not None and (word[0] in _PROTOCOLS or word[0].isdecimal())


def read_header(scanner: Scanner) -> bytes:
    """A protocol header, behind its first word."""
    start = scanner.at
    word = scanner.take(WORD, "AMQP, TLS, SASL or a number")[0]
    number = _PROTOCOLS[word] if word in _PROTOCOLS else scanner.to_integer(word, start)
    scanner.space()
    version = scanner.take(_VERSION, "a version such as 1.0.0")
    octets = (number, *map(int, version.groups()))
    return scanner.make_octets(lambda: MAGIC + bytes(octets), start)


def read_options(
    scanner: Scanner, closing: str, known: Container[str], expected: str
) -> Iterator[str]:
    """The names of `name=value`, up to a bracket or while there are some.

    The caller reads each value before it asks for the next name.
    """
    while scanner.peek() != closing:
        found = NAME.match(scanner.text, scanner.at)
        if found is None and not closing:
            return
        if found is None or found[0] not in known:
            scanner.fail(f"expected {expected}")
        scanner.at = found.end()
        scanner.expect("=")
        scanner.space()
        yield found[0]
    scanner.at += len(closing)
