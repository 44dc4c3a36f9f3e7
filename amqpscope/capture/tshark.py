"""TLS records decrypted by tshark, driven through pyshark.

The user's capture is never shown to tshark. It gets a capture made here: one TLS record a packet,
in perfect order, each connection with an address of its own, all on one port. So neither odd ports
nor reordering, retransmission or TLS that starts in mid-stream can confuse it, and what comes back
is the plaintext of one record at a time. A record's number travels as the time of its packet, in
milliseconds.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from struct import Struct
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, Final

from amqpscope.capture.keylog import Keys
from amqpscope.capture.tls import APPLICATION_DATA, Records, TlsStream
from amqpscope.stream.types import CLIENT

if TYPE_CHECKING:
    from asyncio.subprocess import Process

INSTALL: Final = "install it (apt install tshark)"

TIMEOUT: Final = 60.0
"""Seconds that tshark may take, besides what the size of its capture allows it."""
OCTETS_PER_SECOND: Final = 100_000
GRACE: Final = 10.0
"""Seconds between the end of tshark's output and its own."""

MAX_HANDSHAKE: Final = 256
"""Records of one connection kept until its first application data shows whether it is wanted."""

_PORT: Final = 4433
_FILE_HEADER: Final = Struct("<IHHiIII")
_PACKET_HEADER: Final = Struct("<IIII")
_IP: Final = Struct(">BBHHHBBHII")
_TCP: Final = Struct(">HHIIBBHHH")
_RAW_IP: Final = 101
_PCAP_MAGIC: Final = 0xA1B2C3D4
_CLIENTS: Final = 0x0A000001
_SERVER: Final = 0xC0000201

_SPOOLED: Final = Struct("<QI")


class DecryptionError(Exception):
    """tshark cannot be had or did not do its work; the message says why."""


