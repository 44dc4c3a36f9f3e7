"""What both families are in scapy: units chained below each other, layers kept as they were.

A unit is a protocol header or a frame. Units that follow in the same octets are chained below the
first, as scapy does for TLS. A layer inside a frame is kept as it was on the wire until one of its
fields changes; then it is encoded again.

In scapy the names of classes are global, so those of 0-9 begin with `AMQP09` where 1.0 has `AMQP`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

from scapy.packet import NoPayload, Packet, Padding, Raw
from scapy.volatile import VolatileValue

from dissectors.values import Value
from dissectors.wire import DAMAGED, MORE

PORT: Final = 5672
MAX_CHAIN: Final = 32
"""Units chained below each other. scapy recurses over layers, and a segment can hold thousands of
frames; those past this number go into one layer of their own."""
MAX_TEXT: Final = 40
"""Characters of a value in a summary."""

SUMMARISED: Final[list[type[Packet]]] = []
"""The classes that say something in a summary: scapy asks each layer which others shall."""


def shorten(text: str) -> str:
    """Cut a text to a summary's length."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def fix(value: Value) -> Value:
    """A value in the place of a random object."""
    return value._fix() if isinstance(value, VolatileValue) else value


class Summarised(Packet):
    """A layer that says something in a summary, together with the others of a packet."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        SUMMARISED.append(cls)


class FramePart(Summarised):
    """A layer inside a frame."""


class KeptLayer(FramePart):
    """A layer that builds the octets that it was dissected from, until one of its fields changes.

    Names of fields come from the specification, so a method's name must not be one of them.
    """

    def encode_fields(self) -> bytes:
        """The octets that the fields make now."""
        raise NotImplementedError

    def fingerprint_field(self, name: str) -> bytes:
        """Octets by which a change inside a field's value shows."""
        raise NotImplementedError

    def keep_octets(self, octets: bytes, names: Iterable[str]) -> None:
        """Keep what the layer was dissected from; the fields named may change from within."""
        self.raw_packet_cache = octets
        self.raw_packet_cache_fields = {name: self.fingerprint_field(name) for name in names}

    def is_unchanged(self) -> bool:
        """Whether no value was changed from within (scapy notices when a field is set)."""
        known = self.raw_packet_cache_fields or {}
        return all(self.fingerprint_field(name) == was for name, was in known.items())

    def self_build(self) -> bytes:
        """Encode the fields, or give back the octets that they came from."""
        cached = self.raw_packet_cache
        if cached is not None and self.is_unchanged():
            return cached
        self.raw_packet_cache = None
        return self.encode_fields()

    def __iter__(self) -> Iterator[Packet]:
        fields = {**self.default_fields, **self.fields}
        fixed = {
            name: fix(value)
            for name, value in fields.items()
            if name in self.fields or isinstance(value, VolatileValue)
        }
        payloads = [None] if isinstance(self.payload, NoPayload) else self.payload
        for payload in payloads:
            yield self.clone_with(payload=payload, **fixed)

    def default_payload_class(self, payload: bytes) -> type[Packet]:
        """Octets behind the last field are opaque."""
        return Raw


class AMQPRest(Raw):
    """Octets behind a frame, no part of it, that are no unit."""

    name = "AMQP rest"


class AnyUnits(Summarised):
    """The headers and frames that were too many to be chained."""

    def list_units(self, frame: type[AnyFrame] | None) -> Iterator[Packet]:
        """Each of them; `frame` is the class of the last frame before them."""
        raise NotImplementedError


class AnyUnit(Summarised):
    """A protocol header or a frame."""

    more_units: ClassVar[type[AnyUnits]]
    """What holds the units past the chain."""

    @classmethod
    def extent(cls, data: bytes, at: int = 0) -> int:
        """The size of the unit that begins at `at`, or MORE, or DAMAGED."""
        raise NotImplementedError

    @classmethod
    def chained_size(cls, data: bytes) -> int:
        """The size of the unit at the start as far as it can be chained; 0 or less if not."""
        raise NotImplementedError

    def following(self) -> type[AnyUnit]:
        """The class of the units that follow this one."""
        raise NotImplementedError

    def dissect(self, s: bytes) -> None:
        """Dissect one unit, and chain those behind it."""
        size = self.extent(s)
        super().dissect(s[:size])
        if size < len(s):
            self.chain(s[size:])

    def chain(self, rest: bytes) -> None:
        """Put the units in `rest` below this one."""
        kind = self.following()
        last = self.lastlayer()
        for _ in range(MAX_CHAIN - 1):
            size = kind.chained_size(rest)
            if size <= 0:
                break
            unit = kind(rest[:size], _internal=1)
            last.add_payload(unit)
            last = unit.lastlayer()
            rest = rest[size:]
        if rest:
            more = kind.chained_size(rest) > 0
            last.add_payload((kind.more_units if more else AMQPRest)(rest, _internal=1))


class AnyFrame(AnyUnit):
    """A frame, and what it has inside."""

    @classmethod
    def connection_frame(cls, data: bytes, session: dict[str, Any]) -> type[AnyFrame]:
        """The class of the frames of a connection, by what its first octets said."""
        return cls

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]
    ) -> Packet | None:
        """Give all whole units at once, and the octets behind them as padding."""
        # All at once, because TCPSession loses its place when there is padding twice in a segment.
        frame = cls.connection_frame(data, session)
        at, size = 0, MORE
        while at < len(data):
            size = frame.extent(data, at)
            if size in {MORE, DAMAGED} or at + size > len(data):
                break
            at += size
        if at == len(data) or size == DAMAGED or metadata.get("tcp_end"):
            return frame(data)
        if at == 0:
            return None  # and no tcp_min_len, with which scapy would not report the stream's end
        whole = frame(data[:at])
        whole.lastlayer().add_payload(Padding(data[at:]))
        return whole

    def inside(self) -> tuple[bytes, bytes]:
        """The octets inside the frame, and those of the units behind it."""
        parts = []
        layer = self.payload
        while isinstance(layer, FramePart) or type(layer) is Raw:
            parts.append(layer.self_build())
            layer = layer.payload
        if isinstance(layer, AnyUnit | AnyUnits | AMQPRest | Padding | NoPayload):
            return b"".join(parts), layer.do_build()
        return b"".join((*parts, layer.do_build())), b""


def units(packet: Packet) -> Iterator[Packet]:
    """All protocol headers and frames in a packet, in order."""
    layer: Packet = packet
    frame: type[AnyFrame] | None = None
    while not isinstance(layer, NoPayload):
        if isinstance(layer, AnyFrame):
            frame = type(layer)
        if isinstance(layer, AnyUnit):
            yield layer
        elif isinstance(layer, AnyUnits):
            yield from layer.list_units(frame)
        layer = layer.payload
