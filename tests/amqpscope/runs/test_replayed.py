"""A recorded broker for programs: `amqpscope.replayed`."""

import socket

import pika
import pytest

import amqpscope
from amqpscope.replay.stage import ReplayError
from kit import ROOT

BASIC = ROOT / "captures" / "v091_pika_basic-rabbitmq.pcap"


def test_a_program_that_never_connects_is_reported():
    with pytest.raises(amqpscope.Diverged, match="no client came"), amqpscope.replayed(BASIC):
        pass


def connect_by_another_protocol():
    with (
        amqpscope.replayed(BASIC) as broker,
        socket.create_connection((broker.host, broker.port)) as client,
    ):
        client.sendall(b"AMQP\x00\x01\x00\x00")
        assert client.recv(8) == b"AMQP\x00\x00\x09\x01"


def test_a_client_of_another_protocol_is_reported():
    with pytest.raises(amqpscope.Diverged, match="begins with the header"):
        connect_by_another_protocol()


def test_a_capture_without_amqp_is_refused():
    with pytest.raises(ReplayError, match="README"), amqpscope.replayed(ROOT / "README.md"):
        pass


def connect_to_another_host():
    with amqpscope.replayed(BASIC) as broker:
        where = pika.ConnectionParameters(broker.host, broker.port, virtual_host="other")
        pika.BlockingConnection(where).close()


def test_another_virtual_host_is_reported():
    with pytest.raises(amqpscope.Diverged, match="virtual-host expected /, seen other"):
        connect_to_another_host()