class RecordWriter(Records):
    """Writes the records of connections whose key is known into a capture for tshark."""

    def __init__(self, file: IO[bytes], keys: Keys) -> None:
        super().__init__()
        self.written = 0
        self._file = file
        self._keys = keys
        self._held: dict[TlsStream, list[tuple[int, int, bytes]]] = {}
        self._sequence: dict[TlsStream, list[int]] = {}
        self._connections = 0
        file.write(_FILE_HEADER.pack(_PCAP_MAGIC, 2, 4, 0, 0, 262144, _RAW_IP))

    def record(self, stream: TlsStream, sender: int, record: bytes) -> bytes:
        """Keep the record for tshark; its plaintext is not known in this reading."""
        number = self.count
        self.count += 1
        if not stream.decided:
            held = self._held.setdefault(stream, [])
            held.append((number, sender, record))
            # A secret in the capture itself follows the ClientHello: the handshake gave it.
            if record[0] == APPLICATION_DATA or len(held) >= MAX_HANDSHAKE:
                self._decide(stream)
        elif stream.decrypted:
            self._write(stream, number, sender, record)
        return b""

    def end_stream(self, stream: TlsStream) -> None:
        """Forget the connection."""
        self._held.pop(stream, None)
        self._sequence.pop(stream, None)

    def _decide(self, stream: TlsStream) -> None:
        stream.decided = True
        stream.decrypted = self._keys.knows(stream.client_random)
        held = self._held.pop(stream)
        if stream.decrypted:
            self._sequence[stream] = [1, 1, _CLIENTS + self._connections]
            self._connections += 1
            for number, sender, record in held:
                self._write(stream, number, sender, record)

    def _write(self, stream: TlsStream, number: int, sender: int, record: bytes) -> None:
        sequence = self._sequence[stream]
        source, destination, from_port, to_port = sequence[2], _SERVER, 40000, _PORT
        if sender != CLIENT:
            source, destination, from_port, to_port = _SERVER, sequence[2], _PORT, 40000
        size = _IP.size + _TCP.size + len(record)
        self._file.write(
            _PACKET_HEADER.pack(number // 1000, number % 1000 * 1000, size, size)
            + _IP.pack(0x45, 0, size, 0, 0, 64, 6, 0, source, destination)
            + _TCP.pack(
                from_port, to_port, sequence[sender], sequence[1 - sender], 0x50, 0x18, 65535, 0, 0
            )
            + record
        )
        sequence[sender] = (sequence[sender] + len(record)) & 0xFFFFFFFF
        self.written += 1


class Plaintexts:
    """What tshark found inside the records, by their number; read once, in order."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="amqpscope-")  # noqa: SIM115
        self._next = -1
        self._size = 0

    def add(self, number: int, data: bytes) -> None:
        """Append the plaintext of a record; the numbers must rise."""
        self._file.write(_SPOOLED.pack(number, len(data)))
        self._file.write(data)

    def rewind(self) -> None:
        """Start to take plaintexts from the first record on."""
        self._file.seek(0)
        self._advance()

    def take(self, number: int) -> bytes:
        """The plaintext of a record, empty when there is none; the numbers must rise."""
        while 0 <= self._next < number:
            self._file.seek(self._size, 1)
            self._advance()
        if self._next != number:
            return b""
        data = self._file.read(self._size)
        self._advance()
        return data

    def close(self) -> None:
        """Remove the spooled plaintext."""
        self._file.close()

    def _advance(self) -> None:
        header = self._file.read(_SPOOLED.size)
        if len(header) < _SPOOLED.size:
            self._next = -1
        else:
            self._next, self._size = _SPOOLED.unpack(header)


def decrypt(collect: Callable[[Records], None], keys: Keys) -> Plaintexts:
    """Let `collect` feed all records of a capture to the writer, and tshark decrypt them."""
    with tempfile.TemporaryDirectory(prefix="amqpscope-") as directory:
        capture = Path(directory) / "records.pcap"
        keylog = Path(directory) / "keys.log"
        with capture.open("wb") as file:
            writer = RecordWriter(file, keys)
            collect(writer)
        keylog.write_bytes(keys.text())
        plaintexts = Plaintexts()
        if writer.written:
            try:
                run_tshark(capture, keylog, plaintexts)
            except BaseException:
                plaintexts.close()
                raise
    plaintexts.rewind()
    return plaintexts


def run_tshark(capture: Path, keylog: Path, plaintexts: Plaintexts) -> None:
    """Decrypt a capture that a RecordWriter wrote; DecryptionError when that fails."""
    import asyncio

    timeout = TIMEOUT + capture.stat().st_size / OCTETS_PER_SECOND
    failure: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(_read(capture, keylog, plaintexts, timeout))
        except BaseException as error:  # handed over to the caller's thread
            failure.append(error)

    # A thread of its own, for pyshark needs an event loop and the caller may be running one.
    thread = Thread(target=work, name="tshark", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise _explain(failure[0], timeout) from failure[0]


def _explain(error: BaseException, timeout: float) -> BaseException:
    if isinstance(error, DecryptionError) or not isinstance(error, Exception):
        return error
    if isinstance(error, TimeoutError | subprocess.TimeoutExpired):
        return DecryptionError(f"tshark did not finish within {timeout:.0f} seconds")
    lines = str(error).splitlines()
    said = next((line for line in lines if line.startswith("Last error line: ")), "")
    # pyshark adds the command that it ran, which is of no use to anybody here.
    first = lines[0].partition(" (command ran:")[0] if lines else repr(error)
    reason = said.removeprefix("Last error line: ") or first
    return DecryptionError(f"tshark failed: {reason}")


async def _read(capture: Path, keylog: Path, plaintexts: Plaintexts, timeout: float) -> None:
    import asyncio

    parameters = ["-J", "data"]
    for protocol in _guessers(_tshark_path(), timeout):
        parameters += ["--disable-protocol", protocol]
    found = _reader()(
        str(capture),
        keep_packets=False,
        use_ek=True,
        display_filter="data",
        decode_as={f"tcp.port=={_PORT}": "tls", f"tls.port=={_PORT}": "data"},
        override_prefs={
            "tls.keylog_file": str(keylog),
            "tcp.analyze_sequence_numbers": "FALSE",  # ours are right, and this takes most time
        },
        custom_parameters=parameters,
        eventloop=asyncio.get_running_loop(),
    )
    await asyncio.wait_for(
        found.packets_from_tshark(lambda packet: plaintexts.add(*packet)), timeout
    )


def _tshark_path() -> str:
    from pyshark.tshark.tshark import TSharkNotFoundException, get_process_path

    try:
        return str(get_process_path())
    except TSharkNotFoundException as error:
        message = f"tshark is needed to decrypt TLS and was not found: {INSTALL}"
        raise DecryptionError(message) from error


def _reader() -> Any:
    """pyshark's FileCapture, fitted to our need; made here, for pyshark is slow to import."""
    from asyncio import wait_for

    from pyshark import FileCapture
    from pyshark.tshark.output_parser.tshark_ek import TsharkEkJsonParser

    class Parser(TsharkEkJsonParser):  # type: ignore[misc]
        """pyshark's, but for the Packet: that needs a table of all of tshark's fields on disk."""

        def _parse_single_packet(self, packet: bytes) -> tuple[int, bytes]:
            return _plaintext(packet)

    class Reader(FileCapture):  # type: ignore[misc]
        """tshark's output, packet by packet; pyshark would kill it before it says how it ended."""

        async def _cleanup_subprocess(self, process: Process) -> None:
            try:
                if self._eof_reached:
                    with suppress(TimeoutError):
                        await wait_for(process.wait(), GRACE)
                    if process.returncode is not None and process.returncode < 0:
                        raise DecryptionError(f"tshark was killed by signal {-process.returncode}")
                await super()._cleanup_subprocess(process)
            finally:
                self._running_processes.discard(process)

        def _setup_tshark_output_parser(self) -> Parser:
            return Parser()

    return Reader


def _guessers(tshark: str, timeout: float) -> list[str]:
    """Protocols that tshark would look for inside TLS before it takes the octets as mere data."""
    done = subprocess.run(
        [tshark, "-G", "heuristic-decodes"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    rows = [line.split("\t") for line in done.stdout.decode("utf-8", "replace").splitlines()]
    return sorted({row[1] for row in rows if len(row) > 1 and row[0] == "tls"})


def _plaintext(line: bytes) -> tuple[int, bytes]:
    """Number and plaintext of a record from one line of tshark's output."""
    packet: dict[str, Any] = json.loads(line)
    values = packet["layers"]["data"]["data_data_data"]
    if isinstance(values, str):
        values = [values]
    return int(packet["timestamp"]), bytes.fromhex("".join(values).replace(":", ""))
