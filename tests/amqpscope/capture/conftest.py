"""Conversations for the capture tests: pieces without a file, TLS without a network, a pcap."""

import ssl
import struct

import pytest

from amqpscope.stream.types import CLIENT, SERVER, Chunk, Connection, End

SIZES = struct.Struct("<IIII")


class Talk:
    """Octets of two peers, in the order sent, with offsets and acknowledgements."""

    def __init__(self, server=("10.0.0.2", 5671), client=("10.0.0.1", 40000)):
        self.connection = Connection(client, server, True)
        self.sent = [0, 0]
        self.packet = 0

    def say(self, sender, data):
        self.packet += 1
        chunk = Chunk(
            self.connection, sender, self.sent[sender], data,
            self.packet, self.packet * 1000, self.sent[1 - sender],
        )  # fmt: skip
        self.sent[sender] += len(data)
        return chunk

    def chunks(self, messages, cut=None):
        """A chunk for each message, or for each `cut` octets of it."""
        for sender, data in messages:
            step = cut or len(data)
            for start in range(0, len(data), step):
                yield self.say(sender, data[start : start + step])

    def ends(self, reason="fin"):
        return [
            End(self.connection, sender, reason, self.packet + 1, (self.packet + 1) * 1000)
            for sender in (CLIENT, SERVER)
        ]


class TlsTalk:
    """Two real TLS endpoints in memory; `messages` is what goes over the wire."""

    def __init__(self, keylog, clear=()):
        self.messages = list(clear)
        self._keylog = keylog
        # Without certificates: nothing here is about trust.
        contexts = [
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        ]
        for context in contexts:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers("AECDH-AES128-SHA:@SECLEVEL=0")
        contexts[CLIENT].keylog_filename = str(keylog)
        self._incoming = [ssl.MemoryBIO(), ssl.MemoryBIO()]
        self._outgoing = [ssl.MemoryBIO(), ssl.MemoryBIO()]
        self._peers = [
            context.wrap_bio(self._incoming[i], self._outgoing[i], server_side=i == SERVER)
            for i, context in enumerate(contexts)
        ]
        waiting = {CLIENT, SERVER}
        while waiting:
            for sender in (CLIENT, SERVER):
                try:
                    self._peers[sender].do_handshake()
                    waiting.discard(sender)
                except ssl.SSLWantReadError:
                    pass
                self._pass_on(sender)

    @property
    def keylog(self):
        return self._keylog.read_bytes()

    def say(self, sender, data):
        self._peers[sender].write(data)
        self._pass_on(sender)

    def _pass_on(self, sender):
        data = self._outgoing[sender].read()
        if data:
            self._incoming[1 - sender].write(data)
            self.messages.append((sender, data))


def write_pcap(path, chunks):
    """Write chunks as a capture of TCP over raw IPv4, with the handshake and the end of each."""
    packets = []
    opened = {}

    def packet(connection, sender, seq, ack, flags, payload=b""):
        ends = (connection.client, connection.server)
        (source, sport), (destination, dport) = ends[sender], ends[1 - sender]
        tcp = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 65535, 0, 0)
        addresses = bytes(map(int, f"{source}.{destination}".split(".")))
        size = 40 + len(payload)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0, 64, 6, 0) + addresses
        packets.append(SIZES.pack(1700000000, len(packets), size, size) + ip + tcp + payload)

    for chunk in chunks:
        connection = chunk.connection
        if connection not in opened:
            opened[connection] = [0, 0]
            packet(connection, CLIENT, 0, 0, 0x02)
            packet(connection, SERVER, 0, 1, 0x12)
        sent = opened[connection]
        packet(
            connection, chunk.sender, 1 + chunk.offset, 1 + sent[1 - chunk.sender], 0x18, chunk.data
        )
        sent[chunk.sender] = chunk.offset + len(chunk.data)
    for connection, sent in opened.items():
        packet(connection, CLIENT, 1 + sent[CLIENT], 1 + sent[SERVER], 0x11)
        packet(connection, SERVER, 1 + sent[SERVER], 2 + sent[CLIENT], 0x11)
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)
    path.write_bytes(header + b"".join(packets))
    return str(path)


@pytest.fixture
def talk():
    """Make a Talk."""
    return Talk


@pytest.fixture
def tls_talk(tmp_path):
    """Make a TlsTalk whose secrets are in a file of their own."""
    count = iter(range(100))

    def make(clear=()):
        return TlsTalk(tmp_path / f"{next(count)}.keys", clear)

    return make


@pytest.fixture
def pcap(tmp_path):
    """Write chunks as a capture file; its path."""
    return lambda chunks: write_pcap(tmp_path / "made.pcap", chunks)


@pytest.fixture
def inside():
    """The octets of the chunks among pieces, by sender; each chunk must follow the one before."""

    def join(pieces):
        streams = [b"", b""]
        for piece in pieces:
            if isinstance(piece, Chunk):
                assert piece.offset == len(streams[piece.sender])
                streams[piece.sender] += piece.data
        return streams

    return join
