"""0-8, 0-9 and 0-9-1 for scapy: protocol headers and frames (see `dissectors.scapy_layers`).

`AMQP091` is a frame of 0-9-1 as RabbitMQ has it, `frame_class("0-8")` one of another dialect;
`AMQP09Header` is a protocol header. Below a frame comes the layer of its method or content header
(see `scapy_layers`), or `Raw` for a body. The frame's size follows from what is inside, unless it
is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Final, cast

from scapy.base_classes import Packet_metaclass
from scapy.fields import AnyField, ByteEnumField, ByteField, Field, ShortField, StrFixedLenField
from scapy.layers.inet import TCP
from scapy.packet import Packet, Raw, bind_top_down

from dissectors.scapy_units import PORT, SUMMARISED, AnyFrame, AnyUnit, AnyUnits, fix, units
from dissectors.v0_9.dialects import DEFAULT, dialect, refine
from dissectors.v0_9.framing import (
    FRAME_END,
    HEADER,
    HEARTBEAT,
    LAST_TYPE,
    METHOD,
    OOB_METHOD,
    SHORT_HEARTBEAT,
    measure,
)
from dissectors.v0_9.names import FRAME_TYPES
from dissectors.v0_9.plans import Dialect
from dissectors.v0_9.scapy_layers import ContentLayer, class_name, content_class_name, layers
from dissectors.v0_9.versions import DIALECT_OF
from dissectors.wire import DAMAGED, HEADER_SIZE, MAGIC, MORE, u16, u32


class AMQP09Units(AnyUnits):
    """The headers and frames that were too many to be chained, as octets."""

    name = "AMQP units"
    fields_desc: ClassVar[list[AnyField]] = [Raw.fields_desc[0]]

    def list_units(self, frame: type[AnyFrame] | None) -> Iterator[Packet]:
        """Each of them, dissected."""
        return units((AMQP091 if frame is None else frame)(self.load))


class _Unit(AnyUnit):
    """A unit of 0-9."""

    more_units = AMQP09Units
    spoken: ClassVar[Dialect] = dialect(DEFAULT)
    header_size: ClassVar = 7

    @classmethod
    def extent(cls, data: bytes, at: int = 0) -> int:
        """Like `measure`, of octets that begin like a unit."""
        start = data[at : at + 4]
        if not start or not (METHOD <= start[0] <= LAST_TYPE or MAGIC.startswith(start)):
            return DAMAGED
        return measure(data, at, len(data), cls.header_size)

    @classmethod
    def chained_size(cls, data: bytes) -> int:
        """The size of the unit at the start, if it is whole."""
        size = cls.extent(data)
        return size if size <= len(data) else 0

    def following(self) -> type[AnyUnit]:
        """Frames of the same dialect."""
        return frame_class(self.spoken.name, self.header_size)


class AMQP09Header(_Unit):
    """A protocol header."""

    name = "AMQP header"
    fields_desc: ClassVar[list[AnyField]] = [
        StrFixedLenField("protocol", MAGIC, 4),
        ByteField("id", 0),
        ByteField("major", 0),
        ByteField("minor", 9),
        ByteField("revision", 1),
    ]

    def version(self) -> bytes:
        """The four octets that name the version."""
        return bytes((self.id, self.major, self.minor, self.revision))

    def following(self) -> type[AnyUnit]:
        """Frames of the dialect that the version names."""
        return frame_class(usual_dialect(DIALECT_OF.get(self.version(), DEFAULT)))

    def mysummary(self) -> Any:
        """The version."""
        named = DIALECT_OF.get(self.version(), " ".join(map(str, self.version())))
        return f"AMQP header {named}", SUMMARISED


class ShortHeartbeat(_Unit):
    """A heartbeat of four octets, as one grammar has it."""

    name = "AMQP heartbeat"
    fields_desc: ClassVar[list[AnyField]] = [
        ByteEnumField("type", HEARTBEAT, FRAME_TYPES),
        ShortField("channel", 0),
        ByteField("end", FRAME_END),
    ]

    def mysummary(self) -> Any:
        """Its name."""
        return "AMQP heartbeat", SUMMARISED


class SizeField(Field[int, int]):
    """The size of the payload, unless it is set."""

    def i2h(self, pkt: Packet | None, x: int | None) -> Any:
        """The number set, or else what it has to be."""
        return len(pkt.inside()[0]) if x is None and isinstance(pkt, AMQP09Frame) else x


class AMQP09Frame(AnyFrame, _Unit):
    """A frame; each dialect has its subclass."""

    name = "AMQP frame"
    fields_desc: ClassVar[list[AnyField]] = [
        ByteEnumField("type", METHOD, FRAME_TYPES),
        ByteField("cycle", 0),
        ShortField("channel", 0),
        SizeField("size", None, "I"),
        ByteField("end", FRAME_END),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *_: Any, **__: Any) -> type[Packet]:
        """Distinguish headers from frames, and leave alone what is neither."""
        if not _pkt:
            return cls
        size = cls.extent(bytes(_pkt))
        if _pkt[:4] == MAGIC and len(_pkt) >= HEADER_SIZE:
            return AMQP09Header
        if size in {MORE, DAMAGED} or len(_pkt) < size:
            return Raw
        return ShortHeartbeat if size == len(SHORT_HEARTBEAT) else cls

    @classmethod
    def connection_frame(cls, data: bytes, session: dict[str, Any]) -> type[AnyFrame]:
        """The frames of the dialect that the connection's header and its server announced."""
        version = DIALECT_OF.get(data[4:8]) if data[:4] == MAGIC else None
        if version is not None:
            session["amqp-dialect"] = usual_dialect(version)
        name = session.get("amqp-dialect")
        if name is None:
            return cls
        frame = frame_class(name)
        for unit in units(frame(data)) if data[:1] == b"\x01" else ():
            if unit.payload.name == "connection.start":
                name = refine(frame.spoken, unit.payload.server_properties).name
                session["amqp-dialect"] = name
        return frame_class(name)

    def do_dissect(self, s: bytes) -> bytes:
        """Read the frame header and the octet that ends the frame."""
        head = self.header_size
        size = u32(s, head - 4)
        self.fields |= {"type": s[0], "channel": u16(s, head - 6), "end": s[-1]}
        if head == 8:
            self.fields["cycle"] = s[1]
        if size != len(s) - head - 1:
            self.fields["size"] = size
        self.explicit = 1
        return s[head:-1]

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """The layer of a method or content header, by its numbers."""
        found: type[Packet] | None = None
        made = layers(self.spoken.name)
        if self.type in {METHOD, OOB_METHOD} and len(payload) >= 4:
            plan = self.spoken.methods.get(u32(payload, 0))
            found = None if plan is None else made[class_name(plan.name)]
        elif self.type == HEADER and len(payload) >= 14 and not payload[13] & 1:
            content = self.spoken.contents.get(u16(payload, 0))
            found = None if content is None else made[content_class_name(content.name)]
        return Raw if found is None else found

    def kind(self) -> int:
        """The frame's type: that of its payload, unless it is set."""
        if "type" not in self.fields and isinstance(self.payload, ContentLayer):
            return HEADER
        return int(fix(self.getfieldval("type")))

    def do_build(self) -> bytes:
        """Frame, and what is chained behind it."""
        packet = self if self.explicit else cast(AMQP09Frame, next(iter(self)))
        payload, behind = packet.inside()
        size = packet.getfieldval("size")
        octets = bytes((packet.kind(),))
        if self.header_size == 8:
            octets += bytes((fix(packet.cycle),))
        octets += int(fix(packet.channel)).to_bytes(2, "big")
        octets += int(len(payload) if size is None else fix(size)).to_bytes(4, "big")
        octets += payload + bytes((fix(packet.end),))
        return octets + behind

    def mysummary(self) -> Any:
        """Type and channel."""
        named = FRAME_TYPES.get(self.kind(), f"type={self.kind()}")
        said = f"AMQP {self.spoken.name} {named} channel={self.channel}"
        return said, SUMMARISED


def frame_class(name: str, head: int = 0) -> type[AMQP09Frame]:
    """The frames of a dialect; `head` for another size of their headers than the usual."""
    return _frame_class(name, head or dialect(name).heads[0])


@cache
def _frame_class(name: str, head: int) -> type[AMQP09Frame]:
    members = {
        "spoken": dialect(name),
        "header_size": head,
        "dispatch_hook": AMQP09Frame.__dict__[
            "dispatch_hook"
        ],  # scapy wants it in the class itself
        "__module__": __name__,
        "__doc__": f"A frame of AMQP {name}.",
    }
    title = "AMQP" + name.title().replace("-", "")
    return cast("type[AMQP09Frame]", Packet_metaclass(title, (AMQP09Frame,), members))


AMQP091: Final = frame_class(DEFAULT)


def usual_dialect(version: str) -> str:
    """The dialect that a version is taken for until the server names its product."""
    return DEFAULT if version == "0-9-1" else version


for _made in (AMQP091, AMQP09Header, ShortHeartbeat):
    bind_top_down(TCP, _made, sport=PORT, dport=PORT)
