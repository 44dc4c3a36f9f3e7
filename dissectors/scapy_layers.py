"""AMQP 1.0 for scapy: packet classes made from the rows.

    >>> from dissectors.scapy_layers import AMQP, AMQPTransfer
    >>> bytes(AMQP(channel=1) / AMQPTransfer(handle=0, delivery_id=1, delivery_tag=b"x") / b"...")
    >>> sniff(offline="trace.pcap", session=TCPSession)

`AMQP` is a frame, `AMQPHeader` a protocol header. Below a frame comes the layer of its
performative, one class for each composite type (`AMQPOpen`, `AMQPAttach`, ...) with the spec's
field names, `-` as `_`; source, target, error and delivery state are packets inside fields. The
payload of a transfer is an `AMQPMessage` with a list of sections as far as they can be told,
and `Raw` from there on. What follows in the same octets is chained below, as scapy does for TLS;
`units` lists all headers and frames of a packet.

Building gives back the octets that were dissected, whatever their encoding or damage. A layer in
which a field was changed is encoded anew, canonically; the frame's size and data offset
follow, unless they are set.

List and array values belong to the field: they do not make scapy generate one packet per item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from scapy.base_classes import BasePacket, Packet_metaclass
from scapy.fields import (
    AnyField,
    ByteEnumField,
    ByteField,
    Field,
    PacketListField,
    RawVal,
    ShortField,
    StrField,
    StrFixedLenField,
)
from scapy.layers.inet import TCP
from scapy.packet import (
    NoPayload,
    Packet,
    Padding,
    Raw,
    bind_bottom_up,
    bind_layers,
    bind_top_down,
)
from scapy.volatile import RandBin, RandNum, VolatileValue

from dissectors import rows
from dissectors.errors import Malformed
from dissectors.v1_0.bodies import BODIES, Body, restore
from dissectors.v1_0.codec import Reader, plan_of, u16, u32
from dissectors.v1_0.encode import encode
from dissectors.v1_0.framing import DAMAGED, HEADER_SIZE, MORE, PROTOCOL_IDS, SASL_FRAME, measure
from dissectors.v1_0.message import section_at, section_code, walk
from dissectors.v1_0.names import descriptor_name
from dissectors.v1_0.types import COMPOSITES, RESTRICTED, RESTRICTED_TYPE, choice, primitive
from dissectors.v1_0.values import Array, Described, Map, Symbol, Ulong, Uuid, Value

PORT: Final = 5672
MAX_CHAIN: Final = 32
"""Units chained below each other. scapy recurses over layers, and a segment can hold thousands of
frames; those past this number go into the list of one `AMQPUnits`."""
MAX_TEXT: Final = 40
"""Characters of a value in a summary."""

SYMBOL_KEYS: Final = frozenset(("fields", "annotations", "filter-set", "node-properties"))
"""Types of map whose keys are symbols, so that a plain str as key is made one."""


# Values: as people write them, as scapy holds them, as the codec takes them.


def natural(value: Value, row: rows.Field) -> Value:
    """What was written for a field, as a value of the field's type where the two are close."""
    kind = primitive(row.type)
    if isinstance(value, Body):
        return layer_of(value)
    if isinstance(value, dict):
        return mapping(value, row.type)
    if row.multiple and type(value) in {list, tuple}:
        items = [natural(item, row) for item in value]
        return Array(0xA3 if all(len(item) < 256 for item in items) else 0xB3, items)
    if type(value) is str:
        if kind == "symbol":
            return Symbol(value)
        if kind == "binary":
            return value.encode()
        if kind != "string" and row.type in RESTRICTED_TYPE:
            return dict(RESTRICTED_TYPE[row.type].choices).get(value, value)
    return value


def mapping(pairs: dict[Value, Value], kind: str) -> Map:
    """A dict as the map that a field of this type holds."""
    while kind not in SYMBOL_KEYS and kind in RESTRICTED_TYPE:
        kind = RESTRICTED_TYPE[kind].source
    symbols = kind in SYMBOL_KEYS
    return Map(
        (Symbol(key) if symbols and type(key) is str else key, plain(value))
        for key, value in pairs.items()
    )


