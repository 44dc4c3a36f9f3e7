"""The versions of all families in one table."""

import pytest

from dissectors.v0_9.dialects import NAMES
from dissectors.v0_9.versions import DIALECT_OF
from dissectors.versions import AMQP_0_10, VERSION_OF, known_version
from dissectors.wire import Header


@pytest.mark.parametrize(
    ("octets", "protocol"),
    [
        ("00 01 00 00", "amqp-1.0"),
        ("02 01 00 00", "amqp-1.0"),
        ("03 01 00 00", "amqp-1.0"),
        ("00 00 09 01", "amqp-0-9-1"),
        ("01 01 00 09", "amqp-0-9"),
        ("01 01 08 00", "amqp-0-8"),
        ("01 01 09 01", "amqp-0-8"),
        ("01 01 0a 03", "amqp-10-3"),
        ("01 01 00 0a", "amqp-0-10"),
    ],
)
def test_a_header_announces_a_protocol(octets, protocol):
    assert VERSION_OF[bytes.fromhex(octets)].protocol == protocol


def test_no_version_is_announced_in_two_families():
    assert len(VERSION_OF) == 9
    assert AMQP_0_10.octets not in DIALECT_OF


def test_each_version_of_0_9_has_its_dialect():
    assert set(DIALECT_OF.values()) <= set(NAMES)


def test_headers_of_1_0_are_called_what_they_say():
    rows = [row for row in VERSION_OF.values() if row.protocol == "amqp-1.0"]
    assert [row.title for row in rows] == [str(Header(*row.octets)) for row in rows]


@pytest.mark.parametrize("octets", [b"\x00\x00\x09\x01", b"\x03\x01\x00\x00", b"\x07\x01\x00\x00"])
def test_known_versions(octets):
    assert known_version(octets)


@pytest.mark.parametrize("octets", [b"LAIN", b"\x00\x00\x09\x02", b"\x00\x01\x00", b""])
def test_unknown_versions(octets):
    assert not known_version(octets)
