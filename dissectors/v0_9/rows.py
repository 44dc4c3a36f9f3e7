"""The kinds of row that describe a dialect of 0-8, 0-9 or 0-9-1.

A dialect is a list of classes, a class a list of methods and of content properties, each of these
a list of fields. Codec, notation, scapy layers and test strategies are derived from these rows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TYPES: Final = (
    "bit", "octet", "short", "long", "longlong",
    "shortstr", "longstr", "timestamp", "table", "content",
)  # fmt: skip
"""The wire types of fields; a type's number is its place here."""
BIT: Final = 0
OCTET: Final = 1
SHORT: Final = 2
LONG: Final = 3
LONGLONG: Final = 4
SHORTSTR: Final = 5
LONGSTR: Final = 6
TIMESTAMP: Final = 7
TABLE: Final = 8
CONTENT: Final = 9


class Field(NamedTuple):
    """One argument of a method, or one content property."""

    name: str
    type: str
    """How it is on the wire: one of `TYPES`."""
    domain: str
    """What it means: `queue-name`, `path`, `reply-code`; the type where there is no more to say."""


class MethodRow(NamedTuple):
    """One method of a class."""

    class_name: str
    class_id: int
    method: str
    """The name within its class: `publish`."""
    id: int
    sender: str
    """Who may send it: `client`, `server` or `both`."""
    sync: bool
    """It waits for a reply, or is one."""
    content: bool
    """A content header, and bodies, follow it."""
    replies: tuple[str, ...]
    """What answers it: full names; nothing for what needs no answer."""
    fields: tuple[Field, ...]
    certain: bool = True
    """The fields are known. Else arguments that do not fit them are kept as octets, not blamed."""
    extension: bool = False
    """It is of another product's dialect, and known here because it may turn up."""

    @property
    def name(self) -> str:
        """The full name: `basic.publish`."""
        return f"{self.class_name}.{self.method}"

    @property
    def code(self) -> int:
        """Class and method in one number."""
        return self.class_id << 16 | self.id


class ClassRow(NamedTuple):
    """One class: its methods, and the properties of contents that it carries."""

    name: str
    id: int
    properties: tuple[Field, ...]
    methods: tuple[MethodRow, ...]


class Constant(NamedTuple):
    """A number that has a name, mostly a reply code."""

    value: int
    name: str
    level: str
    """`soft-error` closes the channel, `hard-error` the connection; empty for no error."""