def plain(value: Value) -> Value:
    """A value without packets and random objects in it, for the codec."""
    if isinstance(value, VolatileValue):
        return plain(value._fix())
    if isinstance(value, AMQPLayer):
        return value.amqp()
    if isinstance(value, dict):
        return mapping(value, "map")
    if isinstance(value, Map):
        return Map((plain(key), plain(item)) for key, item in value)
    if type(value) is list:
        return [plain(item) for item in value]
    if isinstance(value, Described):
        return Described(plain(value.descriptor), plain(value.value))
    return value


def layer_of(body: Body) -> AMQPComposite:
    """A composite value as a packet."""
    layer = LAYERS[body.row.name]()
    layer.take(body)
    return layer


def text(value: Value, kind: str = "*") -> str:
    """A value as people read it."""
    named = choice(kind, value)
    if named:
        return named
    if isinstance(value, Symbol | Uuid):
        return str(value)
    if isinstance(value, Map):
        return "{" + ", ".join(f"{text(key)}: {text(item)}" for key, item in value) + "}"
    if type(value) is list or isinstance(value, Array):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, Described):
        return f"{descriptor_name(value.descriptor)}({text(value.value)})"
    if isinstance(value, Body):
        named_fields = zip(value.row.fields, value, strict=False)
        said = (f"{f.name}={text(v, f.type)}" for f, v in named_fields if v is not None)
        return f"{value.row.name}({', '.join(said)})"
    if isinstance(value, AMQPComposite):
        return text(value.amqp())
    return repr(value)


def read(octets: bytes) -> tuple[Value, int]:
    """The value at the start and its size; nothing of size 0 where none can be made out."""
    reader = Reader(octets)
    try:
        return reader.value(len(octets)), reader.at
    except Malformed:
        return None, 0


class ValueField(Field[Value, bytes]):
    """Any AMQP value; the row tells the type that it should have."""

    __slots__ = ["row"]
    islist = 1  # a list or a pair of numbers is one value, not a set of packets to generate

    def __init__(self, row: rows.Field) -> None:
        self.row = row
        super().__init__(row.name.replace("-", "_"), None)

    def any2i(self, pkt: Packet | None, x: Value) -> Value:
        """Take what was written."""
        return natural(x, self.row)

    def i2repr(self, pkt: Packet | None, x: Value) -> str:
        """Show it."""
        return text(x, self.row.type)

    def addfield(self, pkt: Packet, s: bytes, val: Value) -> bytes:
        """Append the canonical encoding."""
        return s + encode(plain(val), primitive(self.row.type))

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, Value]:
        """Read one value off the front."""
        value, size = read(s)
        return s[size:], natural(value, self.row)


# Layers within a frame.


class AMQPLayer(Packet):
    """A described value as a layer, kept as it was on the wire until one of its fields changes."""

    def amqp(self) -> Value:
        """The value that the fields make now."""
        raise NotImplementedError

    def take(self, value: Value) -> bool:
        """Fill the fields from a value, if it is one of this type."""
        raise NotImplementedError

    def do_dissect(self, s: bytes) -> bytes:
        """Decode one value; octets that are none stay for the payload."""
        value, size = read(s)
        if not self.take(value):
            size = 0
        self.raw_packet_cache = s[:size]
        self.raw_packet_cache_fields = {
            name: self.fingerprint(name)
            for name, value in self.fields.items()
            if isinstance(value, list | tuple | Described | Packet)
        }
        return s[size:]

    def self_build(self) -> bytes:
        """Encode the fields, or give back the octets that they came from."""
        cached = self.raw_packet_cache
        if cached is not None and self.unchanged():
            return cached
        self.raw_packet_cache = None
        return encode(self.amqp())

    def unchanged(self) -> bool:
        """Whether no value was changed from within (scapy notices when a field is set)."""
        known = self.raw_packet_cache_fields or {}
        return all(self.fingerprint(name) == was for name, was in known.items())

    def fingerprint(self, name: str) -> bytes:
        """Octets by which a change inside a field's value shows."""
        try:
            return self.get_field(name).addfield(self, b"", self.getfieldval(name))
        except (ValueError, KeyError, OverflowError):
            return b""  # a damaged value that no encoding has: not known to be changed

    def __iter__(self) -> Iterator[Packet]:
        fields = {**self.default_fields, **self.fields}
        fixed = {
            name: value._fix() if isinstance(value, VolatileValue) else value
            for name, value in fields.items()
            if name in self.fields or isinstance(value, VolatileValue)
        }
        payloads = [None] if isinstance(self.payload, NoPayload) else self.payload
        for payload in payloads:
            yield self.clone_with(payload=payload, **fixed)

    def default_payload_class(self, payload: bytes) -> type[Packet]:
        """Whatever follows a value in a frame is opaque, but for a transfer's message."""
        return message_class(payload) if isinstance(self, LAYERS["transfer"]) else Raw

    def mysummary(self) -> Any:
        """Name the layer and its fields, and have the other layers do the same."""
        values = ((f, self.getfieldval(f.name)) for f in self.fields_desc)
        said = [
            f"{f.name.replace('_', '-')}={shorten(f.i2repr(self, value))}"
            for f, value in values
            if value is not None
        ]
        return " ".join([self._name, *said]), list(SUMMARISED)


