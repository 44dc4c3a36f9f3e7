"""What a browser's screen knows of the proxy whose recording it shows."""

from __future__ import annotations

import time
from threading import Thread
from typing import Final

from amqpscope.cli.proxy_screen import invitation, status_words
from amqpscope.proxy import control_socket
from amqpscope.proxy.relay import Status

PAUSE: Final = 0.3
"""Seconds between two questions."""


class ProxyPage:
    """Asks a running proxy how it is doing, from a thread of its own: the screen never waits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.latest: Status | None = None
        self.ended = False

    def start(self) -> None:
        """Begin to ask."""
        self.ask()
        Thread(target=self._run, daemon=True).start()

    def ask(self) -> None:
        """Ask once; a proxy that does not answer has ended."""
        try:
            answer = control_socket.ask(self.name, {"do": control_socket.STATUS})
            self.latest = Status(**answer[control_socket.STATUS])
        except (control_socket.ControlError, KeyError, TypeError):
            self.ended = True

    def _run(self) -> None:
        while not self.ended:
            time.sleep(PAUSE)
            self.ask()

    def invite(self) -> tuple[str, str]:
        """Where to point a client, and why that would not help now."""
        return invitation(self.latest)

    def words(self) -> str:
        """How the proxy is doing."""
        return status_words(self.latest, ended=self.ended)
