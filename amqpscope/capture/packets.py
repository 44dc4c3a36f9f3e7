"""From a captured packet to its TCP segment: link layer, VLAN tags, IPv4 and IPv6.

`Packets.segment` looks at one packet inside a larger block of octets, so nothing is copied but the
payload. A packet that is no TCP segment is counted under the reason and left out. `end` is always
where the captured octets end, `wire_end` where the packet ended on the wire.
"""

from __future__ import annotations

from typing import Final

from amqpscope.capture.fragments import Fragments
from amqpscope.stream.types import Segment

NULL: Final = 0
ETHERNET: Final = 1
RAW_BSD: Final = 12
RAW_OPENBSD: Final = 14
RAW: Final = 101
LOOP: Final = 108
LINUX_SLL: Final = 113
RAW_IPV4: Final = 228
RAW_IPV6: Final = 229
LINUX_SLL2: Final = 276

IPV4: Final = 0x0800
IPV6: Final = 0x86DD
VLAN_TAGS: Final = (0x8100, 0x88A8, 0x9100, 0x9200)
AF_INET6: Final = (10, 24, 28, 30)
"""Linux, NetBSD and OpenBSD, FreeBSD, macOS."""

TCP: Final = 6
FRAGMENT: Final = 44
AUTHENTICATION: Final = 51
SKIPPED_HEADERS: Final = (0, 43, 60, 135, 139, 140)
"""IPv6 extension headers whose second octet is their length in units of 8 octets, less one."""

NOT_IP: Final = "not IP"
NOT_TCP: Final = "not TCP"
CUT_OFF: Final = "cut off before the end of the headers"
MALFORMED: Final = "malformed headers"


def _u16(data: bytes, at: int) -> int:
    return data[at] << 8 | data[at + 1]


def _u32(data: bytes, at: int) -> int:
    return data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]


MAX_COMMENTS: Final = 10_000
MAX_COMMENT: Final = 10_000
"""Comments that are kept of a capture, and characters of each."""


