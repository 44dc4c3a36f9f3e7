"""Pickles of our own read back, and nothing else.

A pickle can name any function of any module, which is then called. States and blocks lie below
`--out`, where others may write too; so whoever reads one says what may be in it, and the rest is
refused before it is looked up.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Mapping
from typing import IO, Any

Allowed = Mapping[tuple[str, str], Any]
"""What a pickle may name, by module and name."""


class ForeignError(pickle.UnpicklingError):
    """A pickle that names what we never write."""


class Restricted(pickle.Unpickler):
    """Makes what it is allowed to."""

    def __init__(self, data: IO[bytes], allowed: Allowed) -> None:
        super().__init__(data)
        self.allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        """A class or function that the pickle names."""
        if (module, name) not in self.allowed:
            shown = ascii(f"{module}.{name}"[:100])
            raise ForeignError(
                f"it names {shown}, which does not belong there: somebody else has written it"
            )
        return self.allowed[module, name]


def allowed_names(things: Iterable[Any]) -> Allowed:
    """Classes and functions by the names that pickles have for them."""
    return {(thing.__module__, thing.__qualname__): thing for thing in things}


def loads(octets: bytes, *things: Any) -> Any:
    """A pickle of numbers, texts, lists and the like, and of these classes."""
    return Restricted(io.BytesIO(octets), allowed_names(things)).load()


def load(file: IO[bytes]) -> Any:
    """The next pickle in a file, of numbers, texts, lists and the like."""
    return Restricted(file, {}).load()
