"""Which frames faults can match at all, by name and sender: the others pass in a short way."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from amqpscope.filter import Filter, parser
from amqpscope.filter.compiler import Compiler
from amqpscope.filter.names import resolve
from amqpscope.protocols.names import Rests
from amqpscope.protocols.registry import PROTOCOLS
from amqpscope.stream.types import CLIENT, PEERS, SERVER

if TYPE_CHECKING:
    from amqpscope.analysis import Step
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


def paths_of(tree: parser.Syntax | None) -> list[parser.Path]:
    """Every field that a filter asks for."""
    if tree is None:
        return []
    if isinstance(tree, parser.Not):
        return paths_of(tree.test)
    if isinstance(tree, parser.Both | parser.Either):
        return [path for test in tree.tests for path in paths_of(test)]
    return [tree.path]


def rests_on(text: str, tree: parser.Syntax | None, name: str = "") -> Rests:
    """What decides whether a filter, or a part of it, is true of a frame (of that name)."""
    found = Rests.PLACE
    for path in paths_of(tree):
        known = resolve(text, path)
        for getter in (known.getter, known.presence):
            found = max(found, Rests.STATE if getter is None else getter.rests_in(name))
    return found


class Question:
    """What one fault asks of frames."""

    def __init__(self, fault: Fault) -> None:
        text = fault.where.text
        self.tree = parser.parse(text)
        # A person who decides on a frame sees all that is known of it.
        self.held = fault.action.kind == "hold"
        self.text = text
        self.names_link = any(
            resolve(text, path).getter is not None
            and str(path).removeprefix("amqp.").partition(".")[0] == "link"
            for path in paths_of(self.tree)
        )
        parts = self.tree.tests if isinstance(self.tree, parser.Both) else (self.tree,)
        self.of_link = [
            Filter(text, Compiler(text).test(part))
            for part in parts
            if part is not None and rests_on(text, part) == Rests.LINK
        ]
        """Tests that all have to hold, and say the same of all frames of a kind on one link."""

    def needs_state(self, name: str, linked: frozenset[str]) -> bool:
        """Whether what passed before a frame decides whether it matches."""
        if self.held or (self.names_link and name not in linked):
            return True
        return rests_on(self.text, self.tree, name) == Rests.STATE


class Scope:
    """What the faults of a connection ask for, of the frames that a family calls quick."""

    def __init__(
        self, faults: list[Fault], names: tuple[str, ...], linked: frozenset[str] = frozenset()
    ) -> None:
        questions = [Question(fault) for fault in faults]
        self.matching = [
            {
                name: [each for each in questions if may_hold(each.tree, name, side)]
                for name in names
            }
            for side in (CLIENT, SERVER)
        ]
        """By who sends, and the name of a quick frame: the questions that may be true of it."""
        self.unmatched = [
            frozenset(name for name, asked in matching.items() if not asked)
            for matching in self.matching
        ]
        """By who sends: the names of quick frames that no fault can match."""
        self.needed = [
            any(each.needs_state(name, linked) for name in names for each in matching[name])
            for matching in self.matching
        ]
        """By whose view it is: a model has to follow quick frames, for a fault asks for more than
        one of them says."""
        self.quick = bool(names) and not all(self.needed)
        """There is a model that need not follow them."""
        self.passed = [
            frozenset[str]() if any(self.needed) else unmatched for unmatched in self.unmatched
        ]
        """By who sends: those that nobody needs to look at."""
        self.by_link = [
            frozenset[str]()
            if any(self.needed)
            else frozenset(
                name
                for name, asked in matching.items()
                if asked and name in linked and all(each.of_link for each in asked)
            )
            for matching in self.matching
        ]
        """By who sends: those that nobody needs to look at on links that no fault asks for."""

    def is_elsewhere(self, step: Step, name: str) -> bool:
        """Whether no fault can match frames like this one on its link, whatever they say."""
        return all(
            any(not test.matches(step) for test in asked.of_link)
            for asked in self.matching[step.frame.sender][name]
        )


NO_SCOPE: Final = Scope([], ())
