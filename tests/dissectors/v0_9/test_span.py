"""The tree of a unit: every octet has its place."""

import pytest
from hypothesis import given, settings

from dissectors.v0_9.dialects import dialect
from dissectors.v0_9.encode import (
    encode_body,
    encode_content_header,
    encode_frame,
    encode_heartbeat,
    encode_method,
)
from dissectors.v0_9.framing import Envelope, decode_unit
from dissectors.v0_9.span import unit_tree
from dissectors.v0_9.values import same
from kit.dissectors.strategies_v0_9 import damaged, frames

RABBIT = dialect("0-9-1-rabbit")


def shape(node):
    """Labels, types and spans, by depth."""
    return [
        f"{'  ' * depth}{n.label} {n.type} {n.start}-{n.end}" for depth, n in node.walk() if depth
    ]


def test_a_method_with_tables():
    fields = {"queue": "q", "durable": True, "arguments": {"x": {"a": 1}, "y": [2, "z"]}}
    raw = encode_method(RABBIT, "queue.declare", fields, 1)
    assert shape(unit_tree(raw, RABBIT)) == [
        "  type octets 0-1",
        "  channel octets 1-3",
        "  size octets 3-7",
        "  queue.declare method 7-52",
        "    class-id octets 7-9",
        "    method-id octets 9-11",
        "    reserved-1 short 11-13",
        "    queue shortstr 13-15",
        "    passive bit 15-16",
        "    durable bit 15-16",
        "    exclusive bit 15-16",
        "    auto-delete bit 15-16",
        "    no-wait bit 15-16",
        "    arguments table 16-52",
        "      x table 20-34",
        "        a int32 27-34",
        "      y array 34-52",
        "        [0] int32 41-46",
        "        [1] longstr 46-52",
        "  frame-end octets 52-53",
    ]


def test_a_content_header():
    raw = encode_content_header(RABBIT, "basic", 5, {"content-type": "t", "priority": 3}, 1)
    assert shape(unit_tree(raw, RABBIT))[3:] == [
        "  content-header content-header 7-24",
        "    class-id octets 7-9",
        "    weight octets 9-11",
        "    body-size octets 11-19",
        "    property-flags octets 19-21",
        "    content-type shortstr 21-23",
        "    priority octet 23-24",
        "  frame-end octets 24-25",
    ]


def test_a_request_of_0_9():
    spoken = dialect("0-9")
    raw = encode_method(
        spoken, "message.cancel", {"destination": "d"}, 1, envelope=Envelope(1, 2, 3)
    )
    assert shape(unit_tree(raw, spoken))[3:] == [
        "  message.cancel method 7-33",
        "    request-id octets 7-15",
        "    response-mark octets 15-23",
        "    reserved octets 23-27",
        "    class-id octets 27-29",
        "    method-id octets 29-31",
        "    destination shortstr 31-33",
        "  frame-end octets 33-34",
    ]


@pytest.mark.parametrize(
    ("raw", "labels"),
    [
        (encode_body(b"hello", 1), ["type", "channel", "size", "payload", "frame-end"]),
        (encode_heartbeat(), ["type", "channel", "size", "frame-end"]),
        (encode_heartbeat(short=True), ["type", "channel", "frame-end"]),
        (b"AMQP\0\0\x09\x01", ["protocol", "id", "major", "minor", "revision"]),
        (b"\x01\0", ["octets"]),
        (bytes.fromhex("04 0001 00001000 ce"), ["type", "channel", "size", "frame-end"]),
    ],
)
def test_units_without_fields(raw, labels):
    assert [node.label for node in unit_tree(raw, dialect("0-9")).children] == labels


def test_frames_with_a_cycle_octet():
    raw = encode_method(dialect("10-3"), "basic.ack", {"delivery-tag": 7}, 1, head=8)
    tree = unit_tree(raw, dialect("10-3"), 0, 8)
    assert [node.label for node in tree.children][:4] == ["type", "cycle", "channel", "size"]
    assert [node.value for node in tree.at(19)][-1] == 7


def test_octets_that_were_not_understood_belong_to_what_contains_them():
    raw = encode_frame(1, 1, bytes.fromhex("0032 0014 0000 0171 0178 0172 00 00000004 016b7a00"))
    path = [node.label for node in unit_tree(raw, RABBIT).at(len(raw) - 2)]
    assert path == ["frame", "queue.bind", "arguments", "k"]
    unknown = encode_frame(1, 1, bytes.fromhex("000a 0063 abcd"))
    assert [n.label for n in unit_tree(unknown, RABBIT).at(12)] == [
        "frame", "connection.99", "octets",
    ]  # fmt: skip


def covered(node):
    """Children lie inside and in order; bits may share an octet."""
    last = node.start
    for child in node.children:
        assert node.start <= child.start <= child.end <= node.end
        assert child.start >= last or child.type == "bit"
        last = child.end
        covered(child)


@given(found=frames())
def test_values_of_the_tree_are_those_of_the_unit(found):
    spoken, head, raw = found
    tree = unit_tree(raw, spoken, 0, head)
    covered(tree)
    assert [node.start for node in tree.children] == [
        0, *(node.end for node in tree.children[:-1]),
    ]  # fmt: skip
    assert tree.children[-1].end == len(raw)
    unit = decode_unit(raw, spoken, None, 0, head)
    nodes = {node.label: node.value for node in tree.children[-2].children}
    for name, value in unit.fields():
        assert same(nodes[name], value)


@given(found=damaged())
@settings(max_examples=150)
def test_damaged_octets_have_a_tree_too(found):
    spoken, head, raw = found
    tree = unit_tree(raw, spoken, 0, head)
    covered(tree)
    assert (tree.start, tree.end) == (0, len(raw))
    for at in range(len(raw)):
        assert tree.at(at)


@given(found=frames())
def test_what_the_capture_lacks_is_not_in_the_tree(found):
    spoken, head, raw = found
    for cut in range(1, min(len(raw) - head, 30)):
        tree = unit_tree(raw[:-cut], spoken, cut, head)
        covered(tree)
        assert tree.end == len(raw) - cut
        assert tree.children[-1].label != "frame-end"
