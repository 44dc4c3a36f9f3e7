"""Begins to read a capture for the screen. Light to import, so that this comes first of all."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import Final

from amqpscope.tui.processes import launch
from amqpscope.tui.spool import Spool

STDIN: Final = "-"


@dataclass(frozen=True)
class OpenedCapture:
    """What to open, and how."""

    path: str
    follow: bool = False
    keylogs: tuple[str, ...] = ()
    decode_as: dict[int, str] = field(default_factory=dict)
    show_secrets: bool = False
    stdin: int = -1
    """Where the octets come from if the path is `-`."""
    ring: tuple[str, ...] = ()
    """The files that it was rotated into, where it is a ring."""


class ReaderProcess:
    """A capture that is being read by a process of its own."""

    def __init__(self, source: OpenedCapture) -> None:
        self.source = source
        self.files = Spool.create()
        request = {
            "files": self.files.files,
            "path": source.path,
            "ring": source.ring,
            "follow": source.follow,
            "keylogs": source.keylogs,
            "decode_as": source.decode_as,
            "show_secrets": source.show_secrets,
        }
        stdin = source.stdin if source.path == STDIN else subprocess.DEVNULL
        self.process = launch("amqpscope.tui.indexing", request, self.files.files, stdin)
