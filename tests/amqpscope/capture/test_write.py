"""What we write reads back, here and in tshark."""

from __future__ import annotations

import io
import subprocess

import pytest

from amqpscope.capture.pieces import Pieces
from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.stream.types import CLIENT, SERVER, Chunk, End

HEADER = b"AMQP\x00\x01\x00\x00"


def recorded(client: str = "10.0.0.1", server: str = "10.0.0.2") -> bytes:
    file = io.BytesIO()
    talk = ConnectionWriter(CaptureWriter(file), (client, 50000), (server, 5672))
    talk.open(1_000_000_000)
    talk.data(CLIENT, 1_100_000_000, HEADER)
    talk.data(SERVER, 1_200_000_001, HEADER + bytes(100_000))
    talk.data(CLIENT, 1_300_000_000, b"late", unseen=100_000)
    talk.finish(CLIENT, 1_400_000_000)
    talk.finish(SERVER, 1_500_000_000)
    return file.getvalue()


@pytest.mark.parametrize("addresses", [("10.0.0.1", "10.0.0.2"), ("::1", "fe80::2")])
def test_a_conversation_reads_back_as_it_was_said(tmp_path, addresses):
    path = tmp_path / "written.pcapng"
    path.write_bytes(recorded(*addresses))
    with Pieces(str(path)) as pieces:
        found = [piece for batch in pieces for piece in batch]
    chunks = [piece for piece in found if isinstance(piece, Chunk)]
    assert b"".join(c.data for c in chunks if c.sender == SERVER) == HEADER + bytes(100_000)
    assert [c.ack for c in chunks if c.sender == CLIENT] == [0, 8]
    assert chunks[1].time == 1_200_000_001
    assert [piece.reason for piece in found if isinstance(piece, End)] == ["fin", "fin"]
    assert chunks[0].connection.client == (addresses[0], 50000)


def test_tshark_finds_nothing_wrong_with_it(tmp_path):
    path = tmp_path / "written.pcapng"
    path.write_bytes(recorded())
    flaws = "_ws.malformed || ip.checksum.status == 0 || tcp.analysis.flags"
    command = ["tshark", "-r", str(path), "-o", "ip.check_checksum:TRUE", "-Y", flaws]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
