"""The older family for scapy: packet classes made from the rows.

    >>> from dissectors.scapy_older import AMQP091, BasicPublish, layers
    >>> bytes(AMQP091(channel=1) / BasicPublish(exchange="x", routing_key="k"))
    >>> sniff(offline="trace.pcap", session=TCPSession)

`AMQP091` is a frame of 0-9-1 as RabbitMQ speaks it, `frame_class("0-8")` one of another dialect;
`OlderHeader` is a protocol header. Below a frame comes the layer of its method, one class for each
(`BasicPublish`, `QueueDeclare`, ...) with the spec's field names, `-` as `_`; or that of a content
header (`BasicContentHeader`), or `Raw` for a body. `layers("0-8")` has those of another dialect.
What follows in the same octets is chained below; `units` lists all headers and frames of a packet.

Building gives back the octets that were dissected, whatever their damage. A layer in which a field
was changed is encoded anew; the frame's size follows, unless it is set.

With this module loaded, both families are told apart on port 5672 (until `unbind`).
"""

from __future__ import annotations

import keyword
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Final, cast

from scapy.base_classes import Packet_metaclass
from scapy.fields import AnyField, ByteEnumField, ByteField, Field, ShortField, StrFixedLenField
from scapy.layers.inet import TCP
from scapy.packet import (
    NoPayload,
    Packet,
    Padding,
    Raw,
    bind_bottom_up,
    bind_top_down,
    split_bottom_up,
)
from scapy.volatile import VolatileValue

from dissectors import scapy_layers
from dissectors.notation_older_text import text_argument
from dissectors.scapy_layers import MAX_CHAIN, PORT, shorten
from dissectors.v0_9 import rows
from dissectors.v0_9.codec import Reader, readable
from dissectors.v0_9.dialects import DEFAULT, FRAME_TYPES, VERSIONS, dialect, refine
from dissectors.v0_9.encode import (
    default,
    encode_argument,
    encode_table,
    letter_of,
    method_payload,
)
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
from dissectors.v0_9.plans import ContentPlan, Dialect, Plan
from dissectors.v0_9.values import FieldArray, Table
from dissectors.v1_0.codec import u16, u32
from dissectors.v1_0.framing import DAMAGED, HEADER_SIZE, MORE
from dissectors.v1_0.values import Value

# Values


def natural(value: Value, kind: str) -> Value:
    """What was written for a field, as the codec takes it."""
    if isinstance(value, dict):
        return Table([(key, natural(item, "")) for key, item in value.items()], _letters(value))
    if kind == "shortstr" and isinstance(value, bytes):
        return readable(value)
    if type(value) is list:
        items = [natural(item, "") for item in value]
        return FieldArray(items, bytes(map(letter_of, items)))
    return value


def _letters(pairs: dict[str, Value]) -> bytes:
    return bytes(letter_of(item) for item in pairs.values())


def attribute(name: str) -> str:
    """A field's name as Python can have it."""
    plain = name.replace("-", "_")
    return f"{plain}_" if keyword.iskeyword(plain) or hasattr(Packet, plain) else plain


class ArgumentField(Field[Value, bytes]):
    """An argument or property; the row tells its type."""

    __slots__ = ["row"]
    islist = 1  # a table or array is one value, not a set of packets to generate

    def __init__(self, row: rows.Field, absent: Value) -> None:
        self.row = row
        super().__init__(attribute(row.name), absent)

    def any2i(self, pkt: Packet | None, x: Value) -> Value:
        """Take what was written."""
        return natural(x, self.row.type)

    def i2repr(self, pkt: Packet | None, x: Value) -> str:
        """Show it."""
        return text_argument(x, self.row)


def fixed(value: Value) -> Value:
    """A value without random objects in it."""
    return value._fix() if isinstance(value, VolatileValue) else value


# Layers within a frame