class Packets:
    """Takes packets apart and counts those that are of no use."""

    def __init__(self) -> None:
        self.count = 0
        self.skipped: dict[str, int] = {}
        self.notes: list[str] = []
        """What the user should know about packets that were left out, a line each."""
        self.comments: list[tuple[int, str]] = []
        """What people have noted about packets, by their numbers, as far as it is kept."""
        self._fragments = Fragments()

    def skip(self, reason: str) -> None:
        """Count a packet that holds no segment."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def note(self, text: str) -> None:
        """Show the user a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def comment(self, packet: int, text: str) -> None:
        """Keep what somebody has noted about a packet."""
        if text and len(self.comments) < MAX_COMMENTS:
            self.comments.append((packet, text[:MAX_COMMENT]))

    def segment(
        self, link: int, time: int, data: bytes, at: int, end: int, wire_end: int
    ) -> Segment | None:
        """The TCP segment in the packet `data[at:end]`, if there is one."""
        self.count += 1
        kind, at = _network(link, data, at, end)
        while kind != IPV4 and kind in VLAN_TAGS and end - at >= 4:
            kind = _u16(data, at + 2)
            at += 4
        if kind == IPV4:
            return self._ipv4(time, data, at, end, wire_end)
        if kind == IPV6:
            return self._ipv6(time, data, at, end, wire_end)
        self.skip(CUT_OFF if kind == -1 else f"link type {link}" if kind == -2 else NOT_IP)
        return None

    def _ipv4(self, time: int, data: bytes, at: int, end: int, wire_end: int) -> Segment | None:
        if end - at < 20:
            self.skip(CUT_OFF)
            return None
        if data[at + 9] != TCP:
            self.skip(NOT_TCP)
            return None
        header = (data[at] & 15) * 4
        total = _u16(data, at + 2)
        # Segmentation offload leaves the length 0: the packet was not made yet when captured.
        stop = at + total if total else wire_end
        tcp = at + header
        if data[at] >> 4 != 4 or header < 20 or stop < tcp:
            self.skip(MALFORMED)
            return None
        stop = min(stop, wire_end)
        position = _u16(data, at + 6) & 0x3FFF
        if position:
            if stop > end:
                self.skip(CUT_OFF)
                return None
            name = data[at + 12 : at + 20] + data[at + 4 : at + 6]
            more = position & 0x2000 != 0
            whole = self._fragments.add(name, (position & 0x1FFF) * 8, data[tcp:stop], more)
            if not whole:
                return None
            return self._tcp(time, whole, 0, len(whole), len(whole), data[at + 12 : at + 20])
        return self._tcp(time, data, tcp, end, stop, data[at + 12 : at + 20])

    def _ipv6(self, time: int, data: bytes, at: int, end: int, wire_end: int) -> Segment | None:
        if end - at < 40:
            self.skip(CUT_OFF)
            return None
        length = _u16(data, at + 4)
        # 0: a jumbogram, or segmentation offload as for IPv4.
        stop = min(at + 40 + length if length else wire_end, wire_end)
        addresses = data[at + 8 : at + 40]
        header = data[at + 6]
        at += 40
        while header != TCP:
            if end - at < 8:
                self.skip(NOT_TCP if header not in SKIPPED_HEADERS else CUT_OFF)
                return None
            following = data[at]
            if header in SKIPPED_HEADERS:
                at += (data[at + 1] + 1) * 8
            elif header == AUTHENTICATION:
                at += (data[at + 1] + 2) * 4
            elif header == FRAGMENT:
                position = _u16(data, at + 2)
                if position & 0xFFF9:
                    return self._fragment6(time, data, at, end, stop, addresses)
                at += 8
            else:
                self.skip(NOT_TCP)
                return None
            header = following
        return self._tcp(time, data, at, end, stop, addresses)

    def _fragment6(
        self, time: int, data: bytes, at: int, end: int, stop: int, addresses: bytes
    ) -> Segment | None:
        if data[at] != TCP:
            self.skip(NOT_TCP)
            return None
        if stop > end:
            self.skip(CUT_OFF)
            return None
        position = _u16(data, at + 2)
        name = addresses + data[at + 4 : at + 8]
        more = position & 1 != 0
        whole = self._fragments.add(name, position & 0xFFF8, data[at + 8 : stop], more)
        if not whole:
            return None
        return self._tcp(time, whole, 0, len(whole), len(whole), addresses)

    def _tcp(
        self, time: int, data: bytes, at: int, end: int, stop: int, addresses: bytes
    ) -> Segment | None:
        """The segment at `at`, which ends at `stop` on the wire and at `end` in the capture."""
        end = min(end, stop)
        if end - at < 20:
            self.skip(CUT_OFF if stop > end else MALFORMED)
            return None
        start = at + (data[at + 12] >> 4) * 4
        if start < at + 20 or start > stop:
            self.skip(MALFORMED)
            return None
        end = max(start, end)
        return Segment(
            self.count,
            time,
            addresses + data[at : at + 4],
            _u32(data, at + 4),
            _u32(data, at + 8),
            data[at + 13],
            _u16(data, at + 14),
            data[start:end],
            stop - end,
        )


def _network(link: int, data: bytes, at: int, end: int) -> tuple[int, int]:
    """The EtherType and where its data begins; -1: cut off, -2: a link type not known here."""
    size = end - at
    if link == ETHERNET:
        return (_u16(data, at + 12), at + 14) if size >= 14 else (-1, at)
    if link == LINUX_SLL:
        return (_u16(data, at + 14), at + 16) if size >= 16 else (-1, at)
    if link == LINUX_SLL2:
        return (_u16(data, at), at + 20) if size >= 20 else (-1, at)
    if link in (NULL, LOOP):
        return (_loopback(data, at), at + 4) if size >= 4 else (-1, at)
    if link in (RAW, RAW_BSD, RAW_OPENBSD):
        if size < 1:
            return -1, at
        version = data[at] >> 4
        return IPV4 if version == 4 else IPV6 if version == 6 else 0, at
    if link == RAW_IPV4:
        return IPV4, at
    if link == RAW_IPV6:
        return IPV6, at
    return -2, at


def _loopback(data: bytes, at: int) -> int:
    """The EtherType for an address family in the byte order of the machine that captured."""
    family = _u32(data, at)
    if family > 0xFFFF:
        family = family >> 24 | (family >> 8 & 0xFF00)
    if family == 2:
        return IPV4
    return IPV6 if family in AF_INET6 else 0
