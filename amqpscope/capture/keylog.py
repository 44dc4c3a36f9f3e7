"""TLS key logs: which connections they know a secret of.

The format is that of NSS, as SSLKEYLOGFILE gives it: a label, the client's random, a secret.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

RANDOM: Final = 32
"""Octets of the client's random, by which a connection is named."""


class Keys:
    """The secrets of one or more key logs."""

    def __init__(self, *texts: bytes) -> None:
        self._texts: list[bytes] = []
        self._randoms: set[bytes] = set()
        self._any_random = False
        self._watched: list[bytes] = []
        self._seen = 0
        for text in texts:
            self.add(text)

    def add(self, text: bytes) -> None:
        """Take another key log."""
        self._texts.append(text)
        for line in text.splitlines():
            words = line.split()
            if len(words) < 3 or words[0].startswith(b"#"):
                continue
            if words[0].startswith(b"RSA"):
                # Named by the session or the encrypted premaster secret: it may fit any connection.
                self._any_random = True
                continue
            # What is longer or shorter names no connection, and only takes room.
            if len(words[1]) == 2 * RANDOM:
                with suppress(ValueError):
                    self._randoms.add(bytes.fromhex(words[1].decode("ascii")))

    def watch(self, texts: list[bytes]) -> None:
        """Take the key logs of a list that may still grow, too."""
        self._watched = texts
        self._seen = 0

    @property
    def growing(self) -> bool:
        """Whether secrets come from the capture itself, which may hold more further on."""
        return bool(self._watched)

    def knows(self, client_random: bytes) -> bool:
        """Whether there is a secret for the connection with this ClientHello."""
        self._look()
        return self._any_random or client_random in self._randoms

    def text(self) -> bytes:
        """All key logs in one."""
        self._look()
        return b"\n".join(self._texts) + b"\n"

    def __bool__(self) -> bool:
        self._look()
        return bool(self._randoms) or self._any_random

    def _look(self) -> None:
        while self._seen < len(self._watched):
            self._seen += 1
            self.add(self._watched[self._seen - 1])
