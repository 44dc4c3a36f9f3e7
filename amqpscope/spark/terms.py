"""How captures were read: what a run has to share with an earlier one to leave its captures out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import sha256

from amqpscope import __version__, build
from amqpscope.spark.work import Work


@dataclass(frozen=True)
class Terms:
    """What the rows of a ring depend on, besides its files."""

    version: str = ""
    rules: str = ""
    """A digest of which rules were wanted, with which severity, and whether with messages."""
    ports: str = ""
    keys: str = ""
    """A digest of the key logs."""
    frames: bool = False
    """The table of frames was wanted."""
    locked: bool = False
    """Some of it was TLS without a known key."""

    def differs(self, now: Terms) -> str:
        """Why captures that were read on these terms must be read again; empty: they need not."""
        if self.version != now.version:
            return f"they were read by amqpscope {self.version or 'of an older version'}"
        if self.rules != now.rules:
            return "other rules are wanted"
        if self.ports != now.ports:
            return "ports are read as other protocols"
        if self.locked and self.keys != now.keys:
            return "there are other key logs"
        return "frames are wanted too" if now.frames and not self.frames else ""


def terms_of(work: Work) -> Terms:
    """The terms of a run."""
    ports = ",".join(f"{port}={name}" for port, name in sorted(work.decode_as.items()))
    selection = work.choice
    wanted = [getattr(selection, each.name) for each in fields(selection)]
    if not work.messages:
        wanted.append("messages are not followed")
    return Terms(
        f"{__version__} ({build()})", digest(repr(wanted).encode()), ports, digest(*work.keylogs),
        work.frames,
    )  # fmt: skip


def digest(*parts: bytes) -> str:
    """A short name for octets; empty where there are none."""
    return sha256(b"\0".join(parts)).hexdigest()[:16] if parts else ""
