"""The options of `spark.read.format("amqp")`."""

import pytest

from amqpscope.spark.source_options import FOREVER, OPTIONS, parse_options


def test_without_options_all_is_read():
    options = parse_options({"path": "x"})
    assert (options.since, options.until, options.each) == (0, FOREVER, True)
    assert options.wants("any/ring")


def test_names_come_in_any_case():
    assert parse_options({"decodeas": "5673=amqp-1.0"}).work().decode_as == {5673: "amqp-1.0"}
    assert parse_options({"decodeAs": "5673=amqp-1.0"}).work().decode_as == {5673: "amqp-1.0"}


def test_times_are_utc_unless_they_say_otherwise():
    assert parse_options({"since": "1970-01-01T00:00:01"}).since == 1_000_000_000
    assert parse_options({"since": "1970-01-01T02:00:01+02:00"}).since == 1_000_000_000


def test_key_logs_are_read_where_the_query_is_made(tmp_path):
    (tmp_path / "keys").write_bytes(b"CLIENT_RANDOM 00 11")
    options = parse_options({"keylog": str(tmp_path / "keys")})
    assert options.work().keylogs == (b"CLIENT_RANDOM 00 11",)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keylogs": "x"}, ["'keylogs' is no option", *OPTIONS]),
        ({"ring": "both"}, ["ring='both'", "file or directory"]),
        ({"since": "yesterday"}, ["since='yesterday' is no time", "2026-11-18T12:00:00Z"]),
        ({"filter": "transfer &&"}, ["transfer &&", "^"]),
        ({"decodeAs": "5673"}, ["'5673'", "PORT=PROTOCOL"]),
        ({"decodeAs": "5673=http"}, ["'http'", "amqp-1.0"]),
        ({"keylog": "/nowhere/keys"}, ["/nowhere/keys", "cannot be read"]),
    ],
)
def test_a_wrong_option_says_what_was_expected(given, words):
    with pytest.raises(ValueError, match=r"expected|cannot|needs|\^") as failure:
        parse_options(given)
    for word in words:
        assert word in str(failure.value)
