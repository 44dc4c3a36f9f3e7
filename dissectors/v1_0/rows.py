"""The kinds of row that describe AMQP 1.0.

Encodings are rows, and so are composite and restricted types. Classes, codec, notation, scapy
layers and test strategies are derived from them.
"""

from __future__ import annotations

from typing import NamedTuple


class Encoding(NamedTuple):
    """One way to put a primitive type on the wire (spec 1.6)."""

    code: int
    type: str
    name: str
    """The spec's name of this encoding, empty for a type's plain one."""
    width: int
    """Octets of the value, or of its size where `sized`."""

    @property
    def sized(self) -> bool:
        """The value is preceded by its size: variable, compound and array encodings."""
        return self.code >= 0xA0


class Field(NamedTuple):
    """One position of a composite type."""

    name: str
    type: str
    """A primitive, restricted or composite type, or `*` for any."""
    requires: str = ""
    """The archetype that a value of type `*` must provide."""
    mandatory: bool = False
    multiple: bool = False
    default: bool | int | str | None = None


class Composite(NamedTuple):
    """A described list with named positions (spec 1.4)."""

    name: str
    code: int
    provides: tuple[str, ...]
    fields: tuple[Field, ...]

    @property
    def symbol(self) -> str:
        """The symbolic spelling of the descriptor."""
        return f"amqp:{self.name}:list"


class Restricted(NamedTuple):
    """A primitive type under another name: choices, limits, archetypes (spec 1.3.5)."""

    name: str
    source: str
    choices: tuple[tuple[str, int | str | bool], ...] = ()
    provides: tuple[str, ...] = ()
    code: int | None = None
    """The descriptor, for the few that travel described (message sections)."""

    @property
    def symbol(self) -> str:
        """The symbolic spelling of the descriptor, where there is one."""
        base = "map" if self.source == "annotations" else self.source
        return f"amqp:{self.name}:{base}"
