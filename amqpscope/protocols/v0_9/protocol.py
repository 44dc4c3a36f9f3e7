"""AMQP 0-8, 0-9 and 0-9-1 as a row of the registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from amqpscope.protocols.protocol import Protocol
from amqpscope.protocols.talk import Talk
from amqpscope.protocols.v0_9.talk import UNKNOWN
from amqpscope.protocols.v0_9.talk import Talk as Talk09
from amqpscope.protocols.v0_9.voice import VOICE
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import Connection
from dissectors.v0_9.dialects import by_version
from dissectors.v0_9.resync import find_frame, judge_frame
from dissectors.v0_9.versions import DIALECT_OF, VERSIONS
from dissectors.versions import VERSION_OF
from dissectors.wire import YES

if TYPE_CHECKING:
    from amqpscope.protocols.peers import SettingReader
    from amqpscope.protocols.replay import Part
    from amqpscope.protocols.replay_acts import Choices

NAMES: Final = tuple(dict.fromkeys(version.protocol for version in VERSIONS))
SPECIFICATION: Final = "https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf"
USUAL_HEAD: Final = 7
"""Octets of a frame's header, but in early drafts."""


class Amqp09(Protocol):
    """AMQP 0-8, 0-9, 0-9-1 and the early draft 10-3."""

    def knows(self, version: bytes) -> bool:
        """One of the versions that were published."""
        return version in DIALECT_OF

    def version_name(self, version: bytes) -> str:
        """What a version is called; empty where it is of another family.

        Up to 0-10 the first two numbers are 1, in 0-9-1 they are 0; in 1.0 the second is 1.
        """
        found = by_version(version)
        if found is not None:
            return found.protocol
        if version in VERSION_OF or version[:2] not in (b"\x00\x00", b"\x01\x01"):
            return ""
        return UNKNOWN

    def specification(self, section: str) -> str:
        """The specification of 0-9-1, which has no address for a section."""
        return SPECIFICATION

    def finds_frame(self, data: bytes) -> bool:
        """Whether frames begin in octets of which the start was not seen."""
        return find_frame(data, True) >= 0

    def starts(self, data: bytes) -> bool:
        """Whether a connection begins with a whole frame, and no header."""
        return judge_frame(data, 0, len(data), USUAL_HEAD) == YES

    def talk(
        self, number: int, connection: Connection, protocol: str, version: bytes, holes: list[bool]
    ) -> Talk:
        """A connection of 0-9; without a header its dialect is taken from the name."""
        return Talk09(number, connection, protocol, version, holes, self.voice)

    def part(
        self, talk: Talk, frames: list[Frame], side: int, choices: Choices, ending: str
    ) -> Part:
        """One side of a recorded connection, to be played against a live peer."""
        from amqpscope.protocols.v0_9.replay import Part09

        assert isinstance(talk, Talk09)
        return Part09(talk.spoken.dialect, frames, side, choices, ending)

    def setting_readers(self) -> list[SettingReader]:
        """What reads the fields of each kind of frame."""
        from amqpscope.protocols.v0_9.peers_edit import setting_readers

        return setting_readers()

    def frame_names(self) -> list[str]:
        """The names by which filters ask for kinds of frames."""
        from dissectors.v0_9.dialects import DEFAULT, dialect

        return [*dialect(DEFAULT).by_name, "content-header", "content-body", "heartbeat"]

    def state_templates(self) -> list[partial[Any]]:
        """How to make each object of the model, of the framers and of the talk."""
        from amqpscope.protocols.v0_9.templates import ROWS

        return ROWS

    def state_classes(self) -> list[Any]:
        """The values, and what makes them."""
        from amqpscope.protocols.v0_9.templates import CLASSES

        return CLASSES

    def interned_objects(self) -> dict[str, object]:
        """What is found by its name in every process."""
        from amqpscope.protocols.v0_9.templates import interned_objects

        return interned_objects()


PROTOCOL: Final = Amqp09(NAMES, VOICE)
