"""Frames of 0-9 that say less: methods with empty arguments, contents without properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from amqpscope.model import event as shared
from amqpscope.model.v0_9.event import Event
from amqpscope.protocols import simpler
from amqpscope.protocols.peers import CannotApplyError
from amqpscope.protocols.v0_9.peers_edit import rebuild
from dissectors.v0_9.framing import Unit
from dissectors.v0_9.values import Table


class Simplifier(simpler.Simplifier):
    """Proposes simpler frames."""

    def simpler(self, event: shared.Event) -> Iterator[bytes]:
        """The frame with one thing less at a time."""
        own = cast(Event, event)
        unit = own.unit
        if unit.faults or own.frame.missing:
            return
        for changes in _changes(unit):
            try:
                yield rebuild(unit, changes)
            except CannotApplyError:
                continue


def _changes(unit: Unit) -> Iterator[dict[str, Any]]:
    """Fields with values that say less."""
    if unit.method is not None:
        for name, value in unit.fields():
            if isinstance(value, Table) and len(value):
                yield {name: Table([])}
            elif isinstance(value, str) and value and name != "mechanism":
                yield {name: ""}
    elif unit.content is not None and unit.content.plan is not None:
        present = [name for name, value in unit.fields() if value is not None]
        for name in present:
            if name in unit.content.plan.names:
                yield {name: None}
