"""The two capture file formats, pcap and pcapng, as streams of records.

A `Format` is given a block of octets and takes the whole records at its beginning; `need` then says
how many octets the next one has. Octets that make no sense raise `Damage` with their place.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from amqpscope.capture.packets import Packets
from amqpscope.stream.marks import CARRIER, COPY, FAULT
from amqpscope.stream.types import INSIDE_TLS, MARKED, Segment

if TYPE_CHECKING:
    from mypy_extensions import i64

MAX_RECORD: Final = 16 << 20
"""No tool writes larger records (Wireshark refuses them too), so a larger length is damage."""
MAX_TIME: Final = (1 << 63) - 1
"""In the year 2262; absurd clocks stop there."""

NEAR: Final = 1 << 61
"""Nanoseconds up to the year 2043, which are no large numbers."""

PCAP_MAGICS: Final = {
    # octets              byte order  ns per tick  record header
    b"\xd4\xc3\xb2\xa1": ("<", 1000, 16),
    b"\xa1\xb2\xc3\xd4": (">", 1000, 16),
    b"\x4d\x3c\xb2\xa1": ("<", 1, 16),
    b"\xa1\xb2\x3c\x4d": (">", 1, 16),
    b"\x34\xcd\xb2\xa1": ("<", 1000, 24),
    b"\xa1\xb2\xcd\x34": (">", 1000, 24),
}
"""The last two are Kuznetzov's variant of old Linux distributions, with 8 octets more a record."""

SECTION_HEADER: Final = 0x0A0D0D0A
SECTION_MAGIC: Final = b"\x0a\x0d\x0d\x0a"
INTERFACE: Final = 1
OBSOLETE_PACKET: Final = 2
SIMPLE_PACKET: Final = 3
ENHANCED_PACKET: Final = 6
COMMENT: Final = 1
OUR_COMMENT: Final = b"amqpscope "
SECRETS: Final = 10
TLS_KEY_LOG: Final = 0x544C534B
IF_NAME: Final = 2
IF_TSRESOL: Final = 9
IF_TSOFFSET: Final = 14

MAX_INTERFACES: Final = 1 << 20
"""Interfaces of a section that are remembered; equal ones are one object."""
MAX_KINDS: Final = 1 << 16
"""Those among them that differ from each other."""
MAX_SECRETS: Final = 64 << 20
"""Octets of TLS key logs that are remembered."""
TOO_MANY: Final = "interface beyond the most that are remembered"
NOT_DESCRIBED: Final = "interface without a description"


def word(data: bytes, at: i64, big: bool) -> i64:
    """Four octets as a number: every packet has several, too many to make objects of them."""
    if big:
        return data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24


