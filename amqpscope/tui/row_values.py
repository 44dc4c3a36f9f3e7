"""What profiles ask of the rows in sight: fields as columns, and colours by filter.

Most frames are decoded at once. One whose connection has to be replayed for that is asked for in a
thread, and its row is drawn again when the answer is there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from amqpscope.tui.colours import ColourRule, colour_of
from amqpscope.tui.columns import Column

if TYPE_CHECKING:
    from amqpscope.tui.store import Store

KEPT: Final = 2000
"""Rows that are remembered."""
MOST_WANTED: Final = 300


class RowValues(NamedTuple):
    """What a profile wants to know of a row."""

    colour: str
    """The name of a colour; empty: that of its kind."""
    fields: dict[str, str]


NOTHING: Final = RowValues("", {})


class RowAsker:
    """Answers what the rows in sight need."""

    def __init__(self, store: Store, changed: Callable[[], None]) -> None:
        self.store = store
        self.changed = changed
        """Called, from a thread, when rows that were asked for are known."""
        self.columns: tuple[Column, ...] = ()
        self.rules: tuple[ColourRule, ...] = ()
        self.known: OrderedDict[tuple[int, int], RowValues] = OrderedDict()
        """Rows by number and by how many findings they had."""
        self.wanted: set[tuple[int, int]] = set()
        self.turn = 0
        """How often something else was wanted of rows."""
        self.lock = threading.Lock()
        self.busy = False

    def choose(self, columns: tuple[Column, ...], rules: tuple[ColourRule, ...]) -> None:
        """Want something else of rows."""
        with self.lock:
            self.columns = tuple(column for column in columns if column.field is not None)
            self.rules = rules
            self.known.clear()
            self.wanted.clear()
            self.turn += 1

    def values(self, number: int) -> RowValues | None:
        """What is wanted of a row; None: it will be known later."""
        if not self.columns and not self.rules:
            return NOTHING
        key = (number, self.store.findings.count_at(number))
        found = self.known.get(key)
        if found is not None:
            return found
        if not self.store.is_replayed(number):
            return self.keep(key, self.turn)
        with self.lock:
            if len(self.wanted) > MOST_WANTED:
                self.wanted.clear()  # those that are still in sight are asked for again
            self.wanted.add(key)
            if self.busy:
                return None
            self.busy = True
        threading.Thread(target=self.work, name="rows", daemon=True).start()
        return None

    def work(self) -> None:
        """In a thread: answer what is wanted, the first row first."""
        while True:
            with self.lock:
                if not self.wanted:
                    self.busy = False
                    return
                key, turn = min(self.wanted), self.turn
                self.wanted.discard(key)
            try:
                self.keep(key, turn)
            except (OSError, KeyError, IndexError):
                with self.lock:
                    self.busy = False  # the capture was closed meanwhile
                return
            self.changed()

    def keep(self, key: tuple[int, int], turn: int) -> RowValues:
        """Find out about a row, and remember it."""
        step, start = self.store.step(key[0]), self.store.start
        show = self.store.source.show_secrets
        fields = {
            column.name: column.field.words(step, start, show)
            for column in self.columns
            if column.field is not None
        }
        made = RowValues(colour_of(self.rules, step, start), fields)
        with self.lock:
            if turn == self.turn:
                self.known[key] = made
                if len(self.known) > KEPT:
                    self.known.popitem(last=False)
        return made
