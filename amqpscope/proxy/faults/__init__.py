"""Faults by frame: what the proxy does to frames that match a filter.

    FILTER => ACTION [skip=N] [times=N] [every=N] [chance=P] [seed=N] [connection=N]

FILTER is the language of `-Y`. The first fault that acts on a frame wins; one that lets a match
pass (skip, every, chance) leaves it to those after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from amqpscope.proxy.faults.errors import FaultError
from amqpscope.proxy.faults.fault import Fault
from amqpscope.proxy.faults.file import MOST, read_faults
from amqpscope.proxy.faults.parser import parse_fault, parse_table

if TYPE_CHECKING:
    from amqpscope.analysis import Step
    from amqpscope.proxy.faults.held import Held
    from amqpscope.proxy.faults.layer import FaultLayer
    from amqpscope.proxy.layered_connection import LayeredConnection

__all__ = ["Fault", "FaultError", "FaultSet", "parse_fault", "parse_table", "read_faults"]

INTERCEPT: Final = "intercept"
"""The fault that holds frames for a person."""


class FaultSet:
    """The faults of a running proxy."""

    def __init__(self, faults: list[Fault] | None = None) -> None:
        self.faults: list[Fault] = []
        self.watches_all = False
        """A person may want to hold frames of any connection, at any moment."""
        self.idle: set[FaultLayer] = set()
        """On connections that no fault can match yet."""
        self.held: dict[int, Held] = {}
        """The frames that wait for a decision, by their numbers."""
        self.holding = True
        """Somebody is there to decide."""
        self.version = 0
        """Changes with what faults can match."""
        self._numbered = 0
        for fault in faults or []:
            self.add(fault)

    def add(self, fault: Fault) -> Fault:
        """Let a fault act from now on; ValueError if there is one of its name."""
        if len(self.faults) >= MOST:
            raise ValueError(f"there are {MOST:,} faults already")
        if not fault.name:
            taken = {each.name for each in self.faults}
            number = next(n for n in range(1, MOST + 2) if f"fault-{n}" not in taken)
            fault.name = f"fault-{number}"
        if any(each.name == fault.name for each in self.faults):
            raise ValueError(f"there is a fault {fault.name} already")
        self.faults.append(fault)
        self.version += 1
        for layer in [each for each in self.idle if fault.may_match(each.number)]:
            layer.catch_up()
        return fault

    def remove(self, name: str) -> Fault:
        """Let a fault act no more; ValueError if there is none of that name."""
        for fault in self.faults:
            if fault.name == name:
                self.faults.remove(fault)
                self.version += 1
                return fault
        raise ValueError(f"there is no fault {name}")

    def may_match(self, connection: int) -> bool:
        """Whether a fault can act on a connection."""
        return self.watches_all or self.can_act(connection)

    def can_act(self, connection: int) -> bool:
        """Whether there is a fault that can act on a connection."""
        return any(fault.may_match(connection) for fault in self.faults)

    def choose(self, step: Step, connection: int) -> Fault | None:
        """The first fault that acts on a frame."""
        for fault in self.faults:
            if fault.acts_on(step, connection):
                self.version += fault.is_used_up
                return fault
        return None

    def intercept(self, where: str) -> None:
        """Hold the frames that match a filter from now on; an empty one: none any more."""
        fault = parse_fault(f"{where} => hold", INTERCEPT) if where.strip() else None
        self.faults = [each for each in self.faults if each.name != INTERCEPT]
        self.version += 1
        if fault is not None:
            self.add(fault)

    @property
    def intercepted(self) -> str:
        """The filter of the frames that are held for a person; empty: none are."""
        found = [each.where.text for each in self.faults if each.name == INTERCEPT]
        return found[0] if found else ""

    @property
    def late(self) -> int:
        """Connections on which faults will act as soon as what passed there is learned."""
        return sum(self.can_act(layer.number) for layer in self.idle)

    def holds(self, fault: Fault) -> bool:
        """Whether a fault that holds frames, and was chosen for one, may still do so."""
        return self.holding and fault in self.faults

    def keep(self, held: Held) -> None:
        """Let a frame wait for a decision."""
        self._numbered += 1
        held.number = self._numbered
        self.held[held.number] = held

    def resume_all(self) -> None:
        """Pass on what waits now, also behind other frames; what comes later may be held again."""
        before, self.holding = self.holding, False
        for held in list(self.held.values()):
            if held.number in self.held:  # deciding on one may end the connection of another
                held.resume()
        self.holding = before

    def stop_holding(self) -> None:
        """Nobody is left to decide: pass on what waits, and hold nothing any more."""
        self.holding = False
        self.resume_all()

    def make_layer(self, connection: LayeredConnection) -> FaultLayer:
        """What acts on the frames of one connection."""
        from amqpscope.proxy.faults.layer import FaultLayer

        layer = FaultLayer(self, connection)
        if not layer.following:
            self.idle.add(layer)
        return layer

    def describe(self) -> list[dict[str, Any]]:
        """All faults as tables."""
        return [fault.describe() for fault in self.faults]
