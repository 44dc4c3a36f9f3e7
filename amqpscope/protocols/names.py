"""What a name in a filter stands for: how its value is got from a frame, and what it can hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from amqpscope.model.event import Event
from amqpscope.protocols.shapes import NOTHING, Shape, merge
from dissectors.composite import Composite
from dissectors.values import Array, Described, Map, Value

if TYPE_CHECKING:
    from amqpscope.protocols.voice import Voice


class FrameView:
    """A frame as filters see it; what was read of its message is kept for the next question."""

    def __init__(self, event: Event, voice: Voice) -> None:
        self.event = event
        self.voice = voice
        self.unit = event.frame.unit
        self.kept: dict[object, Any] = {}


class Rests(IntEnum):
    """What the value of a field rests on, each on no more than the next."""

    PLACE = 0
    """The kind of frame, its sender and its channel."""
    LINK = 1
    """Also its link, and what that was attached with."""
    FRAME = 2
    """Also what the frame itself says."""
    STATE = 3
    """Also what passed before it."""


class Getter(ABC):
    """Where a field is."""

    rests_on: Rests = Rests.STATE

    @abstractmethod
    def get(self, view: FrameView) -> Value:
        """The field's value in this frame, None when it has none; a list where it has several."""

    def rests_in(self, name: str) -> Rests:
        """What its value rests on in frames of one name."""
        return self.rests_on


class KindTest(Getter):
    """The frame is of this kind, or it is absent."""

    rests_on = Rests.FRAME

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def get(self, view: FrameView) -> Value:
        """True, or None."""
        return True if view.unit.kind == self.kind else None


class Said(Getter):
    """A field of frames of one family, by the name that its voice has for it."""

    def __init__(self, voice: Voice, name: str) -> None:
        self.voice = voice
        self.name = name

    def get(self, view: FrameView) -> Value:
        """The field's value; None in a frame that does not have it, or is of another family."""
        return self.voice.fields(view.event).get(self.name) if view.voice is self.voice else None


class Inside(Getter):
    """A part of another field."""

    def __init__(self, whole: Getter, name: str) -> None:
        self.whole = whole
        self.name = name
        self.rests_on = max(whole.rests_on, Rests.FRAME)

    def get(self, view: FrameView) -> Value:
        """The part, None when there is no whole."""
        value = self.whole.get(view)
        return None if value is None else part(value, self.name)


class Several(Getter):
    """A name that stands for more than one field; all of them may match."""

    def __init__(self, getters: list[Getter]) -> None:
        self.getters = getters
        self.rests_on = max(getter.rests_on for getter in getters)

    def get(self, view: FrameView) -> Value:
        """Every value that there is."""
        return one_or_all([getter.get(view) for getter in self.getters])

    def rests_in(self, name: str) -> Rests:
        """What the values rest on in frames of one name."""
        return max(getter.rests_in(name) for getter in self.getters)


class Known:
    """A name and what it stands for."""

    def __init__(self, getter: Getter | None, shape: Shape) -> None:
        self.getter = getter
        """None for a name that needs another behind it."""
        self.shape = shape
        self.presence = getter
        """What says whether it is there, where that is cheaper than to get it."""
        self.children: dict[str, Known] = {}
        """The names that may follow, besides those that the shape allows."""
        self.reserved = False
        """A fact of our own, which keeps its one meaning in all families."""
        self.gives_way = False
        """It means something else as soon as a field is called so."""
        self.hint = ""
        """What else may be meant by a name behind it that it does not have: `{}` is that name."""


class Fact(NamedTuple):
    """A field of our own: what is known of a frame beside what the protocol says."""

    name: str
    summary: str
    shape: Shape
    getter: Getter


def add_name(roots: dict[str, Known], name: str, getter: Getter, shape: Shape) -> None:
    """Let a name mean a field, beside what it may mean already."""
    known = roots.get(name)
    if known is None:
        roots[name] = Known(getter, shape)
    elif known.gives_way:
        known.getter, known.shape, known.presence = getter, shape, getter
        known.gives_way = False
    elif known.getter is not None and not known.reserved:
        both = Several([known.getter, getter])
        if known.presence is not known.getter and known.presence is not None:
            known.presence = Several([known.presence, getter])
        else:
            known.presence = both
        known.getter = both
        if known.shape is not NOTHING:
            known.shape = merge([known.shape, shape])


def one_or_all(values: list[Value]) -> Value:
    """Nothing, a value, or a list of them."""
    there = [value for value in values if value is not None]
    if len(there) <= 1:
        return there[0] if there else None
    return there


def part(value: Value, name: str) -> Value:
    """What a container holds under a name, key or index; None when there is no such thing."""
    if isinstance(value, Composite):
        return value.part_named(name)
    if isinstance(value, Map):
        return one_or_all([item for key, item in value if key_text(key) == name])
    if isinstance(value, Described):
        return part(value.value, name)
    if isinstance(value, list | Array):
        if name.isascii() and name.isdigit() and len(name) < 10:
            return value[int(name)] if int(name) < len(value) else None
        return one_or_all([part(item, name) for item in value])
    return None


def key_text(key: Value) -> str:
    """A map's key as it is written in a filter."""
    if isinstance(key, bytes) and type(key) is bytes:
        return key.decode("utf-8", "replace")
    return str(key)