class OlderLayer(Packet):
    """A method or content header, kept as it was on the wire until one of its fields changes."""

    spoken: ClassVar[Dialect]

    def encoded(self) -> bytes:
        """The octets that the fields make now."""
        raise NotImplementedError

    def read(self, reader: Reader, octets: bytes) -> dict[str, Value]:
        """Read the fields; the reader then stands behind them."""
        raise NotImplementedError

    def do_dissect(self, s: bytes) -> bytes:
        """Decode the fields; octets behind them are left for the payload."""
        reader = Reader(s, 0, self.spoken)
        self.fields = {name: v for name, v in self.read(reader, s).items() if v is not None}
        self.explicit = 1
        end = len(s) if reader.faults and reader.faults[-1].kind != "trailing" else reader.at
        self.raw_packet_cache = s[:end]
        self.raw_packet_cache_fields = {
            name: encode_table(value)
            for name, value in self.fields.items()
            if isinstance(value, Table)
        }
        return s[end:]

    def self_build(self) -> bytes:
        """Encode the fields, or give back the octets that they came from."""
        cached = self.raw_packet_cache
        known = self.raw_packet_cache_fields or {}
        if cached is not None and all(
            encode_table(self.fields.get(name, Table())) == was for name, was in known.items()
        ):
            return cached
        self.raw_packet_cache = None
        return self.encoded()

    def __iter__(self) -> Iterator[Packet]:
        chosen = {name: fixed(value) for name, value in self.fields.items()}
        payloads = [None] if isinstance(self.payload, NoPayload) else self.payload
        for payload in payloads:
            yield self.clone_with(payload=payload, **chosen)

    def given(self) -> dict[str, Value]:
        """The fields that are not None, by the spec's names."""
        values = ((f.row.name, fixed(self.getfieldval(f.name))) for f in self.arguments())
        return {name: value for name, value in values if value is not None}

    def arguments(self) -> list[ArgumentField]:
        """The fields that rows describe."""
        return [f for f in self.fields_desc if isinstance(f, ArgumentField)]

    def default_payload_class(self, payload: bytes) -> type[Packet]:
        """Octets behind the last field are opaque."""
        return Raw

    def mysummary(self) -> Any:
        """Name the layer and the fields that say something."""
        said = [
            f"{f.row.name}={shorten(f.i2repr(self, value))}"
            for f in self.arguments()
            if (value := self.getfieldval(f.name)) not in (None, False, "")
        ]
        return " ".join([self._name, *said]), summarised(self.spoken)


class MethodLayer(OlderLayer):
    """A method; each row has its subclass."""

    plan: ClassVar[Plan]

    def encoded(self) -> bytes:
        """Numbers and arguments."""
        return method_payload(self.plan.row, self.given())

    def read(self, reader: Reader, octets: bytes) -> dict[str, Value]:
        """The arguments behind the numbers."""
        reader.at = 4
        values = reader.arguments(self.plan, len(octets))
        named = zip(self.arguments(), values, strict=True)
        return {field.name: value for field, value in named}


class ContentLayer(OlderLayer):
    """A content header; each class that carries contents has its subclass."""

    plan: ClassVar[ContentPlan]

    def encoded(self) -> bytes:
        """Sizes, flags and the properties that are there."""
        flags = 0
        octets = b""
        given = self.given()
        for place, field in enumerate(self.plan.row.properties):
            if field.name in given:
                flags |= 0x8000 >> place
                octets += encode_argument(given[field.name], field.type)
        sizes = int(fixed(self.weight)), int(fixed(self.body_size))
        return struct.pack(">HHQH", self.plan.row.id, *sizes, flags) + octets

    def read(self, reader: Reader, octets: bytes) -> dict[str, Value]:
        """Sizes and properties."""
        found = reader.content(len(octets))
        named = zip(self.arguments(), found.values, strict=True)
        values = {field.name: value for field, value in named}
        return {"weight": found.weight, "body_size": found.body_size} | values


def _class_name(name: str) -> str:
    return name.replace(".", "-").title().replace("-", "")


