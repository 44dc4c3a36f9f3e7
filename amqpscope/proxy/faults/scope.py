"""Which frames faults can match at all, by name and sender: the others pass in a short way."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from amqpscope.filter import parser
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.stream.types import CLIENT, PEERS, SERVER

if TYPE_CHECKING:
    from amqpscope.proxy.faults.fault import Fault

IS: Final = ("==", "in")


@cache
def frame_names() -> frozenset[str]:
    """Every name by which a filter can ask for a kind of frame."""
    return frozenset(name for protocol in PROTOCOLS for name in protocol.frame_names())


def may_hold(tree: parser.Syntax | None, name: str, side: int) -> bool:
    """Whether a filter may be true of frames of this name and sender; false only for certain."""
    if tree is None or isinstance(tree, parser.Not):
        return True
    if isinstance(tree, parser.Both):
        return all(may_hold(test, name, side) for test in tree.tests)
    if isinstance(tree, parser.Either):
        return any(may_hold(test, name, side) for test in tree.tests)
    path = str(tree.path)
    if isinstance(tree, parser.Comparison) and tree.operator in IS and path in ("from", "name"):
        words = [value.text for value in tree.values if isinstance(value, parser.Literal)]
        wanted = PEERS[side] if path == "from" else name
        return len(words) < len(tree.values) or wanted in words
    named = next((each for each in frame_names() if f"{path}.".startswith(f"{each}.")), name)
    return named == name or f"{path}.".startswith(f"{name}.")


class Scope:
    """What the faults of a connection ask for, of the frames that a family calls quick."""

    def __init__(self, faults: list[Fault], names: tuple[str, ...]) -> None:
        trees = [parser.parse(fault.where.text) for fault in faults]
        self.unmatched = [
            frozenset(
                name for name in names if not any(may_hold(tree, name, side) for tree in trees)
            )
            for side in (CLIENT, SERVER)
        ]
        """By who sends: the names of quick frames that no fault can match."""
        self.needed = [len(unmatched) < len(names) for unmatched in self.unmatched]
        """By whose view it is: a model has to follow quick frames, for a fault may match one."""
        self.quick = bool(names) and not all(self.needed)
        """There is a model that need not follow them."""
        self.passed = frozenset() if any(self.needed) else self.unmatched[CLIENT]
        """Those that nobody needs to look at."""


NO_SCOPE: Final = Scope([], ())
