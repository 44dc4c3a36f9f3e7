"""`scrub` on captures: nothing of users is left, and the rules find the same."""

import re
from base64 import b64encode

import pytest

from amqpscope.capture.write import CaptureWriter, ConnectionWriter
from amqpscope.runs.input import Input
from amqpscope.runs.scrub import Scrubber

SALT = b"salt"
CAPTURES = (
    "demo.pcapng",
    "dmg_bitflip-v10_proton-rabbitmq_manylinks.pcap",
    "dmg_snap128-v10_proton-labbroker_large512.pcap",
    "dmg_midstart-v10_proton-rabbitmq_manylinks.pcap",
    "mixed_091-and-10_rabbitmq.pcap",
    "v091_bunny-rabbitmq_all.pcapng.zst",
    "v10_proton-labbroker_tx.pcap",
    "v10_proton-labbroker_types.pcap",
    "v10_tls-proton-rabbitmq_dsb.pcapng",
)
SECRETS = """
client: header SASL 1.0.0
server: header SASL 1.0.0
server: sasl-mechanisms sasl-server-mechanisms=:PLAIN
client: sasl-init mechanism=:PLAIN initial-response=b"\\0maria\\0hunter2pass" hostname="mq.acme.test"
server: sasl-outcome code=0
client: header AMQP 1.0.0
server: header AMQP 1.0.0
client: open container-id="acme-billing" hostname="mq.acme.test" properties={:product="proton" :"acme-team"="payments"}
server: open container-id="broker-acme-7" properties={:product="acme-billing broker" :version="2"}
client: begin[0] next-outgoing-id=0 incoming-window=100 outgoing-window=100
server: begin[0] remote-channel=0 next-outgoing-id=0 incoming-window=100 outgoing-window=100
client: attach[0] name="invoices-link" handle=0 role=false source=source(address="x") target=target(address="/queues/invoices%2Feu") initial-delivery-count=0
server: attach[0] name="invoices-link" handle=0 role=true source=source(address="x") target=target(address="/queues/invoices%2Feu")
server: flow[0] next-incoming-id=0 incoming-window=100 next-outgoing-id=0 outgoing-window=100 handle=0 delivery-count=0 link-credit=10
client: transfer[0] handle=0 delivery-id=0 delivery-tag=b"lock-token-11" message-format=0 more=true
        | properties(message-id="order-4711" to="/queues/invoices%2Feu" user-id=b"maria") application-properties({"iban"="DE8937040044"})
client: transfer[0] handle=0 | data(b"the quick brown invoice of Grete")
server: detach[0] handle=0 closed=true error=error(condition=:amqp:not-found description="no queue 'invoices' in vhost '/'; idle timeout")
client: close
server: close
"""  # noqa: E501 - a line for each frame
NAMES = (
    b"maria", b"hunter2pass", b"acme", b"billing", b"payments", b"invoices", b"lock-token-11",
    b"order-4711", b"iban", b"DE8937040044", b"quick brown", b"Grete", b"mq.acme.test",
)  # fmt: skip


def scrub(path, target, **options):
    scrubber = Scrubber(Input(str(path)), SALT, **options)
    scrubber.read()
    return scrubber, scrubber.scrub(str(target))


@pytest.mark.parametrize("name", CAPTURES)
def test_the_rules_find_the_same_and_nothing_is_left(root, tmp_path, name):
    scrubber, done = scrub(root / "captures" / name, tmp_path / "out.pcapng")
    assert (done.leaks, done.missing, done.extra) == ([], [], [])
    assert done.frames == scrubber.frames > 0


def test_names_secrets_and_bodies_are_gone_and_sentences_can_be_read(recorded, tmp_path):
    path = recorded(SECRETS)
    _, done = scrub(path, tmp_path / "out.pcapng")
    for name in NAMES:
        assert name not in done.octets
        assert b64encode(name).rstrip(b"=") not in done.octets
    assert (done.leaks, done.missing, done.extra) == ([], [], [])
    # What brokers say stays, but for the names in it.
    assert b"no queue '" in done.octets
    assert b"idle timeout" in done.octets
    assert b"/queues/" in done.octets
    assert b"amqp:not-found" in done.octets
    # A product that is called like a user's container is not one to keep.
    assert b"proton" in done.octets
    # Who logged in is who sent the message.
    user = re.search(rb"\0([a-z]{5})\0[a-z]{6}\d[a-z]{4}", done.octets)[1]
    assert done.octets.count(user) == 2


def test_the_same_word_has_the_same_pseudonym_in_other_captures(recorded, tmp_path):
    path = recorded(SECRETS)
    one = scrub(path, tmp_path / "one.pcapng")[1].octets
    other = scrub(path, tmp_path / "other.pcapng")[1].octets
    assert one == other
    scrubber = Scrubber(Input(str(path)), b"another salt")
    scrubber.read()
    assert scrubber.scrub(str(tmp_path / "third.pcapng")).octets != one


def test_bodies_can_be_kept(recorded, tmp_path):
    _, done = scrub(recorded(SECRETS), tmp_path / "out.pcapng", keep_bodies=True)
    assert b"the quick brown invoice of Grete" in done.octets
    assert b"order-4711" not in done.octets


def test_what_is_not_amqp_or_not_in_a_frame_is_left_out_or_replaced(tmp_path):
    path = tmp_path / "mixed.pcapng"
    with path.open("wb") as file:
        writer = CaptureWriter(file)
        web = ConnectionWriter(writer, ("10.9.8.7", 40000), ("10.0.0.2", 80))
        web.open(1)
        web.data(0, 2, b"POST / HTTP/1.1\r\nCookie: session=topsecret\r\n\r\n")
        talk = ConnectionWriter(writer, ("10.9.8.7", 40001), ("10.0.0.2", 5672))
        talk.open(3)
        writer.comment = "seen by Maria"
        talk.data(0, 4, b"AMQP\x00\x01\x00\x00" + b"\0\0\0\2 no frame but a password: topsecret")
    scrubber, done = scrub(path, tmp_path / "out.pcapng")
    for each in (b"topsecret", b"password", b"Maria", bytes((10, 9, 8, 7))):
        assert each not in done.octets
    assert any("without AMQP" in line for line in scrubber.notes)