def _method(spoken: Dialect, plan: Plan) -> type[MethodLayer]:
    row = plan.row
    members = {
        "_name": row.name,
        "name": row.name,
        "plan": plan,
        "spoken": spoken,
        "fields_desc": [ArgumentField(field, default(field)) for field in row.fields],
        "__module__": __name__,
        "__doc__": f"The method `{row.name}` of {spoken.name}.",
    }
    made = Packet_metaclass(_class_name(row.name), (MethodLayer,), members)
    return cast("type[MethodLayer]", made)


def _content(spoken: Dialect, plan: ContentPlan) -> type[ContentLayer]:
    sizes = [ShortField("weight", 0), Field("body_size", 0, "Q")]
    members = {
        "_name": f"{plan.name} content-header",
        "name": f"{plan.name} content-header",
        "plan": plan,
        "spoken": spoken,
        "fields_desc": [*sizes, *(ArgumentField(field, None) for field in plan.row.properties)],
        "__module__": __name__,
        "__doc__": f"The content header of the class `{plan.name}` of {spoken.name}.",
    }
    name = f"{plan.name.title()}ContentHeader"
    return cast("type[ContentLayer]", Packet_metaclass(name, (ContentLayer,), members))


@cache
def layers(name: str) -> dict[str, type[OlderLayer]]:
    """The layers of a dialect by class name: `BasicPublish`, `BasicContentHeader`, ..."""
    spoken = dialect(name)
    made: list[type[OlderLayer]] = [_method(spoken, plan) for plan in spoken.by_name.values()]
    made += [_content(spoken, plan) for plan in spoken.contents.values()]
    return {layer.__name__: layer for layer in made}


# Units: headers and frames


def extent(data: bytes, head: int) -> int:
    """Like `measure`, of octets that begin like a unit."""
    if not data or not (METHOD <= data[0] <= LAST_TYPE or data[:4] == b"AMQP"[: len(data)]):
        return DAMAGED
    return measure(data, 0, len(data), head)


class _Unit(Packet):
    """What a stream is made of; further units are chained below the first."""

    spoken: ClassVar[Dialect] = dialect(DEFAULT)
    header_size: ClassVar = 7

    def dissect(self, s: bytes) -> None:
        size = extent(s, self.header_size)
        super().dissect(s[:size])
        if size < len(s):
            follow(self, s[size:])

    def frames(self) -> type[OlderFrame]:
        """The class of the frames that follow."""
        return frame_class(self.spoken.name, self.header_size)


class OlderUnits(Packet):
    """The headers and frames that were too many to be chained, as octets."""

    name = "AMQP units"
    fields_desc: ClassVar[list[AnyField]] = [Raw.fields_desc[0]]


class OlderRest(Raw):
    """Octets behind a frame, no part of it, that are no unit."""

    name = "AMQP rest"


def follow(first: _Unit, rest: bytes) -> None:
    """Chain the units in `rest` below the first one."""
    frame = first.frames()
    last = first.lastlayer()
    for _ in range(MAX_CHAIN - 1):
        size = extent(rest, frame.header_size)
        if size <= 0 or size > len(rest):
            break
        unit = frame(rest[:size], _internal=1)
        last.add_payload(unit)
        last = unit.lastlayer()
        rest = rest[size:]
    if rest:
        more = 0 < extent(rest, frame.header_size) <= len(rest)
        last.add_payload((OlderUnits if more else OlderRest)(rest, _internal=1))


def units(packet: Packet) -> Iterator[Packet]:
    """All protocol headers and frames in a packet, in order."""
    layer: Packet = packet
    spoken: type[OlderFrame] = AMQP091
    while not isinstance(layer, NoPayload):
        if isinstance(layer, OlderFrame):
            spoken = type(layer)
        if isinstance(layer, _Unit):
            yield layer
        elif isinstance(layer, OlderUnits):
            yield from units(spoken(layer.load))
        layer = layer.payload


