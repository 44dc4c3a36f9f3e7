"""What plays faults is imported aside, the first time it is asked for: the loop does not wait."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqpscope.proxy.relay import Relay

MODULES: Final = ("amqpscope.proxy.faults.commands", "amqpscope.proxy.faults.layer")
PAUSE: Final = 0.02
"""Seconds between looks whether all is imported."""


class Loader:
    """Imports once, and lets what has come meanwhile wait for it."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.thread: threading.Thread | None = None

    def when_ready(self, action: Callable[[], None]) -> None:
        """Do something that needs the modules: at once, or when they are there."""
        if self.thread is None and not all(name in sys.modules for name in MODULES):
            self.thread = threading.Thread(target=load, daemon=True)
            self.thread.start()
        if self.thread is not None and self.thread.is_alive():
            self.relay.clock.call_later(PAUSE, partial(self.when_ready, action))
        else:
            action()


def load() -> None:
    """Import the modules."""
    for name in MODULES:
        importlib.import_module(name)
