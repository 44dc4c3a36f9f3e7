"""Scenes: what has happened before an example of a rule begins, so that it shows what matters.

A family's `scenes` module has a table of them; an example names one in its heading, with parameters
where it differs from the table:

    Bad (sending):
    Bad (sending snd-settle-mode=settled):
    Good (sending server.max-message-size=100 link-credit=1):
    Good (opened open.properties={product="x"}):

A parameter sets a field of the scene's units, or adds it: `[client.|server.][unit.]field=value`.
Without a unit it is a field of the units that the family's table of FIELDS names; without a peer,
of both peers' units. Where a scene goes on from another, its own units come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from amqpscope.stream.types import PEERS

_UNIT: Final = re.compile(r"(?:@\S+ )?(client|server)\S*: ([\w.-]+)")
_NAME: Final = re.compile(r"([\w.-]+)=")
_DEFAULT: Final = re.compile(r"\{([\w.-]+)=([^}]*)\}")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\]{}]|\s+|[^\s"()\[\]{}]+')


@dataclass(frozen=True)
class Scene:
    """A common beginning of examples."""

    name: str
    after: str
    """The scene that it goes on from; empty where it begins the connection."""
    words: str
    """What has happened, for readers; `{link-credit=10}` is a parameter and its usual value."""
    units: str
    """What passes, in notation."""
    port: int = 5672
    """The port of the server."""
    remote: bool = False
    """The server is on another machine, also in a family whose scenes are on one."""


START: Final = Scene("", "", "from the start of the connection", "")
"""The scene of an example that names none."""


@dataclass(frozen=True)
class Parameter:
    """A field of a scene's units that an example sets."""

    peer: str
    """The peer whose units are meant; empty for both."""
    unit: str
    field: str
    value: str

    def __str__(self) -> str:
        whose = f"the {self.peer}'s " if self.peer else ""
        return f"{whose}{self.field}={self.value}"

    def fits(self, peer: str, unit: str) -> bool:
        """Whether a unit is meant."""
        right = unit == self.unit or unit.endswith(f".{self.unit}")
        return right and self.peer in ("", peer)


@dataclass(frozen=True)
class Opening:
    """A scene as an example has it, with its parameters."""

    scene: Scene
    words: str
    units: str


class Scenes:
    """The scenes of a protocol family."""

    def __init__(self, fields: dict[str, str], *table: Scene) -> None:
        self.fields = fields
        """The unit that a field belongs to, for parameters that name none."""
        self.table = {scene.name: scene for scene in table}

    def opening(self, heading: str) -> Opening:
        """A scene by what an example's heading has in brackets; ValueError if it makes no sense."""
        name, *settings = split(heading) or [""]
        if name not in self.table:
            raise ValueError(f"no scene is called {name!r}; there are {', '.join(self.table)}")
        scene = self.table[name]
        acts = self.acts(scene)
        parameters = [self.parameter(setting) for setting in settings]
        for parameter in parameters:
            set_field(acts, parameter)
        units = "".join(f"{unit}\n" for act in acts for unit in act)
        return Opening(scene, in_words(scene.words, parameters), units)

    def acts(self, scene: Scene) -> list[list[str]]:
        """The units of a scene and of those that it goes on from, in order."""
        before = self.acts(self.table[scene.after]) if scene.after else []
        return [*before, list(joined(scene.units))]

    def parameter(self, setting: str) -> Parameter:
        """A parameter as it is written."""
        found = _NAME.match(setting)
        if found is None:
            raise ValueError(f"{setting!r} is not a parameter: field=value is expected")
        *places, field = found[1].split(".")
        peer = places.pop(0) if places and places[0] in PEERS else ""
        unit = ".".join(places) or self.fields.get(field, "")
        if not unit:
            raise ValueError(f"{field!r} may belong to several units: name one, unit.field=value")
        return Parameter(peer, unit, field, setting[found.end() :])


def split(text: str) -> list[str]:
    """The words of a text; brackets and quotes keep what they enclose together."""
    words, depth, word = [], 0, ""
    for token in _TOKEN.findall(text):
        depth += (token in "([{") - (token in ")]}")
        if token.isspace() and depth == 0:
            words.append(word)
            word = ""
        else:
            word += token
    return [each for each in [*words, word] if each]


def joined(text: str) -> Iterator[str]:
    """The units of an exchange, each on one line, with what goes on below it."""
    unit = ""
    for line in text.strip().splitlines():
        if line.startswith(" "):
            unit += f" {line.strip()}"
        else:
            if unit:
                yield unit
            unit = line
    if unit:
        yield unit


def set_field(acts: list[list[str]], parameter: Parameter) -> None:
    """Set a field in the last act that has such units; ValueError where that changes nothing."""
    for act in reversed(acts):
        changed = False
        for place, unit in enumerate(act):
            start = _UNIT.match(unit)
            if start is not None and parameter.fits(start[1], start[2]):
                act[place] = with_field(unit, parameter)
                changed = changed or act[place] != unit
        if changed:
            return
    raise ValueError(f"{parameter} changes nothing: no {parameter.unit} is without it")


def with_field(unit: str, parameter: Parameter) -> str:
    """A unit with a field set, in its place or behind the others."""
    words = split(unit)
    setting = f"{parameter.field}={parameter.value}"
    end = words.index("|") if "|" in words else len(words)
    for place in range(end):
        if words[place].startswith(f"{parameter.field}="):
            words[place] = setting
            return " ".join(words)
    return " ".join([*words[:end], setting, *words[end:]])


def in_words(words: str, parameters: list[Parameter]) -> str:
    """What has happened, with the parameters that the words do not mention at the end."""
    values = {each.field: each.value for each in parameters if not each.peer}
    mentioned = {found[1] for found in _DEFAULT.finditer(words)}
    sentence = _DEFAULT.sub(lambda found: values.get(found[1], found[2]), words)
    others = [
        str(each) for each in parameters if each.peer or each.field not in mentioned
    ]  # fmt: skip
    return f"{sentence}, with {enumeration(others)}" if others else sentence


def enumeration(words: list[str]) -> str:
    """Words with commas and an `and`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
