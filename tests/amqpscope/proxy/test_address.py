"""Addresses as users write them."""

import pytest

from amqpscope.proxy.address import (
    AddressError,
    Upstream,
    address_text,
    loopback,
    parse_listen,
    parse_upstream,
    resolve,
)


@pytest.mark.parametrize(
    ("text", "upstream"),
    [
        ("amqp://broker", ("broker", 5672, False)),
        ("amqp://broker:1234", ("broker", 1234, False)),
        ("amqps://broker", ("broker", 5671, True)),
        ("ws://broker/amqp", ("broker", 80, False)),
        ("wss://broker:8443/", ("broker", 8443, True)),
        ("broker:1234", ("broker", 1234, False)),
        ("broker", ("broker", 5672, False)),
        ("[::1]:1234", ("::1", 1234, False)),
        ("amqp://[::1]", ("::1", 5672, False)),
        ("amqp://guest:secret@broker:1234/vhost", ("broker", 1234, False)),
    ],
)
def test_an_upstream(text, upstream):
    assert parse_upstream(text)[:3] == upstream


@pytest.mark.parametrize("text", ["", "amqp://", "amqp://b:0", "amqp://b:x", "http://b", "[::1"])
def test_no_upstream(text):
    with pytest.raises(AddressError):
        parse_upstream(text)


def test_credentials_are_never_shown():
    assert "secret" not in str(parse_upstream("amqp://guest:secret@broker:1234"))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:5673", ("127.0.0.1", 5673)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:5673", ("::1", 5673)),
        (":5673", ("", 5673)),
        ("5673", ("127.0.0.1", 5673)),
    ],
)
def test_where_to_listen(text, address):
    assert parse_listen(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "host:65536", "host:-1", "::1:5673", "h:٣"])
def test_nowhere_to_listen(text):
    with pytest.raises(AddressError):
        parse_listen(text)


@pytest.mark.parametrize(
    ("host", "answer"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.1", False), ("fe80::1%eth0", False)],
)  # fmt: skip
def test_who_can_reach_it(host, answer):
    assert loopback((host, 5673)) is answer


def test_addresses_are_shown_as_they_are_written():
    assert address_text(("::1", 5673)) == "[::1]:5673"
    assert str(Upstream("broker", 5672, False)) == "broker:5672"


def test_a_name_becomes_each_of_its_addresses_once():
    found = resolve("localhost", 5672)
    assert ("127.0.0.1", 5672) in [address[:2] for _, address in found]
    assert len(found) == len(set(found))


def test_a_name_that_is_not_known():
    with pytest.raises(AddressError, match=r"^no-such-host\.invalid: [a-z]"):
        resolve("no-such-host.invalid", 5672)
