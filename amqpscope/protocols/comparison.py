"""How two conversations of a family are compared: what belongs together, and what may differ.

A frame belongs to a lane: a link, a session, a consumer, the connection. Within a lane the order of
one peer's frames counts; between lanes it does not. What a family knows of this are the tables and
the few questions here; `insight/diff` does the rest without knowing any family.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from amqpscope.model.event import Event

Facts = dict[str, Any]
"""What a frame says, by paths such as `attach.source.address`; values as JSON has them."""

CONNECTION: Final = "connection"


class Lane(NamedTuple):
    """What frames of one peer belong to."""

    kind: str
    """`connection`, `session`, `link`, `channel`, `consumer`."""
    channel: int = 0
    begun: int = 0
    """Which session or opening of this channel it is."""
    number: str = ""
    """The handle of a link, or the tag of a consumer."""
    attached: int = 0
    """Which use of this number it is."""


class Lanes:
    """Finds the lane of each frame of one connection, and of the deliveries that frames answer."""

    def __init__(self) -> None:
        self.begun: dict[int, Lane] = {}
        """The lane of each delivery, by its first frame."""

    def lane(self, event: Event) -> Lane:
        """Where a frame belongs, seen from its sender."""
        return Lane(CONNECTION)

    def note(self, event: Event, lane: Lane) -> None:
        """Remember the delivery that a frame begins."""
        begins = event.begins
        if begins is not None:
            self.begun[begins.mark.frame] = lane

    def answered_frames(self, event: Event) -> list[int]:
        """The first frames of the deliveries that a frame answers."""
        return [each.mark.frame for each in event.covers]


class Counter:
    """Counts how often a number was taken into use again."""

    def __init__(self) -> None:
        self.uses: dict[tuple[int, ...], tuple[int, bool]] = {}
        """Which use the next frame belongs to, and whether that was begun and is in use."""

    def use(self, key: tuple[int, ...], begins: bool, ends: bool) -> int:
        """Which use a frame belongs to that begins one, ends one, or neither."""
        count, busy = self.uses.get(key, (1, False))
        # A beginning right behind another is the same frame sent twice, not a new use.
        if begins and busy:
            count, busy = count + 1, False
        self.uses[key] = (count + 1, False) if ends else (count, not begins)
        return count


class Comparison:
    """What is asked of a family; without answers of its own all frames are of one lane."""

    volatile: frozenset[str] = frozenset()
    """Paths of what has another value in each run: numbers, tags, windows that count down."""
    names: frozenset[str] = frozenset()
    """Paths of names that a program or library makes up for each run."""
    chosen: frozenset[str] = frozenset()
    """Paths of names that are made up by some and chosen by others."""
    settling: frozenset[str] = frozenset()
    """Frames that answer deliveries: in how few of them is a matter of time."""
    outcome: tuple[str, ...] = ()
    """Paths under which such a frame says what becomes of a delivery."""
    sizes: frozenset[str] = frozenset()
    """Paths of what follows from the octets of a message."""

    def lanes(self) -> Lanes:
        """What finds the lanes of one connection."""
        return Lanes()

    def facts(self, name: str, document: dict[str, Any]) -> Facts:
        """What a frame says, flat and free of how it is encoded.

        `document` has the members that `Voice.put_content` writes, `fields` first.
        """
        found: Facts = {}
        flatten(found, name, document.get("fields"))
        return found

    def is_volatile(self, path: str, facts: Facts) -> bool:
        """Whether what a frame says at a path has another value in each run."""
        return path in self.volatile

    def cadence(self, name: str, facts: Facts) -> bool:
        """Whether how often such a frame comes is a matter of time."""
        return False


def flatten(found: Facts, path: str, value: Any) -> None:
    """Put a value in by its path, and the members of an object by theirs."""
    if isinstance(value, dict) and len(value) != 1:
        for name, item in value.items():
            flatten(found, f"{path}.{name}", item)
    elif value is not None:
        found[path] = value
