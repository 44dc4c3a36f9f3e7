"""What the user wants, as it is shipped to all workers.

Apart from the modules that are compiled: a compiled class cannot be unpickled by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from amqpscope.check.selection import Selection


@dataclass(frozen=True)
class Work:
    """What all processes must know."""

    choice: Selection = field(default_factory=Selection)
    keylogs: tuple[bytes, ...] = ()
    decode_as: dict[int, str] = field(default_factory=dict)
    frames: bool = False
    """Whether the table of frames is wanted."""
    arguments: tuple[str, ...] = ()
    """With which `read` reads captures like this."""
    where: str = ""
    """A display filter on the table of frames; empty: all frames."""
    messages: bool = True
    """Whether messages are followed from one connection to another."""