class Damage(Exception):
    """The record at `at` of the block cannot be right."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(at, message)
        self.at = at
        self.message = message


class Format:
    """A file format while it is being read."""

    def __init__(self, packets: Packets, secrets: list[bytes]) -> None:
        self.packets = packets
        self.secrets = secrets
        self.need = 0
        """Octets that the record at the end of the last `take` needs."""

    def take(self, data: bytes, out: list[Segment]) -> int:
        """Read the whole records at the beginning of `data`; where the first cut one begins."""
        raise NotImplementedError


class Pcap(Format):
    """The classic format: a file header and then one record a packet."""

    def __init__(self, packets: Packets, secrets: list[bytes]) -> None:
        super().__init__(packets, secrets)
        self.need = 24
        self._started = False
        self._link = 0
        self._tick = 0
        self._header = 16
        self._big = False

    def take(self, data: bytes, out: list[Segment]) -> int:
        """Read the whole records at the beginning of `data`."""
        at = 0
        if not self._started:
            if len(data) < 24:
                return 0
            order, self._tick, self._header = PCAP_MAGICS[data[:4]]
            self._big = order == ">"
            network = word(data, 20, self._big)
            self._link = network & 0xFFFF  # the upper half is about frame check sequences
            self._started = True
            at = 24
        size = len(data)
        header = self._header
        tick = self._tick
        link = self._link
        packets = self.packets
        big = self._big
        while size - at >= header:
            captured = word(data, at + 8, big)
            original = word(data, at + 12, big)
            if captured > MAX_RECORD:
                raise Damage(at, f"a packet of {captured} octets, expected at most {MAX_RECORD}")
            start = at + header
            end = start + captured
            if end > size:
                self.need = end - at
                return at
            time = word(data, at, big) * 1000000000 + word(data, at + 4, big) * tick
            wire_end = start + original if original > captured else end
            segment = packets.segment(link, time, data, start, end, wire_end)
            if segment is not None:
                out.append(segment)
            at = end
        self.need = header
        return at


class _Interface:
    __slots__ = ("divisor", "factor", "flags", "link", "near", "offset", "snaplen")

    def __init__(self, link: int, snaplen: int) -> None:
        self.link = link
        self.snaplen = snaplen
        self.factor = 1000
        """Nanoseconds a tick are `factor / divisor`."""
        self.divisor = 1
        self.near = NEAR // 1000
        """Ticks up to which no number is large."""
        self.offset = 0
        self.flags = 0
        """Added to those of each segment."""

    def nanoseconds(self, ticks: int) -> int:
        """The time of a packet; absurd ones stop at the ends of what can be kept."""
        if ticks < self.near:
            # As nearly all are: numbers that the processor multiplies by itself.
            count: i64 = ticks
            factor: i64 = self.factor
            time: int = count * factor
        else:
            time = ticks * self.factor // self.divisor
        time += self.offset
        return time if 0 <= time < NEAR else min(max(time, 0), MAX_TIME)

    def key(self) -> tuple[int, ...]:
        """What makes two interfaces equal."""
        return (self.link, self.snaplen, self.factor, self.divisor, self.offset, self.flags)


UNKNOWN: Final = _Interface(-1, 0)
"""Stands for one that is not remembered."""


class Pcapng(Format):
    """The newer format: sections of blocks, with interfaces, options and secrets."""

    def __init__(self, packets: Packets, secrets: list[bytes]) -> None:
        super().__init__(packets, secrets)
        self.need = 12
        self._interfaces: list[_Interface] = []
        self._declared = 0
        """How many the section has described; a file can describe millions that it never uses."""
        self._kinds: dict[tuple[int, ...], _Interface] = {}
        self._secret_octets = sum([len(text) for text in secrets])
        self._time = 0
        self._use("<")

    def _use(self, order: str) -> None:
        """Read numbers in this byte order from now on: each section has its own."""
        self._big = order == ">"
        self._obsolete = Struct(order + "HHIIII")
        self._pair = Struct(order + "HH")
        self._int64 = Struct(order + "q")

    def take(self, data: bytes, out: list[Segment]) -> int:
        """Read the whole blocks at the beginning of `data`."""
        at = 0
        size = len(data)
        while size - at >= 12:
            if data[at] == 0x0A and data[at : at + 4] == SECTION_MAGIC:
                self._begin_section(data, at)
            kind = word(data, at, self._big)
            length = word(data, at + 4, self._big)
            if length < 12 or length % 4 or length > MAX_RECORD:
                raise Damage(
                    at,
                    f"a block of {length} octets, expected a multiple of 4 from 12 to {MAX_RECORD}",
                )
            end = at + length
            if end > size:
                self.need = length
                return at
            again = word(data, end - 4, self._big)
            if again != length:
                raise Damage(at, f"a block of {length} octets that ends with the length {again}")
            if kind == ENHANCED_PACKET:
                self._enhanced_packet(data, at, end - 4, out)
            else:
                self._other(kind, data, at, end - 4, out)
            at = end
        self.need = 12
        return at

    def _begin_section(self, data: bytes, at: int) -> None:
        magic = data[at + 8 : at + 12]
        if magic == b"\x4d\x3c\x2b\x1a":
            self._use("<")
        elif magic == b"\x1a\x2b\x3c\x4d":
            self._use(">")
        else:
            raise Damage(
                at, f"byte-order magic {magic.hex(' ')} of a section, expected 1a 2b 3c 4d"
            )

    def _other(self, kind: int, data: bytes, at: int, end: int, out: list[Segment]) -> None:
        """A block that is no enhanced packet; `end` is that of its body."""
        if kind == SECTION_HEADER:
            self._interfaces = []
            self._declared = 0
            self._kinds = {}
        elif kind == INTERFACE:
            self._interface(data, at, end)
        elif kind == SIMPLE_PACKET:
            self._simple_packet(data, at, end, out)
        elif kind == OBSOLETE_PACKET:
            self._obsolete_packet(data, at, end, out)
        elif kind == SECRETS and end - at >= 16:
            length = word(data, at + 12, self._big)
            if word(data, at + 8, self._big) == TLS_KEY_LOG:
                self._key_log(data[at + 16 : min(end, at + 16 + length)])

    def _key_log(self, text: bytes) -> None:
        """Keep a key log, unless it says nothing new or there are too many."""
        if not text or (self.secrets and text == self.secrets[-1]):
            return
        if self._secret_octets + len(text) > MAX_SECRETS:
            self.packets.note(
                f"TLS secrets in the capture beyond the first {MAX_SECRETS >> 20} MB are not used"
            )
            return
        self._secret_octets += len(text)
        self.secrets.append(text)

    def _interface(self, data: bytes, at: int, end: int) -> None:
        _enough(at, end, 16, "an interface description")
        link, _ = self._pair.unpack_from(data, at + 8)
        snaplen = word(data, at + 12, self._big)
        interface = _Interface(link, snaplen)
        self._options(interface, data, at + 16, end)
        self._declared += 1
        if self._declared > MAX_INTERFACES:
            return
        known = self._kinds.get(interface.key())
        if known is None:
            if len(self._kinds) < MAX_KINDS:
                self._kinds[interface.key()] = interface
            else:
                interface = UNKNOWN
            known = interface
        self._interfaces.append(known)

    def _options(self, interface: _Interface, data: bytes, at: int, end: int) -> None:
        while end - at >= 4:
            code, length = self._pair.unpack_from(data, at)
            value = data[at + 4 : min(end, at + 4 + length)]
            if code == IF_TSRESOL and len(value) == 1:
                _set_resolution(interface, value[0])
            elif code == IF_TSOFFSET and len(value) == 8:
                interface.offset = self._int64.unpack(value)[0] * 1000000000
            elif code == IF_NAME and value == b"amqpscope proxy, TLS removed":
                interface.flags = INSIDE_TLS
            elif code == 0:
                return
            at += 4 + (length + 3 & ~3)

    def _enhanced_packet(self, data: bytes, at: int, end: int, out: list[Segment]) -> None:
        _enough(at, end, 28, "a packet block")
        big = self._big
        captured = word(data, at + 20, big)
        _enough(at, end, 28 + captured, "a packet block")
        number = word(data, at + 8, big)
        high: int = word(data, at + 12, big)  # and not i64: together they may have 64 bits
        low: int = word(data, at + 16, big)
        original = word(data, at + 24, big)
        count = len(out)
        self._packet(number, high << 32 | low, data, at + 28, captured, original, out)
        behind = at + 28 + (captured + 3 & ~3)
        if end - behind > 4 and len(out) > count:
            self._comment(data, behind, end, out[count])

    def _comment(self, data: bytes, at: int, end: int, segment: Segment) -> None:
        """What a proxy of ours, or a person, has noted about a packet."""
        while at + 4 <= end:
            code, length = self._pair.unpack_from(data, at)
            if code == 0 or length > end - at - 4:
                return
            if code == COMMENT:
                text = data[at + 4 : at + 4 + length].decode("utf-8", "replace")
                ours = data[at + 4 : at + 14] == OUR_COMMENT
                if ours and (text == COPY or text.startswith((FAULT, CARRIER))):
                    segment.comment = text
                    segment.flags |= MARKED
                else:
                    self.packets.comment(segment.packet, text)
            at += 4 + (length + 3 & ~3)

    def _obsolete_packet(self, data: bytes, at: int, end: int, out: list[Segment]) -> None:
        _enough(at, end, 28, "a packet block")
        number, _, high, low, captured, original = self._obsolete.unpack_from(data, at + 8)
        _enough(at, end, 28 + captured, "a packet block")
        self._packet(number, high << 32 | low, data, at + 28, captured, original, out)

    def _simple_packet(self, data: bytes, at: int, end: int, out: list[Segment]) -> None:
        """A packet of the first interface, without a time: it gets that of the packet before."""
        _enough(at, end, 12, "a simple packet block")
        original = word(data, at + 8, self._big)
        captured = original
        if self._interfaces and self._interfaces[0].snaplen:
            captured = min(original, self._interfaces[0].snaplen)
        _enough(at, end, 12 + captured, "a simple packet block")
        self._packet(0, -1, data, at + 12, captured, original, out)

    def _packet(
        self,
        number: int,
        ticks: int,
        data: bytes,
        start: int,
        captured: int,
        original: int,
        out: list[Segment],
    ) -> None:
        interface = self._interfaces[number] if number < len(self._interfaces) else UNKNOWN
        if interface is UNKNOWN:
            self.packets.count += 1
            reason = TOO_MANY if number < self._declared else NOT_DESCRIBED
            self.packets.skip(reason)
            self.packets.note(f"packets were left out: {reason}")
            return
        if ticks >= 0:
            self._time = interface.nanoseconds(ticks)
        end = start + captured
        wire_end = start + original if original > captured else end
        packets = self.packets
        segment = packets.segment(interface.link, self._time, data, start, end, wire_end)
        if segment is not None:
            segment.flags |= interface.flags
            out.append(segment)


def _enough(at: int, end: int, size: int, what: str) -> None:
    if end - at < size:
        raise Damage(at, f"{what} that needs {size} octets has {end - at}")


def _set_resolution(interface: _Interface, value: int) -> None:
    """A power of ten, or of two when the top bit is set."""
    per_second = 1 << (value & 0x7F) if value & 0x80 else 10**value
    if 1000000000 % per_second == 0:
        interface.factor = 1000000000 // per_second
        interface.divisor = 1
    else:
        interface.factor = 1000000000
        interface.divisor = per_second
    interface.near = NEAR // interface.factor if interface.divisor == 1 else 0