class OlderHeader(_Unit):
    """A protocol header."""

    name = "AMQP header"
    fields_desc: ClassVar[list[AnyField]] = [
        StrFixedLenField("protocol", b"AMQP", 4),
        ByteField("id", 0),
        ByteField("major", 0),
        ByteField("minor", 9),
        ByteField("revision", 1),
    ]

    def version(self) -> bytes:
        """The four octets that name the version."""
        return bytes((self.id, self.major, self.minor, self.revision))

    def frames(self) -> type[OlderFrame]:
        """The class of the frames that follow, by the version."""
        return frame_class(usual_name(VERSIONS.get(self.version(), DEFAULT)))

    def mysummary(self) -> Any:
        """The version."""
        named = VERSIONS.get(self.version(), " ".join(map(str, self.version())))
        return f"AMQP header {named}", summarised(self.spoken)


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
        return "AMQP heartbeat", summarised(self.spoken)


class SizeField(Field[int, int]):
    """The size of the payload, unless it is set."""

    def i2h(self, pkt: Packet | None, x: int | None) -> Any:
        """The number set, or else what it has to be."""
        return len(pkt.inside()[0]) if x is None and isinstance(pkt, OlderFrame) else x


class OlderFrame(_Unit):
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
        """Tell headers from frames, and leave alone what is neither."""
        if not _pkt:
            return cls
        size = extent(bytes(_pkt), cls.header_size)
        if _pkt[:4] == b"AMQP" and len(_pkt) >= HEADER_SIZE:
            return OlderHeader
        if size in {MORE, DAMAGED} or len(_pkt) < size:
            return Raw
        return ShortHeartbeat if size == len(SHORT_HEARTBEAT) else cls

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]
    ) -> Packet | None:
        """Give all whole units at once, and the octets behind them as padding."""
        frame = announced(data, session, cls)
        at, size = 0, MORE
        while at < len(data):
            size = extent(data[at:], frame.header_size)
            if size in {MORE, DAMAGED} or at + size > len(data):
                break
            at += size
        if at == len(data) or size == DAMAGED or metadata.get("tcp_end"):
            return frame(data)
        if at == 0:
            return None
        whole = frame(data[:at])
        whole.lastlayer().add_payload(Padding(data[at:]))
        return whole

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
            found = None if plan is None else made[_class_name(plan.name)]
        elif self.type == HEADER and len(payload) >= 14 and not payload[13] & 1:
            content = self.spoken.contents.get(u16(payload, 0))
            found = None if content is None else made[f"{content.name.title()}ContentHeader"]
        return Raw if found is None else found

    def inside(self) -> tuple[bytes, bytes]:
        """The octets of the payload, and those of the units behind the frame."""
        parts = []
        layer = self.payload
        while isinstance(layer, OlderLayer) or type(layer) is Raw:
            parts.append(layer.self_build())
            layer = layer.payload
        if isinstance(layer, _Unit | OlderUnits | OlderRest | Padding | NoPayload):
            return b"".join(parts), layer.do_build()
        return b"".join((*parts, layer.do_build())), b""

    def kind(self) -> int:
        """The frame's type: that of its payload, unless it is set."""
        if "type" not in self.fields and isinstance(self.payload, ContentLayer):
            return HEADER
        return int(fixed(self.getfieldval("type")))

    def do_build(self) -> bytes:
        """Frame, and what is chained behind it."""
        packet = self if self.explicit else cast(OlderFrame, next(iter(self)))
        payload, behind = packet.inside()
        size = packet.getfieldval("size")
        octets = bytes((packet.kind(),))
        if self.header_size == 8:
            octets += bytes((fixed(packet.cycle),))
        octets += int(fixed(packet.channel)).to_bytes(2, "big")
        octets += int(len(payload) if size is None else fixed(size)).to_bytes(4, "big")
        octets += payload + bytes((fixed(packet.end),))
        return octets + behind

    def mysummary(self) -> Any:
        """Type and channel."""
        named = FRAME_TYPES.get(self.kind(), f"type={self.kind()}")
        said = f"AMQP {self.spoken.name} {named} channel={self.channel}"
        return said, summarised(self.spoken)


