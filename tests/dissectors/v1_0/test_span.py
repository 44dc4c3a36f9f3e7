"""Which octets say what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.v1_0.bodies import Attach, Source
from dissectors.v1_0.codec import decode
from dissectors.v1_0.encode import encode_frame, encode_header, encode_message
from dissectors.v1_0.encodings import label
from dissectors.v1_0.framing import decode_unit
from dissectors.v1_0.span import section_tree, unit_tree, value_tree
from dissectors.v1_0.values import Array, Described, Map, Symbol, Uint, Ulong, same
from kit.dissectors.samples import captures, frame, octets, units
from kit.dissectors.strategies_v1_0 import any_units, frames, messages, wire_values


def outline(node):
    """Label, span and value of the leaves of a tree."""
    return [
        (n.label, n.start, n.end, n.value)
        for _, n in node.walk()
        if not n.children and n is not node
    ]


def check(node, size):
    """Children lie in order within their parent and do not overlap."""
    assert (node.start, node.end) == (0, size)
    for _, one in node.walk():
        at = one.start
        for child in one.children:
            assert at <= child.start <= child.end <= one.end
            at = child.end


def test_a_frame_is_its_header_its_body_and_its_payload():
    raw = frame("00 53 14 c0 06 03 43 52 07 a0 00 70 61 79", channel=5)
    assert outline(unit_tree(raw)) == [
        ("size", 0, 4, 22),
        ("doff", 4, 5, 2),
        ("type", 5, 6, 0),
        ("channel", 6, 8, 5),
        ("descriptor", 9, 11, Ulong(0x14)),
        ("handle", 14, 15, 0),
        ("delivery-id", 15, 17, 7),
        ("delivery-tag", 17, 19, b""),
        ("payload", 19, 22, b"pay"),
    ]


def test_nodes_know_type_and_encoding():
    tree = unit_tree(frame("00 53 14 c0 05 02 43 52 07"))
    body = tree.children[4]
    assert (body.label, body.type, label(body.code)) == ("transfer", "transfer", "list8")
    assert [(n.label, n.type, label(n.code)) for n in body.children] == [
        ("descriptor", "ulong", "smallulong"),
        ("handle", "uint", "uint0"),
        ("delivery-id", "uint", "smalluint"),
    ]
    assert body.value.delivery_id == 7


def test_a_protocol_header_has_its_parts():
    assert outline(unit_tree(encode_header(3))) == [
        ("protocol", 0, 4, b"AMQP"),
        ("id", 4, 5, "SASL"),
        ("major", 5, 6, 1),
        ("minor", 6, 7, 0),
        ("revision", 7, 8, 0),
    ]


def test_an_extended_header_has_its_own_node():
    tree = unit_tree(frame("", extended=b"abcd"))
    assert ("extended header", 8, 12, b"abcd") in outline(tree)


def test_nested_values_have_labels_of_fields_keys_and_places():
    body = Attach(
        name="s",
        source=Source(address="q", filter=Map([(Symbol("f"), Described(Symbol("d"), ["x"]))])),
        offered_capabilities=Array(0xA3, [Symbol("a"), Symbol("b")]),
    )
    tree = unit_tree(encode_frame(body))
    labels = {(depth, node.label) for depth, node in tree.walk()}
    assert {(2, "source"), (3, "address"), (3, "filter"), (4, "key"), (4, "f")} <= labels
    assert {(5, "descriptor"), (5, "value"), (6, "[0]"), (3, "[0]"), (3, "[1]")} <= labels


def test_the_elements_of_an_array_have_spans_without_a_constructor():
    raw = octets("e0 09 02 00 53 07 60 00 01 00 02")
    assert outline(value_tree(raw)) == [
        ("descriptor", 4, 6, Ulong(7)),
        ("[0]", 7, 9, 1),
        ("[1]", 9, 11, 2),
    ]


def test_elements_without_octets_do_not_take_the_value_behind_the_array():
    raw = octets("c0 06 02 e0 02 02 40 41")
    tree = value_tree(raw)
    array, behind = tree.children
    assert [(n.start, n.end) for n in array.children] == [(7, 7), (7, 7)]
    assert (behind.start, behind.end, behind.value) == (7, 8, True)


def test_elements_past_the_limit_do_not_take_the_value_behind_the_array():
    raw = octets("c0 0c 02 f0 00 00 00 05 ff ff ff ff 40 41")
    array, behind = value_tree(raw).children
    assert array.children == ()
    assert (behind.start, behind.value) == (13, True)


def test_at_finds_the_nodes_over_an_octet():
    tree = unit_tree(frame("00 53 14 c0 05 02 43 52 07"))
    assert [n.label for n in tree.at(16)] == ["frame", "transfer", "delivery-id"]
    assert [n.label for n in tree.at(12)] == ["frame", "transfer"]
    assert [n.label for n in tree.at(0)] == ["frame", "size"]


# fmt: off
DAMAGED = [
    ("00 53 14 c0 05 03 43 52 07",       [("handle", 0), ("delivery-id", 7)]),
    ("00 53 14 c0 04 02 43 70 00",       [("handle", 0), ("delivery-id", None)]),
    ("00 53 14 c0 09 02 43 52 07",       [("handle", 0), ("delivery-id", 7)]),
    ("00 53 14 c0 04 02 43 30 40",       [("handle", 0), ("delivery-id", None)]),
    ("00 53 14 c0 05 03 43 52 07 ff ff", [("handle", 0), ("delivery-id", 7)]),
]
# fmt: on


@pytest.mark.parametrize(("body", "expected"), DAMAGED)
def test_of_damaged_octets_there_is_what_was_traced(body, expected):
    raw = frame(body)
    tree = unit_tree(raw)
    check(tree, len(raw))
    fields = [(n.label, n.value) for _, n in tree.walk() if n.label in {"handle", "delivery-id"}]
    assert fields == expected


@pytest.mark.parametrize(
    "raw", [b"", b"\0\0\0", b"\0\0\0\x09\2\0\0\0", b"\0\0\0\x0a\1\0\0\0ab", frame("45")]
)
def test_what_is_no_frame_is_covered_too(raw):
    check(unit_tree(raw), len(raw))


def test_a_cut_frame_has_the_tree_of_what_is_there():
    raw = encode_frame(Attach(name="name", handle=3))
    tree = unit_tree(raw[:20], len(raw) - 20)
    check(tree, 20)
    assert ("name", 14, 20, "name") in outline(tree)


def test_sections_of_a_message():
    data = encode_message([("data", b"ab"), ("application-properties", Map([("k", Uint(0))]))])
    tree = section_tree(data + b"rest")
    check(tree, len(data) + 4)
    assert [(n.label, n.start, n.end) for n in tree.children] == [
        ("data", 0, 7),
        ("application-properties", 7, 17),
        ("octets", 17, 21),
    ]
    assert ("k", 16, 17, 0) in outline(tree)


def test_values_survive_when_too_many_faults_end_the_reading():
    items = b"\x56\x09" * 40
    raw = b"\xc0" + bytes((len(items) + 3, 41)) + b"\x52\x07" + items
    first, *_ = value_tree(raw).children
    assert first.value == Uint(7)


@given(any_units)
def test_every_octet_has_one_deepest_node(raw):
    check(unit_tree(raw), len(raw))


@given(messages() | st.binary(max_size=60))
def test_every_octet_of_a_message_has_one_deepest_node(data):
    check(section_tree(data), len(data))


@given(frames())
def test_the_values_of_fields_are_those_of_the_body(raw):
    unit = decode_unit(raw)
    if unit.body is None:
        return
    node = next(n for n in unit_tree(raw).children if n.label == unit.name)
    for place, child in enumerate(node.children[1:]):
        assert child.label == unit.body.row.fields[place].name
        assert same(child.value, unit.body.wire(place))


@given(wire_values)
def test_a_sound_leaf_is_what_its_span_says(raw):
    _, faults = decode(raw)
    if faults:
        return
    for _, node in value_tree(raw).walk():
        if node.children or raw[node.start : node.start + 1] != bytes((node.code,)):
            continue
        value, inner = decode(raw[node.start : node.end])
        if not inner:  # an array's element may happen to look like a constructor
            assert same(value, node.value) or value == node.value


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_real_units_are_covered(path):
    for _, raw in units(path)[:300]:
        tree = unit_tree(raw)
        check(tree, len(raw))
        if tree.children[-1].label == "payload":
            data = raw[tree.children[-1].start :]
            check(section_tree(data), len(data))