def shorten(said: str) -> str:
    """Cut a text to a summary's length."""
    return said if len(said) <= MAX_TEXT else f"{said[: MAX_TEXT - 3]}..."


class AMQPComposite(AMQPLayer):
    """A composite type; each row has its subclass."""

    __slots__ = ["beyond", "shown"]
    row: ClassVar[rows.Composite]

    def __init__(self, *args: Any, **fields: Any) -> None:
        self.beyond: tuple[Value, ...] = ()
        """List items past the last field of the row."""
        self.shown = False
        """Whether `show` is at work, which wants the layer's name (see `_get_name`)."""
        super().__init__(*args, **fields)

    def _show_or_dump(self, *args: Any, **kwargs: Any) -> str | None:
        self.shown = True
        try:
            return super()._show_or_dump(*args, **kwargs)
        finally:
            self.shown = False

    def amqp(self) -> Body:
        """The composite value."""
        values = (plain(self.getfieldval(f.name)) for f in self.fields_desc)
        return restore(self.row.name, [*values, *self.beyond], {})

    def take(self, value: Value) -> bool:
        """Fill the fields with what was on the wire, also of a wrong type."""
        if not isinstance(value, BODIES[self.row.name]):
            return False
        for place, field in enumerate(self.fields_desc):
            item = value.wire(place)
            if item is not None:
                self.fields[field.name] = layer_of(item) if isinstance(item, Body) else item
        self.beyond = tuple(value[len(self.row.fields) :])
        self.explicit = 1
        return True

    def copy(self) -> AMQPComposite:
        """Copy what scapy does not know of, too."""
        clone: AMQPComposite = super().copy()
        clone.beyond = self.beyond
        return clone

    def clone_with(self, payload: Any = None, **kargs: Any) -> Any:
        """Same."""
        clone = super().clone_with(payload, **kargs)
        clone.beyond = self.beyond
        return clone


class AMQPDescribed(AMQPLayer):
    """A frame's body under a descriptor that is no composite type's."""

    name = "described"
    fields_desc: ClassVar[list[AnyField]] = [
        ValueField(rows.Field("descriptor", "*")),
        ValueField(rows.Field("value", "*")),
    ]

    def amqp(self) -> Described:
        """The described value."""
        return Described(plain(self.descriptor), plain(self.value))

    def take(self, value: Value) -> bool:
        """Take descriptor and value apart."""
        if not isinstance(value, Described):
            return False
        self.fields |= {"descriptor": value.descriptor, "value": natural(value.value, ANY)}
        self.explicit = 1
        return True


ANY: Final = rows.Field("value", "*")


class AMQPSection(AMQPLayer):
    """A message section that is one described value; each row has its subclass."""

    row: ClassVar[rows.Restricted]

    def amqp(self) -> Described:
        """The section as a described value."""
        return Described(Ulong(self.row.code or 0), plain(self.value))

    def take(self, value: Value) -> bool:
        """Take the value out of its description."""
        if not isinstance(value, Described) or section_code(value.descriptor) != self.row.code:
            return False
        self.fields["value"] = natural(value.value, ANY)
        self.explicit = 1
        return True


def _class_name(name: str) -> str:
    if name == "header":
        return "AMQPMessageHeader"  # AMQPHeader is the protocol's
    return "AMQP" + name.removeprefix("amqp-").title().replace("-", "")


