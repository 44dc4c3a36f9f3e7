"""The recording: octets that pass become TCP packets, appended to a file once per loop turn.

Octets are received right into the arena, behind the room for their headers, so that a turn's
packets are one contiguous write without a copy. The section is big-endian: then the headers of
pcapng, Ethernet, IP and TCP are one call of `struct`.

A disk that is full, a file that is removed or cut: the traffic goes on, the user is told at once,
what is lost is counted, and recording goes on as soon as it can.

A packet's ACK number says what had been written to its sender before its octets were read: so much
and no more may the sender have known.
"""

from __future__ import annotations

import os
import struct
import time
from typing import Final

from amqpscope.proxy.files import (
    NEVER,
    SECOND,
    TLS_REMOVED,
    Files,
    RecordingError,
    option,
    secrets_block,
    whole_blocks,
)
from amqpscope.proxy.flow import HEADERS_4, U32, Address, Flow, flows
from amqpscope.stream.marks import COPY
from amqpscope.stream.types import ACK, FIN, RST, SYN
from amqpscope.wording import plural, reason_of

__all__ = ["TLS_REMOVED", "Address", "Flow", "Recording", "flows"]

PAYLOAD: Final = 65_495
"""Octets of payload in one packet: IPv4 can count so many behind 40 octets of headers."""
ARENA: Final = 1 << 20
FULL: Final = ARENA - 2 * (PAYLOAD + 256)
"""Beyond this the arena must be written before more is received."""

NO_OPTIONS: Final = 0x5000
WITH_OPTIONS: Final = 0x7000
DATA: Final = NO_OPTIONS | ACK | 0x08
END: Final = NO_OPTIONS | FIN | ACK
RESET: Final = NO_OPTIONS | RST | ACK
PLAIN_ACK: Final = NO_OPTIONS | ACK
HELLO: Final = WITH_OPTIONS | SYN
HELLO_BACK: Final = WITH_OPTIONS | SYN | ACK
WINDOW: Final = 65535
OPTIONS: Final = b"\x02\x04\xff\xd7\x01\x03\x03\x0e"
"""Our segment size, and the largest window scale: we do not see windows, so none may look full."""

_ENHANCED_PACKET: Final = 6
_MACS: Final = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"
_PACKET_4: Final = struct.Struct(">IIIIIII12sHHHHHHH8sHHIIHHHH")
_PACKET_6: Final = struct.Struct(">IIIIIII12sHIHH32sHHIIHHHH")
_COMMENT: Final = 1
LONGEST_COMMENT: Final = 200
"""Octets of a packet's comment."""
_SIZE: Final = struct.Struct(">I")
_TIME: Final = struct.Struct(">II")
_TIME_AT: Final = 12
"""Where a packet's block has its time."""
_TAILS: Final = [struct.Struct(f">{-size & 3}xI") for size in range(4)]
"""Padding and the block's length once more."""


