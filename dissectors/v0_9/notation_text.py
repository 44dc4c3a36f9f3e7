"""Values of 0-8, 0-9 and 0-9-1 as people write and read them (see `notation`)."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from dissectors.notation_text import (
    binary,
    double_text,
    float_text,
    list_text,
    map_text,
    quoted,
    time_text,
)
from dissectors.v0_9.encode import kind_of, letter_of
from dissectors.v0_9.rows import Field
from dissectors.v0_9.values import Content, FieldArray, Map, PosixTime, Table, Unreadable, Value

PLAIN_KEY: Final = re.compile(r"[A-Za-z_$#][A-Za-z0-9_.$#-]*")
"""A field's name that needs no quotes."""
UNMARKED: Final = {
    "void": "V", "boolean": "t", "int32": "I", "double": "d", "timestamp": "T",
    "longstr": "S", "bytes": "x", "table": "F", "array": "A",
}  # fmt: skip
"""The letter of each kind of value that goes unsaid."""
CONTENTS: Final = ("inline", "reference")


def text_argument(value: Value, field: Field, limit: int = 0) -> str:
    """The value of a declared field."""
    if value is None:
        return "null"
    if field.type == "bit":
        return "true" if value else "false"
    if field.type == "timestamp":
        return text_time(value)
    if isinstance(value, Content):
        known = 0 <= value.reference < len(CONTENTS)
        word = CONTENTS[value.reference] if known else str(value.reference)
        return f"{word} {text_string(value.value, limit)}"
    if isinstance(value, str | bytes):
        return text_string(value, limit)
    return text_value(value, limit)


def text_value(value: Value, limit: int = 0) -> str:
    """Any value of a table, or a table, without the mark of its letter."""
    if isinstance(value, Map):
        pairs = zip(value, letters_of(value), strict=False)
        return map_text((_key(name), text_item(item, mark, limit)) for (name, item), mark in pairs)
    if isinstance(value, list):
        marks = letters_of(value)
        pairs = zip(value, marks, strict=False)
        return list_text(text_item(item, mark, limit) for item, mark in pairs)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | bytes):
        return text_string(value, limit)
    if isinstance(value, PosixTime):
        return text_time(value)
    if isinstance(value, float):
        return double_text(value) if type(value) is float else float_text(value)
    return str(int(value)) if isinstance(value, int) else str(value)


def letters_of(value: Value) -> bytes:
    """The letters of a table or array, those that an encoder takes where it has none itself."""
    own: bytes = value.letters if isinstance(value, Table | FieldArray) else b""
    if own or not value:
        return own
    items = (item for _, item in value) if isinstance(value, Map) else value
    return bytes(map(letter_of, items))


def text_item(value: Value, letter: int, limit: int = 0) -> str:
    """A value of a table or array, with its letter where that is not the usual one."""
    text = text_value(value, limit)
    character = chr(letter)
    if type(value) is bytes and character == "S":
        return f"{text}'S"
    if UNMARKED.get(kind_of(letter, value)) == character:
        return text
    plain = character.isascii() and character.isalpha()
    return f"{text}'{character}" if plain else f"{text}'{letter:02x}"


def text_string(value: str | bytes, limit: int = 0) -> str:
    """Text in quotes, or what is no text as binary."""
    if isinstance(value, Unreadable):
        return binary(value.octets, limit)
    return quoted(value, limit) if isinstance(value, str) else binary(value, limit)


def text_time(seconds: int) -> str:
    """ISO 8601 where the calendar reaches, else the bare number."""
    try:
        return time_text(timedelta(seconds=seconds), "seconds")
    except OverflowError:
        return f"{int(seconds)}" if type(seconds) is int else f"{int(seconds)}'T"


def _key(name: str) -> str:
    if isinstance(name, Unreadable):
        return binary(name.octets)
    return name if PLAIN_KEY.fullmatch(name) else quoted(name)
