"""A client that does not speak AMQP at all is told nothing; one that tries to is."""

from __future__ import annotations

import pytest

from kit.exchange_v0_9 import play


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        ("414d515100000901", ["A09-FRM-01", "A09-FRM-08"]),
        ("16030102000100000000fc0303", []),  # TLS at the plain port
        ("48454144202f20485454502f312e310d0a", []),  # a probe
    ],
)
def test_the_first_octets_of_a_client_that_a_header_answers(octets, expected):
    text = f"client: octets 0x{octets}\nserver: header AMQP 0.9.1\nserver: FIN\nclient: FIN"
    assert [finding.rule for finding in play(text).findings] == expected
