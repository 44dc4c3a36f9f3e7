"""How text output is to look: what terminal, user and format ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Look:
    """What a sink that writes text must know."""

    width: int = 0
    """Columns to keep to; 0 when lines may be as long as they are."""
    colour: bool = False
    plain: bool = False
    """The terminal knows ASCII alone."""
    show_secrets: bool = False
    tree: bool = False
    """Every field of every frame below its line (`-V`)."""
    octets: bool = False
    """The octets of every frame below its line (`-x`)."""


PLAIN_TEXT: Final = Look()
"""Wide, without colours, secrets masked: what goes to a file."""

SEVERITY_COLOURS: Final = {"error": "1;31", "warning": "1;33", "info": "1;36"}
"""The codes of the terminal for findings."""
