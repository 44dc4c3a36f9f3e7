"""Secrets covered in values, octets and trees."""

import pytest

from dissectors.masking import SECRET, Cover, loose_spans, masked, octet_spans, value_spans
from dissectors.notation import parse
from dissectors.secrets import MASK, starred
from dissectors.v0_9.values import Content, FieldArray, Table
from dissectors.v1_0.bodies import Open, SaslInit
from dissectors.v1_0.span import unit_tree
from dissectors.v1_0.values import Array, Described, Map, Symbol, Uuid

URL = "amqp://joe:pw@host"
CLEAN = f"amqp://joe:{MASK}@host"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (URL, CLEAN),
        (Symbol(URL), Symbol(CLEAN)),
        (URL.encode(), b"amqp://joe:**@host"),
        (Map([("password", "x"), ("a", URL)]), Map([("password", MASK), ("a", CLEAN)])),
        (Map([("password", None), ("token", True)]), Map([("password", None), ("token", True)])),
        (Map([(URL, 1)]), Map([(CLEAN, 1)])),
        (Map([("a", Map([("secret", [1, 2])]))]), Map([("a", Map([("secret", MASK)]))])),
        ([URL, 1], [CLEAN, 1]),
        (Array(0xA1, [URL]), Array(0xA1, [CLEAN])),
        (Described(Symbol("x"), URL), Described(Symbol("x"), CLEAN)),
        (Table([("token", "x"), ("b", URL)], b"SS"), Table([("token", MASK), ("b", CLEAN)], b"SS")),
        (FieldArray([URL], b"S"), FieldArray([CLEAN], b"S")),
        (Content(0, URL.encode()), Content(0, b"amqp://joe:**@host")),
        (Open(container_id=URL), Open(container_id=CLEAN)),
        (SaslInit(Symbol("PLAIN"), b"\0joe\0pw"), SaslInit(Symbol("PLAIN"), MASK)),
        (Uuid(b"a://b:c@d=efghij"), Uuid(b"a://b:c@d=efghij")),
        (7, 7),
        (None, None),
    ],
    ids=repr,
)
def test_values(value, shown):
    made = masked(value)
    assert made == shown
    assert type(made) is type(shown)


def octets(text):
    return bytes.fromhex(text)


KEY = b"\xa1\x08password"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"..." + KEY + b"\xa1\x02pw..", b"..." + KEY + b"****.."),
        (b"\xa3\x05token\xb0\0\0\0\x03abc\x40", b"\xa3\x05token********\x40"),
        (b"\xb1\0\0\0\x08password\xa1\x09cut", b"\xb1\0\0\0\x08password*****"),
        (b"\xa1\x06colour\xa1\x03red", b"\xa1\x06colour\xa1\x03red"),
        (b"\0\0sig=abc\0\0", b"\0\0sig=***\0\0"),
    ],
)
def test_octets_that_nobody_decoded(data, shown):
    assert starred(data, octet_spans(data)) == shown


@pytest.mark.parametrize("cut", range(1, len(KEY) + 6))
def test_a_secret_that_goes_on_from_the_octets_before(cut):
    whole = KEY + b"\xa1\x04hide" + b"\xa1\x03red"
    shown = KEY + b"******" + b"\xa1\x03red"
    first, second = whole[:cut], whole[cut:]
    assert starred(second, octet_spans(second, first)) == shown[cut:]


def test_fields_of_a_damaged_table():
    data = b"\x08passwordS\0\0\0\x02pw\x01aI"
    assert starred(data, loose_spans(data)) == b"\x08password*******\x01aI"


def test_a_long_body_is_searched_for_plain_signs():
    body = b"x" * 300
    assert value_spans(body + b" a=b @") == []
    assert value_spans(body + b" amqp://joe:pw@h") == [(312, 314)]


def test_a_tree_keeps_its_shape_and_says_what_is_covered():
    raw = parse('open container-id="c" properties={:token="abc" :a="amqp://j:pw@h"}')
    plain = unit_tree(raw)
    cover = Cover(raw)
    tree = cover.tree(plain)
    assert [node.start for _, node in tree.walk()] == [node.start for _, node in plain.walk()]
    hidden = [node for _, node in tree.walk() if node.type == SECRET]
    assert [node.label for node in hidden] == ["token"]
    assert [raw[start:end] for start, end in cover.spans] == [b"\xa1\x03abc", b"pw"]


def test_a_tree_without_secrets_stays_the_same():
    raw = parse('attach name="s" handle=0 role=sender source=source() target=target(address="q")')
    cover = Cover(raw)
    assert cover.tree(unit_tree(raw)) == unit_tree(raw)
    assert cover.spans == []
