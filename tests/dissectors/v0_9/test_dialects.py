"""Which dialect is spoken: by header, by product, and what each then knows."""

import pytest

from dissectors.v0_9.dialects import (
    NAMES,
    by_version,
    dialect,
    product_of,
    refine,
)
from dissectors.v0_9.values import Table


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("00 00 09 01", "0-9-1"),
        ("01 01 00 09", "0-9"),
        ("01 01 08 00", "0-8"),
        ("01 01 09 01", "0-8"),
        ("01 01 0a 03", "10-3"),
    ],
)
def test_a_protocol_header_names_the_dialect(version, name):
    assert by_version(bytes.fromhex(version)) is dialect(name)


@pytest.mark.parametrize(
    "version", ["00 01 00 00", "03 01 00 00", "01 01 00 0a", "01 01 00 0b", "00 00 09 02"]
)
def test_other_headers_name_none_of_these(version):
    assert by_version(bytes.fromhex(version)) is None


@pytest.mark.parametrize(
    ("spoken", "product", "variant"),
    [
        ("0-9-1", "RabbitMQ", "0-9-1-rabbit"),
        ("0-9-1", "LavinMQ", "0-9-1-rabbit"),
        ("0-9-1", b"RabbitMQ", "0-9-1-rabbit"),
        ("0-9-1", "qpid-cpp", "0-9-1-qpid"),
        ("0-9-1", "Apache Qpid Broker-J", "0-9-1-qpid"),
        ("0-9-1", "OpenAMQ Server", "0-9-1"),
        ("0-9", "RabbitMQ", "0-9-1-rabbit"),
        ("0-9", "qpid", "0-9-qpid"),
        ("0-8", "RabbitMQ", "0-8"),
        ("0-8", "qpid", "0-8-qpid"),
        ("10-3", "qpid", "10-3"),
        ("0-9-1-rabbit", "RabbitMQ", "0-9-1-rabbit"),
    ],
)
def test_the_servers_product_names_the_variant(spoken, product, variant):
    properties = Table([("version", "1"), ("product", product)])
    assert refine(dialect(spoken), properties).name == variant


@pytest.mark.parametrize("properties", [None, Table(), Table([("product", 5)]), "RabbitMQ", 7])
def test_a_server_that_names_no_product_leaves_the_dialect_as_it_is(properties):
    assert refine(dialect("0-9-1"), properties).name == "0-9-1"
    assert product_of(properties) == ""


def test_methods_of_sibling_products_are_known_as_extensions():
    plain = dialect("0-9-1")
    assert plain.by_name["basic.nack"].row.extension
    assert plain.by_name["exchange.bound"].row.extension
    assert not plain.by_name["basic.ack"].row.extension
    assert not dialect("0-9-1-rabbit").by_name["basic.nack"].row.extension


def test_every_dialect_has_frame_types_and_letters():
    for name in NAMES:
        assert {1, 2, 3, 8} <= set(dialect(name).frame_types)
        assert set("SIDTF") <= set(dialect(name).letters)
    assert set(dialect("0-9").frame_types) == set(range(1, 11))
    assert set(dialect("0-8").frame_types) == set(range(1, 9))
