"""A protocol family: how it is recognised, followed and shown. One object each."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from amqpscope.protocols.sketch import Notes, Records, Sketcher
from amqpscope.protocols.talk import Talk
from amqpscope.protocols.voice import Voice
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import Connection
from dissectors.native import mypyc_attr

if TYPE_CHECKING:
    from amqpscope.protocols.logs import LogFormat
    from amqpscope.protocols.peers import SettingReader
    from amqpscope.protocols.replay import Part
    from amqpscope.protocols.replay_acts import Choices

HEADER_SIZE: Final = 8
"""Octets of a protocol header: four that all headers of the family have, and four of a version."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Protocol:
    """A protocol family: recognises its headers and frames, and makes a Talk of a connection."""

    def __init__(
        self, names: tuple[str, ...], voice: Voice, magic: bytes = b"AMQP",
        versions: dict[bytes, str] | None = None,
    ) -> None:  # fmt: skip
        self.names = names
        """What `--decode-as` takes; the first is the family's own name."""
        self.voice = voice
        self.magic = magic
        """The first four octets of a header."""
        self.versions = {} if versions is None else versions
        """What versions are called, by the four octets that end a header."""

    @property
    def name(self) -> str:
        """The family's own name."""
        return self.names[0]

    def knows(self, version: bytes) -> bool:
        """Whether this is a version of the family: the four octets that end a header."""
        return version in self.versions

    def version_name(self, version: bytes) -> str:
        """What a version is called that this family reads, also one that never was; else empty."""
        return self.versions.get(version, "")

    def header_only(self) -> list[str]:
        """What versions are called of which nothing but the header is read."""
        return []

    def specification(self, section: str) -> str:
        """Where the specification can be read, as near to a section as it goes; empty: nowhere."""
        return ""

    def may_begin(self, version: bytes) -> bool:
        """Whether a version of this family begins with these octets, of which more should come."""
        return False

    def finds_frame(self, data: bytes) -> bool:
        """Whether frames begin in octets of which the start was not seen."""
        return False

    def starts(self, data: bytes) -> bool:
        """Whether a connection begins with a whole frame, and no header."""
        return False

    def log_formats(self) -> list[type[LogFormat]]:
        """How libraries of this family log their frames."""
        return []

    def setting_readers(self) -> list[SettingReader]:
        """What reads `FIELD=VALUE ...` of each kind of frame, for faults that set fields."""
        return []

    def frame_names(self) -> list[str]:
        """The names by which filters ask for kinds of frames."""
        return []

    def talk(
        self, number: int, connection: Connection, protocol: str, version: bytes, holes: list[bool]
    ) -> Talk:
        """A connection of this family.

        `version` is empty where no header was seen; `holes` says of which peers octets were missed.
        """
        raise NotImplementedError

    def part(
        self, talk: Talk, frames: list[Frame], side: int, choices: Choices, ending: str
    ) -> Part:
        """One side of a recorded connection, to be played against a live peer."""
        raise NotImplementedError(f"{self.name} cannot be replayed")

    # the state of its connections, where that is kept for later

    def state_templates(self) -> list[partial[Any]]:
        """How to make each object of a compiled class that a state holds, to be filled."""
        return []

    def state_classes(self) -> list[Any]:
        """What of its own a state may name: the classes of its module."""
        module = type(self).__module__
        found = vars(sys.modules[module]).values()
        return [each for each in found if isinstance(each, type) and each.__module__ == module]

    def interned_objects(self) -> dict[str, object]:
        """What every process has of its own, by name, so that a state leaves it out."""
        return {}

    def notes(self) -> Notes | None:
        """Notes to make single events of a capture again from; None: they have to be replayed."""
        return None

    def sketcher(self, records: Records) -> Sketcher | None:
        """What makes single events again from these notes; None: they have to be replayed."""
        return None