def _composite(row: rows.Composite) -> type[AMQPComposite]:
    members = {
        "_name": row.name,
        "row": row,
        "fields_desc": [ValueField(field) for field in row.fields],
        "__module__": __name__,
        "__doc__": f"The composite type `{row.name}`.",
    }
    made = Packet_metaclass(_class_name(row.name), (AMQPComposite,), members)
    if "name" in {field.name for field in row.fields}:
        type.__setattr__(made, "name", property(_get_name, _set_name))
    return cast("type[AMQPComposite]", made)


# Packets have an attribute `name`, the layer's, that would hide the name of a link.


def _get_name(layer: AMQPComposite) -> Value:
    return layer._name if layer.shown else layer.getfieldval("name")


def _set_name(layer: AMQPComposite, value: Value) -> None:
    try:
        Packet.default_fields.__get__(layer)  # type: ignore[attr-defined]
    except AttributeError:
        return  # scapy names the layer before it has any fields
    layer.setfieldval("name", value)


def _section(row: rows.Restricted) -> type[AMQPSection]:
    members = {
        "_name": row.name,
        "row": row,
        "fields_desc": [ValueField(rows.Field("value", row.name))],
        "__module__": __name__,
        "__doc__": f"The message section `{row.name}`.",
    }
    return cast(
        "type[AMQPSection]", Packet_metaclass(_class_name(row.name), (AMQPSection,), members)
    )


LAYERS: Final = {row.name: _composite(row) for row in COMPOSITES}
"""The layer of each composite type, by the spec's name."""

SECTION_LAYERS: Final[dict[int, type[AMQPLayer]]] = {
    **{row.code: LAYERS[row.name] for row in COMPOSITES if "section" in row.provides},
    **{row.code: _section(row) for row in RESTRICTED if row.code is not None},
}
"""The layer of each message section, by descriptor."""

MADE: Final = {made.__name__: made for made in (*LAYERS.values(), *SECTION_LAYERS.values())}
globals().update(MADE)

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[AMQPLayer]:
        """Whatever class the rows make."""


# Lists of packets: sections of a message, units past the chain.


class SectionsField(PacketListField):
    """The sections of a message."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[BasePacket]]:
        """Take sections off the front, as far as they are whole and known."""
        found: list[BasePacket] = []
        at = 0
        for section in walk(s)[0]:
            made = SECTION_LAYERS.get(section.code)
            if made is None:
                break
            found.append(made(s[section.start : section.stop]))
            at = section.stop
        return s[at:], found


class UnitsField(PacketListField):
    """Headers and frames, one after the other."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[BasePacket]]:
        """Cut all octets into units; the last one may be cut short."""
        found: list[BasePacket] = []
        at = 0
        while at < len(s):
            size = extent(s, at)
            if size <= 0:
                break
            found.append(AMQP(s[at : at + size]))
            at += size
        return s[at:], found


class _List(Packet):
    """A packet that only holds others, each of which knows itself whether it was changed."""

    def do_dissect(self, s: bytes) -> bytes:
        rest = super().do_dissect(s)
        self.raw_packet_cache = None
        return rest


class AMQPMessage(_List):
    """The payload of a transfer: a message, or the part of it that this transfer holds."""

    name = "message"
    fields_desc: ClassVar[list[AnyField]] = [SectionsField("sections", [])]

    def mysummary(self) -> Any:
        """Name the sections."""
        said = " ".join(section._name for section in self.sections)
        return f"message [{said}]", list(SUMMARISED)


class AMQPUnits(_List):
    """The headers and frames that were too many to be chained."""

    name = "AMQP units"
    fields_desc: ClassVar[list[AnyField]] = [UnitsField("units", [])]

    def mysummary(self) -> Any:
        """Count them."""
        return f"{len(self.units)} more units", list(SUMMARISED)


class AMQPRest(Raw):
    """Octets behind a frame, no part of it, that are no unit."""

    name = "AMQP rest"


def message_class(payload: bytes) -> type[Packet]:
    """The class for a transfer's payload: a message only where a section begins."""
    try:
        known = section_at(payload, 0, len(payload)).code in SECTION_LAYERS
    except Malformed:
        known = False
    return AMQPMessage if known else Raw


