"""Pieces that are written as a capture are read as the same pieces."""

import pytest

from amqpscope.capture.pieces import Pieces
from amqpscope.capture.rewrite import UNKNOWN_LOSS, Rewriter
from amqpscope.stream.types import Certificate, Chunk, Connection, End, Gap, Tls, WebSocket, Window

CAPTURES = (
    "dmg_dropped4-v10_proton-rabbitmq_manylinks.pcap",
    "dmg_snap128-v10_proton-labbroker_large512.pcap",
    "v10_ws-rhea-rhea.pcap",
    "v10_ipv6-proton-rabbitmq_simple.pcap",
    "v091_pika_multichan-rabbitmq.pcap",
)


def read(path):
    with Pieces(str(path)) as pieces:
        return [piece for batch in pieces for piece in batch]


def rewrite(pieces, path):
    with path.open("wb") as file:
        writer = Rewriter(file)
        for piece in pieces:
            writer.write(piece)
    return read(path)


def facts(pieces):
    chunks = [each for each in pieces if isinstance(each, Chunk)]
    gaps = [each for each in pieces if isinstance(each, Gap)]
    return (
        [(each.sender, each.offset, each.data, each.time, each.ack) for each in chunks],
        [(each.sender, each.offset, each.size, each.snapped) for each in gaps],
        [(each.connection.client, each.connection.server) for each in chunks],
    )


@pytest.mark.parametrize("name", CAPTURES)
def test_the_same_pieces_are_read(root, tmp_path, name):
    before = read(root / "captures" / name)
    assert facts(rewrite(before, tmp_path / "again.pcapng")) == facts(before)


def test_what_was_around_the_octets_is_kept(tmp_path):
    connection = Connection(("10.0.0.1", 40000), ("10.0.0.2", 5671), True)
    connection.encrypted, connection.opened = True, 5
    connection.tls = Tls()
    connection.tls.server_name, connection.tls.version = "broker.test", 0x303
    connection.tls.hello, connection.tls.alerts = [7, 0], [(1, 40, 9)]
    connection.tls.certificate = Certificate(["broker.test"], 1, 2)
    connection.websocket = WebSocket()
    connection.websocket.asked, connection.websocket.agreed = ["amqp"], "amqp"
    given = [
        Chunk(connection, 0, 0, b"AMQP\0\1\0\0", 1, 10, 0),
        Gap(connection, 1, 0, -1, 2, 11),
        Chunk(connection, 1, 0, b"12345678", 3, 12, 8),
        Window(connection, 0, True, 4, 13),
        End(connection, 0, "fin", 5, 14),
        End(connection, 1, "rst", 6, 15),
    ]
    found = rewrite(given, tmp_path / "again.pcapng")
    again = found[0].connection
    assert again.encrypted
    assert (again.tls.server_name, again.tls.version) == ("broker.test", 0x303)
    assert (again.tls.certificate.names, again.tls.alerts) == (["broker.test"], [(1, 40, 1)])
    assert (again.websocket.asked, again.websocket.agreed) == (["amqp"], "amqp")
    lost = [(each.sender, each.size) for each in found if isinstance(each, Gap)]
    assert lost == [(1, UNKNOWN_LOSS)]
    assert [each.zero for each in found if isinstance(each, Window)] == [True]
    assert [each.reason for each in found if isinstance(each, End)] == ["fin", "rst"]