def frame_class(name: str, head: int = 0) -> type[OlderFrame]:
    """The frames of a dialect; `head` for another size of their headers than the usual."""
    return _frame_class(name, head or dialect(name).heads[0])


@cache
def _frame_class(name: str, head: int) -> type[OlderFrame]:
    members = {
        "spoken": dialect(name),
        "header_size": head,
        "dispatch_hook": OlderFrame.__dict__["dispatch_hook"],  # scapy wants it in the class itself
        "__module__": __name__,
        "__doc__": f"A frame of AMQP {name}.",
    }
    title = "AMQP" + name.title().replace("-", "")
    return cast("type[OlderFrame]", Packet_metaclass(title, (OlderFrame,), members))


def summarised(spoken: Dialect) -> list[type[Packet]]:
    """The layers that say something in a summary."""
    frames = [frame_class(spoken.name, head) for head in (7, 8)]
    return [OlderHeader, ShortHeartbeat, *frames, *layers(spoken.name).values()]


AMQP091: Final = frame_class(DEFAULT)


def usual_name(version: str) -> str:
    """The dialect that a version is taken for until the server names its product."""
    return DEFAULT if version == "0-9-1" else version


def announced(data: bytes, session: dict[str, Any], usual: type[OlderFrame]) -> type[OlderFrame]:
    """The frames of a connection: of the dialect that its header and its server announced."""
    version = VERSIONS.get(data[4:8]) if data[:4] == b"AMQP" else None
    if version is not None:
        session["amqp-dialect"] = usual_name(version)
    name = session.get("amqp-dialect")
    if name is None:
        return usual
    frame = frame_class(name)
    for unit in units(frame(data)) if data[:1] == b"\x01" else ():
        if unit.payload.name == "connection.start":
            name = refine(frame.spoken, unit.payload.server_properties).name
            session["amqp-dialect"] = name
    return frame_class(name)


class AnyAMQP(Packet):
    """Either family, told by the first octets: chooses the class, and is none itself."""

    name = "AMQP"

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *_: Any, **__: Any) -> type[Packet]:
        """The older family's frames begin with their type, those of 1.0 with a size."""
        chosen = AMQP091 if older(bytes(_pkt)) else scapy_layers.AMQP
        return chosen.dispatch_hook(_pkt)

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]
    ) -> Packet | None:
        """As the family that is spoken does it."""
        family = AMQP091 if older(data) else scapy_layers.AMQP
        return family.tcp_reassemble(data, metadata, session)


def older(data: bytes) -> bool:
    """Whether octets begin with a unit of the older family."""
    if data[:4] == b"AMQP":
        return data[4:8] in VERSIONS
    return bool(data) and METHOD <= data[0] <= LAST_TYPE


def bind() -> None:
    """Tell both families apart on their port; done when this module is loaded."""
    _rebind(scapy_layers.AMQP, AnyAMQP)


def unbind() -> None:
    """Leave the port to AMQP 1.0 alone."""
    _rebind(AnyAMQP, scapy_layers.AMQP)


def _rebind(before: type[Packet], now: type[Packet]) -> None:
    for ports in ({"sport": PORT}, {"dport": PORT}, {"sport": PORT, "dport": PORT}):
        split_bottom_up(TCP, before, **ports)
        bind_bottom_up(TCP, now, **ports)


for _made in (AMQP091, OlderHeader, ShortHeartbeat):
    bind_top_down(TCP, _made, sport=PORT, dport=PORT)
bind()
globals().update(layers(DEFAULT))

__all__ = [
    "AMQP091",
    "AnyAMQP",
    "OlderFrame",
    "OlderHeader",
    "ShortHeartbeat",
    "bind",
    "frame_class",
    "layers",
    "unbind",
    "units",
]
__all__ += list(layers(DEFAULT))