# Units: headers and frames.


def extent(data: bytes, at: int = 0) -> int:
    """Like `measure`, but the start of a frame must also look like one, not like AMQP 0-9-1."""
    size = measure(data, at, len(data))
    if at + size > len(data) >= at + HEADER_SIZE and data[at + 4] * 4 < HEADER_SIZE:
        return DAMAGED
    return size


class _Unit(Packet):
    """What a stream is made of; further units are chained below the first."""

    def dissect(self, s: bytes) -> None:
        size = extent(s)
        super().dissect(s[:size])
        if size < len(s):
            follow(self, s[size:])


def follow(first: Packet, rest: bytes) -> None:
    """Chain the units in `rest` below the first one."""
    last = first.lastlayer()
    for _ in range(MAX_CHAIN - 1):
        size = extent(rest)
        if size <= 0 or len(rest) < HEADER_SIZE:
            break
        unit = AMQP(rest[:size], _internal=1)
        last.add_payload(unit)
        last = unit.lastlayer()
        rest = rest[size:]
    if rest:
        more = extent(rest) > 0 and len(rest) >= HEADER_SIZE
        last.add_payload((AMQPUnits if more else AMQPRest)(rest, _internal=1))


def units(packet: Packet) -> Iterator[Packet]:
    """All protocol headers and frames in a packet, in order."""
    layer: Packet = packet
    while not isinstance(layer, NoPayload):
        if isinstance(layer, _Unit):
            yield layer
        elif isinstance(layer, AMQPUnits):
            yield from layer.units
        layer = layer.payload


class AMQPHeader(_Unit):
    """A protocol header (spec 2.2, 5.2.1, 5.3.1)."""

    name = "AMQP header"
    fields_desc: ClassVar[list[AnyField]] = [
        StrFixedLenField("protocol", b"AMQP", 4),
        ByteEnumField("id", 0, PROTOCOL_IDS),
        ByteField("major", 1),
        ByteField("minor", 0),
        ByteField("revision", 0),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *_: Any, **__: Any) -> type[Packet]:
        """Leave alone what is no header."""
        whole = len(_pkt) >= HEADER_SIZE and _pkt[:4] == b"AMQP"
        return cls if whole or not _pkt else Raw

    def mysummary(self) -> Any:
        """Protocol and version."""
        said = self.sprintf("AMQPHeader %id% %major%.%minor%.%revision%")
        return said, list(SUMMARISED)


class ComputedField(Field[int, int]):
    """A number that follows from the rest of the frame, unless it is set."""

    def i2h(self, pkt: Packet | None, x: int | None) -> Any:
        """The number set, or else what it has to be."""
        return pkt.computed(self.name) if x is None and isinstance(pkt, AMQP) else x

    def i2m(self, pkt: Packet | None, x: int | None) -> int:
        """Same."""
        return int(self.i2h(pkt, x))


class ExtendedField(StrField):
    """The extended header, as long as the data offset can say."""

    def randval(self) -> RandBin:
        """Random octets."""
        return RandBin(RandNum(0, 4 * 253))


