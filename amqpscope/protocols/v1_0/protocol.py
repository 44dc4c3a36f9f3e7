"""AMQP 1.0 as a row of the registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from amqpscope.protocols.protocol import Protocol
from amqpscope.protocols.sketch import Records
from amqpscope.protocols.talk import Talk
from amqpscope.protocols.v1_0.sketch import Notes, Sketcher
from amqpscope.protocols.v1_0.talk import Talk as Talk10
from amqpscope.protocols.v1_0.versions import HEADER_ONLY, NAME
from amqpscope.protocols.v1_0.voice import VOICE
from amqpscope.stream.framer import Frame
from amqpscope.stream.types import Connection
from dissectors.v1_0.resync import find_frame, judge_frame
from dissectors.v1_0.versions import NUMBERS
from dissectors.wire import YES

if TYPE_CHECKING:
    from amqpscope.protocols.logs import LogFormat
    from amqpscope.protocols.peers import SettingReader
    from amqpscope.protocols.replay import Part
    from amqpscope.protocols.replay_acts import Choices

SPECIFICATION: Final = "https://docs.oasis-open.org/amqp/core/v1.0/os/amqp-core-"
PARTS: Final = {
    # by the first number of a section
    "1": "types",
    "2": "transport",
    "3": "messaging",
    "4": "transactions",
    "5": "security",
}


class Amqp10(Protocol):
    """AMQP 1.0, and what is recognised by its header alone."""

    def knows(self, version: bytes) -> bool:
        """Version 1.0.0, whatever layer its id is of."""
        return version[1:] == NUMBERS or version in HEADER_ONLY

    def version_name(self, version: bytes) -> str:
        """What a version is called; empty where it is none of these."""
        if version in HEADER_ONLY:
            return HEADER_ONLY[version]
        return self.name if version[1:] == NUMBERS else ""

    def header_only(self) -> list[str]:
        """AMQP 0-10, which has frames and types of its own."""
        return list(HEADER_ONLY.values())

    def specification(self, section: str) -> str:
        """The part of the specification that a section is in."""
        return f"{SPECIFICATION}{PARTS.get(section[:1], 'overview')}-v1.0-os.html"

    def may_begin(self, version: bytes) -> bool:
        """Whether version 1.0.0 begins with these octets, of which the first is the layer."""
        return NUMBERS.startswith(version[1:])

    def finds_frame(self, data: bytes) -> bool:
        """Whether frames begin in octets of which the start was not seen."""
        return find_frame(data, True) >= 0

    def starts(self, data: bytes) -> bool:
        """Whether there is a performative where a header should be: nothing else begins so."""
        return len(data) > 12 and data[:2] == b"\x00\x00" and judge_frame(data, 0, len(data)) == YES

    def talk(
        self, number: int, connection: Connection, protocol: str, version: bytes, holes: list[bool]
    ) -> Talk:
        """A connection of 1.0."""
        return Talk10(number, connection, protocol, holes, self.voice)

    def part(
        self, talk: Talk, frames: list[Frame], side: int, choices: Choices, ending: str
    ) -> Part:
        """One side of a recorded connection, to be played against a live peer."""
        from amqpscope.protocols.v1_0.replay import Part10

        return Part10(frames, side, choices, ending)

    def log_formats(self) -> list[type[LogFormat]]:
        """Those of libraries and SDKs; what is exact comes first."""
        from amqpscope.protocols.v1_0.logs.goamqp import GoAmqpLog
        from amqpscope.protocols.v1_0.logs.netlite import NetLiteLog
        from amqpscope.protocols.v1_0.logs.proton import ProtonLog
        from amqpscope.protocols.v1_0.logs.protonj import ProtonJLog
        from amqpscope.protocols.v1_0.logs.pyamqp import PyamqpLog
        from amqpscope.protocols.v1_0.logs.rhea import RheaFrames, RheaRaw
        from amqpscope.protocols.v1_0.logs.uamqp import UamqpLog

        return [
            ProtonLog, ProtonJLog, RheaRaw, RheaFrames, PyamqpLog, UamqpLog, GoAmqpLog, NetLiteLog,
        ]  # fmt: skip

    def setting_readers(self) -> list[SettingReader]:
        """What reads the fields of each kind of frame."""
        from amqpscope.protocols.v1_0.peers_edit import setting_readers

        return setting_readers()

    def frame_names(self) -> list[str]:
        """The names by which filters ask for kinds of frames."""
        from dissectors.v1_0.tables import COMPOSITES

        kinds = {"frame", "sasl-frame"}
        return [row.name for row in COMPOSITES if kinds & set(row.provides)]

    def state_templates(self) -> list[partial[Any]]:
        """How to make each object of the model, of the framers and of the talk."""
        from amqpscope.protocols.v1_0.templates import ROWS

        return ROWS

    def state_classes(self) -> list[Any]:
        """The values, and what makes them."""
        from amqpscope.protocols.v1_0.templates import CLASSES

        return CLASSES

    def interned_objects(self) -> dict[str, object]:
        """What is found by its name in every process."""
        from amqpscope.protocols.v1_0.templates import INTERNED

        return INTERNED

    def notes(self) -> Notes:
        """Notes on links, and on which transfers belong together."""
        return Notes()

    def sketcher(self, records: Records) -> Sketcher:
        """What makes single events again."""
        return Sketcher(records)


PROTOCOL: Final = Amqp10((NAME,), VOICE)