class Recording:
    """Packets on their way to the file."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.buffer = bytearray(ARENA)
        self.view = memoryview(self.buffer)
        """What is received lands here, `head` octets behind `position`."""
        self.position = 0
        self.waiting = 0
        """Packets in the arena."""
        self.packets = 0
        """Written to all files so far."""
        self.lost = 0
        """Packets that are in no file, and should be."""
        self.octets = 0
        """Written to all files so far."""
        self.news: list[str] = files.news
        """What the user should know, one line each."""
        self.problem: str | None = None
        """Why the recording is not whole; None while it is."""
        self.time = time.time_ns()
        self._fd, self._size = files.begin()
        self._before = 0
        """Packets in the files before the one that is written now."""
        self._stopped = False
        """What passes cannot be written at present."""
        self._failed = ""
        """The last thing that went wrong beside writing."""
        self._lost_before = 0
        self._gone = False
        """Somebody has removed the file that is written now."""
        self.octets = self._size
        self._limit = files.octets
        """Octets at which the next file is due."""
        self._deadline = self.time + files.nanoseconds
        """When it is due in any case."""
        self._overdue = False
        """It could not be begun when it was due."""
        self._due = min(self._deadline, self.time + SECOND)
        """When to look at the file again, or at the clock after a failure."""

    def add(self, flow: Flow, size: int, advance: int, bits: int) -> None:
        """A packet whose `size` octets behind the headers lie in the arena already.

        `bits` are the TCP header's offset and flags, `advance` how far the sequence number moves.
        """
        now = time.time_ns()
        self.time = now
        seq = flow.seq
        flow.seq = (seq + advance) & U32
        at = self.position
        captured = size + flow.head - 28
        total = (captured + 3 & ~3) + 32
        if flow.head == HEADERS_4:
            check = flow.checksum + size + 40
            check = (check & 0xFFFF) + (check >> 16)
            check = ~((check & 0xFFFF) + (check >> 16)) & 0xFFFF
            _PACKET_4.pack_into(
                self.buffer, at, _ENHANCED_PACKET, total, flow.interface, now >> 32, now & U32,
                captured, captured, _MACS, 0x0800, 0x4500, size + 40, 0, 0x4000, 0x4006, check,
                flow.addresses, flow.source, flow.target, seq, flow.ack, bits, WINDOW, 0, 0,
            )  # fmt: skip
        else:
            _PACKET_6.pack_into(
                self.buffer, at, _ENHANCED_PACKET, total, flow.interface, now >> 32, now & U32,
                captured, captured, _MACS, 0x86DD, 0x60000000, size + 20, 0x0640,
                flow.addresses, flow.source, flow.target, seq, flow.ack, bits, WINDOW, 0, 0,
            )  # fmt: skip
        _TAILS[captured & 3].pack_into(self.buffer, at + flow.head + size, total)
        self.position = at + total
        self.waiting += 1

    def write_handshake(self, client: Flow, server: Flow) -> None:
        """The handshake of a connection."""
        self._hello(client, HELLO)
        server.ack = client.seq
        self._hello(server, HELLO_BACK)
        client.ack = server.seq
        self.add(client, 0, 0, PLAIN_ACK)

    def write_refused(self, client: Flow, server: Flow) -> None:
        """A connection that did not come about."""
        self._hello(client, HELLO)
        server.seq = 0
        server.ack = client.seq
        self.add(server, 0, 0, RESET)

    def _hello(self, flow: Flow, bits: int) -> None:
        self.require_room()
        start = self.position + flow.head
        self.buffer[start : start + len(OPTIONS)] = OPTIONS
        self.add(flow, len(OPTIONS), 1, bits)

    def data(self, flow: Flow, octets: bytes) -> None:
        """Octets that did not come through the arena."""
        for at in range(0, len(octets), PAYLOAD):
            part = octets[at : at + PAYLOAD]
            self.require_room()
            start = self.position + flow.head
            self.buffer[start : start + len(part)] = part
            self.add(flow, len(part), len(part), DATA)

    def replay(self, flow: Flow, octets: bytes, time: int) -> None:
        """Octets that passed at an earlier time."""
        for at in range(0, len(octets), PAYLOAD):
            self.require_room()
            start = self.position
            self.data(flow, octets[at : at + PAYLOAD])
            self.annotate(start, COPY)
            _TIME.pack_into(self.buffer, start + _TIME_AT, time >> 32, time & U32)

    def comment(self, flow: Flow, text: str) -> None:
        """A packet without octets that says something to whoever reads the recording."""
        self.require_room()
        start = self.position
        self.add(flow, 0, 0, PLAIN_ACK)
        self.annotate(start, text)

    def data_with_comment(self, flow: Flow, octets: bytes, text: str) -> None:
        """Octets that did not come through the arena, the first packet with a comment."""
        self.require_room()
        start = self.position
        self.data(flow, octets[:PAYLOAD])
        self.annotate(start, text)
        self.data(flow, octets[PAYLOAD:])

    def annotate(self, start: int, text: str) -> None:
        """Put a comment on the newest packet, which begins at `start`."""
        words = text.encode("utf-8", "replace")[:LONGEST_COMMENT]
        words = words.decode("utf-8", "ignore").encode()
        options = option(_COMMENT, words) + option(0, b"")
        end = self.position - 4
        total = self.position - start + len(options)
        self.buffer[end : end + len(options)] = options
        _SIZE.pack_into(self.buffer, end + len(options), total)
        _SIZE.pack_into(self.buffer, start + 4, total)
        self.position = start + total

    def secrets(self, text: bytes) -> None:
        """TLS secrets, ahead of the packets that they open, also of those in the arena."""
        self.files.remember(text)
        self._write(secrets_block(text))

    def require_room(self) -> None:
        """Make room for a packet; only while nothing in the arena waits to be passed on."""
        if self.position > FULL:
            self.flush()

    def flush(self) -> None:
        """Write the turn's packets; after this they survive us."""
        size = self.position
        if not size:
            return
        self.position = 0
        count = self.waiting
        self.waiting = 0
        if not self._write(self.view[:size]):
            self.lost += count
            return
        self.packets += count
        if self._size >= self._limit or self.time >= self._due:
            self._look()

    def packet_count(self) -> int:
        """How many packets the files hold that are there now."""
        now = 0 if self._gone else self.packets - self._before
        return now + sum(each.packets for each in self.files.kept_files())

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.flush()
        if self._fd >= 0:
            self._inspect()
            if self._gone:
                self._drop()
            elif not same_file(self.files.path, self._fd):
                self.news.append(f"{self.files.path}: was renamed, and holds the recording still")
            self._close(self.files.path)
            self._fd = -1

    def forget(self) -> None:
        """Close the file as it is: another process writes it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, octets: memoryview | bytes) -> bool:
        """Append to the file; False when that cannot be."""
        if self._fd < 0 or (self._stopped and not self._try_again()):
            return False
        written = 0
        try:
            # Mostly once; what is written in part says why only when the rest is tried.
            while written < len(octets):
                written += os.write(self._fd, octets[written:] if written else octets)
        except OSError as error:
            self._stop(reason_of(error))
            return False
        self._size += written
        self.octets += written
        if self._stopped:
            self._go_on()
        return True

    # What happens to files, seldom.

    def _look(self) -> None:
        """Begin the next file if it is due; else see whether this one is as we wrote it."""
        if self._size >= self._limit or self.time >= self._deadline:
            self._rotate()
        else:
            self._inspect()
        self._due = min(self._deadline, self.time + SECOND)

    def _rotate(self) -> None:
        path = self.files.path
        try:
            fd, size = self.files.begin()
        except RecordingError as error:
            if not self._overdue:
                self._overdue = True
                self.news.append(f"{error}; the recording goes on in {path}")
            # Again in a second, and not with every packet.
            self._limit = NEVER
            self._deadline = self.time + SECOND
            return
        self._overdue = False
        self._inspect_at(path)
        self._close(path)
        self._fd = fd
        if self._gone:
            self._drop()
        self.files.file_complete(path, self.packets - self._before, self._size)
        self._size = size
        self._before = self.packets
        self._gone = False
        self.octets += size
        self._limit = self.files.octets
        self._deadline = self.time + self.files.nanoseconds

    def _close(self, path: str) -> None:
        """Close the file; some file systems say only then what they could not store."""
        try:
            os.close(self._fd)
        except OSError as error:
            self._fail(f"{path}: {reason_of(error)}")

    def _stop(self, reason: str) -> None:
        """Keep the file valid, and let the traffic go on without it."""
        self._cut_back()
        self._due = self.time + SECOND
        if not self._stopped:
            self._stopped = True
            self._lost_before = self.lost
            problem = f"{self.files.path}: {reason}"
            self.problem = self.problem or problem
            self.news.append(f"recording stopped: {problem}; traffic goes on, not recorded")

    def _cut_back(self) -> bool:
        """Remove a packet that was written in part."""
        try:
            if os.fstat(self._fd).st_size > self._size:
                os.ftruncate(self._fd, self._size)
        except OSError:
            return False
        return True

    def _try_again(self) -> bool:
        return self.time >= self._due and self._cut_back()

    def _go_on(self) -> None:
        """There is room again."""
        self._stopped = False
        lost = self.lost - self._lost_before
        packets = plural(lost, "packet")
        self.news.append(f"recording goes on in {self.files.path}; {packets} are not in it")

    def _fail(self, problem: str) -> None:
        """The recording is not whole; each reason is said once."""
        if problem != self._failed:
            self._failed = problem
            self.problem = self.problem or problem
            self.news.append(problem)

    def _inspect(self) -> None:
        self._inspect_at(self.files.path)

    def _inspect_at(self, path: str) -> None:
        """Notice when somebody has removed our file, or cut it."""
        if self._gone or self._fd < 0:
            return
        try:
            state = os.fstat(self._fd)
        except OSError as error:
            self._fail(f"{path}: {reason_of(error)}")
            return
        if state.st_nlink == 0:
            self._gone = True
            self._drop()
            self._fail(f"{path}: was removed while it was written: what was in it is lost")
        elif state.st_size < self._size:
            self._mend(path)

    def _drop(self) -> None:
        """What was written to this file is lost."""
        self.lost += self.packets - self._before
        self.packets = self._before

    def _mend(self, path: str) -> None:
        """Our file was cut: keep what is whole in it, and go on behind that."""
        try:
            size, packets = whole_blocks(path)
            os.ftruncate(self._fd, size)
            if not size:
                size = os.write(self._fd, self.files.head())
        except OSError as error:
            self._stop(reason_of(error))
            return
        cut = self.packets - self._before - packets
        self.lost += cut
        self.packets -= cut
        self._size = size
        self._fail(f"{path}: was cut while it was written: {cut:,} packets of it are lost")


def same_file(path: str, fd: int) -> bool:
    """Whether a path leads to an open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except OSError:
        return False