class AMQP(_Unit):
    """A frame (spec 2.3)."""

    name = "AMQP"
    fields_desc: ClassVar[list[AnyField]] = [
        ComputedField("size", None, "I"),
        ComputedField("doff", None, "B"),
        ByteEnumField("type", 0, {0: "amqp", 1: "sasl"}),
        ShortField("channel", 0),
        ExtendedField("extended", b""),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *_: Any, **__: Any) -> type[Packet]:
        """Tell headers from frames, and leave alone what is neither."""
        if not _pkt:
            return cls
        if len(_pkt) < HEADER_SIZE or extent(bytes(_pkt)) == DAMAGED:
            return Raw
        return AMQPHeader if _pkt[:4] == b"AMQP" else cls

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]
    ) -> Packet | None:
        """Give all whole units at once, and the octets behind them as padding."""
        # All at once, because TCPSession loses its place when there is padding twice in a segment.
        at, size = 0, MORE
        while at < len(data):
            size = extent(data, at)
            if size in {MORE, DAMAGED} or at + size > len(data):
                break
            at += size
        if at == len(data) or size == DAMAGED or metadata.get("tcp_end"):
            return cls(data)
        if at == 0:
            return None  # and no tcp_min_len, with which scapy would not tell of the stream's end
        whole = cls(data[:at])
        whole.lastlayer().add_payload(Padding(data[at:]))
        return whole

    def do_dissect(self, s: bytes) -> bytes:
        """Read the frame header; size and data offset are kept only where they are wrong."""
        size, doff = u32(s, 0), s[4]
        begin = min(max(doff * 4, HEADER_SIZE), len(s))
        self.fields |= {"type": s[5], "channel": u16(s, 6), "extended": s[HEADER_SIZE:begin]}
        if size != len(s):
            self.fields["size"] = size
        if doff * 4 != begin:
            self.fields["doff"] = doff
        self.explicit = 1
        return s[begin:]

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """The performative's layer, by its descriptor."""
        if self.type > SASL_FRAME or self.doff * 4 < HEADER_SIZE or payload[0] != 0:
            return Raw
        try:
            plan = plan_of(Reader(payload, 1).value(len(payload)))
        except Malformed:
            return Raw
        return AMQPDescribed if plan is None else LAYERS[plan.name]

    def inside(self) -> tuple[bytes, bytes]:
        """The octets below the frame header, and those of the units behind the frame."""
        parts = []
        layer = self.payload
        while isinstance(layer, AMQPLayer | AMQPMessage) or type(layer) is Raw:
            parts.append(layer.self_build())
            layer = layer.payload
        if isinstance(layer, _Unit | AMQPUnits | AMQPRest | Padding | NoPayload):
            return b"".join(parts), layer.do_build()
        return b"".join((*parts, layer.do_build())), b""

    def computed(self, name: str) -> int:
        """What size or data offset has to be."""
        extended = -(-len(self.extended) // 4)
        if name == "doff":
            return 2 + extended
        return HEADER_SIZE + 4 * extended + len(self.inside()[0])

    def head(self, body: int) -> bytes:
        """The frame header before a body of so many octets."""
        extended = bytes(self.extended)
        if self.getfieldval("doff") is None:
            extended += bytes(-len(extended) % 4)
        numbers = {name: self.getfieldval(name) for name in ("size", "doff", "type", "channel")}
        if numbers["size"] is None:
            numbers["size"] = HEADER_SIZE + len(extended) + body
        if numbers["doff"] is None:
            numbers["doff"] = 2 + len(extended) // 4
        head = b""
        for name, number in numbers.items():
            if isinstance(number, RawVal):
                head += bytes(number)
            else:
                head = self.get_field(name).addfield(self, head, number)
        return head + extended

    def self_build(self) -> bytes:
        """The frame header."""
        return self.head(len(self.inside()[0]))

    def do_build(self) -> bytes:
        """Frame and what is chained behind it; the body is built once, for it may be random."""
        packet = self if self.explicit else cast(AMQP, next(iter(self)))
        body, behind = packet.inside()
        return packet.head(len(body)) + body + behind

    def mysummary(self) -> Any:
        """Size and channel."""
        kind = {0: "", 1: " sasl"}.get(self.type, f" type={self.type}")
        empty = "" if isinstance(self.payload, AMQPLayer | Raw) else " empty"
        return f"AMQP{kind} channel={self.channel}{empty}", list(SUMMARISED)


SUMMARISED: Final = (AMQP, AMQPHeader, AMQPMessage, AMQPUnits, AMQPDescribed, *MADE.values())
"""The layers that say something in a summary."""

bind_bottom_up(TCP, AMQP, sport=PORT)
bind_bottom_up(TCP, AMQP, dport=PORT)
bind_layers(TCP, AMQP, sport=PORT, dport=PORT)
for _unit in (AMQPHeader, AMQPUnits):
    bind_top_down(TCP, _unit, sport=PORT, dport=PORT)
for _row in COMPOSITES:
    if "sasl-frame" in _row.provides:
        bind_top_down(AMQP, LAYERS[_row.name], type=SASL_FRAME)

__all__ = [
    "AMQP",
    "AMQPDescribed",
    "AMQPHeader",
    "AMQPMessage",
    "AMQPRest",
    "AMQPUnits",
    "ValueField",
    "units",
]
__all__ += list(MADE)
