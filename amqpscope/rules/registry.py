"""What a rule is, and how a function becomes one.

    @rule("FLW-016", "2.6.7", MUST, ERROR, on="first", needs="!ahead")
    def transfer_without_credit(
        event: Event, report: Reporter, link: LinkEnd, pair: LinkEnd
    ) -> None:
        '''A sender begins a delivery only while it has link credit.
        ...'''

A rule looks at an event before its frame is applied and calls `report.sure` or `report.suspect`.
`on` names the kinds of event that it looks at (see `KINDS` of the family's `model.*.event`) and
methods by their names (`basic.publish`, `queue.*`): all words must fit the event, and a bar
separates alternatives: `on="first"`, `on="transfer aborted"`, `on="end | close"`.

What a rule cannot do without is declared and not asked for in its body: parameters behind `report`
are what the event belongs to (`link`, `pair`, `session`, `delivery`, `body`), and the rule is not
called where one of them is unknown or of another type; `needs` names what must hold of the event,
or not hold: `needs="anchored !discarded"`. A family's `Family` says which there are.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Final

from amqpscope.model.event import Event
from dissectors.data_files import read_text

MUST: Final = "MUST"
SHOULD: Final = "SHOULD"
IMPLIED: Final = "implied"
ADVISORY: Final = "advisory"


Check = Callable[..., None]
Getter = Callable[[Event], object]


class Condition:
    """One alternative of a rule's `on`."""

    def __init__(self, words: str, kinds: dict[str, int]) -> None:
        self.mask = 0
        """Kinds that must all be there."""
        self.names: list[str] = []
        """Methods that it may be, or starts of their names; empty for any."""
        for word in words.split():
            if word in kinds:
                self.mask |= kinds[word]
            elif "." in word:
                self.names.append(word.removesuffix("*"))
            else:
                raise ValueError(f"there is no kind of event called {word!r}")
        malformed = kinds.get("malformed", 0)
        if self.names:
            self.mask |= kinds.get("method", 0)
        self.unwanted = malformed if self.names and not self.mask & malformed else 0
        """A method must be whole and without faults: else its arguments say nothing."""

    def holds(self, kinds: int, name: str) -> bool:
        """Whether an event of these kinds and this name is meant."""
        if self.mask & kinds != self.mask or self.unwanted & kinds:
            return False
        if not self.names:
            return True
        return any(
            name == word or (word[-1] == "." and name.startswith(word)) for word in self.names
        )


class Given:
    """Something that events belong to, looked up once for all rules that look at an event."""

    def __init__(self, get: Getter) -> None:
        self.get = get
        self.check = -1
        """The check in which it was looked up."""
        self.value: object = None

    def of(self, event: Event, check: int) -> object:
        """What the event of this check belongs to; None where that is unknown."""
        if self.check != check:
            self.value = self.get(event)
            self.check = check
        return self.value


class Family:
    """What rules of one protocol family may name."""

    def __init__(
        self, name: str, kinds: dict[str, int], parameters: dict[str, Getter],
        facts: tuple[str, ...], facts_of: Callable[[Event], int],
    ) -> None:  # fmt: skip
        self.name = name
        self.kinds = kinds
        """The words of `on`."""
        self.parameters = {name: Given(get) for name, get in parameters.items()}
        """What an event may belong to, by the name of a rule's parameter."""
        self.facts = {fact: 1 << place for place, fact in enumerate(facts)}
        """The words of `needs`."""
        self.facts_of = facts_of
        """Which of these hold of an event, as bits."""


class Parameter:
    """Something that a rule is given beside the event."""

    def __init__(self, given: Given, type: type | None) -> None:
        self.given = given
        self.type = type
        """What it must be, where its annotation names one class."""

    def of(self, event: Event, check: int) -> object:
        """What a rule is given in this check; None where it is unknown or of another type."""
        value = self.given.of(event, check)
        if self.type is not None and not isinstance(value, self.type):
            return None
        return value


@dataclass(frozen=True)
class Rule:
    """What is known about a rule beside its code."""

    id: str
    name: str
    section: str
    level: str
    severity: str
    on: str
    default: bool
    """Whether it runs when nobody asks for it."""
    check: Check
    module: str
    family: Family
    """The protocol family whose events it looks at."""
    conditions: tuple[Condition, ...]
    """Each alternative of `on`."""
    must: int
    """Facts that must all hold of an event."""
    must_not: int
    """Facts of which none may hold."""
    parameters: tuple[Parameter, ...]
    """What it is given behind the event and the reporter."""
    dialects: tuple[str, ...] = ()
    """The dialects of the family that it is of, by the start of their names; empty for all."""

    def concerns(self, dialect: str) -> bool:
        """Whether it is of this dialect; `0-9=` is 0-9 and not 0-9-1."""
        if not self.dialects:
            return True
        return any(matches(dialect, start) for start in self.dialects)


def matches(dialect: str, start: str) -> bool:
    """Whether a dialect is meant by the start of its name."""
    if start.endswith("="):
        return dialect in (start[:-1], f"{start[:-1]}-qpid")
    return dialect.startswith(start)


SIGNATURES: Final[dict[str, list[tuple[str, str]]]] = {}
"""The parameters of compiled functions, which `.ci/compile.py` has written down for them."""
RULES: Final[dict[str, Rule]] = {}
"""All rules by id, in the order in which their modules are read."""


def register(
    family: Family, id: str, section: str, level: str, severity: str,
    on: str, needs: str, default: bool, dialects: str,
) -> Callable[[Check], Check]:  # fmt: skip
    """Make a function a rule of a family; its name is the rule's, with hyphens."""

    def registered(check: Check) -> Check:
        if id in RULES:
            raise ValueError(f"two rules are called {id}")
        must, must_not = facts_in(needs, family)
        RULES[id] = Rule(
            id, check.__name__.replace("_", "-"), section, level, severity, on, default, check,
            check.__module__, family,
            tuple(Condition(words, family.kinds) for words in on.split("|")),
            must, must_not, parameters_of(check, family), tuple(dialects.split()),
        )  # fmt: skip
        return check

    return registered


def facts_in(needs: str, family: Family) -> tuple[int, int]:
    """The facts that must hold, and those that must not, as bits."""
    must = must_not = 0
    for word in needs.split():
        bit = family.facts.get(word.removeprefix("!"))
        if bit is None:
            raise ValueError(f"there is no fact called {word!r}")
        if word[0] == "!":
            must_not |= bit
        else:
            must |= bit
    return must, must_not


def parameters_of(check: Check, family: Family) -> tuple[Parameter, ...]:
    """What a function wants to be given behind the event and the reporter."""
    names = vars(sys.modules[check.__module__])
    found = []
    for name, annotation in signature_of(check)[2:]:
        given = family.parameters.get(name)
        if given is None:
            raise ValueError(f"{check.__name__}: no event belongs to a {name!r}")
        type = names.get(annotation)
        found.append(Parameter(given, type if isinstance(type, builtins.type) else None))
    return tuple(found)


def signature_of(check: Check) -> list[tuple[str, str]]:
    """The parameters of a function with their annotations."""
    if isinstance(check, FunctionType):
        code, annotations = check.__code__, check.__annotations__
        names = code.co_varnames[: code.co_argcount]
        return [(name, annotations.get(name, "")) for name in names]
    if not SIGNATURES:
        text = read_text("amqpscope.rules", "signatures.tsv")
        for line in text.splitlines():
            function, *words = line.split("\t")
            SIGNATURES[function] = list(zip(words[::2], words[1::2], strict=True))
    return SIGNATURES[f"{check.__module__}.{check.__name__}"]
