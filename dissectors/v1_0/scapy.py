"""AMQP 1.0 for scapy: protocol headers and frames (see `dissectors.scapy_layers`).

`AMQP` is a frame, `AMQPHeader` a protocol header. Below a frame comes the layer of its performative
(see `scapy_layers`). The payload of a transfer is an `AMQPMessage` with a list of sections as far
as they can be told apart, and `Raw` from there on. The frame's size and data offset follow from
what is inside, unless they are set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

from scapy.base_classes import BasePacket
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
from scapy.packet import Packet, Raw, bind_top_down
from scapy.volatile import RandBin, RandNum

from dissectors.errors import Malformed
from dissectors.scapy_units import PORT, SUMMARISED, AnyFrame, AnyUnit, AnyUnits
from dissectors.v1_0.codec import Reader
from dissectors.v1_0.framing import SASL_FRAME, measure
from dissectors.v1_0.plans import plan_of
from dissectors.v1_0.scapy_layers import LAYERS, AMQPDescribed, AMQPLayer
from dissectors.v1_0.tables import COMPOSITES
from dissectors.wire import DAMAGED, HEADER_SIZE, MAGIC, PROTOCOL_IDS, u16, u32


class UnitsField(PacketListField):
    """Headers and frames, one after the other."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[BasePacket]]:
        """Cut all octets into units; the last one may be cut short."""
        found: list[BasePacket] = []
        at = 0
        while at < len(s):
            size = AMQP.extent(s, at)
            if size <= 0:
                break
            found.append(AMQP(s[at : at + size]))
            at += size
        return s[at:], found


class AMQPUnits(AnyUnits):
    """The headers and frames that were too many to be chained."""

    name = "AMQP units"
    fields_desc: ClassVar[list[AnyField]] = [UnitsField("units", [])]

    def do_dissect(self, s: bytes) -> bytes:
        """Dissect the units, each of which knows itself whether it was changed."""
        rest = super().do_dissect(s)
        self.raw_packet_cache = None
        return rest

    def list_units(self, frame: type[AnyFrame] | None) -> Iterator[Packet]:
        """Each of them."""
        return iter(self.units)

    def mysummary(self) -> Any:
        """Count them."""
        return f"{len(self.units)} more units", SUMMARISED


class _Unit(AnyUnit):
    """A unit of 1.0."""

    more_units = AMQPUnits

    @classmethod
    def extent(cls, data: bytes, at: int = 0) -> int:
        """Like `measure`, but the start of a frame must also look like one, not like 0-9-1."""
        size = measure(data, at, len(data))
        if at + size > len(data) >= at + HEADER_SIZE and data[at + 4] * 4 < HEADER_SIZE:
            return DAMAGED
        return size

    @classmethod
    def chained_size(cls, data: bytes) -> int:
        """The size of the unit at the start, which may be cut short behind its header."""
        return cls.extent(data) if len(data) >= HEADER_SIZE else 0

    def following(self) -> type[AnyUnit]:
        """Frames of 1.0."""
        return AMQP


class AMQPHeader(_Unit):
    """A protocol header (spec 2.2, 5.2.1, 5.3.1)."""

    name = "AMQP header"
    fields_desc: ClassVar[list[AnyField]] = [
        StrFixedLenField("protocol", MAGIC, 4),
        ByteEnumField("id", 0, PROTOCOL_IDS),
        ByteField("major", 1),
        ByteField("minor", 0),
        ByteField("revision", 0),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *_: Any, **__: Any) -> type[Packet]:
        """Leave alone what is no header."""
        whole = len(_pkt) >= HEADER_SIZE and _pkt[:4] == MAGIC
        return cls if whole or not _pkt else Raw

    def mysummary(self) -> Any:
        """Protocol and version."""
        said = self.sprintf("AMQPHeader %id% %major%.%minor%.%revision%")
        return said, SUMMARISED


class ComputedField(Field[int, int]):
    """A number that follows from the rest of the frame, unless it is set."""

    def i2h(self, pkt: Packet | None, x: int | None) -> Any:
        """The number set, or else what it has to be."""
        return pkt.computed(self.name) if x is None and isinstance(pkt, AMQP) else x

    def i2m(self, pkt: Packet | None, x: int | None) -> int:
        """The number as it is on the wire."""
        return int(self.i2h(pkt, x))


class ExtendedField(StrField):
    """The extended header, as long as the data offset can say."""

    def randval(self) -> RandBin:
        """Random octets."""
        return RandBin(RandNum(0, 4 * 253))


class AMQP(AnyFrame, _Unit):
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
        """Distinguish headers from frames, and leave alone what is neither."""
        if not _pkt:
            return cls
        if len(_pkt) < HEADER_SIZE or cls.extent(bytes(_pkt)) == DAMAGED:
            return Raw
        return AMQPHeader if _pkt[:4] == MAGIC else cls

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
        return f"AMQP{kind} channel={self.channel}{empty}", SUMMARISED


for _unit in (AMQPHeader, AMQPUnits):
    bind_top_down(TCP, _unit, sport=PORT, dport=PORT)
for _row in COMPOSITES:
    if "sasl-frame" in _row.provides:
        bind_top_down(AMQP, LAYERS[_row.name], type=SASL_FRAME)
