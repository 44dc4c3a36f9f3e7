"""Pseudonyms: as long, the same for the same, and of the same kind."""

import re

import pytest

from amqpscope.protocols.scrub import Manner
from amqpscope.runs.pseudonyms import Pseudonyms

TEXTS = (
    b"orders-eu.1", b"a", "Gr\u00fc\u00dfe \u4f60\u597d".encode(), b"\xc3\x28abc\xff", b"", b"{}",
    b"\x1f\x8bzipped", b"12345678-abcd-12ab-99ff-1234567890ab", b"/queues/a%2Fb", bytes(range(256)),
    b"x" * 200,
)  # fmt: skip


@pytest.fixture
def words():
    return Pseudonyms(b"salt")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("manner", list(Manner))
def test_a_pseudonym_is_as_long_and_always_the_same(words, text, manner):
    made = words.replace(text, manner)
    assert len(made) == len(text)
    assert made == Pseudonyms(b"salt").replace(text, manner)
    assert text.isascii() == made.isascii() or manner in (Manner.OCTETS, Manner.LOGIN, Manner.BODY)


def test_words_stay_different_and_begin_alike(words):
    names = [f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "0123456789"]
    made = {words.text(name) for name in names}
    assert len(made) == len(names)
    assert words.text("orders-eu").startswith(words.text("orders"))
    assert all(one != other for one, other in zip("orders", words.text("orders"), strict=True))


def test_long_bodies_and_counters_make_no_words_by_chance(words):
    ids = {str(each) for each in range(1000, 4000)}
    assert len({words.text(each) for each in ids}) == len(ids)
    assert not {words.text(each) for each in ids} & ids
    text = words.replace(bytes(65 + at % 26 for at in range(100_000)), Manner.BODY)
    noise = words.replace(bytes(at % 251 for at in range(100_000)), Manner.OCTETS)
    assert not re.search(rb"[a-z]{2}|[0-9]{2}", text)
    assert not re.search(rb"[a-z]{2}|[0-9]{2}", noise)


def test_octets_stay_different_also_where_they_are_few(words):
    made = {words.replace(bytes((each,)), Manner.OCTETS) for each in range(256)}
    assert len(made) == 256


@pytest.mark.parametrize(
    ("manner", "text", "stays"),
    [
        (Manner.ADDRESS, b"/queues/orders", b"/queues/"),
        (Manner.ADDRESS, b"orders/$management", b"/$management"),
        (Manner.PROSE, b"NOT_FOUND - no queue 'orders'", b"NOT_FOUND - no queue '"),
        (Manner.LOGIN, b"n,,n=maria,r=abc", b"n,,n="),
        (
            Manner.LOGIN,
            b"\x05LOGINS\0\0\0\x05maria\x08PASSWORDS\0\0\0\x02pw",
            b"\x05LOGINS\0\0\0\x05",
        ),
        (Manner.BODY, b"\x1f\x8bzipped-octets", b"\x1f\x8b"),
    ],
)
def test_what_the_protocol_defines_stays(words, manner, text, stays):
    made = words.replace(text, manner)
    assert stays in made
    for word in (b"orders", b"maria", b"zipped"):
        assert word not in made


def test_names_do_not_stay_in_sentences(words):
    words.note_name(b"queue")
    assert b"queue" not in words.replace(b"no queue, no queues", Manner.PROSE)


@pytest.mark.parametrize(
    ("host", "start"),
    [("127.0.0.1", "127."), ("192.168.7.9", "10."), ("2001:db8::7", "fd"), ("::1", "::1")],
)
def test_hosts_stay_what_they_are(words, host, start):
    assert words.host(host).startswith(start)
    assert words.host(host) != host or host == "::1"
